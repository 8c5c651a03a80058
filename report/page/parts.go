package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// parts plots, against sessions, the percentiles of the steps that operations of a workload consist of.
func parts(cells []results.Cell) (all []*plot) {
	timed := timedOp(cells[0])
	for _, m := range cells[0].Measured {
		if m.Role != results.RolePart || m.Op == timed || m.Idles {
			continue
		}
		histogram := m.Op + ".response"
		if _, has := cells[0].Latency[histogram]; !has {
			histogram = m.Op + ".service"
		}
		if p := percentiles(cells, m.Op+"-"+cells[0].Workload, cmp.Or(m.Question, fmt.Sprintf("How long does %s take?", m.Op)), histogram, "sessions", bySessions, sessionsAxis); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// ownerOf returns the noun for whoever has an object of a cell.
func ownerOf(c results.Cell) string {
	for _, m := range c.Measured {
		if m.Owner != "" {
			return m.Owner
		}
	}
	return "holder"
}

// idle plots the share of the time in which an object is free although somebody waits for it; for elections, in which nobody leads.
func idle(run *results.Run, cells []results.Cell) *plot {
	what := "idle while wanted"
	if cells[0].Ownerless != "" {
		what = cells[0].Ownerless + " though somebody waited"
	}
	s := newSeries(plot{id: "idle-" + cells[0].Workload, question: fmt.Sprintf("How much of the time is there no %s?", ownerOf(cells[0])), desc: "The share of the steady phase: " + what + ".",
		head: []string{"variant", "sessions", "% of the time", "worst object, %"}}, curves(cells, "sessions"), 1)
	for i, v := range s.curves {
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
			s.add(0, i, q)
			s.n = append(s.n, c.Operations)
			s.row(v.label, strconv.Itoa(c.Sessions), phrase.Number(q.y, 3), phrase.Number(100*c.Cost["ownerless_share_worst"], 3))
		}
	}
	if len(s.n) == 0 {
		return nil
	}
	s.note = between(s.n, "operations a point") + "; " + what + ", the mean over the objects; whiskers: repetitions."
	return s.finish("sessions", sessionsAxis(s.xs), linear("% of the steady phase", append(s.ys, 0), true, 5))
}

// opening plots how long the sessions of cells took to open.
func (s Source) opening(cells []results.Cell) *plot {
	p := newSeries(plot{id: "opening", question: "How long do sessions take to open?", desc: "Percentiles of opening a session against how many are opened.", height: 150,
		head: []string{"variant", "sessions", "p50, ms", "p99, ms", "max, ms"}}, []curve{{label: "p50"}, {label: "max"}}, 1)
	medians, longest := map[float64][]float64{}, map[float64][]float64{} // by number of sessions
	n := int64(0)
	for _, c := range cells {
		for _, r := range repetitions(s.Run, c) {
			if o := s.details[r.Name].Opening; o != nil {
				x := float64(r.Sessions)
				medians[x], longest[x] = append(medians[x], o.P50), append(longest[x], o.Max)
				p.row(r.Variant, strconv.Itoa(r.Sessions), phrase.Number(o.P50, 3), orDash(o.P99), phrase.Number(o.Max, 3))
				n += o.Count
			}
		}
	}
	for i, values := range []map[float64][]float64{medians, longest} {
		for _, q := range middles(values) {
			p.add(0, i, q)
		}
	}
	p.note = "n = " + count(n) + " sessions of all cells, at most 64 opening at a time; connection and handshake together; the median cell, whiskers: all cells."
	if n == 0 {
		return nil
	}
	return p.finish("sessions", sessionsAxis(p.xs), logarithmic("ms, log", p.ys, 6))
}

// middles returns the median and the range of the values at each x.
func middles(values map[float64][]float64) (all []point) {
	for _, x := range slices.Sorted(maps.Keys(values)) {
		ys := slices.Sorted(slices.Values(values[x]))
		all = append(all, point{x: x, y: ys[len(ys)/2], low: ys[0], high: ys[len(ys)-1]})
	}
	return all
}

// connecting plots the phases of making connections in a run; they are measured only if connections are secured.
func connecting(run *results.Run) *plot {
	if len(run.Connecting) == 0 {
		return nil
	}
	p := &plot{id: "connecting", question: "What does it take to make a connection?", desc: "The p50, the p99 and the longest of each phase of making a connection.",
		note: "All connections of the run, reconnections too; p50 filled, p99 hollow, the line ends at the longest.", head: []string{"phase", "n", "resumed", "p50, ms", "p99, ms", "max, ms"}}
	var values []float64
	for _, c := range run.Connecting {
		values = append(values, c.P50, c.P99, c.Max)
		p.row(c.Phase, count(int64(c.Count)), count(int64(c.Resumed)), phrase.Number(c.P50, 3), phrase.Number(c.P99, 3), phrase.Number(c.Max, 3))
	}
	p.height = rowsHigh * float64(len(run.Connecting))
	p.x, p.y = logarithmic("ms, log", values, 7), axis{lo: 0, hi: float64(len(run.Connecting))}
	p.draw = func(c *canvas, p *plot) {
		for i, phase := range run.Connecting {
			y := p.lane(c, i, phase.Phase, "n = "+count(int64(phase.Count)))
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
