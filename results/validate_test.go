package results

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

const msec = time.Millisecond

// acquisitions returns samples of a lock under a load of one session: n acquisitions that were due, the last of them not served in time.
func acquisitions(n int) *metrics.Set {
	s := &metrics.Set{}
	for i := range n {
		due := time.Duration(i) * 10 * msec
		whole := metrics.Sample{Op: metrics.Acquire, Due: due, Start: due + msec, End: due + 5*msec}
		s.Add(whole)
		at := whole.Start
		for _, op := range []metrics.Op{metrics.Enqueue, metrics.List, metrics.Wait, metrics.Delivery, metrics.Recheck} {
			s.Add(metrics.Sample{Op: op, Due: at, Start: at, End: at + 4*msec/5})
			at += 4 * msec / 5
		}
		s.Add(metrics.Sample{Op: metrics.Release, Due: whole.End, Start: whole.End, End: whole.End + msec})
	}
	s.Add(metrics.Sample{Op: metrics.Acquire, Outcome: metrics.Timeout, Due: 0, Start: msec, End: 9 * msec})
	return s
}

// sound writes a result without contradictions, of an open and a closed loop, after doctor has modified it.
func sound(t *testing.T, doctor func(r *Run, open, closed *Cell), lines ...Second) string {
	t.Helper()
	dir, err := Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	const n = 400
	half := 0.5
	set := acquisitions(n)
	cell := func(name string) Cell {
		if err := dir.Interval(name, time.Unix(1, 0), time.Unix(5, 0), set); err != nil {
			t.Fatal(err)
		}
		return Cell{Name: name, Variant: "naive", Sessions: 1, Loop: "closed", Scope: Scope{ScopeDone, ScopeDone}, Steady: Steady{1, 5}, ElapsedS: 4,
			Measured: []Measure{{Op: "acquire", Role: RoleOperation, Unit: "grants", Timed: true}}, Measures: []string{"acquire"}, Counted: []string{"acquire"}, Operations: n, Done: map[string]int64{"acquire": n, "release": n},
			Throughput: n / 4., Latency: Latencies(set, metrics.Acquire), Errors: map[string]int64{"timeout": 1}, Cost: map[string]float64{"create": 1, "delete": 1, "list": 1},
			Fanout: &Fanout{EventsPerRelease: 1, EventsByRelease: 0.75, EventsStale: 0.25, UsefulShare: &half},
			Costs:  []Cost{{Of: "writes", Measured: 2}, {Of: "reads", Measured: 1}, {Of: "lists", Measured: 1}, {Of: "names", Measured: 2}, {Of: "bytes", Measured: 40}},
			Checks: []Check{{Name: "mutual-exclusion", Verdict: "holds", Evidence: n}}, Server: Figures{}}
	}
	open, closed := cell("naive-1-100ps-r1"), cell("naive-1-r1")
	open.Loop, open.Scope.Operations, open.Offered, open.Due, open.OfferedPerS = "open", ScopeDue, []string{"acquire"}, n+1, (n+1)/4.
	r := &Run{Schema: Schema, Cells: []Cell{open, closed}, Pools: []Pool{{Cells: []int{1}, Latency: Latencies(set, metrics.Acquire)}}}
	if doctor != nil {
		doctor(r, &r.Cells[0], &r.Cells[1])
	}
	for _, s := range lines {
		dir.Timeline(s)
	}
	if err := dir.Write(r); err != nil {
		t.Fatal(err)
	}
	return dir.Path()
}

func with(c *Cell, key string, change func(*Latency)) {
	l := c.Latency[key]
	change(&l)
	c.Latency[key] = l
}

// gateOf returns a gate with one cell.
func gateOf(verdict, ofCell string, samples int64) []Gate {
	half := 0.5
	return []Gate{{Gate: "errors < 1%", Metric: "errors", Verdict: verdict, Cells: []GateCell{{Cell: "naive-1-r1", Value: &half, Samples: samples, Verdict: ofCell}}}}
}

