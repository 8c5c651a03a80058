package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// phasesOf returns the phases of a cell's operations in order, each with a colour: what precedes them, the phases, and the rest.
func phasesOf(c results.Cell) (names []string, inks []int) {
	names, inks = []string{"lag"}, []int{0}
	for _, m := range c.Measured {
		if m.Role == results.RolePhase {
			names, inks = append(names, m.Op), append(inks, 1+(len(inks)-1)%5)
		}
	}
	return append(names, "other"), append(inks, 6)
}

// cohorts is plot 5 of a cell: the phases of the operations near three percentiles.
func (s Source) cohorts(pooled results.Cell, id string) *plot {
	cell := typical(s.Run, pooled)
	all := s.details[cell.Name].Cohorts
	if len(all) == 0 {
		return nil
	}
	p := &plot{id: "phases-" + id, question: "Where does the time go, and is the slow tenth different?",
		desc: "Phases of the operations around the 50th, the 90th and the 99th percentile of the response, as shares of it.",
		note: "Operations of the 45th to 55th, 88th to 92nd and 98.5th to 99.5th percentile; failures excluded" + ofRepetitions(s.Run, pooled, cell) + "."}
	p.head = []string{"operations around", "n", "response, ms"}
	phaseOrder, phaseInk := phasesOf(cell)
	shares := make([][]float64, len(all))
	used := make([]bool, len(phaseOrder))
	for i, c := range all {
		rest := c.ResponseMs
		shares[i] = make([]float64, len(phaseOrder))
		for k, name := range phaseOrder {
			v := c.PartsMs[name]
			if name == "other" {
				v = math.Max(rest, 0)
			}
			rest -= v
			if c.ResponseMs > 0 {
				shares[i][k] = 100 * v / c.ResponseMs
			}
			used[k] = used[k] || shares[i][k] >= 0.5
		}
	}
	for k, name := range phaseOrder {
		if used[k] {
			p.legend = append(p.legend, key{phaseInk[k], name, boxKey})
			p.head = append(p.head, name+", ms")
		}
	}
	for i, c := range all {
		row := []string{fmt.Sprintf("p%v of %s", c.Percentile, c.Op), count(c.Count), phrase.Number(c.ResponseMs, 3)}
		for k := range phaseOrder {
			if used[k] {
				row = append(row, phrase.Number(shares[i][k]*c.ResponseMs/100, 3))
			}
		}
		p.rows = append(p.rows, row)
	}
	const high = 38.0
	p.height = high * float64(len(all))
	p.x, p.y = linear("% of the response", []float64{0, 100}, true, 5), axis{lo: 0, hi: float64(len(all))}
	p.draw = func(c *canvas, p *plot) {
		for i, x := range all {
			y := p.y.to + high*float64(i)
			label := fmt.Sprintf("p%v", x.Percentile)
			if len(all) > len(bandsOf(all)) {
				label += " of " + x.Op
			}
			c.words(p.x.from, y+11, "start", "key", label)
			c.words(p.x.to, y+11, "end", "tick", fmt.Sprintf("%s ms, n = %s", phrase.Number(x.ResponseMs, 3), count(x.Count)))
			from := 0.0
			for k, share := range shares[i] {
				if share > 0 && used[k] {
					c.ink(phaseInk[k])
					c.box(phaseInk[k], p.x.at(from), y+16, p.x.at(from+share)-p.x.at(from), 16)
					c.end("g")
				}
				from += share
			}
		}
	}
	return p
}

// bandsOf returns the percentiles that have cohorts.
func bandsOf(all []results.Cohort) (out []float64) {
	for _, c := range all {
		if !slices.Contains(out, c.Percentile) {
			out = append(out, c.Percentile)
		}
	}
	return out
}

// strips is plot 8 of a cell: what happened to one object around its longest time without a holder, and around a counterexample.
func (s Source) strips(pooled results.Cell, id string) (all []*plot) {
	cell := typical(s.Run, pooled)
	of := s.details[cell.Name].Strips
	for _, c := range repetitions(s.Run, pooled) { // show a violation whichever repetition it is from
		if other := s.details[c.Name].Strips; slices.ContainsFunc(other, func(x results.Strip) bool { return x.Why == results.StripCounterexample }) {
			cell, of = c, other
			break
		}
	}
	for i, strip := range of {
		if len(strip.Holds) > 0 && strip.ToMs > strip.FromMs {
			p := ownership(strip, id+"-"+strconv.Itoa(i+1), ownerOf(cell))
			p.note += ofRepetitions(s.Run, pooled, cell) + "."
			all = append(all, p)
		}
	}
	return all
}

