package page

import (
	"math"
	"slices"

	"github.com/zkbench/zkbench/internal/phrase"
)

// series is a plot of curves against a load, under construction.
type series struct {
	plot
	curves []curve
	sets   [][][]point // for each value drawn, such as p50 and p99, its points by curve; the first set is drawn last, on top
	theory [][]point   // dashed lines by curve; nil if there are none
	xs, ys []float64
	n      []int64 // number of operations, samples or cells behind the points
}

func newSeries(p plot, curves []curve, sets int) *series {
	s := &series{plot: p, curves: curves}
	for range sets {
		s.sets = append(s.sets, make([][]point, len(curves)))
	}
	return s
}

// add adds a point to a curve of a set. A point whose y is unknown only keeps its place.
func (s *series) add(set, curve int, q point) {
	s.sets[set][curve] = append(s.sets[set][curve], q)
	s.xs = append(s.xs, q.x)
	if s.see(q.y); q.high > q.low {
		s.see(q.low, q.high)
	}
}

// see extends the y axis to include values.
func (s *series) see(values ...float64) {
	s.ys = append(s.ys, slices.DeleteFunc(values, math.IsNaN)...)
}

// row adds a row to the table of the plot.
func (p *plot) row(cells ...string) { p.rows = append(p.rows, cells) }

// finish returns the plot, with dashed lines at marks; nil if it has no points. If load is given and all curves have the same single load, it draws rows.
func (s *series) finish(load string, x, y axis, marks ...float64) *plot {
	p := &s.plot
	if len(s.xs) == 0 {
		return nil
	}
	p.legend = append(legendOf(s.curves), p.legend...)
	p.x, p.y = x, y
	p.draw = func(c *canvas, p *plot) {
		for _, at := range marks {
			p.reference(c, [][2]float64{{p.x.lo, at}, {p.x.hi, at}})
		}
		for i := range s.curves[:min(len(s.curves), mostCurves)] {
			if s.theory != nil {
				var expected [][2]float64
				for _, q := range s.theory[i] {
					expected = append(expected, [2]float64{q.x, q.y})
				}
				p.reference(c, expected)
			}
			for _, set := range slices.Backward(s.sets) {
				p.line(c, i, set[i])
			}
		}
	}
	sets := s.sets
	if s.theory != nil {
		sets = append(sets, s.theory)
	}
	rows := load != "" && p.byRow(s.curves, load, s.xs, marks, sets...)
	if len(slices.Concat(s.theory...)) > 0 {
		theory := key{0, "theory", dashKey}
		if rows {
			theory = key{0, "hollow: theory", hollowKey}
		}
		p.legend = append(p.legend, theory)
	}
	return p
}

// path draws line i through the points whose y is known.
func (p *plot) path(c *canvas, i int, points [][2]float64, attrs ...any) {
	c.ink(i)
	c.polyline(p.coordinates(points), attrs...)
	c.end("g")
}

func (p *plot) coordinates(points [][2]float64) (path [][2]float64) {
	for _, q := range points {
		if !math.IsNaN(q[1]) {
			path = append(path, [2]float64{p.x.at(q[0]), p.y.at(q[1])})
		}
	}
	return path
}

// lane labels row i of a plot of rows and writes value at its end. It returns the y at which the row is drawn.
func (p *plot) lane(c *canvas, i int, label, value string) (y float64) {
	y = p.y.to + rowsHigh*float64(i) + 24
	c.words(2, y-10, "start", "key", label)
	c.words(p.x.to, y-10, "end", "tick", value)
	return y
}

// orDash formats a number that may be unknown.
func orDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return phrase.Number(*v, 3)
}