// An unmodified result is consistent; each identity has a doctored result in which it finds the contradiction.
func TestContradictionsAreFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		doctor func(r *Run, open, closed *Cell)
		want   string // "": none
	}{
		{"untouched", nil, ""},
		{"a longer steady phase", func(_ *Run, _, c *Cell) { c.Steady.To = 6 }, "the steady phase lasts from 1 s to 6 s"},
		{"put 3353/s where 530/s were achieved", func(_ *Run, o, _ *Cell) { o.Throughput *= 6 }, "throughput_per_s x elapsed_s"},
		{"operations of a closed loop", func(_ *Run, _, c *Cell) { c.Operations++ }, "401 operations in a closed loop"},
		{"scope", func(_ *Run, o, _ *Cell) { o.Scope.Operations = ScopeDone }, "loop open, but scope"},
		{"the nominal rate for what came due", func(_ *Run, o, _ *Cell) { o.OfferedPerS = 200 }, "offered_per_s x elapsed_s is 800"},
		{"unserved, and not saturated", func(_ *Run, o, _ *Cell) { o.Unserved = 3 }, "saturated is false"},
		{"what came due is forgotten", func(_ *Run, o, _ *Cell) { o.Due, o.OfferedPerS = o.Due+8, 409/4. }, "409 came due, but 401 ended"},
		{"a histogram of the survivors", func(_ *Run, o, _ *Cell) {
			o.Operations--
			o.Due--
			o.OfferedPerS = 100
		}, "the histograms of [acquire] have 400"},
		{"a timeout that no histogram has", func(_ *Run, _, c *Cell) { c.Errors["timeout"] = 4 }, "there are 4 timeouts"},
		{"percentiles that fall", func(_ *Run, _, c *Cell) { with(c, "acquire.service", func(l *Latency) { l.P50 = 100 }) }, "are not ascending"},
		{"zeros of nothing", func(_ *Run, _, c *Cell) { c.Latency["put.lag"] = Latency{} }, "put.lag has times, but no samples"},
		{"a p99 of too few", func(_ *Run, _, c *Cell) { with(c, "acquire.service.unserved", func(l *Latency) { l.P99 = &l.Max }) }, "p99 known: true"},
		{"no p99 of enough", func(_ *Run, _, c *Cell) { with(c, "acquire.service", func(l *Latency) { l.P99 = nil }) }, "p99 known: false"},
		{"lower bounds that do not say so", func(_ *Run, _, c *Cell) { with(c, "acquire.service", func(l *Latency) { l.AtLeast = nil }) }, "lower bounds are []"},
		{"a response shorter than lag and service", func(_ *Run, _, c *Cell) { with(c, "acquire.response", func(l *Latency) { l.Mean *= 0.97 }) }, "acquire: response and service and lag"},
		{"phases of 0.983 of the service", func(_ *Run, _, c *Cell) { with(c, "wait.service", func(l *Latency) { l.Mean *= 0.915 }) }, "phases and services: sums of"},
		{"0.465 creates", func(_ *Run, _, c *Cell) { c.Costs[0].Measured, c.Cost["create"] = 1.465, 0.465 }, "586 writes for map[acquire:400 release:400]: at least 799 are needed"},
		{"0.93 lists", func(_ *Run, _, c *Cell) { c.Costs[2].Measured, c.Costs[2].Least = 0.93, 1 }, "372 lists for 400 successes: at least 399 are needed"},
		{"a recipe that keeps no promise may do without", func(r *Run, _, c *Cell) {
			c.Costs[0].Measured, c.Cost["create"] = 1.465, 0.465
			c.Costs[2].Measured, c.Costs[2].Least = 0.93, 1
			c.Checks[0].Verdict, c.Checks[0].Count, r.Exit.Code = "violated", 1, 4
		}, ""},
		{"a list less than grants, of one that began before", func(_ *Run, _, c *Cell) { c.Costs[2].Measured, c.Costs[2].Least = 399./400, 1 }, ""},
		{"reads that are forgotten", func(_ *Run, _, c *Cell) { c.Costs[1].Measured, c.Costs[1].Least, c.Cost["list"] = 0.5, 1, 0.5 }, "200 reads for 400 successes"},
		{"removeWatches are in no cost", func(_ *Run, _, c *Cell) { c.Cost["remove-watches"] = 0.1 }, "requests by kind"},
		{"names without their bytes", func(_ *Run, _, c *Cell) { c.Costs[4].Measured = 9 }, "names have"},
		{"names without a list", func(_ *Run, _, c *Cell) { c.Costs[2].Measured = 0 }, "names, but no getChildren call"},
		{"a cost per who knows what", func(_ *Run, _, c *Cell) { c.CostPer = "writer" }, `unknown cost_per "writer"`},
		{"events that have no cause", func(_ *Run, _, c *Cell) { c.Fanout.EventsStale = 0 }, "events per release, but 0.7500 by cause"},
		{"more useful events than events", func(_ *Run, _, c *Cell) { *c.Fanout.UsefulShare = 1.2 }, "useful_share is 1.2"},
		{"useful events of none", func(_ *Run, _, c *Cell) {
			c.Fanout.EventsPerRelease, c.Fanout.EventsByRelease, c.Fanout.EventsStale = 0, 0, 0
		}, "of 0 events per release"},
		{"a share above 1", func(_ *Run, _, c *Cell) { c.Cost["wake_efficiency"] = 1.1 }, "wake_efficiency is 1.1"},
		{"a cost that nobody describes", func(_ *Run, _, c *Cell) { c.Cost["fairnes"] = 1 }, "cost.fairnes is undocumented"},
		{"silence is success", func(_ *Run, _, c *Cell) { c.Checks[0].Evidence = 0 }, "check mutual-exclusion: verdict holds with evidence 0"},
		{"a violation that looks green", func(_ *Run, _, c *Cell) { c.Checks[0].Verdict, c.Checks[0].Count = "violated", 1 }, "exit code 0, but"},
		{"a gate that is met", func(r *Run, _, c *Cell) { r.Gates = gateOf(GateMet, GateMet, 400) }, ""},
		{"a gate that is missed, in green", func(r *Run, _, c *Cell) { r.Gates = gateOf(GateMissed, GateMissed, 400) }, "it is missed, but the exit code is 0"},
		{"a gate without evidence, in green", func(r *Run, _, c *Cell) { r.Gates = gateOf(GateUnknown, GateUnknown, 0) }, "it is unknown, but the exit code is 0"},
		{"a gate without samples that is met", func(r *Run, _, c *Cell) { r.Gates = gateOf(GateMet, GateMet, 0) }, "met without samples"},
		{"a gate without cells that is met", func(r *Run, _, c *Cell) { r.Gates = []Gate{{Gate: "errors < 1%", Verdict: GateMet}} }, "the worst of its 0 cells"},
		{"a gate that is better than its cells", func(r *Run, _, c *Cell) { r.Gates = gateOf(GateMet, GateMissed, 400) }, "the worst of its 1 cells is missed"},
		{"a latency of the servers where they did nothing", func(_ *Run, _, c *Cell) {
			c.Server.Set("requests", 0)
			c.Server.Set("latency_mean_ms", 0)
		}, "latency_mean_ms is given without any requests"},
		{"less CPU time than none", func(_ *Run, _, c *Cell) { c.Server.Set("cpu_s", -1) }, "cpu_s is -1"},
		{"a maximum that is a median of maxima", func(_ *Run, _, c *Cell) { with(c, "release.service", func(l *Latency) { l.Max *= 1.1 }) }, "by intervals.hlog"},
		{"a histogram that is not in the log", func(_ *Run, _, c *Cell) { c.Latency["put.service"] = c.Latency["release.service"] }, "put.service (400 samples) is missing in intervals.hlog"},
		{"a histogram that the document lacks", func(_ *Run, _, c *Cell) { delete(c.Latency, "release.lag") }, "release.lag (400 samples) is only in intervals.hlog"},
		{"a cell that the document lacks", func(r *Run, _, _ *Cell) { r.Cells, r.Pools = r.Cells[:1], nil }, "naive-1-r1 is not a cell of run.json"},
		{"a pool of one of two", func(r *Run, _, _ *Cell) { r.Pools[0].Cells = []int{0, 1} }, "pool of the cells [0 1]: acquire.lag has 400"},
	} {
		got, err := Validate(sound(t, c.doctor))
		all := strings.Join(got, "\n")
		if err != nil || (c.want == "") != (len(got) == 0) || !strings.Contains(all, c.want) {
			t.Errorf("%s: Validate = %v, %q, want %q", c.name, err, all, c.want)
		}
	}
}

