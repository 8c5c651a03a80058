package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// curve is one line of a plot: the cells that differ only in the load.
type curve struct {
	label string
	cells []results.Cell
}

// curves groups the cells of a workload by variant and every other condition except the load that the plot shows.
func curves(cells []results.Cell, load string) (all []curve) {
	differs := map[string]bool{}
	value := func(c results.Cell, name string) string {
		for _, k := range c.Conditions() {
			if k.Name == name {
				return k.Value
			}
		}
		return ""
	}
	for _, c := range cells {
		for _, k := range c.Conditions() {
			if k.Name != load && value(cells[0], k.Name) != k.Value {
				differs[k.Name] = true
			}
		}
	}
	for _, c := range cells {
		label := c.Variant
		for _, k := range c.Conditions() {
			if differs[k.Name] && k.Value != "" {
				label += ", " + k.Name + " " + k.Value
			}
		}
		i := slices.IndexFunc(all, func(x curve) bool { return x.label == label })
		if i < 0 {
			all, i = append(all, curve{label: label}), len(all)
		}
		all[i].cells = append(all[i].cells, c)
	}
	return all
}

// byWorkload groups cells by workload.
func byWorkload(cells []results.Cell) (all [][]results.Cell) {
	for i, c := range cells {
		if i == 0 || c.Workload != cells[i-1].Workload {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], c)
	}
	return all
}

// mostCurves is the number of lines a plot can show; the other curves are only in its table.
const mostCurves = 7

func legendOf(all []curve) (keys []key) {
	for i, c := range all[:min(len(all), mostCurves)] {
		keys = append(keys, key{i, c.label, lineKey})
	}
	return keys
}

func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// between formats a range of counts: 'n = 5 runs' or 'n = 5 to 9 runs'.
func between(values []int64, what string) string {
	lo, hi := slices.Min(values), slices.Max(values)
	if lo == hi {
		return fmt.Sprintf("n = %s %s", count(lo), what)
	}
	return fmt.Sprintf("n = %s to %s %s", count(lo), count(hi), what)
}

// unitOf returns what a cell counts, as a plural noun.
func unitOf(c results.Cell) string {
	for _, m := range c.Measured {
		if m.Role == results.RoleOperation && m.Unit != "" {
			return m.Unit
		}
	}
	return "operations"
}

// throughput is plot 1: throughput against the number of sessions.
func throughput(run *results.Run, cells []results.Cell) *plot {
	unit := unitOf(cells[0])
	s := newSeries(plot{id: "throughput-" + cells[0].Workload, desc: "Throughput in the steady phase against the number of sessions, a line for each variant.",
		head: []string{"variant", "sessions", unit + "/s", "lowest", "highest", "repetitions", "operations"}}, curves(cells, "sessions"), 1)
	var runs []int64
	for i, v := range s.curves {
		for _, c := range v.cells {
			var all []float64
			for _, r := range repetitions(run, c) {
				all = append(all, r.Throughput)
			}
			q := point{x: float64(c.Sessions), y: c.Throughput, low: c.Throughput, high: c.Throughput, hollow: c.Saturated}
			if len(all) > 0 {
				q.low, q.high = slices.Min(all), slices.Max(all)
			}
			s.add(0, i, q)
			s.n, runs = append(s.n, c.Operations), append(runs, int64(len(all)))
			s.row(v.label, strconv.Itoa(c.Sessions), phrase.Number(q.y, 3), phrase.Number(q.low, 3), phrase.Number(q.high, 3), strconv.Itoa(len(all)), count(c.Operations))
		}
	}
	limit, why := ceiling(cells)
	var marks []float64
	switch {
	case limit > 0:
		s.question = "Which variant is faster, from how many contenders on, and how far is it from the maximum?"
		s.legend = []key{{0, "at most " + phrase.Number(limit, 3) + "/s", dashKey}}
		marks = []float64{limit}
		s.see(limit)
	case len(s.curves) > 1:
		s.question = "Which is faster, and from how many sessions on?"
	default:
		s.question = "How many per second, by number of sessions?"
	}
	s.note = between(s.n, "operations a point")
	if slices.Max(runs) > 1 {
		s.note += "; " + between(runs, "repetitions a point, whiskers their range")
	}
	s.note += "; warm-up, drain and failures excluded." + why
	return s.finish("sessions", sessionsAxis(s.xs), logarithmic(unit+" per second, log", s.ys, 7), marks...)
}

// sessionsAxis puts its ticks at the values that have points.
func sessionsAxis(xs []float64) axis {
	a := logarithmic("sessions, log", xs, 8)
	a.ticks = nil
	for _, x := range slices.Compact(slices.Sorted(slices.Values(xs))) {
		a.ticks = append(a.ticks, tick{x, short(x)})
	}
	return a
}

