package compare

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// Two searches differ if the interval of their ratio is beyond the least effect; a bound only decides in one direction, an interval
// without a figure with both its ends.
func TestCapacities(t *testing.T) {
	found := func(load, low, high float64) *results.Capacity {
		return &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "found", Load: &load, Low: &low, High: &high}
	}
	least := func(load float64) *results.Capacity {
		return &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "at least", Load: &load, Low: &load}
	}
	between := func(low, high float64) *results.Capacity {
		return &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "between", Low: &low, High: &high}
	}
	none := func(failed float64) *results.Capacity {
		return &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "none", Failed: &failed}
	}
	lost := &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "lost"}
	for _, c := range []struct {
		b, c    *results.Capacity
		verdict string
		exit    int
		reason  string
	}{
		{found(1000, 990, 1010), found(1000, 990, 1010), "EQUIVALENT", 0, ""},
		{found(1000, 950, 1050), found(1010, 960, 1060), "INCONCLUSIVE", 5, "(baseline: 1000, 950 to 1050, candidate: 1010, 960 to 1060); a longer --budget, a smaller --width or more --confirm would"},
		{found(1000, 950, 1050), found(800, 780, 820), "REGRESSION", 3, ""},
		{found(1000, 950, 1050), found(1300, 1250, 1350), "IMPROVEMENT", 0, ""},
		{found(1000, 990, 1010), found(950, 900, 1010), "INCONCLUSIVE", 5, "together allow no verdict"},
		{found(1000, 950, 1050), least(1200), "IMPROVEMENT", 0, ""},
		{found(1000, 950, 1050), least(900), "INCONCLUSIVE", 5, "candidate: at least 900); a higher --to, or a longer --budget"},
		{least(1000), least(1000), "INCONCLUSIVE", 5, "; a higher --to would"},
		{least(1000), found(800, 780, 820), "REGRESSION", 3, ""},
		{least(1000), found(1300, 1250, 1350), "INCONCLUSIVE", 5, "baseline: at least 1000"},
		{found(1000, 950, 1050), between(400, 900), "REGRESSION", 3, ""},
		{found(1000, 950, 1050), between(1110, 5000), "IMPROVEMENT", 0, ""},
		{found(1000, 950, 1050), between(1090, 5000), "INCONCLUSIVE", 5, "candidate: between 1090 and 5000); a longer --budget, a smaller"}, // 1090 of at most 1050 are less than 5 % more
		{between(400, 900), found(1000, 950, 1050), "IMPROVEMENT", 0, ""},
		{between(6775, 8173), between(400, 9051), "INCONCLUSIVE", 5, "(baseline: between 6775 and 8173, candidate: between 400 and 9051); a longer --budget would tell more"},
		{between(1000, 2000), between(400, 900), "REGRESSION", 3, ""},
		{between(1000, 1010), between(1000, 1020), "EQUIVALENT", 0, ""},
		{between(1000, 2000), least(2200), "IMPROVEMENT", 0, ""},
		{found(1000, 950, 1050), none(100), "REGRESSION", 3, ""},
		{none(100), found(1000, 950, 1050), "IMPROVEMENT", 0, ""},
		{none(100), none(100), "INCONCLUSIVE", 5, "(baseline: below 100, candidate: below 100); a lower --from would"},
		{none(100), least(100), "INCONCLUSIVE", 5, "a higher --to, or a lower --from"},
		{found(1000, 950, 1050), lost, "INCONCLUSIVE", 5, "without an answer cannot be compared (baseline: 1000, 950 to 1050, candidate: lost)"},
	} {
		doc, err := Capacities(results.Document{Dir: "a", Capacity: c.b}, results.Document{Dir: "b", Capacity: c.c}, Options{MinEffect: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		m := doc.Cells[0].Metrics[0]
		if m.Verdict != c.verdict || doc.Exit.Code != c.exit || (m.Reason == "") == (c.verdict == "INCONCLUSIVE") || !strings.Contains(m.Reason, c.reason) {
			t.Errorf("%+v and %+v: %s, exit code %d (%s), want %s and %d", boundsOf(c.b), boundsOf(c.c), m.Verdict, doc.Exit.Code, m.Reason, c.verdict, c.exit)
		}
		if figures := c.b.Outcome == "found" && c.c.Outcome == "found"; (m.Effect != nil) != figures {
			t.Errorf("%v and %v: effect %v", boundsOf(c.b), boundsOf(c.c), m.Effect)
		}
	}
	other := found(1000, 990, 1010)
	other.Goals = []string{"p99<10ms"}
	if _, err := Capacities(results.Document{Dir: "a", Capacity: none(100)}, results.Document{Dir: "b", Capacity: other}, Options{}); err == nil {
		t.Error("searches with different goals were compared")
	}
	unsafe := found(1000, 990, 1010)
	unsafe.Exit.Code = 4
	if doc, err := Capacities(results.Document{Dir: "a", Capacity: found(1000, 990, 1010)}, results.Document{Dir: "b", Capacity: unsafe}, Options{}); err != nil || doc.Exit.Code != 4 {
		t.Errorf("a search that violated a check: %+v, %v", doc, err)
	}
}