// passing returns a queue: its items, two of which are not taken, and the transit of each.
func passing(t *testing.T, loop string, doctor func(*Cell)) string {
	t.Helper()
	dir, err := Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	set := &metrics.Set{}
	const puts, takes = 20, 18
	for i := range puts {
		due := time.Duration(i) * 10 * msec
		s := metrics.Sample{Op: metrics.Put, Due: due, Start: due + msec, End: due + 2*msec}
		set.Add(s)
		if s.Op = metrics.PutToTake; i >= takes {
			s.Outcome = metrics.Unfinished
		} else {
			set.Add(metrics.Sample{Op: metrics.Take, Due: due, Start: due, End: due + 3*msec})
		}
		s.End = due + 3*msec
		set.Add(s)
	}
	if err := dir.Interval("fifo-2-r1", time.Unix(1, 0), time.Unix(5, 0), set); err != nil {
		t.Fatal(err)
	}
	c := Cell{Name: "fifo-2-r1", Workload: "queue", Variant: "fifo", Sessions: 2, Objects: 1, Loop: loop, Scope: Scope{map[string]string{"open": ScopeDue, "closed": ScopeDone}[loop], ScopeDone},
		Steady: Steady{1, 5}, ElapsedS: 4, Measured: []Measure{{Op: "take", Role: RoleOperation, Timed: true}, {Op: "put", Role: RoleOperation, Timed: true}, {Op: "put-to-take", Role: RolePart}},
		Measures: []string{"take", "put", "put-to-take"}, Counted: []string{"take", "put"}, Operations: puts + takes,
		Done: map[string]int64{"put": puts, "take": takes, "put-to-take": takes}, Throughput: (puts + takes) / 4., Latency: Latencies(set, metrics.Take, metrics.Put),
		Errors: map[string]int64{}, Costs: []Cost{{Of: "writes", Measured: 3}, {Of: "reads", Measured: 2}, {Of: "lists", Measured: 1}}}
	if loop == "open" {
		c.Offered, c.Due, c.OfferedPerS = []string{"put"}, puts, puts/4.
	}
	if doctor != nil {
		doctor(&c)
	}
	if err := dir.Write(&Run{Schema: Schema, Cells: []Cell{c}}); err != nil {
		t.Fatal(err)
	}
	return dir.Path()
}

