package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// waitsAt says of each operation that waits at a barrier what its curves ask and tell.
var waitsAt = map[string]struct{ question, open string }{
	"pass":  {"How fast does a barrier release the waiters?", "the removal is issued"},
	"enter": {"Entering: how late do members arrive, and how fast does everyone get in?", "the last one arrives"},
	"leave": {"Leaving: how late are members, and how fast does everyone get out?", "the last one asks to leave"},
	"meet":  {"How late do members arrive, and how fast does everyone start?", "the last one arrives"},
}

// arrivals are the curves of the barriers of a cell: how many of the members had come, and had been let go, around the opening.
func (s Source) arrivals(pooled results.Cell, id string) (all []*plot) {
	cell := typical(s.Run, pooled)
	for _, a := range s.details[cell.Name].Arrivals {
		if a.Rounds > 0 {
			p := gathering(a, id)
			p.note += ofRepetitions(s.Run, pooled, cell) + "."
			all = append(all, p)
		}
	}
	return all
}

func gathering(a results.Curve, id string) *plot {
	words := waitsAt[a.Op]
	members := a.Ranks[len(a.Ranks)-1].Members
	p := &plot{id: "arrivals-" + a.Op + "-" + id, question: words.question, desc: "How many members had arrived, and how many had been released, by time before and after the barrier opened.",
		note: fmt.Sprintf("n = %s of %s; 0: %s; thick: the median of the rounds; thin: nine in ten rounds are no further from 0", phrase.Count(a.Rounds, "round"),
			phrase.Count(members, "member"), words.open),
		head: []string{"members", "arrived before, p50 ms", "p90 ms", "released after, p50 ms", "p90 ms"}}
	if a.Left > 0 {
		p.note += fmt.Sprintf("; left out: %s that not everyone passed in order", phrase.Count(a.Left, "round"))
	}
	lines := make([][][2]float64, 4) // came and went in the median round, in the slow ones
	after := 0.0
	for _, r := range a.Ranks {
		for i, x := range []float64{-r.BeforeP50, r.AfterP50, -r.BeforeP90, r.AfterP90} {
			lines[i] = append(lines[i], [2]float64{x, float64(r.Members)})
		}
		after = max(after, r.AfterP90)
		p.rows = append(p.rows, []string{strconv.Itoa(r.Members), phrase.Number(r.BeforeP50, 3), phrase.Number(r.BeforeP90, 3), phrase.Number(r.AfterP50, 3), phrase.Number(r.AfterP90, 3)})
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
				path = append(path, [2]float64{p.x.at(math.Max(q[0], p.x.lo)), p.y.at(q[1])})
			}
			c.ink(i % 2)
			if i < 2 {
				c.polyline(path, stroke(i)...)
			} else {
				c.polyline(path, "stroke-width", "1")
			}
			c.end("g")
		}
	}
	return p
}

// mostBefore is how many times as long as the release the time before it may take of a plot: what it is about is the release.
const mostBefore = 3
