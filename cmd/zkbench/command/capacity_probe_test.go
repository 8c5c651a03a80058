package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// memorySearch returns a server in memory, and the prober of a search for how many locks it can grant.
func memorySearch(t *testing.T, over string, plan capacity.Plan, sets ...string) (*oneByOne, *prober) {
	t.Helper()
	plan.Goals = []capacity.Goal{{Name: "p99<50ms", Share: 0.01}}
	return memorySearchOf(t, "locks-open", over, plan, append([]string{"sessions=[20]", "objects=[20]", "hold=0s"}, sets...)...)
}

// memorySearchOf returns a server in memory, and the prober of a search for its capacity with a profile and a goal of 50 ms.
func memorySearchOf(t *testing.T, profile, over string, plan capacity.Plan, sets ...string) (*oneByOne, *prober) {
	t.Helper()
	m, a := newOneByOne(t)
	p, err := a.profile(profile, append([]string{"engine=memory"}, sets...))
	if err != nil {
		t.Fatal(err)
	}
	r := capacitySearch{capacityFlags: capacityFlags{limits: []load.Limit{{Response: 50 * time.Millisecond}}}}
	if _, trace, isReplay := strings.Cut(strings.TrimPrefix(profile, replayPrefix), ":"); isReplay {
		recorded, err := planOf(trace)
		if err != nil {
			t.Fatal(err)
		}
		r.axis = speedAxis(recorded)
	} else {
		r.axis, err = axisOf(over)
	}
	if err == nil {
		r.profile, err = r.axis.open(p.One())
	}
	if err == nil {
		plan.Rate, plan.RatePerLoad, err = r.axis.rate(r.profile)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.plan = plan
	search, err := capacity.New(plan)
	if err != nil {
		t.Fatal(err)
	}
	return m, &prober{a: a, s: &signals{working: t.Context(), stop: make(chan struct{})}, r: r, search: search, from: plan.From, rate: plan.Rate + plan.RatePerLoad*plan.From, ensemble: m,
		tell: func(format string, args ...any) { t.Logf(format, args...) }, recoveryTimeout: recoveryTimeout}
}

// After a probe that was too much, the next one starts when the latency of the lowest load is back, and not at all if that takes too long.
func TestAProbeWaitsForTheBaseLatency(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before   capacity.Judgement // of the previous probe
		slow     time.Duration      // how long the server is busy with it
		least    time.Duration      // shortest recovery
		most     time.Duration
		suspect  capacity.Suspect
		measured bool
	}{
		"it passed":                        {capacity.Judgement{Decision: capacity.Pass}, 0, 0, 0, "", true},
		"it was undecided, and pointed up": {capacity.Judgement{Decision: capacity.Undecided}, 0, 0, 0, "", true},
		"it failed, and is over":           {capacity.Judgement{Decision: capacity.Fail}, 0, 5 * time.Second, 8 * time.Second, "", true},
		"undecided, and pointed down":      {capacity.Judgement{Decision: capacity.Undecided, Above: true}, 0, 5 * time.Second, 8 * time.Second, "", true},
		"it was invalid":                   {capacity.Judgement{Decision: capacity.Invalid}, 0, 5 * time.Second, 8 * time.Second, "", true},
		"slow for half a minute":           {capacity.Judgement{Decision: capacity.Fail}, 30 * time.Second, 30 * time.Second, 42 * time.Second, "", true},
		"slow forever":                     {capacity.Judgement{Decision: capacity.Fail}, time.Hour, time.Minute, 66 * time.Second, capacity.NotRecovered, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, p := memorySearch(t, overRate, capacity.Plan{From: 20, To: 1000})
				m.service = time.Millisecond
				dir := t.TempDir()
				first, _ := p.search.Next()
				got, _, err := p.carry(first, filepath.Join(dir, "probe-01"))
				if err != nil || got.Recovery != 0 || got.Suspect != "" || p.base == 0 || p.base > 50*time.Millisecond {
					t.Fatalf("the lowest load: %+v, base latency %v, %v", got, p.base, err)
				}
				p.search.Tell(got)
				p.judged(c.before)
				if c.slow > 0 {
					m.service *= 6
					time.AfterFunc(c.slow, func() { m.mu.Lock(); m.service /= 6; m.mu.Unlock() })
				}
				next, _ := p.search.Next()
				got, run, err := p.carry(next, filepath.Join(dir, "probe-02"))
				if err != nil || run == nil || got.Suspect != c.suspect || got.Recovery < c.least.Seconds() || got.Recovery > c.most.Seconds() || (len(got.Blocks) > 0) != c.measured || got.Took < got.Recovery {
					t.Errorf("recovery %v of %v, %d blocks, suspect %q, %v; want from %v to %v, %q", got.Recovery, got.Took, len(got.Blocks), got.Suspect, err, c.least, c.most, c.suspect)
				}
				if p.znodes[1] != p.znodes[0] {
					t.Errorf("the second probe began with %v znodes, the first one with %v", p.znodes[1], p.znodes[0])
				}
				p.search.Tell(got)
				if j := p.search.Result().Steps[1].Judgement; (j.Decision == capacity.Invalid) != !c.measured {
					t.Errorf("judged %s: %s", j.Decision, j.Reason)
				}
			})
		})
	}
}