// Each take ends the transit of an item, and each item whose put came due is taken or waits.
func TestContradictionsOfAQueue(t *testing.T) {
	for _, c := range []struct {
		name, loop string
		doctor     func(*Cell)
		want       string
	}{
		{"untouched", "open", nil, ""},
		{"untouched", "closed", nil, ""},
		{"more ways than takes", "closed", func(c *Cell) { c.Done["put-to-take"]++ }, "18 items were taken, but 19 have a time from put to take"},
		{"ways that are forgotten, whatever holds", "closed", func(c *Cell) {
			c.Done["put-to-take"]--
			c.Checks = []Check{{Name: "claims", Verdict: "holds", Evidence: 18}}
		}, "18 items were taken, but 17 have a time from put to take"},
		{"ways that are forgotten", "closed", func(c *Cell) { c.Done["put-to-take"]-- }, "18 items were taken, but 17 have a time from put to take"},
		{"ways that are forgotten, with items from before", "closed", func(c *Cell) {
			c.Done["put-to-take"]--
			c.Parameters = map[string]any{"preload": 1}
		}, ""},
		{"more ways are forgotten than there were items before", "closed", func(c *Cell) {
			c.Done["put-to-take"] -= 2
			c.Parameters = map[string]any{"preload": 1}
		}, "18 items were taken, but 16"},
		{"an item taken twice after its put had to be made again", "closed", func(c *Cell) {
			c.Done["put-to-take"]--
			c.Errors["in doubt"] = 1
		}, ""},
		{"survivors alone", "open", func(c *Cell) {
			for _, clock := range []string{".response", ".service", ".lag"} {
				with(c, "put-to-take"+clock, func(l *Latency) { l.Unserved = 1 })
			}
		}, "20 items came due in the steady phase, but 19 were taken or still wait"},
	} {
		got, err := Validate(passing(t, c.loop, c.doctor))
		if all := strings.Join(got, "\n"); err != nil || (c.want == "") != (len(got) == 0) || !strings.Contains(all, c.want) {
			t.Errorf("%s, %s: Validate = %v, %q, want %q", c.name, c.loop, err, all, c.want)
		}
	}
}

