package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// partQuestions are those of parts whose name does not ask them, by operation and, where it matters, workload.
var partQuestions = map[string]string{
	"hand-off":          "How long does it take from one holder to the next?",
	"election hand-off": "How long is there no leader after one goes?",
	"detect":            "How long until the loss is detected?",
	"elect":             "How long from detection to leading?",
	"spread":            "How far apart do the first and the last pass?",
	"first-event":       "When does the first watcher know?",
	"median-event":      "When do half of them know?",
	"last-event":        "When does the last watcher know?",
	"deliver":           "How long does a change take to arrive?",
	"put-to-take":       "How long does an item take from put to take?",
	"revoke":            "How long does it take to get a grant back?",
}

// parts are the percentiles of what the operations of a workload bring about, against sessions.
func parts(cells []results.Cell) (all []*plot) {
	timed := timedOp(cells[0])
	for _, m := range cells[0].Roles() {
		if m.Role != results.RolePart || m.Op == timed || m.Idles {
			continue
		}
		histogram := m.Op + ".response"
		if _, has := cells[0].Latency[histogram]; !has {
			histogram = m.Op + ".service"
		}
		question := partQuestions[cells[0].Workload+" "+m.Op]
		if question == "" {
			question = partQuestions[m.Op]
		}
		if question == "" {
			question = fmt.Sprintf("How long does %s take?", m.Op)
		}
		if p := percentiles(cells, m.Op+"-"+cells[0].Workload, question, histogram, "sessions", func(c results.Cell) float64 { return float64(c.Sessions) }, sessionsAxis, nil); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// idle is the share of the time in which an object is free though somebody waits for it, of elections that nobody leads.
func idle(run *results.Run, cells []results.Cell) *plot {
	what := "idle while wanted"
	if cells[0].Ownerless != "" {
		what = cells[0].Ownerless + " though somebody waited"
	}
	p := &plot{id: "idle-" + cells[0].Workload, question: "How much of the time is lost between two holders?", desc: "The share of the steady phase: " + what + ".",
		head: []string{"variant", "sessions", "% of the time", "worst object, %"}}
	if strings.HasPrefix(cells[0].Ownerless, "nobody led") {
		p.question = "How much of the time is there no leader?"
	}
	vs := curves(cells, "sessions")
	points := make([][]point, len(vs))
	var xs, ys []float64
	var n []int64
	for i, v := range vs {
		for _, c := range v.cells {
			share, known := c.Cost["ownerless_share"]
			if !known {
				continue
			}
			q := point{x: float64(c.Sessions), y: 100 * share, low: 100 * share, high: 100 * share}
			for _, r := range repetitions(run, c) {
				if y, known := r.Cost["ownerless_share"]; known {
					q.low, q.high = min(q.low, 100*y), max(q.high, 100*y)
				}
			}
			points[i] = append(points[i], q)
			xs, ys, n = append(xs, q.x), append(ys, q.low, q.high), append(n, c.Operations)
			p.rows = append(p.rows, []string{v.label, strconv.Itoa(c.Sessions), phrase.Number(q.y, 3), phrase.Number(100*c.Cost["ownerless_share_worst"], 3)})
		}
	}
	if len(xs) == 0 {
		return nil
	}
	p.note = between(n, "operations a point") + "; " + what + ", the mean over the objects; whiskers: repetitions."
	p.legend = legendOf(vs)
	p.x, p.y = sessionsAxis(xs), linear("% of the steady phase", append(ys, 0), true, 5)
	p.draw = func(c *canvas, p *plot) {
		for i := range vs[:min(len(vs), mostCurves)] {
			p.line(c, i, points[i])
		}
	}
	p.byRow(vs, "sessions", xs, nil, points)
	return p
}

// opening is how long the sessions of cells took to open.
func (s Source) opening(cells []results.Cell) *plot {
	p := &plot{id: "opening", question: "How long do sessions take to open?", desc: "Percentiles of opening a session against how many are opened.", height: 150,
		head: []string{"variant", "sessions", "p50, ms", "p99, ms", "max, ms"}}
	var xs, ys []float64
	medians, longest := map[float64][]float64{}, map[float64][]float64{} // by sessions
	n := int64(0)
	for _, c := range cells {
		for _, r := range repetitions(s.Run, c) {
			o := s.details[r.Name].Opening
			if o == nil {
				continue
			}
			x := float64(r.Sessions)
			row := []string{r.Variant, strconv.Itoa(r.Sessions), phrase.Number(o.P50, 3), "-", phrase.Number(o.Max, 3)}
			if o.P99 != nil {
				row[3] = phrase.Number(*o.P99, 3)
			}
			p.rows = append(p.rows, row)
			medians[x], longest[x] = append(medians[x], o.P50), append(longest[x], o.Max)
			xs, ys, n = append(xs, x), append(ys, o.P50, o.Max), n+o.Count
		}
	}
	if len(xs) == 0 {
		return nil
	}
	p.note = "n = " + count(n) + " sessions of all cells, at most 64 opening at a time; connection and handshake together; the median cell, whiskers: all cells."
	p.legend = []key{{0, "p50", lineKey}, {1, "max", lineKey}}
	p.x, p.y = sessionsAxis(xs), logarithmic("ms, log", ys, 6)
	points := [][]point{middles(medians), middles(longest)}
	p.draw = func(c *canvas, p *plot) {
		for i, all := range points {
			p.line(c, i, all)
		}
	}
	p.byRow([]curve{{label: "p50"}, {label: "max"}}, "sessions", xs, nil, points)
	return p
}

// middles are the medians of values by x, with their ranges.
func middles(values map[float64][]float64) (all []point) {
	for _, x := range slices.Sorted(maps.Keys(values)) {
		ys := slices.Sorted(slices.Values(values[x]))
		all = append(all, point{x: x, y: ys[len(ys)/2], low: ys[0], high: ys[len(ys)-1]})
	}
	return all
}

// connecting is the phases of making the connections of a run, of which there are figures where they are secured.
func connecting(run *results.Run) *plot {
	if len(run.Connecting) == 0 {
		return nil
	}
	p := &plot{id: "connecting", question: "What does it take to make a connection?", desc: "The p50, the p99 and the longest of each phase of making a connection.",
		note: "All connections of the run, reconnections too; p50 filled, p99 hollow, the line ends at the longest.", head: []string{"phase", "n", "resumed", "p50, ms", "p99, ms", "max, ms"}}
	var values []float64
	for _, c := range run.Connecting {
		values = append(values, c.P50, c.P99, c.Max)
		p.rows = append(p.rows, []string{c.Phase, count(int64(c.Count)), count(int64(c.Resumed)), phrase.Number(c.P50, 3), phrase.Number(c.P99, 3), phrase.Number(c.Max, 3)})
	}
	const high = 34.0
	p.height = high * float64(len(run.Connecting))
	p.x, p.y = logarithmic("ms, log", values, 7), axis{lo: 0, hi: float64(len(run.Connecting))}
	p.draw = func(c *canvas, p *plot) {
		for i, phase := range run.Connecting {
			y := p.y.to + high*float64(i) + 24
			c.words(2, y-10, "start", "key", phase.Phase)
			c.words(p.x.to, y-10, "end", "tick", "n = "+count(int64(phase.Count)))
			c.ink(i)
			low := max(phase.P50, p.x.lo)
			c.line(p.x.at(low), y, p.x.at(max(phase.Max, low)), y, "stroke-width", "2")
			c.marker(0, p.x.at(low), y, false)
			c.marker(0, p.x.at(max(phase.P99, low)), y, true)
			c.end("g")
		}
	}
	return p
}
