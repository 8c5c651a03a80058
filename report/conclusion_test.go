package report

import (
	"slices"
	"strings"
	"testing"
)

// about returns five values within a percent of v.
func about(v float64) []float64 {
	return []float64{0.99 * v, 0.995 * v, v, 1.005 * v, 1.01 * v}
}

// wild returns five values within a factor of two.
func wild(v float64) []float64 { return []float64{0.7 * v, 0.8 * v, v, 1.2 * v, 1.4 * v} }

// onTheSecond makes the row one of the second ensemble of its run.
func onTheSecond(r row) row {
	for i := range r.cells {
		r.cells[i].Environment = 1
	}
	return r
}

func TestConclusions(t *testing.T) {
	for _, c := range []struct {
		sentence string
		rows     []row
		want     string
	}{
		{"equal at 10, better from 100 on", []row{at("naive", 10, about(70), about(3)), at("predecessor", 10, about(70), about(3)),
			at("naive", 100, about(50), about(8)), at("predecessor", 100, about(75), about(3)),
			at("naive", 300, about(20), about(15)), at("predecessor", 300, about(64), about(3))},
			"predecessor is better than naive at 100 contenders and above (but not at 10: they cross in between): " +
				"3.2 times the grants per second (3.2 to 3.2) and 5.0 times shorter hand-off (4.9 to 5.1) at 300 " +
				"(5 runs of each, at most a 5 % chance of a wrong conclusion in 6 comparisons: U test, Holm)."},
		{"nothing follows below", []row{at("naive", 10, wild(70), nil), at("predecessor", 10, wild(71), nil),
			at("naive", 100, about(50), nil), at("predecessor", 100, about(75), nil)},
			"predecessor is better than naive at 100 contenders (possibly from fewer: inconclusive from 10 on): 1.5 times the grants per second (1.5 to 1.5) " +
				"(5 runs of each, at most a 5 % chance of a wrong conclusion in 2 comparisons: U test, Holm)."},
		{"the first variant is the better one", []row{at("a", 10, about(90), nil), at("b", 10, about(45), nil)},
			"a is better than b at 10 contenders: 2.0 times the grants per second (2.0 to 2.0) (5 runs of each, at most a 5 % chance of a wrong conclusion in 1 comparison: U test, Holm)."},
		{"the better one turns at the end", []row{at("a", 10, about(90), nil), at("b", 10, about(45), nil), at("a", 20, about(45), nil), at("b", 20, about(90), nil)},
			"b is better than a at 20 contenders (but not at 10: they cross in between): 2.0 times the grants per second (2.0 to 2.0) " +
				"(5 runs of each, at most a 5 % chance of a wrong conclusion in 2 comparisons: U test, Holm)."},
		{"noise", []row{at("a", 10, wild(70), nil), at("b", 10, wild(72), nil)}, "no conclusion about a and b at 10 contenders: "},
		{"more and later", []row{at("a", 10, about(90), about(6)), at("b", 10, about(45), about(3))},
			"neither a nor b is better at 10 contenders: 2.0 times the grants per second (2.0 to 2.0) and 2.0 times longer hand-off (2.0 to 2.0) (5 runs"},
		{"three runs are too few", []row{at("a", 10, about(90)[:3], nil), at("b", 10, about(45)[:3], nil)},
			"a had 2.0 times the grants per second of b at 10 contenders (seen in this run; no conclusion from 3 runs of each: fewer than 4 cannot tell a difference from chance"},
		{"more comparisons need more runs", []row{at("a", 10, about(90)[:4], about(3)[:4]), at("b", 10, about(45)[:4], about(6)[:4])},
			"(seen in this run; no conclusion from 4 runs of each: fewer than 5 cannot tell a difference from chance"},
		{"one ensemble after the other", []row{at("a", 10, about(90), nil), onTheSecond(at("b", 10, about(45), nil))},
			"a and b are not comparable at 10 contenders: their ensembles ran one after the other, not in random order; ab compares ensembles in pairs."},
		{"errors first", []row{failing(at("naive", 10, about(50), nil), 10_000_000), at("predecessor", 10, about(100), nil)},
			"naive and predecessor are not comparable at 10 contenders: 98 % of the operations of naive failed and 0 % of those of predecessor."},
		{"who violates is compared with nobody", []row{violated(at("broken", 10, about(900), nil)), at("a", 10, about(90), nil), at("b", 10, about(45), nil)},
			"a is better than b at 10 contenders: 2.0 times the grants per second (2.0 to 2.0) (5 runs of each, at most a 5 % chance of a wrong conclusion in 1 comparison: " +
				"U test, Holm); broken is not comparable: it violated mutual-exclusion at 10 contenders."},
	} {
		if got := strings.Join(sentences(c.rows), ""); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.sentence, got, c.want)
		}
		slices.Reverse(c.rows) // the order of the cells does not matter
		if got := strings.Join(sentences(c.rows), ""); strings.HasSuffix(c.want, "Holm).") && !strings.Contains(got, c.want) {
			t.Errorf("%s, reversed: %q, want %q", c.sentence, got, c.want)
		}
	}
}
