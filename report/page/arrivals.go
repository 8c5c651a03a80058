package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// arrivals plots, for the barriers of a cell, how many members had arrived and how many had been released, around the opening.
func (s Source) arrivals(pooled results.Cell, id string) (all []*plot) {
	cell := typical(s.Run, pooled)
	for _, a := range s.details[cell.Name].Arrivals {
		if a.Rounds > 0 {
			p := gathering(a, measureOf(cell, a.Op), id)
			p.note += ofRepetitions(s.Run, pooled, cell) + "."
			all = append(all, p)
		}
	}
	return all
}

// measureOf returns how a cell describes an operation.
func measureOf(c results.Cell, op string) results.Measure {
	for _, m := range c.Measured {
		if m.Op == op {
			return m
		}
	}
	return results.Measure{Op: op}
}

func gathering(a results.Curve, of results.Measure, id string) *plot {
	members := a.Ranks[len(a.Ranks)-1].Members
	p := &plot{id: "arrivals-" + a.Op + "-" + id, question: cmp.Or(of.Question, "How fast does everyone go on?"), desc: "How many members had arrived, and how many had been released, by time before and after the barrier opened.",
		note: fmt.Sprintf("n = %s of %s; 0: %s; thick: the median of the rounds; thin: nine in ten rounds are no further from 0", phrase.Count(a.Rounds, "round"),
			phrase.Count(members, "member"), cmp.Or(of.Opens, "all may go on")),
		head: []string{"members", "arrived before, p50 ms", "p90 ms", "released after, p50 ms", "p90 ms"}}
	if a.Left > 0 {
		p.note += fmt.Sprintf("; left out: %s that not everyone passed in order", phrase.Count(a.Left, "round"))
	}
	lines := make([][][2]float64, 4) // arrivals and releases, in the median round and in the slow ones
	after := 0.0
	for _, r := range a.Ranks {
		for i, x := range []float64{-r.BeforeP50, r.AfterP50, -r.BeforeP90, r.AfterP90} {
			lines[i] = append(lines[i], [2]float64{x, float64(r.Members)})
		}
		after = max(after, r.AfterP90)
		p.row(strconv.Itoa(r.Members), phrase.Number(r.BeforeP50, 3), phrase.Number(r.BeforeP90, 3), phrase.Number(r.AfterP50, 3), phrase.Number(r.AfterP90, 3))
	}
	before := math.Min(a.Ranks[0].BeforeP90, mostBefore*after)
	if before < a.Ranks[0].BeforeP90 {
		p.note += "; earlier arrivals than the plot shows are counted at its edge"
	}
	p.legend = []key{{0, "arrived", plainKey}, {1, "released", plainKey}, {6, "of nine rounds in ten", thinKey}}
	p.x, p.y = linear("ms before and after the barrier opens", []float64{-before, after}, true, 6), linear("sessions", []float64{0, float64(members)}, true, 4)
	p.x.lo, p.x.hi = -before, math.Max(after, 1e-3)
	p.x.ticks = slices.DeleteFunc(p.x.ticks, func(t tick) bool { return t.at < p.x.lo || t.at > p.x.hi })
	p.draw = func(c *canvas, p *plot) {
		p.reference(c, [][2]float64{{0, p.y.lo}, {0, p.y.hi}})
		for i, l := range lines {
			var path [][2]float64
			for _, q := range l {
				path = append(path, [2]float64{math.Max(q[0], p.x.lo), q[1]})
			}
			if i < 2 {
				p.path(c, i, path, stroke(i)...)
			} else {
				p.path(c, i-2, path, "stroke-width", "1")
			}
		}
	}
	return p
}

// mostBefore limits the time shown before the release, as a multiple of the release, because the plot is about the release.
const mostBefore = 3
