package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// made is a made-up cell: a number of operations per second for some time.
type made struct {
	workload, variant string
	sessions          int
	rate              float64 // 0 means a closed loop
	seconds, perS     int
}

// measuredOf is what the made-up workloads measure.
var measuredOf = map[string][]results.Measure{
	"lock": {{Op: "acquire", Role: results.RoleOperation, Unit: "grants", Timed: true, EndedBy: "release"}, {Op: "hand-off", Role: results.RolePart, Unit: "hand-offs", Owner: "holder", Question: "How long does it take from one holder to the next?"},
		{Op: "enqueue", Role: results.RolePhase}, {Op: "list", Role: results.RolePhase}, {Op: "wait", Role: results.RolePhase}, {Op: "delivery", Role: results.RolePhase}, {Op: "re-check", Role: results.RolePhase}},
	"queue": {{Op: "take", Role: results.RoleOperation, Unit: "takes", Idles: true}, {Op: "put", Role: results.RoleOperation, Unit: "puts"},
		{Op: "put-to-take", Role: results.RolePart, Unit: "items", Timed: true}},
	"election":   {{Op: "campaign", Role: results.RoleOperation, Unit: "terms", Timed: true}, {Op: "hand-off", Role: results.RolePart, Owner: "leader"}},
	"barrier":    {{Op: "pass", Role: results.RoleOperation, Unit: "passes", Timed: true, Question: "How fast does a barrier release the waiters?", Opens: "the removal is issued"}},
	"read-write": {{Op: "acquire", Role: results.RoleOperation, Unit: "grants", Timed: true}},
}

