package command

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// Mistakes in a search are reported before any load.
func TestCapacityRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"needs a --goal":                   {"locks-open"},
		"must be a duration":               {"locks-open", "--goal", "p99<50"},
		"expected p50, p90, p99 or p99.9":  {"locks-open", "--goal", "throughput > 5/s"},
		"expected rate, sessions, watches": {"locks-open", "--goal", "p99<50ms", "--over", "bytes"},
		"not available for workload lock":  {"locks-open", "--goal", "p99<50ms", "--over", "payload"},
		"the profile has no rate":          {"operations", "--goal", "p99<50ms", "--over", "payload"},
		"expected a share of the capacity": {"locks-open", "--goal", "p99<50ms", "--soak", "10m"},
		"to: must be above from":           {"locks-open", "--goal", "p99<50ms", "--from", "500", "--to", "400"},
		"--min -5: must not be negative":   {"locks-open", "--goal", "p99<50ms", "--min", "-5"},
	} {
		zkbench(t, append(append([]string{"capacity"}, args...), "--servers", "127.0.0.1:1")...).want(exitUsage, want)
	}
}

// The interval, not the figure, is compared with --min.
func TestCapacityExit(t *testing.T) {
	found := capacity.Result{Outcome: capacity.Found, Load: 100, Interval: capacity.Interval{Low: 90, High: 110}, Binding: -1}
	wide := capacity.Result{Outcome: capacity.Between, Interval: capacity.Interval{Low: 90, High: 180}, Binding: -1}
	for _, c := range []struct {
		least float64
		r     capacity.Result
		want  int
	}{
		{0, found, exitOK}, {80, found, exitOK}, {95, found, exitUnknown}, {105, found, exitUnknown}, {120, found, exitRegression},
		{0, wide, exitOK}, {80, wide, exitOK}, {100, wide, exitUnknown}, {200, wide, exitRegression},
		{0, capacity.Result{Outcome: capacity.AtLeast, Load: 50}, exitOK}, {0, capacity.Result{Outcome: capacity.None}, exitUnknown},
		{80, soaked(found, capacity.Pass), exitOK}, {80, soaked(found, capacity.Fail), exitUnknown}, {120, soaked(found, capacity.Fail), exitRegression},
		{0, soaked(wide, capacity.Fail), exitUnknown}, {80, soaked(wide, capacity.Pass), exitOK},
		{10, failing(10), exitRegression}, {10, failing(5), exitRegression}, {10, failing(500), exitUnknown}, // nothing is known below 500
		{50, bound(capacity.AtLeast), exitOK}, {60, bound(capacity.AtLeast), exitUnknown}, {50, bound(capacity.Limited), exitOK}, {60, bound(capacity.Limited), exitUnknown},
		{10, capacity.Result{Outcome: capacity.Unstable}, exitUnknown}, {0, capacity.Result{Outcome: capacity.Unstable}, exitUnknown},
		{0, capacity.Result{Outcome: capacity.OutOfBudget}, exitUnknown}, {0, capacity.Result{Outcome: capacity.Limited, Load: 50}, exitUnknown},
	} {
		doc := &results.Capacity{Goals: []string{"p99<50ms"}, Least: c.least}
		if conclude(doc, c.r, nil, nil, nil); doc.Exit.Code != c.want {
			t.Errorf("%s %v, --min %v: exit code %d, want %d", c.r.Outcome, c.r.Load, c.least, doc.Exit.Code, c.want)
		}
	}
}

// failing returns a result whose lowest load fails, bound a result whose highest load passes.
func failing(lowest float64) capacity.Result {
	return capacity.Result{Outcome: capacity.None, High: capacity.End{Load: lowest}, Binding: -1}
}

func bound(o capacity.Outcome) capacity.Result {
	return capacity.Result{Outcome: o, Load: 50, Interval: capacity.Interval{Low: 50, High: math.Inf(1)}, Binding: -1}
}