// A probe in which a server was lost, for good or for a moment, is not trusted. A server that is slow to answer does not make a probe untrusted.
func TestAProbeThatLosesAServer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ensemble.ServerStats)
		want   capacity.Suspect
	}{
		"all is well":      {func(*ensemble.ServerStats) {}, capacity.Trusted},
		"it is gone":       {func(st *ensemble.ServerStats) { st.Err = ensemble.ErrUnreachable }, capacity.ServerLost},
		"it serves nobody": {func(st *ensemble.ServerStats) { st.Err = ensemble.ErrNoQuorum }, capacity.ServerLost},
		"it is slow": {func(st *ensemble.ServerStats) {
			st.Err = fmt.Errorf("%w: %w", ensemble.ErrUnreachable, os.ErrDeadlineExceeded)
		}, capacity.Trusted},
		"it has restarted":   {func(st *ensemble.ServerStats) { st.Uptime = time.Second }, capacity.ServerLost},
		"it has words off":   {func(st *ensemble.ServerStats) { st.Err = ensemble.ErrWordsOff }, capacity.Trusted},
		"it was never there": {nil, capacity.Trusted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, p := memorySearch(t, overRate, capacity.Plan{From: 20, To: 1000})
				follower := ensemble.ServerStats{Server: 2, Address: "memory:2", Stats: ensemble.Stats{State: "follower", Uptime: time.Hour}}
				if m.follower = &follower; c.change == nil {
					follower.Err = ensemble.ErrUnreachable
				}
				probe, _ := p.search.Next()
				time.AfterFunc(probe.Settle+probe.Block*3/2, func() {
					m.mu.Lock()
					defer m.mu.Unlock()
					if c.change != nil {
						after := follower
						c.change(&after)
						m.follower = &after
					}
				})
				if got, _, err := p.carry(probe, filepath.Join(t.TempDir(), "probe-01")); err != nil || got.Suspect != c.want {
					t.Errorf("suspect %q, %v; want %q", got.Suspect, err, c.want)
				}
			})
		})
	}
}

// A probe during which zkbench did not run for a second is invalid, whatever stopped it. A probe that zkbench could not offer is reported as that.
func TestAProbeInWhichZkbenchStopped(t *testing.T) {
	for _, c := range []struct {
		lag       float64 // ms
		saturated bool
		want      capacity.Suspect
	}{{999, false, capacity.Trusted}, {1000, false, capacity.Paused}, {3000, true, capacity.Generator}} {
		cell := results.Cell{Generator: results.Generator{TimerLagMax: c.lag, Saturated: c.saturated}}
		if got := measurement(cell); got.Suspect != c.want {
			t.Errorf("timers %v ms late: suspect %q, want %q", c.lag, got.Suspect, c.want)
		}
	}
}

