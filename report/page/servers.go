package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// servers plots the figures of each server over the run, and which server led.
func (s Source) servers() (all []*plot) {
	run := s.Run
	length := run.Finished.Sub(run.Started).Seconds()
	if length <= 0 {
		return nil
	}
	addresses := map[string]bool{}
	var seconds []results.Second
	for _, list := range s.seconds {
		for _, second := range list {
			for a := range second.Servers {
				addresses[a] = true
			}
			if len(second.Servers) > 0 {
				seconds = append(seconds, second)
			}
		}
	}
	slices.SortStableFunc(seconds, func(a, b results.Second) int { return a.At.Compare(b.At) })
	names := sortedKeys(addresses)
	if len(names) == 0 {
		return nil
	}
	const most = 240 // points per line
	size := math.Max(length/most, 1)
	n := int(length/size) + 1
	led := map[string]int{}
	for _, f := range []struct {
		figure, label, question string
		most                    bool // take the highest value of an interval, not the mean
		per                     bool // a counter: plot its rate per second
	}{
		{"log_flush_mean_ms", "flush of the log, mean, ms", "Are the disks fast enough?", false, false},
		{"outstanding", "requests outstanding", "Do requests queue up in the servers?", true, false},
		{"cpu_s", "CPUs in use", "How busy are the servers?", false, true},
		{"requests", "requests per second", "How are the requests spread over the servers?", false, true},
	} {
		p := &plot{id: "servers-" + f.figure, question: f.question, height: 150, desc: f.label + " of each server over the run.",
			head: []string{"server", "led, % of answers", "mean " + f.label, "highest", "answers"}}
		values := make([][]float64, len(names))
		var ys []float64
		samples := 0
		for i, name := range names {
			sums, weights := make([]float64, n), make([]float64, n)
			answers, leads, mean := 0, 0, 0.0
			highest := math.Inf(-1)
			for _, second := range seconds {
				g, answered := second.Servers[name]
				if !answered {
					continue
				}
				if v, known := g.Get("leader"); known && v == 1 {
					leads++
					led[name]++
				}
				v, known := g.Get(f.figure)
				if f.per {
					span, has := g.Get("seconds")
					v, known = v/span, known && has && span > 0.2
				}
				if !known {
					continue
				}
				at := min(max(int(second.At.Sub(run.Started).Seconds()/size), 0), n-1)
				if f.most {
					sums[at], weights[at] = math.Max(sums[at], v), 1
				} else {
					sums[at] += v
					weights[at]++
				}
				answers++
				mean += v
				highest = math.Max(highest, v)
			}
			line := make([]float64, n)
			for k := range line {
				line[k] = math.NaN()
				if weights[k] > 0 {
					line[k] = sums[k] / weights[k]
					ys = append(ys, line[k])
				}
			}
			values[i] = line
			samples += answers
			if answers > 0 {
				p.row(name, strconv.Itoa(100*leads/max(answers, 1)), phrase.Number(mean/float64(answers), 3), phrase.Number(highest, 3), count(int64(answers)))
			}
		}
		if len(ys) == 0 {
			continue
		}
		leader := ""
		for _, name := range names {
			if led[name] > led[leader] {
				leader = name
			}
		}
		for i, name := range names[:min(len(names), mostCurves)] {
			label := name
			if name == leader {
				label += " (led)"
			}
			p.legend = append(p.legend, key{i, label, plainKey})
		}
		p.note = fmt.Sprintf("n = %s answers of %s, over all cells; unknown figures are left out.", count(int64(samples)), phrase.Count(len(names), "server"))
		p.x = axis{label: "seconds since the start of the run", lo: 0, hi: length}
		p.x.ticks = linear("", []float64{0, length}, false, 6).ticks
		p.y = linear(f.label, ys, true, 4)
		p.draw = func(c *canvas, p *plot) {
			for i := range names[:min(len(names), mostCurves)] {
				var path [][2]float64
				for k, v := range values[i] {
					path = append(path, [2]float64{(float64(k) + 0.5) * size, v})
				}
				p.path(c, i, path, stroke(i)...)
			}
		}
		all = append(all, p)
	}
	return all
}

