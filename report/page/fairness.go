package page

import (
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// crowded returns, for each curve of a workload, the cell with the most sessions and its details, if has accepts these.
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

// fairness is plot 7: how long grants took by place in the queue, how often requests were overtaken, and how evenly the grants were shared.
func (s Source) fairness(cells []results.Cell) []*plot {
	return []*plot{s.waits(cells), s.overtakes(cells), s.lorenz(cells)}
}

func (s Source) waits(cells []results.Cell) *plot {
	vs, details := s.crowded(cells, func(d results.Details) bool { return len(d.Places) > 0 })
	p := newSeries(plot{id: "places-" + cells[0].Workload, question: "How long does it take, by place in the queue?",
		desc: "Percentiles of the response against how many held the object or waited for it first.", head: []string{"variant, sessions", "others ahead", "p50, ms", "p99, ms", "max, ms", "grants"},
		legend: []key{{0, "hollow: p99", hollowKey}}}, vs, 2)
	n := int64(0)
	for i, d := range details {
		for _, q := range d.Places {
			x, ahead := float64(q.From+q.To)/2+1, strconv.Itoa(q.From)
			if q.To > q.From {
				ahead += " to " + strconv.Itoa(q.To)
			}
			p.row(vs[i].label, ahead, phrase.Number(q.P50, 3), orDash(q.P99), phrase.Number(q.Max, 3), count(q.Count))
			p.add(0, i, point{x: x, y: q.P50})
			if q.P99 != nil {
				p.add(1, i, point{x: x, y: *q.P99, hollow: true})
			}
			n += q.Count
		}
	}
	if !slices.ContainsFunc(p.sets[0], func(all []point) bool { return len(all) > 2 }) { // in a closed loop everybody waits behind all others
		return nil
	}
	p.note = "n = " + count(n) + " grants of the steady phase, at the most sessions; failures excluded; no p99 below 368."
	return p.finish("", logarithmic("place in the queue (1: nobody ahead), log", p.xs, 8), logarithmic("response, ms, log", p.ys, 7))
}

func (s Source) overtakes(cells []results.Cell) *plot {
	vs, details := s.crowded(cells, func(d results.Details) bool { return len(d.Overtaken) > 0 })
	p := newSeries(plot{id: "overtakes-" + cells[0].Workload, question: "How many grants are overtaken by later arrivals?",
		desc: "The share of grants that were overtaken at least this often.", head: []string{"variant, sessions", "overtaken at least", "% of grants", "grants"}}, vs, 1)
	n, overtaken := 0, false
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
				p.add(0, i, point{x: float64(o.From), y: share})
				p.row(vs[i].label, strconv.Itoa(o.From), phrase.Number(share, 3), count(int64(left)))
				overtaken = true
			}
			left -= o.Grants
		}
		if len(p.sets[0][i]) == 0 {
			p.add(0, i, point{x: 1, y: 0})
			p.row(vs[i].label, "1", "0", "0")
		}
	}
	if !overtaken {
		return nil
	}
	p.note = "n = " + count(int64(n)) + " grants of whole cells, at the most sessions; overtaken: a later arrival was granted first."
	return p.finish("", logarithmic("overtaken at least this often, log", append(p.xs, 1), 8), linear("% of the grants", []float64{0, 100}, true, 5))
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
				p.row(vs[i].label, phrase.Number(x, 3), phrase.Number(y, 3), jain)
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
			p.path(c, i, lines[i], stroke(i)...)
		}
	}
	return p
}