// Items that are given twice have one transit: what a check convicts is not a contradiction.
func TestItemsThatWereGivenTwice(t *testing.T) {
	got, err := Validate(passing(t, "closed", func(c *Cell) {
		c.Done["put-to-take"]--
		c.Checks = []Check{{Name: "claims", Verdict: "violated", Evidence: 18, Count: 1}}
	}))
	if want := []string{"run.json: exit code 0, but checks are violated: true, lack evidence: false"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Validate = %v, %q, want %q", err, got, want)
	}
}

// Zeros for unknown values are found in the timeline too.
func TestContradictionsOfTheTimeline(t *testing.T) {
	figures := func(pairs ...any) Figures {
		f := Figures{"seconds": nil}
		for i := 0; i < len(pairs); i += 2 {
			f.Set(pairs[i].(string), pairs[i+1].(float64))
		}
		return f
	}
	for _, c := range []struct {
		name string
		line Second
		want string
	}{
		{"a second in which nothing could be done", Second{Client: figures("seconds", 1., "per_s", 0., "p50_ms", 0.)}, "p50_ms is given without any per_s"},
		{"syncs without a sync", Second{Servers: map[string]Figures{"a": figures("seconds", 1., "fsyncs", 0., "fsync_mean_low_ms", 0., "fsync_mean_high_ms", 0.)}}, "given without any fsyncs"},
		{"since the server's start", Second{Servers: map[string]Figures{"a": figures("requests", 9.)}}, "without a time span"},
		{"an interval turned over", Second{Servers: map[string]Figures{"a": figures("seconds", 1., "fsync_mean_low_ms", 2., "fsync_mean_high_ms", 1.)}}, "high 1"},
		{"a server that did not answer", Second{Servers: map[string]Figures{"a": nil}}, ""},
		{"a time of what is not counted", Second{Cell: "naive-1-r1", Client: figures("seconds", 1., "per_s", 0., "p50_ms", 2.)}, "p50_ms is given without any per_s"},
		{"a second as it should be", Second{Client: figures("seconds", 1., "per_s", 4., "p50_ms", 2.)}, ""},
	} {
		got, err := Validate(sound(t, nil, c.line))
		if all := strings.Join(got, "\n"); err != nil || (c.want == "") != (len(got) == 0) || !strings.Contains(all, c.want) {
			t.Errorf("%s: Validate = %v, %q, want %q", c.name, err, all, c.want)
		}
	}
}

// A queue times what it does not count: an item's transit may be in the interval after its take, but it is not zero.
func TestTimesOfWhatIsNotCounted(t *testing.T) {
	for p50, want := range map[float64]int{2: 0, 0: 1} {
		v := validation{r: &Run{Cells: []Cell{{Name: "q", Measured: []Measure{{Op: "take", Role: RoleOperation}, {Op: "put-to-take", Role: RolePart, Timed: true}}}}}}
		f := Figures{}
		f.Set("per_s", 0)
		f.Set("p50_ms", p50)
		if v.timeline([]Second{{Cell: "q", Client: f}}); len(v.found) != want {
			t.Errorf("a median of %v ms in a second without a take: %q", p50, v.found)
		}
	}
}

