package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/golden"
	"github.com/zkbench/zkbench/results"
)

// overloaded is a run with loads that were not sustained, of a lock and a queue, and one with readers and writers that was.
func overloaded() results.Run {
	p := func(v float64) *float64 { return &v }
	all := []string{"mean", "p50", "p90", "p99", "p999", "max"}
	lock := results.Cell{Workload: "lock", Variant: "naive", Sessions: 20, Objects: 1, Repetition: 1, Loop: "open", RatePerS: 1000, OfferedPerS: 996,
		Offered: []string{"acquire"}, Due: 1992, Unserved: 1958, Saturated: true, ElapsedS: 2, Operations: 34, Throughput: 5,
		Steady: results.Steady{From: 1, To: 3}, Scope: results.Scope{Operations: results.ScopeDue, PerOperation: results.ScopeDone},
		Measured: ofLock, Measures: []string{"acquire"}, Counted: []string{"acquire"}, Done: map[string]int64{"acquire": 10, "release": 10},
		Latency: map[string]results.Latency{"acquire.response": {Count: 34, Unserved: 1958, Min: 1500, Mean: 5100, P50: 5000, P90: 5900, P99: p(6000),
			P999: p(6010), Max: 6020, AtLeast: all}},
		Fanout: &results.Fanout{EventsPerRelease: 19, ListsPerAcquire: 20, ChildrenBytesPerAcquire: 4096},
		Checks: []results.Check{{Name: "exclusion", Verdict: "holds", Evidence: 34}},
		Notes:  []string{"saturated: 996/s came due, 5/s were achieved, 1958 of 1992 not started or not finished (98.3 %)"}}
	queue := results.Cell{Workload: "queue", Variant: "fifo", Sessions: 4, Objects: 1, Repetition: 1, Loop: "open", RatePerS: 5000, OfferedPerS: 4990,
		Offered: []string{"put"}, Due: 9980, Unserved: 1700, Saturated: true, ElapsedS: 2, Operations: 9000, Throughput: 1060,
		Measured: ofQueue, Done: map[string]int64{"put": 1061, "take": 1059, "put-to-take": 1059},
		Latency: map[string]results.Latency{
			"put.response":         {Count: 8280, Unserved: 1700, P50: 4000, P90: 7000, P99: p(9000), P999: p(9100), Max: 9200, AtLeast: all[3:]},
			"put-to-take.response": {Count: 8270, Unserved: 10, P50: 4100, P90: 7100, P99: p(9050), P999: p(9150), Max: 9250, AtLeast: []string{"mean", "max"}},
			"take.response":        {Count: 1059, P50: 1.7, P90: 2, P99: p(3), Max: 4}},
		Checks: []results.Check{{Name: "conservation", Verdict: "holds", Evidence: 34}}}
	sides := results.Cell{Workload: "read-write", Variant: "read-write", Sessions: 8, Objects: 1, Repetition: 1, Loop: "closed", ElapsedS: 2, Operations: 200,
		Throughput: 100, Parameters: map[string]any{"readers": 80}, Meanings: []results.Meaning{{Key: "readers", Role: results.RoleShare, Unit: "reader"}},
		Measured: []results.Measure{{Op: "acquire", Role: results.RoleOperation, Unit: "grants", Timed: true, Side: "writers"}, {Op: "read-acquire", Role: results.RoleOperation, Unit: "grants", Timed: true, Side: "readers"}},
		Measures: []string{"acquire", "read-acquire"}, Counted: []string{"acquire", "read-acquire"},
		Done: map[string]int64{"acquire": 40, "read-acquire": 160, "release": 40, "read-release": 160},
		Latency: map[string]results.Latency{"acquire.response": {Count: 40, P50: 90, Max: 200}, "read-acquire.response": {Count: 160, P50: 20, Max: 100},
			"both.response": {Count: 200, P50: 30, Max: 200}},
		Fanout: &results.Fanout{EventsPerRelease: 1, ListsPerAcquire: 2, ChildrenBytesPerAcquire: 1024},
		Checks: []results.Check{{Name: "exclusion", Verdict: "holds", Evidence: 34}}}
	return results.Run{Schema: results.Schema, Profile: "saturated", Seed: 7, Cells: []results.Cell{lock, queue, sides},
		Environment: results.Environment{Cores: 2, Engine: "native", ZooKeeper: "3.8.0", Servers: 1},
		Exit:        results.Exit{Code: 5, Reason: "the offered load was not sustained"}}
}

// A row whose load was not sustained says so, next to figures that are true: what came due, what was achieved, how much was not served,
// and lower bounds if no more is known.
func TestALoadThatIsNotServedShows(t *testing.T) {
	text, markdown := render(t, Text(Run(overloaded()), Look{})), render(t, Markdown(Run(overloaded())))
	golden.Compare(t, "saturated.txt", text)
	golden.Compare(t, "saturated.md", markdown)
	for _, report := range []string{text, markdown} {
		fields := func(row string) (all []string) {
			for line := range strings.Lines(report) {
				words := strings.Fields(strings.ReplaceAll(line, "|", " "))
				if len(words) > 0 && words[0] == row {
					all = append(all, words...)
				}
			}
			return all
		}
		for row, want := range map[string][]string{
			"naive":      {"!", "20", "996", "5.0", ">=5000", ">=6000", "98.3", "19.0", "20.0"},
			"fifo":       {"!", "4", "4990", "530", "4000", ">=9000", "17.0", "4100", "9000", ">=9000"},
			"read-write": {"8", "100", "30", "200", "1.00", "2.00"},
		} {
			got := fields(row)
			for _, w := range want {
				if !slices.Contains(got, w) {
					t.Errorf("%s: no %s in %v\n%s", row, w, got, report)
				}
			}
		}
		for _, want := range []string{"! naive, 20 sessions, rate 1000/s: saturated: 996/s came due", "writers", "readers"} {
			if !strings.Contains(report, want) {
				t.Errorf("no %q in\n%s", want, report)
			}
		}
	}
	if !strings.Contains(markdown, "response of readers and writers p50, ms") || !strings.Contains(text, "response of readers and writers, ms") {
		t.Errorf("the heads do not say that the response is of both\n%s\n%s", text, markdown)
	}
}

// ofQueue and ofElection are the measures of queues and elections.
var (
	ofQueue = []results.Measure{{Op: "take", Role: results.RoleOperation, Unit: "takes", Idles: true}, {Op: "put", Role: results.RoleOperation, Unit: "puts"},
		{Op: "put-to-take", Role: results.RolePart, Unit: "items", Timed: true, Caption: "Put to take is from the put to the take."}, {Op: "choose", Role: results.RolePhase}}
	ofElection = []results.Measure{{Op: "campaign", Role: results.RoleOperation, Unit: "terms", Timed: true},
		{Op: "hand-off", Role: results.RolePart, Unit: "fail-overs", Owner: "leader", Caption: "A hand-off is from one leader to the next."},
		{Op: "detect", Role: results.RolePart}, {Op: "elect", Role: results.RolePart}, {Op: "wait", Role: results.RolePhase}}
)