// makeUp writes a run with the given cells, one after the other, and returns its directory. The same cells give identical files.
func makeUp(t testing.TB, cells ...made) string {
	t.Helper()
	dir, err := results.Create(t.TempDir()+"/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	answered := 3
	run := &results.Run{Schema: results.Schema, Profile: "made-up", Started: at, Command: []string{"zkbench", "run", "made-up"},
		Environment: results.Environment{CPU: "one & <only>", Cores: 2, Servers: 3, Answered: &answered, Ensemble: "local:3", ZooKeeper: "3.8.0"},
		Gates:       []results.Gate{{Gate: "p99(acquire) < 50ms", Verdict: results.GateMet}},
		Connecting:  []results.Connecting{{Phase: "tcp", Count: 100, P50: 0.2, P99: 1, Max: 9}, {Phase: "tls", Count: 100, Resumed: 3, P50: 4, P99: 9, Max: 30}}}
	for i, m := range cells {
		c, d := m.cell(i, at), m.details(r, i)
		total := &metrics.Set{}
		for s := range m.seconds {
			from, to := at.Add(time.Duration(s)*time.Second), at.Add(time.Duration(s+1)*time.Second)
			set := m.second(r, s)
			check(dir.Interval(c.Name, from, to, set))
			total.Merge(set)
			servers := map[string]results.Figures{}
			for k := range 3 {
				f := results.Figures{}
				leads := 0.0
				if k == map[bool]int{true: 0, false: 1}[s < m.seconds/2] {
					leads = 1
				}
				for name, v := range map[string]float64{"seconds": 1, "leader": leads, "log_flush_mean_ms": 2 + r.ExpFloat64(), "outstanding": math.Floor(20 * r.Float64()),
					"cpu_s": 0.2 + 0.2*r.Float64(), "requests": 300 + 100*r.Float64(), "fsyncs": 40, "packets_sent": 400, "packets_received": 400, "znodes": 20, "watches": 10} {
					f.Set(name, v)
				}
				servers[fmt.Sprintf("127.0.0.1:218%d", k)] = f
			}
			check(dir.Timeline(results.Second{Cell: c.Name, At: to, Phase: "steady", Servers: servers}))
			client := results.Figures{}
			for name, v := range map[string]float64{"seconds": 1, "per_s": float64(m.perS), "p50_ms": 20, "max_ms": 90, "events": 30, "errors": 0} {
				client.Set(name, v)
			}
			check(dir.Timeline(results.Second{Cell: c.Name, At: to, Phase: "steady", Client: client}))
		}
		c.Latency = results.Latencies(total)
		for _, x := range c.Measured {
			c.Operations += map[bool]int64{true: c.Latency[x.Op+".response"].Count}[x.Role == results.RoleOperation]
		}
		c.Throughput = float64(c.Operations) / c.ElapsedS
		check(dir.Details(d))
		run.Cells = append(run.Cells, c)
		at = at.Add(time.Duration(m.seconds) * time.Second)
	}
	run.Finished = at
	check(dir.Write(run))
	check(dir.Close())
	return dir.Path()
}

func (m made) cell(i int, at time.Time) results.Cell {
	c := results.Cell{Name: fmt.Sprintf("%s-%d-%d", m.variant, m.sessions, i), Workload: m.workload, Variant: m.variant, Sessions: m.sessions, Objects: 1, Repetition: 1, Loop: "closed",
		RatePerS: m.rate, Started: at, Steady: results.Steady{To: float64(m.seconds)}, ElapsedS: float64(m.seconds), Measured: measuredOf[m.workload],
		Parameters: map[string]any{"hold": "5ms"}, Meanings: []results.Meaning{{Key: "hold", Role: results.RoleHold}}, Checks: []results.Check{{Name: "mutual-exclusion", Verdict: "holds", Evidence: 9}},
		Cost:   map[string]float64{"fairness_jain": 0.99, "ownerless_share": 0.1 + 0.02*float64(i%5), "ownerless_share_worst": 0.3},
		Fanout: &results.Fanout{EventsPerRelease: float64(m.sessions) / 2, TheoryPerRelease: float64(m.sessions), ListsPerAcquire: float64(m.sessions) / 3, ChildrenBytesPerAcquire: float64(m.sessions * m.sessions)}}
	if m.rate > 0 {
		c.Loop, c.Offered, c.Due, c.Saturated = "open", []string{"acquire"}, int64(m.rate)*int64(m.seconds), m.rate > 1.5*float64(m.perS)
		c.OfferedPerS = m.rate
	}
	recovered := 0.7 * float64(m.seconds)
	c.Faults = []results.Fault{{Kind: "kill-leader", AtS: float64(m.seconds) / 2, HealedS: &recovered}}
	return c
}

// second returns what is recorded in one second: times from a lognormal distribution that widens in the middle of each minute.
func (m made) second(r *rand.Rand, s int) *metrics.Set {
	set := &metrics.Set{}
	slow := 1 + math.Pow(math.Sin(float64(s)/60*math.Pi), 4)
	took := func() time.Duration {
		return time.Duration(float64(time.Millisecond) * slow * (2 + 0.1*float64(m.sessions)) * math.Exp(0.8*r.NormFloat64()))
	}
	for range m.perS {
		at := time.Duration(s) * time.Second
		start := at + time.Duration(r.ExpFloat64()*float64(100*time.Microsecond))
		if m.workload == "queue" {
			set.Add(metrics.Sample{Op: metrics.Put, Due: at, Start: start, End: start + took()/4})
			set.Add(metrics.Sample{Op: metrics.PutToTake, Due: at, Start: start, End: start + took()})
			continue
		}
		if op, is := map[string]metrics.Op{"election": metrics.Campaign, "barrier": metrics.Pass}[m.workload]; is {
			set.Add(metrics.Sample{Op: op, Due: at, Start: start, End: start + took()})
			continue
		}
		set.Add(metrics.Sample{Op: metrics.Acquire, Due: at, Start: start, End: start + took()})
		set.Add(metrics.Sample{Op: metrics.HandOff, Due: at, Start: at, End: at + took()/5})
		set.Add(metrics.Sample{Op: metrics.Release, Due: at, Start: at, End: at + took()/8})
	}
	return set
}

// details returns all details that a cell may have.
func (m made) details(r *rand.Rand, i int) results.Details {
	d := results.Details{Cell: fmt.Sprintf("%s-%d-%d", m.variant, m.sessions, i), Opening: &results.Opening{Count: int64(m.sessions), P50: 3 + r.Float64(), Max: 30 * (1 + r.Float64())}}
	if m.workload == "queue" {
		for k := range 200 {
			q := results.Depth{AtMs: float64(k+1) * float64(m.seconds) * 5, Items: int(40 + 30*math.Sin(float64(k)/9)), Taken: m.perS}
			median, most := 5+r.Float64(), 20+9*r.Float64()
			q.P50, q.Max = &median, &most
			d.Depths = append(d.Depths, q)
		}
		for object := range uint32(4) {
			q := results.Queue{Object: 2 * object, StepMs: float64(m.seconds) * 10}
			for k := range 100 {
				oldest := 20 + 9*r.Float64() + 5*float64(object)
				q.Items, q.MaxMs = append(q.Items, int(20+10*math.Sin(float64(k)/9+float64(object)))), append(q.MaxMs, &oldest)
				if k%7 == 0 {
					q.MaxMs[k] = nil
				}
			}
			d.Queues = append(d.Queues, q)
		}
		return d
	}
	if m.workload == "election" {
		for k := range 120 {
			v := results.Vacancy{UntilMs: float64(m.seconds) * 1e3 * float64(k+1) / 120}
			if k%5 < 3 {
				v.Gaps, v.LongestMs, v.FreeMs = 1+k%3, 8*math.Exp(r.NormFloat64()), 20
			}
			if k >= 60 && k < 70 {
				v.FreeMs, v.LongestMs, v.Gaps = float64(m.seconds)*1e3/120, map[bool]float64{true: float64(m.seconds) * 1e3 / 12}[k == 60], map[bool]int{true: 1}[k == 60]
			}
			d.Leaderless = append(d.Leaderless, v)
		}
		return d
	}
	if m.workload == "barrier" {
		a := results.Curve{Op: "pass", Rounds: 80, Left: 2}
		for k := range 20 {
			before, after := 30/float64(k+1), 2+0.3*float64(k)
			a.Ranks = append(a.Ranks, results.Rank{Members: 5 * (k + 1), BeforeP50: before, BeforeP90: 1.8 * before, AfterP50: after, AfterP90: 1.5 * after})
		}
		d.Arrivals = []results.Curve{a}
		return d
	}
	for _, p := range []float64{50, 90, 99} {
		d.Cohorts = append(d.Cohorts, results.Cohort{Op: "acquire", Percentile: p, LowMs: p, HighMs: p + 1, Count: 100, ResponseMs: p,
			PartsMs: map[string]float64{"lag": 0.1 * p, "enqueue": 0.2 * p, "list": 0.05 * p, "wait": 0.4 * p, "delivery": 0.05 * p, "re-check": 0.1 * p}})
	}
	for k := range 16 {
		p99 := 40 * float64(k+1)
		d.Places = append(d.Places, results.Place{From: k, To: k, Count: 400, P50: 10 * float64(k+1), P99: &p99, Max: 50 * float64(k+1)})
	}
	d.Overtaken = []results.Overtaken{{Grants: 300}, {From: 1, To: 1, Grants: 60 + i}, {From: 2, To: 3, Grants: 30}, {From: 4, To: 7, Grants: 10 - i%9}}
	sum := 0
	for k := range min(m.sessions, 100) {
		sum += 1 + k/3
		d.Shares = append(d.Shares, results.Portion{Sessions: k + 1, Grants: sum})
	}
	d.Strips = []results.Strip{m.strip(false), m.strip(true)}[:1+map[bool]int{true: 1}[i == 0]]
	return d
}

// strip has one hold after the other; around a counterexample two overlap.
func (m made) strip(broken bool) results.Strip {
	s := results.Strip{Why: results.StripGap, AtMs: 1100, UntilMs: 1140, FromMs: 1000, ToMs: 1280, Others: 3}
	if broken {
		s.Why, s.Check, s.AtMs, s.UntilMs = results.StripCounterexample, "mutual-exclusion", 1120, 1120
	}
	for k := range 24 {
		at := 1000 + 10*float64(k)
		if k >= 12 && !broken {
			at += 40
		}
		hold := results.Tenure{Session: uint32(k % min(m.sessions, 10)), FromMs: at, ToMs: at + 7}
		if broken && k == 11 {
			hold.ToMs += 20
		}
		s.Holds = append(s.Holds, hold)
		s.Waits = append(s.Waits, results.Tenure{Session: hold.Session, FromMs: max(at-60, 1000), ToMs: at})
		s.Idle = append(s.Idle, results.Stretch{FromMs: hold.ToMs, ToMs: min(at+10, 1280)})
	}
	if !broken {
		s.Idle[11].ToMs = 1160
		s.Holds[12].FromMs = 1160
	}
	return s
}

// everyPlot returns two runs that together have every plot that a run may have.
func everyPlot(t testing.TB) []Source {
	t.Helper()
	first, err := read(makeUp(t, made{"lock", "first", 10, 0, 15, 90}, made{"lock", "second", 10, 0, 15, 80}, made{"lock", "first", 100, 0, 15, 60}, made{"lock", "second", 100, 0, 15, 30},
		made{"queue", "fifo", 8, 0, 15, 40}, made{"read-write", "both", 20, 40, 15, 40}, made{"read-write", "both", 20, 90, 15, 50}))
	if err != nil {
		t.Fatal(err)
	}
	second, err := read(makeUp(t, made{"election", "selector", 12, 0, 15, 9}, made{"election", "naive", 12, 0, 15, 7}, made{"barrier", "barrier", 101, 0, 15, 60}))
	if err != nil {
		t.Fatal(err)
	}
	return []Source{first, second}
}
