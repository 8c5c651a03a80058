package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// course is a value of a cell over time; NaN where it is unknown.
type course struct {
	label  string // in the legend
	values []float64
}

// overTime plots values of a cell over time, with the events of the cell. Times are in seconds since its start.
func (s Source) overTime(cell results.Cell, p plot, label string, at []float64, lines []course) *plot {
	p.height, p.head = 150, []string{"at, s"}
	var ys []float64
	for i, l := range lines {
		for _, y := range l.values {
			if !math.IsNaN(y) {
				ys = append(ys, y)
			}
		}
		p.head = append(p.head, l.label)
		if len(lines) > 1 {
			p.legend = append(p.legend, key{i, l.label, plainKey})
		}
	}
	if len(ys) == 0 {
		return nil
	}
	p.x = secondsOf(0, at[len(at)-1])
	p.y = linear(label, ys, true, 4)
	for k := range at {
		if (k+1)%max(len(at)/20, 1) != 0 {
			continue
		}
		row := []string{phrase.Number(at[k], 4)}
		for _, l := range lines {
			v := "-"
			if y := l.values[k]; !math.IsNaN(y) {
				v = phrase.Number(y, 3)
			}
			row = append(row, v)
		}
		p.rows = append(p.rows, row)
	}
	happened := s.events(cell)
	p.note += noted(happened)
	p.draw = func(c *canvas, p *plot) {
		p.events(c, happened, p.y.to, p.y.to)
		for i, l := range lines {
			var path [][2]float64
			for k, y := range l.values {
				path = append(path, [2]float64{at[k], y})
			}
			p.path(c, i, path, stroke(i)...)
		}
	}
	return &p
}

// secondsOf returns an axis for the time of a cell.
func secondsOf(from, to float64) axis {
	a := axis{label: "seconds since the start of the cell", lo: from, hi: to}
	a.ticks = linear("", []float64{from, to}, false, 6).ticks
	return a
}

// events draws the events of a cell: a band that starts at top for each one that lasted, and a tick at height tick for each.
func (p *plot) events(c *canvas, all []event, top, tick float64) {
	for _, e := range all {
		if e.to < p.x.lo || e.from > p.x.hi {
			continue
		}
		x0, x1 := p.x.at(max(e.from, p.x.lo)), p.x.at(min(max(e.to, e.from), p.x.hi))
		if x1-x0 > 1 {
			c.empty("rect", "class", "band", "x", x0, "y", top, "width", x1-x0, "height", p.y.from-top, "fill", "#b3261e", "fill-opacity", "0.12")
		}
		c.open("g", "class", "red", "color", "#b3261e", "stroke", "currentColor")
		c.line(x0, tick, x0, tick+7, "stroke-width", "1.5")
		c.end("g")
	}
}

// noted explains the ticks and bands of a plot, as the end of its note.
func noted(all []event) string {
	if len(all) == 0 {
		return ""
	}
	return " Ticks and bands: " + eventsText(all) + "."
}

// depths plots the depths of a cell's queues over time: of all together, and if there are several, also of the deepest ones.
func (s Source) depths(pooled results.Cell, id string) (all []*plot) {
	cell := typical(s.Run, pooled)
	d := s.details[cell.Name]
	if len(d.Depths) == 0 {
		return nil
	}
	taken, at := 0, []float64{}
	items, median, oldest := course{label: "items"}, course{label: "p50"}, course{label: "max"}
	for _, q := range d.Depths {
		taken += q.Taken
		at = append(at, q.AtMs/1e3)
		items.values, median.values, oldest.values = append(items.values, float64(q.Items)), append(median.values, known(q.P50)), append(oldest.values, known(q.Max))
	}
	queues := "queue"
	if cell.Objects > 1 {
		queues = "queues"
	}
	note := fmt.Sprintf("n = %s items taken, in the whole cell%s.", count(int64(taken)), ofRepetitions(s.Run, pooled, cell))
	all = append(all, s.overTime(cell, plot{id: "depth-" + id, question: "How deep do the queues get?", desc: "Items in the queues over the time of the cell.",
		note: "Items that were put, or being put, and not yet taken; " + note}, "items in the "+queues, at, []course{items}),
		s.overTime(cell, plot{id: "age-" + id, question: "How old are the items that are taken?", desc: "The age of the items taken over the time of the cell.",
			note: "From when the put of an item was due to when it was taken; " + note}, "age, ms", at, []course{median, oldest}))
	if len(d.Queues) == 0 {
		return all
	}
	at = nil
	for k := range d.Queues[0].Items {
		at = append(at, float64(k+1)*d.Queues[0].StepMs/1e3)
	}
	var deep, old []course
	for _, q := range d.Queues {
		name := "queue " + strconv.Itoa(int(q.Object))
		items, oldest := course{label: name}, course{label: name}
		for k, n := range q.Items {
			items.values, oldest.values = append(items.values, float64(n)), append(oldest.values, known(q.MaxMs[k]))
		}
		deep, old = append(deep, items), append(old, oldest)
	}
	note = fmt.Sprintf("%d of %s, those that were deepest on average; the whole cell%s.", len(d.Queues), phrase.Count(cell.Objects, "queue"), ofRepetitions(s.Run, pooled, cell))
	return append(all, s.overTime(cell, plot{id: "depth-each-" + id, question: "Is one queue deeper than the others?", desc: "Items in each queue over the time of the cell.",
		note: note}, "items in the queue", at, deep),
		s.overTime(cell, plot{id: "age-each-" + id, question: "How old do items get, queue by queue?", desc: "The age of the oldest item taken from each queue over the time of the cell.",
			note: note}, "oldest taken, ms", at, old))
}