// ceiling returns the throughput that no exclusive lock can exceed: one holder per object, and between two grants at least the hold and the write that
// ends it. The write is assumed to take as long as the fastest median release in these cells. It is 0 if grants are not exclusive or the hold is unknown.
func ceiling(cells []results.Cell) (perSecond float64, why string) {
	write := math.Inf(1)
	hold, objects := time.Duration(-1), cells[0].Objects
	for _, c := range cells {
		ended := ""
		for _, m := range c.Measured {
			ended = cmp.Or(ended, m.EndedBy)
		}
		if ended == "" || c.Objects != objects {
			return 0, ""
		}
		h, err := meanOf(holdOf(c))
		if err != nil || hold >= 0 && hold != h {
			return 0, ""
		}
		hold = h
		if l, has := c.Latency[ended+".service"]; has && l.Count > 0 && l.P50 > 0 {
			write = min(write, l.P50)
		}
	}
	if hold < 0 || math.IsInf(write, 1) {
		return 0, ""
	}
	return float64(max(objects, 1)) / (hold.Seconds() + write/1e3),
		fmt.Sprintf(" Dashed: 1/(hold %s + the write of a release, %s ms, the fastest median here).", phrase.Duration(hold), phrase.Number(write, 2))
}

// holdOf returns how long a grant is held, as the profile writes it.
func holdOf(c results.Cell) string {
	for key, value := range c.Parameters {
		if c.Meaning(key).Role == results.RoleHold {
			return fmt.Sprint(value)
		}
	}
	return ""
}

// meanOf returns the mean of a distribution written as in a profile: 5ms, exponential 20ms, uniform 1ms to 3ms.
func meanOf(text string) (time.Duration, error) {
	words := strings.Fields(strings.ReplaceAll(text, ",", " "))
	switch {
	case len(words) == 1:
		return time.ParseDuration(words[0])
	case len(words) >= 2 && (words[0] == "exponential" || words[0] == "lognormal"):
		return time.ParseDuration(words[1])
	case len(words) == 4 && words[0] == "uniform":
		lo, err := time.ParseDuration(words[1])
		if err != nil {
			return 0, err
		}
		hi, err := time.ParseDuration(words[3])
		return (lo + hi) / 2, err
	}
	return 0, fmt.Errorf("%q is not a distribution", text)
}

// bySessions returns the load that most plots use.
func bySessions(c results.Cell) float64 { return float64(c.Sessions) }

// responses plots the p50 and p99 of the operation that times a workload, against sessions.
func responses(run *results.Run, cells []results.Cell) *plot {
	op := timedOp(cells[0])
	if op == "" {
		return nil
	}
	return percentiles(cells, "response-"+cells[0].Workload, "How long does it take, by number of sessions?", op+".response", "sessions", bySessions, sessionsAxis)
}

// percentiles plots the p50 (solid) and p99 (hollow, thin) of a histogram against a load, with goals.
func percentiles(cells []results.Cell, id, question, histogram, load string, x func(results.Cell) float64, scale func([]float64) axis, goals ...float64) *plot {
	set, rows := load, load
	if load == "achieved/s" {
		set, rows = "rate", ""
	}
	s := newSeries(plot{id: id, question: question, head: []string{"variant", load, "p50, ms", "p99, ms", "max, ms", "samples"}}, curves(cells, set), 2)
	missing := 0
	for i, v := range s.curves {
		for _, c := range v.cells {
			l, has := c.Latency[histogram]
			if !has || l.Count+l.Unserved < 6 {
				missing++
				continue
			}
			at, tail, p99 := x(c), math.NaN(), "-"
			if l.P99 != nil {
				tail, p99 = *l.P99, bound(l, "p99", *l.P99)
			}
			s.row(v.label, phrase.Number(at, 3), bound(l, "p50", l.P50), p99, bound(l, "max", l.Max), count(l.Count+l.Unserved))
			s.add(0, i, point{x: at, y: l.P50, hollow: c.Saturated})
			s.add(1, i, point{x: at, y: tail, hollow: true})
			s.n = append(s.n, l.Count+l.Unserved)
		}
	}
	if len(s.xs) == 0 {
		return nil
	}
	if slices.ContainsFunc(slices.Concat(s.sets[1]...), func(q point) bool { return !math.IsNaN(q.y) }) {
		s.legend = append(s.legend, key{0, "hollow: p99", hollowKey})
	}
	s.note = between(s.n, "samples a point") + "; failures excluded, unserved work counts with the time it had waited; no p99 below 368 samples."
	if missing > 0 {
		s.note += fmt.Sprintf(" Left out: %s without samples.", phrase.Count(missing, "cell"))
	}
	for _, goal := range goals {
		s.see(goal)
		s.legend = append(s.legend, key{0, "goal " + phrase.Number(goal, 3) + " ms", dashKey})
	}
	s.desc = "Percentiles of " + histogram + " against " + load + "."
	return s.finish(rows, scale(s.xs), logarithmic(histogram+", ms, log", s.ys, 7), goals...)
}

