package report

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
)

// sides are the operations of a workload that has several, and what they are called.
var sides = []struct{ op, name string }{
	{"acquire", "writers"},
	{"read-acquire", "readers"},
	{"revoke", "revocations"},
}

const sidesCaption = "Response by side, in ms: from asking to holding; of a revocation from asking for a grant to its being gone."

// sidesOf is a line for each side of each row, so that a side that waits longer than the other shows. It has no lines where no row
// has more than writers: then the table above says it all.
func sidesOf(group []row) table {
	t := table{
		above:    []string{"", "", "", "", "response", "in ms", "", ""},
		below:    []string{"variant", "sessions", "side", "/s", "p50", "p99", "p99.9", "max"},
		markdown: []string{"variant", "sessions", "side", "/s", "response p50, ms", "p99, ms", "p99.9, ms", "max, ms"},
		text:     []bool{true, false, true, false, false, false, false, false},
	}
	several := false
	for _, r := range group {
		for i, side := range sides {
			of := func(pick func(results.Latency) (float64, bool)) figure {
				return r.figure(func(c results.Cell) (float64, bool) {
					l, has := c.Latency[side.op+".response"]
					if !has {
						return 0, false
					}
					return pick(l)
				})
			}
			longest := of(func(l results.Latency) (float64, bool) { return l.Max, l.Count > 0 })
			if !longest.known {
				continue
			}
			several = several || i > 0
			rate := r.figure(func(c results.Cell) (float64, bool) {
				return float64(c.Latency[side.op+".response"].Count) / c.ElapsedS, c.ElapsedS > 0
			})
			t.rows = append(t.rows, []string{r.label(), fmt.Sprint(r.sessions), r.shareText() + side.name, rate.text(),
				of(func(l results.Latency) (float64, bool) { return l.P50, l.Count >= leastForMedian }).text(),
				of(func(l results.Latency) (float64, bool) { return known(l.P99) }).text(),
				of(func(l results.Latency) (float64, bool) { return known(l.P999) }).text(), longest.text()})
		}
	}
	if !several {
		t.rows = nil
	}
	return t
}

// shareText tells the loads of a read/write lock apart.
func (r row) shareText() string {
	if r.readers == "" {
		return ""
	}
	return "at " + r.readers + " % readers: "
}