// The CPUs of the leader at the load that failed are in the document.
func TestTheCPUsOfTheLeaderAreKept(t *testing.T) {
	step := func(load float64, d capacity.Decision) capacity.Step {
		return capacity.Step{Probe: capacity.Probe{Load: load}, Judgement: capacity.Judgement{Decision: d}}
	}
	cells := []results.Cell{{Server: results.Figures{}}, {Server: results.Figures{}}}
	cells[0].Server.Set("leader_cpus", 0.2)
	cells[1].Server.Set("leader_cpus", 0.4)
	doc := &results.Capacity{Goals: []string{"p99<50ms"}}
	r := capacity.Result{Outcome: capacity.Found, Load: 90, High: capacity.End{Load: 100}, Binding: -1, Steps: []capacity.Step{step(50, capacity.Pass), step(100, capacity.Fail)}}
	if conclude(doc, r, []string{"a", "b"}, cells, nil); doc.LeaderCPUs == nil || *doc.LeaderCPUs != 0.4 {
		t.Errorf("%v, want 0.4", doc.LeaderCPUs)
	}
}

// soaked returns a result with a soak that ended with a decision.
func soaked(r capacity.Result, d capacity.Decision) capacity.Result {
	r.Soak = &capacity.Soaked{Load: 75, Decision: d}
	return r
}

// Each of several ensembles has a separate search with the same plan. The exit is that of the worst one.
func TestCapacityOnSeveralEnsembles(t *testing.T) {
	t.Parallel()
	a := &app{setup: setup()}
	r := capacityFlags{goals: []string{"p99<50ms"}, over: overRate, width: "4%", runFlags: runFlags{sets: []string{"ensemble=[local:1,local:3]", "secure=[none,tls]"}}}
	searches, err := a.planSearches(t.Context(), "locks-open", &r, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name    string
		servers int
		secure  string
	}{{"local-1-none", 1, ""}, {"local-1-tls", 1, "tls"}, {"local-3-none", 3, ""}, {"local-3-tls", 3, "tls"}} {
		if got := searches[i]; got.name != want.name || got.target.Local != want.servers || got.target.Secure != want.secure || len(got.profile.Environments()) != 1 || len(got.plan.Goals) != 1 {
			t.Errorf("%d: %s on %+v with %d goals, want %+v", i, got.name, got.target, len(got.plan.Goals), want)
		}
	}
	for _, c := range []struct{ a, b, want int }{{exitOK, exitOK, exitOK}, {exitOK, exitUnknown, exitUnknown}, {exitRegression, exitUnknown, exitRegression},
		{exitRegression, exitViolated, exitViolated}, {exitInterrupted, exitViolated, exitInterrupted}} {
		for _, e := range [][2]int{{c.a, c.b}, {c.b, c.a}} {
			if got := worseExit(results.Exit{Code: e[0]}, results.Exit{Code: e[1]}); got.Code != c.want {
				t.Errorf("%v: %d, want %d", e, got.Code, c.want)
			}
		}
	}
}

// Goals say which responses, errors and sessions count against a load.
func TestGoals(t *testing.T) {
	cell := results.Cell{Workload: "lock", Variant: "predecessor", Loop: "open"}
	for text, want := range map[string]struct {
		share float64
		limit load.Limit
	}{
		"p99<50ms":      {0.01, load.Limit{Response: 50 * time.Millisecond}},
		"p90<50ms":      {0.1, load.Limit{Response: 50 * time.Millisecond}},
		"p50<1s":        {0.5, load.Limit{Response: time.Second}},
		"p99.9 < 1s":    {0.001, load.Limit{Response: time.Second}},
		"expired == 0":  {0, load.Limit{Expired: true}},
		"errors < 0.1%": {0.001, load.Limit{}},
		"p99<1m":        {0.01, load.Limit{Response: time.Minute}},
	} {
		goal, limit, err := goalOf(text, cell)
		if err != nil || math.Abs(goal.Share-want.share) > 1e-9 || limit != want.limit {
			t.Errorf("%s: %+v, %+v, %v, want %+v", text, goal, limit, err, want)
		}
	}
}