// bound formats a time in ms, with >= if it is a lower bound.
func bound(l results.Latency, name string, ms float64) string {
	if slices.Contains(l.AtLeast, name) {
		return "≥ " + phrase.Number(phrase.Least(ms, 3), 3)
	}
	return phrase.Number(ms, 3)
}

// rates is plot 2, for an open loop with several rates.
func rates(run *results.Run, cells []results.Cell) *plot {
	var open []results.Cell
	distinct := map[float64]bool{}
	for _, c := range cells {
		if c.RatePerS > 0 {
			open, distinct[c.RatePerS] = append(open, c), true
		}
	}
	op := timedOp(cells[0])
	if len(distinct) < 2 || op == "" {
		return nil
	}
	var goals []float64
	for _, g := range run.Gates {
		if limit, ok := limitOf(g.Gate, op); ok {
			goals = []float64{limit}
		}
	}
	p := percentiles(open, "rate-"+cells[0].Workload, "How much load meets the goal?", op+".response", "achieved/s",
		func(c results.Cell) float64 { return c.Throughput }, func(xs []float64) axis { return linear("achieved, "+unitOf(cells[0])+" per second", xs, true, 6) }, goals...)
	if p == nil {
		return nil
	}
	p.note += " Hollow p50: the offered load was not sustained."
	if knee := kneeOf(open); knee > 0 {
		p.note += fmt.Sprintf(" The highest load that was sustained is %s/s.", phrase.Number(knee, 3))
		inner := p.draw
		p.draw = func(c *canvas, p *plot) {
			x := p.x.at(knee)
			c.line(x, p.y.from, x, p.y.to, "class", "ref", "stroke", "#777777", "stroke-width", "1.2", "stroke-dasharray", "1 3")
			inner(c, p)
		}
	}
	return p
}

// kneeOf returns the highest achieved rate below the first one that was not sustained; 0 if all were sustained.
func kneeOf(cells []results.Cell) (knee float64) {
	saturated := false
	for _, c := range cells {
		if c.Saturated {
			saturated = true
		} else {
			knee = max(knee, c.Throughput)
		}
	}
	if !saturated {
		return 0
	}
	return knee
}

// limitOf returns the limit, in ms, that a gate sets on a response percentile of an operation.
func limitOf(gate, op string) (ms float64, ok bool) {
	metric, limit, found := strings.Cut(gate, "<")
	metric = strings.TrimSpace(metric)
	if !found || !strings.HasPrefix(metric, "p") || !strings.Contains(metric, "("+op) || strings.Contains(metric, "service") {
		return 0, false
	}
	d, err := time.ParseDuration(strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(limit, "=")), " ", ""))
	return float64(d) / float64(time.Millisecond), err == nil
}

// herd is plot 6: three figures of what a release and an acquisition cause.
func herd(cells []results.Cell) (all []*plot) {
	for _, f := range []struct {
		id, label, question string
		of                  func(results.Fanout) float64
		theory              func(results.Fanout) float64
	}{
		{"events", "watch events per release, log", "Is there a herd effect: how many sessions does a release wake?", func(f results.Fanout) float64 { return f.EventsPerRelease },
			func(f results.Fanout) float64 { return f.TheoryPerRelease }},
		{"children", "getChildren calls per acquisition, log", "How often does an acquisition list the children?", func(f results.Fanout) float64 { return f.ListsPerAcquire }, nil},
		{"bytes", "bytes of names per acquisition, log", "What do these calls cost on the wire?", func(f results.Fanout) float64 { return f.ChildrenBytesPerAcquire }, nil},
	} {
		s := newSeries(plot{id: f.id + "-" + cells[0].Workload, question: f.question, desc: f.label + " against the number of sessions, a line for each variant.",
			head: []string{"variant", "sessions", f.label[:len(f.label)-5]}}, curves(cells, "sessions"), 1)
		if f.theory != nil {
			s.head, s.theory = append(s.head, "theory"), make([][]point, len(s.curves))
		}
		for i, v := range s.curves {
			for _, c := range v.cells {
				if c.Fanout == nil {
					continue
				}
				q := point{x: float64(c.Sessions), y: f.of(*c.Fanout)}
				row := []string{v.label, strconv.Itoa(c.Sessions), phrase.Number(q.y, 3)}
				s.add(0, i, q)
				s.n = append(s.n, c.Operations)
				if f.theory != nil {
					theory := "-"
					if t := f.theory(*c.Fanout); t > 0 {
						s.theory[i], theory = append(s.theory[i], point{x: q.x, y: t, hollow: true}), phrase.Number(t, 3)
						s.see(t)
					}
					row = append(row, theory)
				}
				s.row(row...)
			}
		}
		if lo, hi := bounds(s.ys); len(s.ys) == 0 || hi <= 0 || f.theory == nil && lo == hi && len(s.ys) < 2 {
			continue
		}
		s.note = between(s.n, "operations a point") + "; counted at the socket in the steady phase."
		all = append(all, s.finish("sessions", sessionsAxis(s.xs), logarithmic(f.label, s.ys, 7)))
	}
	return all
}