func known(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// leaderless plots when an election had no leader although somebody wanted to lead, and for how long.
func (s Source) leaderless(pooled results.Cell, id string) *plot {
	cell := typical(s.Run, pooled)
	steps := s.details[cell.Name].Leaderless
	elections := float64(max(cell.Objects, 1))
	var ys []float64
	gaps, free, from := 0, 0.0, cell.Steady.From
	share := make([]float64, len(steps))
	for k, v := range steps {
		gaps, free = gaps+v.Gaps, free+v.FreeMs
		if v.Gaps > 0 {
			ys = append(ys, v.LongestMs)
		}
		if until := v.UntilMs / 1e3; until > from {
			share[k], from = v.FreeMs/1e3/(until-from)/elections, until
		}
	}
	if gaps == 0 {
		return nil
	}
	all := free / 1e3 / (cell.Steady.To - cell.Steady.From) / elections
	happened := s.events(cell)
	p := &plot{id: "leaderless-" + id, question: "When was there no leader, and for how long?", height: 150, inset: strip + 8,
		desc: "The longest time without a leader that began at each time of the cell, with the share of the time that nobody led above.",
		note: fmt.Sprintf("n = %s without a leader though somebody wanted to lead, in the steady phase%s; %s %% of the time, %s s an hour%s. A dot is the longest that began there; the phase cuts it off at its ends.%s",
			phrase.Count(gaps, "time"), map[bool]string{true: " of " + phrase.Count(cell.Objects, "election")}[cell.Objects > 1], phrase.Number(100*all, 3), phrase.Number(3600*all, 3),
			ofRepetitions(s.Run, pooled, cell), noted(happened)),
		head: []string{"from, s", "to, s", "% of the time", "times", "longest, ms"}}
	from = cell.Steady.From
	start := func(k int) float64 { // start of a step
		if k == 0 {
			return cell.Steady.From
		}
		return steps[k-1].UntilMs / 1e3
	}
	for group := range slices.Chunk(steps, max(len(steps)/20, 1)) {
		free, gaps, longest, to := 0.0, 0, 0.0, group[len(group)-1].UntilMs/1e3
		for _, v := range group {
			free, gaps, longest = free+v.FreeMs, gaps+v.Gaps, max(longest, v.LongestMs)
		}
		row := []string{phrase.Number(from, 4), phrase.Number(to, 4), phrase.Number(free/10/(to-from)/elections, 3), strconv.Itoa(gaps), "-"}
		if gaps > 0 {
			row[4] = phrase.Number(longest, 3)
		}
		p.rows, from = append(p.rows, row), to
	}
	p.x, p.y = secondsOf(cell.Steady.From, steps[len(steps)-1].UntilMs/1e3), logarithmic("longest without a leader, ms, log", ys, 5)
	p.draw = func(c *canvas, p *plot) {
		top := p.y.to - p.inset
		p.skyline(c, top, share, "% of the time without a leader, up to "+phrase.Number(100*slices.Max(share), 3), func(k int) (float64, float64) { return start(k), steps[k].UntilMs / 1e3 })
		p.events(c, happened, top+14, top+strip)
		var stems, dots strings.Builder // a dot is a zero-length line with round ends
		for k, v := range steps {
			if v.Gaps > 0 {
				x, y := num(p.x.at(start(k)/2+v.UntilMs/2e3)), num(p.y.at(v.LongestMs))
				fmt.Fprintf(&stems, "M%s %sV%s", x, num(p.y.from), y)
				fmt.Fprintf(&dots, "M%s %sh0", x, y)
			}
		}
		c.ink(0)
		c.empty("path", "d", stems.String(), "stroke-width", "0.8", "stroke-opacity", "0.35")
		c.empty("path", "d", dots.String(), "stroke-width", "4.4", "stroke-linecap", "round")
		c.end("g")
	}
	return p
}

// skyline draws a filled area above a plot, for values from 0 to the highest, with a text that explains them.
func (p *plot) skyline(c *canvas, top float64, values []float64, text string, span func(int) (from, to float64)) {
	limit := slices.Max(values)
	if limit <= 0 {
		return
	}
	path := fmt.Sprintf("M%s %s", num(p.x.from), num(top+strip))
	last := p.x.lo
	for k, v := range values {
		from, to := span(k)
		if p.x.at(from)-p.x.at(last) > 0.5 { // a gap: draw the baseline
			path += fmt.Sprintf("L%s %sL%s %s", num(p.x.at(last)), num(top+strip), num(p.x.at(from)), num(top+strip))
		}
		last = to
		y := top + strip - (strip-14)*v/limit
		path += fmt.Sprintf("L%s %sL%s %s", num(p.x.at(from)), num(y), num(p.x.at(to)), num(y))
	}
	c.ink(0)
	c.empty("path", "d", path+fmt.Sprintf("L%s %sZ", num(p.x.at(last)), num(top+strip)), "fill-opacity", "0.25", "stroke-width", "1")
	c.end("g")
	c.words(p.x.to, top+6, "end", "tick", text)
}
