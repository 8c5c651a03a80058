package page

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// capacity writes the page of a search for the highest load.
func (h *html) capacity(s Source) {
	c := s.Capacity
	badge, class := c.Outcome, "fair"
	switch {
	case c.Exit.Code == 0:
		class = "good"
	case c.Exit.Code == 3 || c.Exit.Code == 4:
		badge, class = "missed", "bad"
	}
	h.top(titleOf(s), class, badge, report.Summary(s.Document), nil)
	var facts []string
	if e := c.Environment; e != nil {
		facts = append(facts, "Ran", c.Profile+", "+c.Variant+": ZooKeeper "+e.ZooKeeper+", "+phrase.Count(e.Servers, "server")+" ("+e.Ensemble+")",
			"On", phrase.Count(e.Cores, "core")+" of "+e.CPU+", kernel "+e.Kernel)
	}
	facts = append(facts, "Took", phrase.Rough(c.Finished.Sub(c.Started))+", "+phrase.Count(len(c.Probes), "probe")+", seed "+strconv.FormatUint(c.Seed, 10))
	if c.Exit.Code != 0 {
		facts = append(facts, "Exit code", strconv.Itoa(c.Exit.Code)+": "+c.Exit.Reason)
	}
	h.facts(facts...)
	if len(c.Command) > 0 {
		h.element("pre", report.CommandLine(c.Command), "id", h.prefix+"command")
	}
	all := report.Capacity(*c).Sections()
	all[0].Parts = all[0].Parts[1:] // already shown as the headline
	h.sections(all[:1])
	h.plots(probes(c))
	h.sections(all[1:])
}

// probes plots the loads of a search against their p99: which passed, which failed, and where the capacity lies.
func probes(doc *results.Capacity) *plot {
	p := &plot{id: "probes", question: "Which loads met the goals, and where is the capacity?", desc: "The p99 of the response at each load that was probed.",
		height: 260, head: []string{"load, " + doc.Unit, "p99, ms", "due", "decision"}}
	decisions := []string{"pass", "fail", "undecided", "invalid"}
	points := make([][]point, len(decisions))
	var xs, ys []float64
	due, left, warmUps := 0, 0, 0
	for _, probe := range doc.Probes {
		if probe.Purpose == "warm-up" { // a warm-up decides nothing
			warmUps++
			continue
		}
		n := 0
		for _, b := range probe.Blocks {
			n += b.Due
		}
		due += n
		p.row(phrase.Number(probe.Load, 4), orDash(probe.P99), strconv.Itoa(n), probe.Decision)
		i := slices.Index(decisions, probe.Decision)
		if probe.P99 == nil || i < 0 {
			left++
			continue
		}
		points[i] = append(points[i], point{x: probe.Load, y: *probe.P99, hollow: i >= 2})
		xs, ys = append(xs, probe.Load), append(ys, *probe.P99)
	}
	if len(xs) == 0 {
		return nil
	}
	p.note = "n = " + count(int64(due)) + " operations that came due, from their due time; settling times excluded."
	if left > 0 {
		p.note += " " + phrase.Count(left, "probe") + " without a p99 left out."
	}
	if warmUps > 0 {
		p.note += " " + phrase.Count(warmUps, "warm-up") + " left out."
	}
	if doc.Low != nil && doc.High != nil {
		p.legend = append(p.legend, key{0, map[bool]string{true: "95 % interval", false: "interval"}[doc.Load != nil], shadeKey})
	}
	for i, all := range points {
		if len(all) > 0 {
			p.legend = append(p.legend, key{i, decisions[i], map[bool]keyKind{true: emptyKey, false: spotKey}[all[0].hollow]})
		}
	}
	goal := math.NaN()
	for _, g := range doc.Goals {
		if limit, is := strings.CutPrefix(g, "p99<"); is {
			if d, err := time.ParseDuration(limit); err == nil {
				goal = d.Seconds() * 1e3
				ys = append(ys, goal)
				p.legend = append(p.legend, key{0, g, dashKey})
			}
		}
	}
	p.x, p.y = logarithmic("load, "+doc.Unit+", log", xs, 7), logarithmic("p99 of the response, ms, log", ys, 6)
	p.draw = func(c *canvas, p *plot) {
		if doc.Low != nil && doc.High != nil {
			lo, hi := math.Max(p.x.at(*doc.Low), p.x.from), math.Min(p.x.at(*doc.High), p.x.to)
			c.empty("rect", "class", "h2", "x", lo, "y", p.y.to, "width", math.Max(hi-lo, 1), "height", p.y.from-p.y.to, "fill", heatColours[1])
		}
		if !math.IsNaN(goal) {
			p.reference(c, [][2]float64{{p.x.lo, goal}, {p.x.hi, goal}})
		}
		for i, all := range points {
			c.ink(i)
			for _, q := range all {
				c.marker(i, p.x.at(q.x), p.y.at(q.y), q.hollow)
			}
			c.end("g")
		}
	}
	return p
}
