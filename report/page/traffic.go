package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/traffic"
)

// traffic writes the page of the load that a server's files tell of.
func (h *html) traffic(t *report.Traffic) {
	badge, class := "complete", "good"
	if n := len(t.Coverage.Problems); n > 0 {
		badge, class = phrase.Count(n, "problem")+" with the files", "fair"
	}
	h.top(trafficTitle(t), class, badge, fmt.Sprintf("%s, %s/s, and %s, %s/s, in %s. %s opened, %s recognized.", phrase.Count(t.Writes.Count, "write"), phrase.Number(t.Writes.PerSecond, 3),
		phrase.Count(t.Reads.Count, "read"), phrase.Number(t.Reads.PerSecond, 3), phrase.Seconds(t.Seconds), phrase.Count(t.Sessions.Opened, "session"), phrase.Count(len(t.Recipes), "use")+" of recipes"), nil)
	c := t.Coverage
	h.facts("Directories", strings.Join(t.Dirs, ", "), "Snapshot", c.Snapshot, "Read", fmt.Sprintf("%s in %s, %s, zxids %s to %s", phrase.Count(c.Transactions, "transaction"),
		phrase.Count(c.Logs, "transaction log"), phrase.Bytes(c.Bytes), c.First, c.Last), "Leaders", fmt.Sprint(c.Leaders))
	var sizes, holds []spreadOf
	for _, k := range t.Mix {
		sizes = append(sizes, spreadOf{k.Kind, k.Kind, k.Data})
	}
	number := map[string]int{}
	for _, r := range t.Recipes {
		number[r.Kind]++
		times := r.HoldMS
		if r.Kind == traffic.Queue {
			times = r.AgeMS
		}
		holds = append(holds, spreadOf{fmt.Sprintf("%s %d", r.Kind, number[r.Kind]), r.Kind + " " + r.Pattern, times})
	}
	h.plots(writes(t), spread(plot{id: "sizes", question: "How large is what is written?", desc: "The quantiles of the size of the data, by kind of write.",
		note: "Bytes of data of each znode that was created or set, in multis too."}, "kind", "bytes", sizes),
		spread(plot{id: "holds", question: "How long are locks held, and how old do items get?", desc: "The quantiles of the time from a grant to its end, and from an item's put to its take, by recipe.",
			note: "By the leader's clock, which counts whole milliseconds. A grant lasts from when its znode is the lowest until it is gone."}, "recipe", "ms", holds))
	h.element("h2", "Tables")
	h.sections(t.Sections())
}

func trafficTitle(t *report.Traffic) string {
	return "zkbench traffic of " + t.From.Format("2006-01-02 15:04") + " UTC"
}

// writes plots the rate of the writes over time.
func writes(t *report.Traffic) *plot {
	counts, step := t.Writes.Timeline, float64(t.Writes.IntervalS)
	if len(counts) == 0 || step <= 0 {
		return nil
	}
	unit, length := "s", 1.0
	switch whole := step * float64(len(counts)); {
	case whole > 3*3600:
		unit, length = "h", 3600
	case whole > 600:
		unit, length = "min", 60
	}
	p := &plot{id: "writes", question: "When was how much written?", height: 150, desc: "The writes of clients per second over time.",
		note: fmt.Sprintf("n = %s writes, those that failed too, in intervals of %s from %s UTC; the last one may be incomplete.", count(t.Writes.Count), phrase.Seconds(step), t.Writes.Started.Format("2006-01-02 15:04:05")),
		head: []string{"from, " + unit, "to, " + unit, "writes", "writes/s", "most in an interval"}}
	at := func(k int) float64 { return float64(k) * step / length }
	rates := make([]float64, len(counts))
	for k, n := range counts {
		rates[k] = float64(n) / step
	}
	from := 0
	for group := range slices.Chunk(counts, max(1, len(counts)/20)) {
		sum := int64(0)
		for _, n := range group {
			sum += n
		}
		to := from + len(group)
		p.row(phrase.Number(at(from), 4), phrase.Number(at(to), 4), fmt.Sprint(sum), phrase.Number(float64(sum)/step/float64(len(group)), 4), fmt.Sprint(slices.Max(group)))
		from = to
	}
	p.x = linear("", []float64{0, at(len(counts))}, false, 6)
	p.x.label, p.y = unit+" since the first write", linear("writes/s", rates, true, 4)
	p.draw = func(c *canvas, p *plot) {
		path := "M" + num(p.x.from) + " " + num(p.y.from)
		for k, rate := range rates {
			path += "V" + num(p.y.at(rate)) + "H" + num(p.x.at(at(k+1)))
		}
		c.ink(0)
		c.empty("path", "d", path+"V"+num(p.y.from)+"Z", "fill-opacity", "0.25", "stroke-width", "1")
		c.end("g")
	}
	return p
}

// spreadOf is numbers that a plot of quantiles shows.
type spreadOf struct {
	label, name string // in the legend and in the table
	values      traffic.Values
}

// spread plots the quantiles of numbers, of as many rows as a plot has colours for; nil if none has any above 0.
func spread(p plot, of, unit string, all []spreadOf) *plot {
	all = slices.DeleteFunc(all, func(s spreadOf) bool { return s.values.Max == 0 })
	if len(all) == 0 {
		return nil
	}
	p.head = []string{of, "n", unit + ": mean", "least", "p50", "p90", "p99", "most"}
	for _, s := range all {
		v := s.values
		p.row(s.name, fmt.Sprint(v.Count), phrase.Number(v.Mean, 4), fmt.Sprint(v.Min), fmt.Sprint(v.P50), fmt.Sprint(v.P90), fmt.Sprint(v.P99), fmt.Sprint(v.Max))
	}
	if left := len(all) - mostCurves; left > 0 {
		all = all[:mostCurves]
		p.note += fmt.Sprintf(" The other %d are below.", left)
	}
	lines, ys, zeros := make([][]point, len(all)), []float64(nil), false
	for i, s := range all {
		p.legend = append(p.legend, key{i, s.label, lineKey})
		for k, q := range append(s.values.Quantiles[:], s.values.Max) {
			if q == 0 {
				zeros = true
				continue
			}
			ys = append(ys, float64(q))
			lines[i] = append(lines[i], point{x: float64(min(10*k+5, 100)), y: float64(q)})
		}
	}
	if zeros {
		p.note += " 0 is not on the axis."
	}
	p.x, p.y = linear("% of them are at most this", []float64{0, 100}, true, 5), logarithmic(unit+", log", ys, 5)
	p.draw = func(c *canvas, p *plot) {
		for i, points := range lines {
			p.line(c, i, points)
		}
	}
	return &p
}
