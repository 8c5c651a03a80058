package report

import (
	"github.com/zkbench/zkbench/results"
)

// sides are the operations of a workload that has several, and what they are called.
var sides = []struct{ op, name string }{
	{"acquire", "writers"},
	{"read-acquire", "readers"},
	{"revoke", "revocations"},
}

const sidesCaption = "Response by side, in ms: from the request to the grant; for a revocation, from the request until the grant is gone."

// sidesOf is a line for each side of each row, so that a side that waits longer than the other shows. It has no lines where no row
// has more than writers: then the table above says it all.
func sidesOf(group []row) table {
	var t table
	first := t.keyHeads(group)
	t.head("", "side", "side", true, partKeys)
	t.head("", "/s", "/s", false, partOfOp)
	const response = "response, ms"
	t.head(response, "p50", "response p50, ms", false, partOfOp)
	for _, q := range []string{"p99", "p99.9", "max"} {
		t.head(response, q, q+", ms", false, partOfOp)
	}
	several := false
	for _, r := range group {
		for i, side := range sides {
			key := side.op + ".response"
			longest := r.maximum(key)
			if !longest.known {
				continue
			}
			several = several || i > 0
			rate := r.figure(byTime, func(c results.Cell) (float64, bool) {
				return float64(doneOf(c, side.op)) / c.ElapsedS, c.ElapsedS > 0
			})
			p50 := r.percentile(median, key)
			above := tails(p50, r.percentile(p99, key), r.percentile(p999, key), longest)
			t.rows = append(t.rows, append(append(cellsOf(first, r), side.name, rate.rate(), p50.rate()), above...))
		}
	}
	if !several {
		t.rows = nil
	}
	return t
}

// cellsOf are the cells of a row in some columns.
func cellsOf(columns []column, r row) (cells []string) {
	for _, c := range columns {
		cells = append(cells, c.cell(r))
	}
	return cells
}