// forest plots the effects of a comparison with their intervals, one line per metric of a cell.
func forest(doc *results.Comparison) *plot {
	type line struct {
		label, verdict   string
		effect, low, top float64
	}
	var lines []line
	left := 0
	p := &plot{id: "forest", question: "How much do the sides differ, and how certain is it?", head: []string{"cell", "metric", "ratio", "low", "high", "verdict"}}
	for _, c := range doc.Cells {
		for _, m := range c.Metrics {
			name := c.Variant
			if c.Against != "" {
				name = c.Against + " against " + name
			}
			if sessions := c.Conditions["sessions"]; sessions != "" {
				name += " " + sessions
			}
			row := []string{name, m.Metric, "-", "-", "-", m.Verdict}
			if m.Effect == nil || m.Scale != results.ScaleRatio {
				left++
				p.rows = append(p.rows, row)
				continue
			}
			label := m.Metric
			if len(doc.Cells) > 1 { // a single cell needs no name
				label = name + ", " + label
			}
			l := line{label: label, verdict: m.Verdict, effect: *m.Effect, low: math.NaN(), top: math.NaN()}
			row[2] = phrase.Fixed(l.effect, 3)
			if m.Low != nil && m.High != nil {
				l.low, l.top = *m.Low, *m.High
				row[3], row[4] = phrase.Fixed(l.low, 3), phrase.Fixed(l.top, 3)
			}
			lines, p.rows = append(lines, l), append(p.rows, row)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	runs := func(s results.Side) string { return phrase.Count(len(s.Runs), "run") }
	p.note = fmt.Sprintf("n = %s and %s; intervals of %s %%; shaded: within %s %%, which does not matter.", runs(doc.Baseline), runs(doc.Candidate),
		phrase.Number(100*cmp.Or(report.IntervalLevel(*doc), 1-doc.Alpha), 3), phrase.Number(100*doc.MinEffect, 3))
	if left > 0 {
		p.note += fmt.Sprintf(" Left out: %s without a ratio.", phrase.Count(left, "metric"))
	}
	p.desc = "The ratio of the candidate to the baseline for each metric, with its interval."
	values := []float64{1 / (1 + doc.MinEffect), 1 + doc.MinEffect}
	for _, l := range lines {
		values = append(values, l.effect, l.low, l.top)
	}
	p.height = rowsHigh * float64(len(lines))
	p.x, p.y = logarithmic("candidate / baseline, log", values, 7), axis{lo: 0, hi: float64(len(lines))}
	p.draw = func(c *canvas, p *plot) {
		lo, hi := p.x.at(1/(1+doc.MinEffect)), p.x.at(1+doc.MinEffect)
		c.empty("rect", "class", "h1", "x", lo, "y", p.y.to, "width", hi-lo, "height", p.y.from-p.y.to, "fill", heatColours[0])
		c.line(p.x.at(1), p.y.to, p.x.at(1), p.y.from, "class", "axis", "stroke", "#888888", "stroke-width", "1")
		for i, l := range lines {
			y := p.lane(c, i, l.label, l.verdict)
			series := 6
			switch l.verdict {
			case "REGRESSION":
				series = 1
			case "IMPROVEMENT":
				series = 2
			case "EQUIVALENT":
				series = 0
			}
			c.ink(series)
			if !math.IsNaN(l.low) && !math.IsNaN(l.top) {
				c.line(p.x.at(l.low), y, p.x.at(l.top), y, "stroke-width", "2")
			}
			c.marker(map[string]int{"REGRESSION": 2, "IMPROVEMENT": 3, "EQUIVALENT": 0}[l.verdict], p.x.at(l.effect), y, l.verdict == "INCONCLUSIVE")
			c.end("g")
		}
	}
	return p
}

// changePoints plots each metric of a trend with its change points.
func changePoints(doc *results.Trend) (all []*plot) {
	for k, s := range doc.Series {
		m, err := results.ParseMetric(s.Metric)
		var values []float64
		var points []point
		for i, v := range s.Values {
			if v != nil {
				values, points = append(values, *v), append(points, point{x: float64(i + 1), y: *v})
			}
		}
		if len(values) == 0 {
			continue
		}
		unit := ""
		if err == nil {
			unit = string(m.Unit())
		}
		p := &plot{id: "trend-" + strconv.Itoa(k+1), question: fmt.Sprintf("%s of %s: where did it change?", s.Metric, cmp.Or(s.Variant, s.Workload)), height: 130,
			note: fmt.Sprintf("n = %s; runs without a value are left out; a change needs %d.", phrase.Count(len(values), "run"), s.Needed),
			desc: s.Metric + " over the runs in the order of time.", head: []string{"run", "value"}}
		if sessions := s.Conditions["sessions"]; sessions != "" {
			p.note = sessions + " sessions; " + p.note
		}
		for i, v := range s.Values {
			if v != nil && i < len(doc.Runs) {
				p.row(doc.Runs[i].Dir, phrase.Number(*v, 3))
			}
		}
		p.x = axis{label: "run", lo: 0.5, hi: float64(len(s.Values)) + 0.5}
		for i := 1; i <= len(s.Values); i += max(len(s.Values)/8, 1) {
			p.x.ticks = append(p.x.ticks, tick{float64(i), strconv.Itoa(i)})
		}
		p.y = linear(s.Metric+" "+unit, values, true, 4)
		p.draw = func(c *canvas, p *plot) {
			for _, ch := range s.Changes {
				x := p.x.at(float64(ch.After) + 0.5)
				c.line(x, p.y.from, x, p.y.to, "class", "ref", "stroke", "#777777", "stroke-width", "1.4", "stroke-dasharray", "5 3")
				c.words(math.Min(x+4, wide-width(ch.Verdict)), p.y.to+10, "start", "tick", ch.Verdict)
			}
			p.line(c, 0, points)
		}
		all = append(all, p)
	}
	return all
}