const laneHigh = 11.0

func ownership(s results.Strip, id, owner string) *plot {
	p := &plot{id: "ownership-" + id, question: "What does the longest time without a " + owner + " look like?",
		desc: "Who waited for one object, who held it and when nobody did though somebody waited, one lane per session.",
		head: []string{"session", "from, ms", "to, ms", "for, ms", "state"}}
	at := func(ms float64) float64 { return ms - s.FromMs }
	row := func(session string, from, to float64, state string) {
		p.row(session, phrase.Fixed(from, 1), phrase.Fixed(to, 1), phrase.Number(to-from, 3), state)
	}
	var lanes []uint32
	for _, h := range s.Holds {
		if !slices.Contains(lanes, h.Session) {
			lanes = append(lanes, h.Session)
		}
		state := "holds"
		if h.Shared {
			state = "holds, shared"
		}
		row(strconv.Itoa(int(h.Session)), h.FromMs, h.ToMs, state)
	}
	idle := 0.0
	for _, t := range s.Idle {
		idle += t.ToMs - t.FromMs
		row("-", t.FromMs, t.ToMs, "idle while wanted")
	}
	both := s.Together()
	for _, t := range both {
		row(strconv.Itoa(int(t.Session)), t.FromMs, t.ToMs, "a second holder")
	}
	p.note = fmt.Sprintf("Object %d, %s around the longest time without a "+owner+", %s ms", s.Object, phrase.Count(len(s.Holds), "hold"), phrase.Number(s.UntilMs-s.AtMs, 3))
	if s.Why == results.StripCounterexample {
		p.question = "Where was " + s.Check + " violated?"
		p.note = fmt.Sprintf("Object %d, %s around the counterexample", s.Object, phrase.Count(len(s.Holds), "hold"))
	}
	p.note += fmt.Sprintf("; idle while wanted %s %% of the time shown", phrase.Number(100*idle/(s.ToMs-s.FromMs), 2))
	if s.Others > 0 {
		p.note += "; " + phrase.Count(s.Others, "other session") + " waited"
	}
	p.legend = []key{{0, "holds", boxKey}, {6, "waits", thinKey}, {4, "idle while wanted", boxKey}}
	if len(both) > 0 {
		p.legend = append(p.legend, key{1, "a second holder", boxKey})
	}
	high := laneHigh
	if len(lanes) <= 10 {
		high = 16 // room for one label
	}
	p.height = high*float64(len(lanes)) + 4
	p.x = axis{label: fmt.Sprintf("ms from %s s of the cell on", phrase.Fixed(s.FromMs/1e3, 3)), lo: 0, hi: s.ToMs - s.FromMs}
	p.x.ticks = linear("", []float64{0, p.x.hi}, false, 6).ticks
	p.y = axis{label: "session", lo: float64(len(lanes)), hi: 0}
	for i, session := range lanes {
		p.y.ticks = append(p.y.ticks, tick{float64(i) + 0.5, strconv.Itoa(int(session))})
	}
	slices.Reverse(p.y.ticks)
	p.draw = func(c *canvas, p *plot) {
		c.ink(4)
		for _, t := range s.Idle {
			x := p.x.at(at(t.FromMs))
			c.empty("rect", "x", x, "y", p.y.to, "width", math.Max(p.x.at(at(t.ToMs))-x, 0.4), "height", p.y.from-p.y.to, "stroke", "none", "fill-opacity", "0.3")
		}
		c.end("g")
		middle := func(session uint32) float64 { return p.y.to + 2 + high*(float64(slices.Index(lanes, session))+0.5) }
		c.ink(6)
		for _, t := range s.Waits {
			y := middle(t.Session)
			c.line(p.x.at(at(t.FromMs)), y, p.x.at(at(t.ToMs)), y, "stroke-width", "1")
		}
		c.end("g")
		bars := func(series int, all []results.Tenure, grow float64) {
			c.ink(series)
			for _, t := range all {
				x := p.x.at(at(t.FromMs))
				c.box(series, x, middle(t.Session)-3.5-grow, math.Max(p.x.at(at(t.ToMs))-x, 1.2), 7+2*grow)
			}
			c.end("g")
		}
		bars(0, s.Holds, 0)
		bars(1, both, 1)
	}
	return p
}