// Two in a hundred responses may be longer than twice the base latency.
func TestRecovered(t *testing.T) {
	for _, c := range []struct {
		due, over int
		want      bool
	}{{200, 0, true}, {200, 4, true}, {200, 5, false}, {200, 200, false}, {0, 0, false}} {
		if got := recovered(capacity.Block{Due: c.due, Over: []int{c.over}}); got != c.want {
			t.Errorf("%d of %d late: recovered = %v", c.over, c.due, got)
		}
	}
}

// A probe that cannot remove its root, because it contains a foreign znode, ends the search: the next probe would have another tree.
func TestAProbeThatLeavesZnodesEndsTheSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := memorySearch(t, overRate, capacity.Plan{From: 20, To: 1000})
		p.r.root = "/search"
		time.AfterFunc(8*time.Second, func() {
			s := m.Dial()
			defer s.Close()
			if _, err := s.Create(t.Context(), p.r.root+"/theirs", nil, zk.Persistent); err != nil {
				t.Error(err)
			}
		})
		probe, _ := p.search.Next()
		if _, run, err := p.carry(probe, filepath.Join(t.TempDir(), "probe-01")); err == nil || run == nil || run.LeftBehind == "" || !strings.Contains(err.Error(), "/search/theirs") {
			t.Errorf("carry = %v, want what was left behind", err)
		}
	})
}

// The percentiles of a probe cover all operations that its rate offers, as the goals do, and not only the first one. The percentile of its goal is kept.
func TestAProbeTellsOfAllOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := memorySearchOf(t, "operations", overRate, capacity.Plan{From: 100, To: 1000, Goals: []capacity.Goal{{Name: "p99<50ms", Share: 0.01}}}, "mix={get: 50, set: 50}", "sessions=[10]")
		probe, _ := p.search.Next()
		m, run, err := p.carry(probe, filepath.Join(t.TempDir(), "probe-01"))
		if err != nil {
			t.Fatal(err)
		}
		cell := run.Cells[0]
		if l, _ := cell.Response(); l.P99 == nil || len(m.Values) != 1 || *m.Values[0] != *l.P99 {
			t.Errorf("the p99 of the goal is %v, that of the probe %v", m.Values, l.P99)
		}
		reads, writes := cell.Latency["get.response"], cell.Latency["set.response"]
		if l, known := cell.Response(); !known || reads.Count == 0 || writes.Count == 0 || l.Count != reads.Count+writes.Count || l.Max != max(reads.Max, writes.Max) {
			t.Errorf("%d responses, of %d reads and %d writes", l.Count, reads.Count, writes.Count)
		}
	})
}

// The bracket is described in words, with only the ends that are known.
func TestTheBracketIsTold(t *testing.T) {
	for want, ends := range map[string][2]float64{"nothing known yet": {}, "so far 15000 or more": {15000, 0}, "so far less than 100": {0, 100}, "so far between 400 and 565.7": {400, 565.685}} {
		if got := bracketText(capacity.Result{Low: capacity.End{Load: ends[0]}, High: capacity.End{Load: ends[1]}}); got != want {
			t.Errorf("%v: %q, want %q", ends, got, want)
		}
	}
}

// The existing znodes are counted before each probe.
func TestZnodesBeforeEachProbeAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := memorySearch(t, overRate, capacity.Plan{From: 20, To: 1000})
		p.count()
		s := m.Dial()
		defer s.Close()
		if _, err := s.Create(t.Context(), "/left", nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
		if p.count(); len(p.znodes) != 2 || p.znodes[1] != p.znodes[0]+1 {
			t.Errorf("counted %v, want one more", p.znodes)
		}
	})
}