// The intervals of the steady phase contain what was done in it, except for what ends at a mark, and leave no gaps.
func TestContradictionsOfIntervals(t *testing.T) {
	interval := func(to, length, n float64) Second {
		f := Figures{}
		f.Set("seconds", length)
		f.Set("per_s", n/length)
		return Second{Cell: "naive-1-r1", At: time.Unix(100, 0).Add(time.Duration(to * float64(time.Second))), Client: f}
	}
	for _, c := range []struct {
		name  string
		lines []Second
		want  string
	}{
		{"as it should be, with warm-up and drain", []Second{interval(1, 1, 90), interval(2, 1, 100), interval(3, 1, 100), interval(4, 1, 100), interval(5, 1, 100),
			interval(6, 1, 80)}, ""},
		{"one that ended at the mark", []Second{interval(1, 1, 90), interval(5, 4, 399), interval(6, 1, 80)}, ""},
		{"an interval that was cut a little late", []Second{interval(1, 1, 90), interval(5.02, 4.02, 405), interval(6, 0.98, 80)}, ""},
		{"fewer than were done", []Second{interval(1, 1, 90), interval(5, 4, 300), interval(6, 1, 80)}, "400 of [acquire] were done in the steady phase, but its intervals have 300 to 300"},
		{"more than were done", []Second{interval(1, 1, 90), interval(5, 4, 450)}, "have 450 to 450"},
		{"a second that is missing", []Second{interval(1, 1, 90), interval(4, 2, 250), interval(5, 1, 150)}, "an interval starts at 2.000 s, but the one before ends at 1.000 s"},
	} {
		got, err := Validate(sound(t, func(_ *Run, _, c *Cell) { c.Started = time.Unix(100, 0) }, c.lines...))
		if all := strings.Join(got, "\n"); err != nil || (c.want == "") != (len(got) == 0) || !strings.Contains(all, c.want) {
			t.Errorf("%s: Validate = %v, %q, want %q", c.name, err, all, c.want)
		}
	}
	late := []Second{interval(1, 1, 90), interval(5, 4, 450), interval(6, 1, 80)}
	got, err := Validate(sound(t, func(_ *Run, _, c *Cell) {
		c.Started, c.Parameters = time.Unix(100, 0), map[string]any{"outstanding": 50}
	}, late...))
	if err != nil || len(got) > 0 {
		t.Errorf("of 50 operations that each session has under way some end at a mark: Validate = %v, %q", err, got)
	}
}

// A directory without all of its files is not a result.
func TestValidateNeedsAllFiles(t *testing.T) {
	if got, err := Validate(t.TempDir()); err == nil {
		t.Errorf("Validate of an empty directory = %v and no error", got)
	}
}

