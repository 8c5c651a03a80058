package outcome

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestNotes(t *testing.T) {
	for _, c := range []struct {
		name string
		got  string
		want string
	}{
		{"as in theory", departs(results.Fanout{EventsPerRelease: 9, TheoryPerRelease: 9, RatioToTheory: 1}, true), ""},
		{"events at the holder are in no theory", departs(results.Fanout{EventsPerRelease: 3, EventsStale: 1, TheoryPerRelease: 2, RatioToTheory: 1.5}, true), ""},
		{"too many", departs(results.Fanout{EventsPerRelease: 3, TheoryPerRelease: 2, RatioToTheory: 1.5}, true), "differs from theory: 3.00 events"},
		{"too few", departs(results.Fanout{EventsPerRelease: 4, TheoryPerRelease: 10, RatioToTheory: 0.4}, true), "differs from theory"},
		{"few, of sessions that think", departs(results.Fanout{EventsPerRelease: 4, TheoryPerRelease: 10, RatioToTheory: 0.4}, false), ""},
	} {
		if c.want == "" && c.got != "" || !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestSaturated(t *testing.T) {
	for _, c := range []struct {
		name                        string
		due, unserved, failed, done int64
		want                        bool
	}{
		{"as many done as came due", 1000, 0, 0, 1000, false},
		{"within the noise of a Poisson stream", 100, 0, 0, 80, false},
		{"a backlog grew", 1000, 0, 0, 800, true},
		{"failures are errors, not a backlog", 1000, 0, 200, 800, false},
		{"something was not begun", 1000, 1, 0, 1000, true},
		{"deadlines passed", 1000, 0, 0, 10, true},
	} {
		if got := saturated(c.due, c.unserved, c.failed, c.done); got != c.want {
			t.Errorf("%s: saturated(%d, %d, %d, %d) = %v, want %v", c.name, c.due, c.unserved, c.failed, c.done, got, c.want)
		}
	}
}