// With several limits in a goal, the search is for the longest, and the others make a curve.
func TestAGoalWithSeveralLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"p99<50ms": {"p99<50ms"}, "p99<10ms,50ms,25ms": {"p99<50ms", "p99<10ms", "p99<25ms"}, "p50 < 1m, 1s": {"p50 <1m", "p50 <1s"}, "expired==0": {"expired==0"}} {
		if goal, curve, err := curveOf(text); err != nil || !slices.Equal(append([]string{goal}, curve...), want) {
			t.Errorf("%s: %s, %q, %v, want %q", text, goal, curve, err, want)
		}
	}
	a := &app{setup: setup()}
	r := capacityFlags{goals: []string{"errors<1%", "p99<10ms,50ms"}, over: overRate, width: "4%", runFlags: runFlags{servers: "127.0.0.1:1"}}
	searches, err := a.planSearches(t.Context(), "locks-open", &r, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := searches[0]; len(got.plan.Goals) != 2 || len(got.plan.Curve) != 1 || len(got.limits) != 3 || got.limits[1].Response != 50*time.Millisecond || got.limits[2].Response != 10*time.Millisecond {
		t.Errorf("%+v with limits %+v", got.plan, got.limits)
	}
	zkbench(t, "capacity", "locks-open", "--goal", "p99<10ms,x", "--servers", "127.0.0.1:1").want(exitUsage, "must be a duration")
	for _, text := range []string{"p99>50ms", "p98<50ms", "p99(put)<50ms", "errors<", "errors(naive)<1%"} {
		zkbench(t, "capacity", "locks-open", "--goal", text, "--servers", "127.0.0.1:1").want(exitUsage, fmt.Sprintf("--goal %q: expected p50", text))
	}
}

// Each axis sets its field of the profile, at the rate of the profile, which may be per session.
func TestCapacityAxes(t *testing.T) {
	a := &app{setup: setup()}
	for _, c := range []struct {
		over, profile string
		sets          []string
		load          float64
		key, value    string // of the profile at that load, as --set takes them
		rate          float64
	}{
		{overRate, "operations", nil, 1234.5678, "rate", "1234.568/s", 1234.568},
		{overSessions, "sessions-idle", nil, 4000.4, "sessions", "4000", 200},
		{overSessions, "operations", []string{"rate_per_session=0.5/s"}, 300, "sessions", "300", 150},
		{overWatches, "watch-fanout", []string{"rate=10/s"}, 500, "sessions", "501", 10},
		{overPayload, "queues", []string{"rate=10/s"}, 5000.2, "payload", "5000", 10},
		{overPayload, "operations", []string{"rate=10/s"}, 5000.2, "size", "5000", 10},
		{overPrefill, "locks-open", nil, 20000, "prefill", "20000", 200},
		{overContenders, "locks-open", nil, 7, "sessions", "140", 200},
	} {
		p, err := a.profile(c.profile, c.sets)
		if err != nil {
			t.Fatal(err)
		}
		x, err := axisOf(c.over)
		if err == nil {
			p, err = x.open(p.One())
		}
		if err == nil {
			p, err = x.at(p, c.load)
		}
		if err != nil {
			t.Errorf("--over %s of %s: %v", c.over, c.profile, err)
			continue
		}
		text, err := profiles.Marshal(p)
		if points := p.Points(); err != nil || len(points) != 1 || points[0].Rate[0] != c.rate || !strings.Contains(string(text), "\n"+c.key+": "+c.value+"\n") {
			t.Errorf("--over %s of %s at %v: %d cells, %s, want %s: %s and %v/s", c.over, c.profile, c.load, len(points), text, c.key, c.value, c.rate)
		}
		if fixed, each, err := x.rate(p); err != nil || math.Abs((fixed+each*c.load)/c.rate-1) > 0.001 {
			t.Errorf("--over %s of %s: rate %v + %v per load, %v; want %v at %v", c.over, c.profile, fixed, each, err, c.rate, c.load)
		}
	}
}
