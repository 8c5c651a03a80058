package finished

import (
	"testing"

	"github.com/zkbench/zkbench/results"
)

// Two searches differ when the interval of their ratio is beyond the least effect; a bound tells in one direction alone.
func TestCapacities(t *testing.T) {
	found := func(load, low, high float64) *results.Capacity {
		return &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "found", Load: &load, Low: &low, High: &high}
	}
	least := func(load float64) *results.Capacity {
		return &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "at least", Load: &load, Low: &load}
	}
	none := &results.Capacity{Workload: "lock", Over: "rate", Goals: []string{"p99<50ms"}, Outcome: "none"}
	for _, c := range []struct {
		b, c    *results.Capacity
		verdict string
		exit    int
	}{
		{found(1000, 990, 1010), found(1000, 990, 1010), "EQUIVALENT", 0},
		{found(1000, 950, 1050), found(1010, 960, 1060), "INCONCLUSIVE", 5},
		{found(1000, 950, 1050), found(800, 780, 820), "REGRESSION", 3},
		{found(1000, 950, 1050), found(1300, 1250, 1350), "IMPROVEMENT", 0},
		{found(1000, 990, 1010), found(950, 900, 1010), "INCONCLUSIVE", 5},
		{found(1000, 950, 1050), least(1200), "IMPROVEMENT", 0},
		{found(1000, 950, 1050), least(900), "INCONCLUSIVE", 5},
		{least(1000), found(800, 780, 820), "REGRESSION", 3},
		{least(1000), found(1300, 1250, 1350), "INCONCLUSIVE", 5},
		{found(1000, 950, 1050), none, "INCONCLUSIVE", 5},
	} {
		doc, err := Capacities(results.Document{Dir: "a", Capacity: c.b}, results.Document{Dir: "b", Capacity: c.c}, Options{MinEffect: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		m := doc.Cells[0].Metrics[0]
		if m.Verdict != c.verdict || doc.Exit.Code != c.exit || (m.Reason == "") == (c.verdict == "INCONCLUSIVE") {
			t.Errorf("%+v and %+v: %s, exit code %d (%s), want %s and %d", c.b, c.c, m.Verdict, doc.Exit.Code, m.Reason, c.verdict, c.exit)
		}
	}
	other := found(1000, 990, 1010)
	other.Goals = []string{"p99<10ms"}
	if _, err := Capacities(results.Document{Dir: "a", Capacity: none}, results.Document{Dir: "b", Capacity: other}, Options{}); err == nil {
		t.Error("searches with different goals were compared")
	}
	unsafe := found(1000, 990, 1010)
	unsafe.Exit.Code = 4
	if doc, err := Capacities(results.Document{Dir: "a", Capacity: found(1000, 990, 1010)}, results.Document{Dir: "b", Capacity: unsafe}, Options{}); err != nil || doc.Exit.Code != 4 {
		t.Errorf("a search that violated a check: %+v, %v", doc, err)
	}
}