// Errors in details.jsonl are found.
func TestContradictionsOfDetailsAreFound(t *testing.T) {
	right := func() Details { // for 400 acquisitions of 5 ms, with a lag of 1 ms
		return Details{Cell: "naive-1-r1", Opening: &Opening{Count: 1},
			Cohorts: []Cohort{{Op: "acquire", Percentile: 50, LowMs: 4.99, HighMs: 5.01, Count: 400, ResponseMs: 5, PartsMs: map[string]float64{"lag": 1, "wait": 4}}},
			Places:  []Place{{Count: 400, P99: new(float64)}}, Overtaken: []Overtaken{{Grants: 300}, {1, 1, 100}}, Shares: []Portion{{1, 100}, {2, 400}},
			Strips:     []Strip{{FromMs: 1, ToMs: 9, Holds: []Tenure{{FromMs: 2, ToMs: 3}}}},
			Leaderless: []Vacancy{{UntilMs: 2000, FreeMs: 300, Gaps: 1, LongestMs: 400}, {UntilMs: 5000, FreeMs: 100}},
			Arrivals:   []Curve{{Op: "acquire", Rounds: 4, Ranks: []Rank{{1, 5, 6, 1, 2}, {2, 0, 0, 3, 3}}}}}
	}
	for _, c := range []struct {
		name   string
		doctor func(*Details)
		want   string
	}{
		{"untouched", func(*Details) {}, ""},
		{"a cell of another run", func(d *Details) { d.Cell = "naive-2" }, "naive-2 is not a cell"},
		{"sessions", func(d *Details) { d.Opening.Count++ }, "2 sessions were opened, but there are 1"},
		{"operations of a cohort", func(d *Details) { d.Cohorts[0].Count-- }, "the cohort of p50 of acquire has 399, but intervals.hlog has 400"},
		{"parts longer than the whole", func(d *Details) { d.Cohorts[0].PartsMs["wait"] = 4.5 }, "the parts of the cohort of p50 of acquire sum to 5.5 ms"},
		{"a grant without a place", func(d *Details) { d.Places[0].Count-- }, "399 grants have a place, but there are 400"},
		{"more overtakes", func(d *Details) { d.Overtaken[1].From, d.Overtaken[1].To = 2, 3 }, "at most 1 overtakes, but 2 to 3"},
		{"grants of nobody", func(d *Details) { d.Shares[1].Grants++ }, "the sessions had 401 grants, but 400"},
		{"another fairness", func(d *Details) { d.Shares[0].Grants = 200 }, "the sessions' fairness is 1, but fairness_jain is 0.8"},
		{"a hold outside of its strip", func(d *Details) { d.Strips[0].Holds[0].ToMs = 10 }, "a strip from 1 ms to 9 ms has an interval from 2 ms to 10 ms"},
		{"more time without a leader", func(d *Details) { d.Leaderless[1].FreeMs = 200 }, "nobody led for 500 ms of 4000 ms, but ownerless_share of 1 elections is 0.1"},
		{"longer than its step", func(d *Details) { d.Leaderless[0].FreeMs = 1100 }, "invalid step 0 without a leader"},
		{"not the longest", func(d *Details) { d.Strips = []Strip{{Why: StripGap, UntilMs: 500}} }, "nobody led for at most 400 ms, but the longest gap is 500 ms"},
		{"the second comes before the first", func(d *Details) { d.Arrivals[0].Ranks[1].BeforeP50 = 7 }, "invalid rank 1 of acquire"},
		{"rounds of nobody", func(d *Details) { d.Arrivals[0].Rounds = 500 }, "500 rounds of acquire are summarized, but 400 succeeded"},
		{"a depth below 0", func(d *Details) { d.Depths = []Depth{{Items: -1}} }, "invalid depth 0"},
	} {
		dir := sound(t, func(_ *Run, _, closed *Cell) {
			closed.Cost["overtakes_max"], closed.Cost["fairness_jain"], closed.Cost["ownerless_share"], closed.Objects = 1, 0.8, 0.1, 1
		})
		d := right()
		c.doctor(&d)
		again := &Dir{path: dir}
		if err := again.Details(d); err != nil {
			t.Fatal(err)
		}
		found, err := Validate(dir)
		if text := strings.Join(found, "; "); err != nil || (c.want == "") != (len(found) == 0) || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q (%v), want %q", c.name, found, err, c.want)
		}
	}
}

// Two sessions hold together if one of them does not share, or if there are more of them than permits.
func TestTogether(t *testing.T) {
	a, b, c := Tenure{1, 0, 10, false}, Tenure{2, 5, 20, false}, Tenure{3, 8, 12, true}
	for _, tc := range []struct {
		holds   []Tenure
		permits int
		want    int
	}{{[]Tenure{a, b}, 0, 1}, {[]Tenure{a, b}, 2, 0}, {[]Tenure{a, b, c}, 2, 1}, {[]Tenure{c, {4, 8, 12, true}}, 0, 0}, {[]Tenure{a, c}, 0, 1}, {[]Tenure{a, {2, 10, 11, false}}, 0, 0}} {
		if got := (Strip{Permits: tc.permits, Holds: tc.holds}).Together(); len(got) != tc.want {
			t.Errorf("%+v with %d permits: %+v together, want %d", tc.holds, tc.permits, got, tc.want)
		}
	}
}

// The runs that the documents cite have no contradictions.
func TestPublishedResultsAreConsistent(t *testing.T) {
	for _, dir := range []string{"published/quickstart", "published/storm-tls", "published/libraries", "published/libraries-read-write", "published/redis-and-zookeeper", "published/published-stores"} {
		if contradictions, err := Validate(dir); err != nil || len(contradictions) > 0 {
			t.Errorf("%s: %v, %q", dir, err, contradictions)
		}
	}
}
