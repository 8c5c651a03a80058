package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/zkbench/zkbench/internal/phrase"
)

const (
	rowsHigh = 34.0 // height of a row with its label
	mostRows = 24
)

// byRow draws the plot as rows if all curves have the same single load, because their points would lie on one line and could not be distinguished.
// sets are the points of the curves, such as those of p50 and p99; references are values to mark with lines. It reports whether it drew rows.
func (p *plot) byRow(all []curve, load string, xs []float64, references []float64, sets ...[][]point) bool {
	if len(all) < 2 || slices.Min(xs) != slices.Max(xs) {
		return false
	}
	hollow := slices.ContainsFunc(slices.Concat(slices.Concat(sets...)...), func(q point) bool { return q.hollow && !math.IsNaN(q.y) })
	p.legend = slices.DeleteFunc(p.legend, func(k key) bool { return k.kind != dashKey && (k.kind != hollowKey || !hollow) })
	p.note += fmt.Sprintf(" All at %s %s.", short(xs[0]), load)
	n := min(len(all), mostRows)
	p.x, p.y, p.height = p.y, axis{lo: 0, hi: float64(n)}, rowsHigh*float64(n)
	p.draw = func(c *canvas, p *plot) {
		for _, at := range references {
			p.reference(c, [][2]float64{{at, 0}, {at, p.y.hi}})
		}
		for i, v := range all[:n] {
			y, text := p.y.to+rowsHigh*float64(i)+24, ""
			c.words(2, y-10, "start", "key", v.label)
			c.open("g", "class", "grid", "stroke", "#dddddd", "stroke-width", "1")
			c.line(p.x.from, y, p.x.to, y)
			c.end("g")
			c.ink(i)
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, set := range sets {
				for _, q := range set[i] {
					lo, hi = min(lo, q.y), max(hi, q.y)
				}
			}
			if lo < hi {
				c.line(p.x.at(lo), y, p.x.at(hi), y, "stroke-width", "1.2")
			}
			for _, set := range sets {
				for _, q := range set[i] {
					x := p.x.at(q.y)
					if math.IsNaN(x) || math.IsNaN(q.y) {
						continue
					}
					if low, high := p.x.at(q.low), p.x.at(q.high); q.high > q.low && !math.IsNaN(low) {
						c.line(low, y, high, y, "stroke-width", "1.2")
						c.line(low, y-3, low, y+3, "stroke-width", "1.2")
						c.line(high, y-3, high, y+3, "stroke-width", "1.2")
					}
					c.marker(i, x, y, q.hollow)
					if text != "" {
						text += " / "
					}
					text += phrase.Number(q.y, 3)
				}
			}
			c.end("g")
			c.words(p.x.to, y-10, "end", "tick", text)
		}
	}
	return true
}
