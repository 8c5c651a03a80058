package page

import (
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// crowded are the cells of a workload with the most sessions, one of each curve, and what is known of each.
func (s Source) crowded(cells []results.Cell, has func(results.Details) bool) (vs []curve, details []results.Details) {
	for _, v := range curves(cells, "sessions") {
		cell := typical(s.Run, v.cells[len(v.cells)-1])
		if d := s.details[cell.Name]; has(d) {
			v.cells, details = []results.Cell{cell}, append(details, d)
			v.label += ", " + strconv.Itoa(cell.Sessions)
			vs = append(vs, v)
		}
	}
	return vs, details
}

// fairness is plot 7: how long grants took by their place in the queue, how often they were overtaken, and how evenly they fell.
func (s Source) fairness(cells []results.Cell) []*plot {
	return []*plot{s.waits(cells), s.overtakes(cells), s.lorenz(cells)}
}

func (s Source) waits(cells []results.Cell) *plot {
	vs, details := s.crowded(cells, func(d results.Details) bool { return len(d.Places) > 0 })
	p := &plot{id: "places-" + cells[0].Workload, question: "How long does it take, by place in the queue?",
		desc: "Percentiles of the response against how many held the object or waited for it first.", head: []string{"variant, sessions", "others ahead", "p50, ms", "p99, ms", "max, ms", "grants"}}
	var xs, ys []float64
	n := int64(0)
	p50, p99 := make([][]point, len(vs)), make([][]point, len(vs))
	for i, d := range details {
		for _, q := range d.Places {
			x := float64(q.From+q.To)/2 + 1
			row := []string{vs[i].label, strconv.Itoa(q.From), phrase.Number(q.P50, 3), "-", phrase.Number(q.Max, 3), count(q.Count)}
			if q.To > q.From {
				row[1] += " to " + strconv.Itoa(q.To)
			}
			p50[i] = append(p50[i], point{x: x, y: q.P50})
			xs, ys = append(xs, x), append(ys, q.P50)
			if q.P99 != nil {
				row[3] = phrase.Number(*q.P99, 3)
				p99[i], ys = append(p99[i], point{x: x, y: *q.P99, hollow: true}), append(ys, *q.P99)
			}
			n += q.Count
			p.rows = append(p.rows, row)
		}
	}
	if !slices.ContainsFunc(p50, func(all []point) bool { return len(all) > 2 }) { // in a closed loop, where all wait behind all others
		return nil
	}
	p.note = "n = " + count(n) + " grants of the steady phase, at the most sessions; failures excluded; no p99 below 368."
	p.legend = append(legendOf(vs), key{0, "hollow: p99", hollowKey})
	p.x, p.y = logarithmic("place in the queue (1: nobody ahead), log", xs, 8), logarithmic("response, ms, log", ys, 7)
	p.draw = func(c *canvas, p *plot) {
		for i := range vs[:min(len(vs), mostCurves)] {
			p.line(c, i, p99[i])
			p.line(c, i, p50[i])
		}
	}
	return p
}

func (s Source) overtakes(cells []results.Cell) *plot {
	vs, details := s.crowded(cells, func(d results.Details) bool { return len(d.Overtaken) > 0 })
	p := &plot{id: "overtakes-" + cells[0].Workload, question: "How many grants are overtaken by later arrivals?",
		desc: "The share of grants that were overtaken at least this often.", head: []string{"variant, sessions", "overtaken at least", "% of grants", "grants"}}
	var xs []float64
	n := 0
	points := make([][]point, len(vs))
	for i, d := range details {
		all := 0
		for _, o := range d.Overtaken {
			all += o.Grants
		}
		n += all
		left := all
		for _, o := range d.Overtaken {
			if o.From > 0 {
				share := 100 * float64(left) / float64(all)
				points[i] = append(points[i], point{x: float64(o.From), y: share})
				xs = append(xs, float64(o.From))
				p.rows = append(p.rows, []string{vs[i].label, strconv.Itoa(o.From), phrase.Number(share, 3), count(int64(left))})
			}
			left -= o.Grants
		}
		if len(points[i]) == 0 {
			points[i] = []point{{x: 1, y: 0}}
			p.rows = append(p.rows, []string{vs[i].label, "1", "0", "0"})
		}
	}
	if len(xs) == 0 { // nobody was
		return nil
	}
	p.note = "n = " + count(int64(n)) + " grants of whole cells, at the most sessions; overtaken: a later arrival was granted first."
	p.legend = legendOf(vs)
	p.x, p.y = logarithmic("overtaken at least this often, log", append(xs, 1), 8), linear("% of the grants", []float64{0, 100}, true, 5)
	p.draw = func(c *canvas, p *plot) {
		for i := range vs[:min(len(vs), mostCurves)] {
			p.line(c, i, points[i])
		}
	}
	return p
}

func (s Source) lorenz(cells []results.Cell) *plot {
	vs, details := s.crowded(cells, func(d results.Details) bool { return len(d.Shares) > 1 })
	p := &plot{id: "shares-" + cells[0].Workload, question: "Does anybody starve?",
		desc: "The share of all grants that went to the sessions with the fewest: a Lorenz curve.", head: []string{"variant, sessions", "% of the sessions", "% of the grants", "Jain's index"}}
	lines := make([][][2]float64, len(vs))
	n := 0
	for i, d := range details {
		last := d.Shares[len(d.Shares)-1]
		if last.Grants == 0 {
			continue
		}
		n += last.Grants
		lines[i] = [][2]float64{{0, 0}}
		jain := "-"
		if v, known := vs[i].cells[0].Cost["fairness_jain"]; known {
			jain = phrase.Fixed(v, 3)
		}
		next := 0.0
		for _, q := range d.Shares {
			x, y := 100*float64(q.Sessions)/float64(last.Sessions), 100*float64(q.Grants)/float64(last.Grants)
			lines[i] = append(lines[i], [2]float64{x, y})
			if x >= next-1e-9 {
				p.rows = append(p.rows, []string{vs[i].label, phrase.Number(x, 3), phrase.Number(y, 3), jain})
				next = math.Floor(x/10)*10 + 10
			}
		}
	}
	if n == 0 {
		return nil
	}
	p.note = "n = " + count(int64(n)) + " grants of whole cells, at the most sessions. The further below the dashed line, the less even."
	for i := range vs[:min(len(vs), mostCurves)] {
		p.legend = append(p.legend, key{i, vs[i].label, plainKey})
	}
	p.legend = append(p.legend, key{0, "all equal", dashKey})
	p.x, p.y = linear("% of the sessions, those with the fewest first", []float64{0, 100}, true, 5), linear("% of the grants", []float64{0, 100}, true, 5)
	p.draw = func(c *canvas, p *plot) {
		p.reference(c, [][2]float64{{0, 0}, {100, 100}})
		for i := range vs[:min(len(vs), mostCurves)] {
			var path [][2]float64
			for _, q := range lines[i] {
				path = append(path, [2]float64{p.x.at(q[0]), p.y.at(q[1])})
			}
			c.ink(i)
			c.polyline(path, stroke(i)...)
			c.end("g")
		}
	}
	return p
}
