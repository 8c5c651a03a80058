package report

import (
	"cmp"
	"slices"

	"github.com/zkbench/zkbench/results"
)

const sidesCaption = "Response by side, in ms: from the request to the grant; for a revocation, from the request until the grant is gone."

// sidesOf has one line per side of each row, to show if one side waits longer than the other. It has no lines if every row has only writers: the
// table above then shows everything.
func sidesOf(group []row) table {
	const response = "response, ms"
	several := false
	t := linesOf(group, slices.Concat([]column{named("side", "side", true)}, under("", partOfOp, "/s"), under(response, partOfOp, "p50|response p50, ms", "p99|p99, ms", "p99.9|p99.9, ms", "max|max, ms")),
		func(r row, add func(cells ...string)) {
			first := ""
			for _, m := range r.cells[0].Measured {
				key := m.Op + ".response"
				longest := r.maximum(key)
				if m.Side == "" || !longest.known {
					continue
				}
				several = several || m.Side != cmp.Or(first, m.Side)
				first = cmp.Or(first, m.Side)
				rate := r.figure(byTime, func(c results.Cell) (float64, bool) {
					return float64(doneOf(c, m.Op)) / c.ElapsedS, c.ElapsedS > 0
				})
				p50 := r.percentile(median, key)
				add(append([]string{m.Side, rate.rate(), p50.rate()}, tails(p50, r.percentile(p99, key), r.percentile(p999, key), longest)...)...)
			}
		})
	if !several {
		t.rows = nil
	}
	return t
}
