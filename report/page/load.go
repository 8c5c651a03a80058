package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// curve is the cells that differ in one load only: a line of a plot.
type curve struct {
	label string
	cells []results.Cell
}

// curves are the cells of a workload by variant and whatever else is not the load that the plot is against.
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

// byWorkload are the cells of each workload.
func byWorkload(cells []results.Cell) (all [][]results.Cell) {
	for i, c := range cells {
		if i == 0 || c.Workload != cells[i-1].Workload {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], c)
	}
	return all
}

// mostCurves is how many lines a plot can carry; the others are in its table.
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

// between is 'n = 5' or 'n = 5 to 9' of what.
func between(values []int64, what string) string {
	lo, hi := slices.Min(values), slices.Max(values)
	if lo == hi {
		return fmt.Sprintf("n = %s %s", count(lo), what)
	}
	return fmt.Sprintf("n = %s to %s %s", count(lo), count(hi), what)
}

// unitOf is what a cell counts.
func unitOf(c results.Cell) string {
	for _, m := range c.Roles() {
		if m.Role == results.RoleOperation && m.Unit != "" {
			return m.Unit
		}
	}
	return "operations"
}

// throughput is plot 1.
func throughput(run *results.Run, cells []results.Cell) *plot {
	all := curves(cells, "sessions")
	p := &plot{id: "throughput-" + cells[0].Workload,
		head: []string{"variant", "sessions", unitOf(cells[0]) + "/s", "lowest", "highest", "repetitions", "operations"}}
	var xs, ys []float64
	var n, runs []int64
	points := make([][]point, len(all))
	for i, v := range all {
		for _, c := range v.cells {
			q := point{x: float64(c.Sessions), y: c.Throughput, low: c.Throughput, high: c.Throughput, hollow: c.Saturated}
			reps := repetitions(run, c)
			for k, r := range reps {
				if k == 0 {
					q.low, q.high = r.Throughput, r.Throughput
				}
				q.low, q.high = min(q.low, r.Throughput), max(q.high, r.Throughput)
			}
			points[i] = append(points[i], q)
			xs, ys = append(xs, q.x), append(ys, q.low, q.high)
			n, runs = append(n, c.Operations), append(runs, int64(len(reps)))
			p.rows = append(p.rows, []string{v.label, strconv.Itoa(c.Sessions), phrase.Number(q.y, 3), phrase.Number(q.low, 3), phrase.Number(q.high, 3),
				strconv.Itoa(len(reps)), count(c.Operations)})
		}
	}
	p.legend = legendOf(all)
	limit, why := ceiling(cells)
	switch {
	case limit > 0:
		p.question = "Which variant is faster, from how many contenders on, and how far is it from the maximum?"
	case len(all) > 1:
		p.question = "Which is faster, and from how many sessions on?"
	default:
		p.question = "How many per second, by number of sessions?"
	}
	if limit > 0 {
		p.legend = append(p.legend, key{0, "at most " + phrase.Number(limit, 3) + "/s", dashKey})
		ys = append(ys, limit)
	}
	p.note = between(n, "operations a point")
	if slices.Max(runs) > 1 {
		p.note += "; " + between(runs, "repetitions a point, whiskers their range")
	}
	p.note += "; warm-up, drain and failures excluded." + why
	p.desc = "Throughput in the steady phase against the number of sessions, a line for each variant."
	p.x, p.y = sessionsAxis(xs), logarithmic(unitOf(cells[0])+" per second, log", ys, 7)
	p.draw = func(c *canvas, p *plot) {
		if limit > 0 {
			p.reference(c, [][2]float64{{p.x.lo, limit}, {p.x.hi, limit}})
		}
		for i := range all[:min(len(all), mostCurves)] {
			p.line(c, i, points[i])
		}
	}
	var marked []float64
	if limit > 0 {
		marked = []float64{limit}
	}
	p.byRow(all, "sessions", xs, marked, points)
	return p
}

// sessionsAxis has its ticks where there are points.
func sessionsAxis(xs []float64) axis {
	a := logarithmic("sessions, log", xs, 8)
	a.ticks = nil
	for _, x := range slices.Compact(slices.Sorted(slices.Values(xs))) {
		a.ticks = append(a.ticks, tick{x, short(x)})
	}
	return a
}

// ceiling is the throughput that no lock can pass: one holder an object, and between two grants at least the hold and the write that ends it. The
// write is taken to be as fast as the fastest median of a release in these cells. 0 where this is no lock, or the hold is not known.
func ceiling(cells []results.Cell) (perSecond float64, why string) {
	write := math.Inf(1)
	hold, objects := time.Duration(-1), cells[0].Objects
	for _, c := range cells {
		if c.Workload != "lock" || c.Objects != objects {
			return 0, ""
		}
		h, err := meanOf(fmt.Sprint(c.Parameters["hold"]))
		if err != nil || hold >= 0 && hold != h {
			return 0, ""
		}
		hold = h
		if l, has := c.Latency["release.service"]; has && l.Count > 0 && l.P50 > 0 {
			write = min(write, l.P50)
		}
	}
	if hold < 0 || math.IsInf(write, 1) {
		return 0, ""
	}
	return float64(max(objects, 1)) / (hold.Seconds() + write/1e3),
		fmt.Sprintf(" Dashed: 1/(hold %s + the write of a release, %s ms, the fastest median here).", phrase.Duration(hold), phrase.Number(write, 2))
}

// meanOf is the mean of a distribution as the profile writes it: 5ms, exponential 20ms, uniform 1ms to 3ms.
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

// responses is the p50 and p99 of what a workload is timed by, against sessions.
func responses(run *results.Run, cells []results.Cell) *plot {
	op := timedOp(cells[0])
	if op == "" {
		return nil
	}
	return percentiles(cells, "response-"+cells[0].Workload, "How long does it take, by number of sessions?", op+".response", "sessions",
		func(c results.Cell) float64 { return float64(c.Sessions) }, sessionsAxis, nil)
}

// percentiles is a plot of the p50 (solid) and p99 (hollow, thin) of a histogram against a load.
func percentiles(cells []results.Cell, id, question, histogram, load string, x func(results.Cell) float64, scale func([]float64) axis, goal *float64) *plot {
	all := curves(cells, map[string]string{"achieved/s": "rate"}[load])
	if load == "sessions" {
		all = curves(cells, "sessions")
	}
	p := &plot{id: id, question: question, head: []string{"variant", load, "p50, ms", "p99, ms", "max, ms", "samples"}}
	var xs, ys []float64
	var n []int64
	missing := 0
	p50, p99 := make([][]point, len(all)), make([][]point, len(all))
	for i, v := range all {
		for _, c := range v.cells {
			l, has := c.Latency[histogram]
			if !has || l.Count+l.Unserved < 6 {
				missing++
				continue
			}
			at, tail := x(c), math.NaN()
			row := []string{v.label, phrase.Number(at, 3), bound(l, "p50", l.P50), "-", bound(l, "max", l.Max), count(l.Count + l.Unserved)}
			if l.P99 != nil {
				tail, row[3] = *l.P99, bound(l, "p99", *l.P99)
				ys = append(ys, tail)
			}
			p.rows = append(p.rows, row)
			p50[i] = append(p50[i], point{x: at, y: l.P50, hollow: c.Saturated})
			p99[i] = append(p99[i], point{x: at, y: tail, hollow: true})
			xs, ys, n = append(xs, at), append(ys, l.P50), append(n, l.Count+l.Unserved)
		}
	}
	if len(xs) == 0 {
		return nil
	}
	if p.legend = legendOf(all); slices.ContainsFunc(slices.Concat(p99...), func(q point) bool { return !math.IsNaN(q.y) }) {
		p.legend = append(p.legend, key{0, "hollow: p99", hollowKey})
	}
	p.note = between(n, "samples a point") + "; failures excluded, unserved work counts with the time it had waited; no p99 below 368 samples."
	if missing > 0 {
		p.note += fmt.Sprintf(" Left out: %s without samples.", phrase.Count(missing, "cell"))
	}
	if goal != nil {
		ys = append(ys, *goal)
		p.legend = append(p.legend, key{0, "goal " + phrase.Number(*goal, 3) + " ms", dashKey})
	}
	p.desc = "Percentiles of " + histogram + " against " + load + "."
	p.x, p.y = scale(xs), logarithmic(histogram+", ms, log", ys, 7)
	p.draw = func(c *canvas, p *plot) {
		if goal != nil {
			p.reference(c, [][2]float64{{p.x.lo, *goal}, {p.x.hi, *goal}})
		}
		for i := range all[:min(len(all), mostCurves)] {
			p.line(c, i, p99[i])
			p.line(c, i, p50[i])
		}
	}
	var marked []float64
	if goal != nil {
		marked = []float64{*goal}
	}
	if load == "sessions" {
		p.byRow(all, load, xs, marked, p50, p99)
	}
	return p
}

// bound is a time in ms, with >= where it is a lower bound.
func bound(l results.Latency, name string, ms float64) string {
	if slices.Contains(l.AtLeast, name) {
		return "≥ " + phrase.Number(phrase.Least(ms, 3), 3)
	}
	return phrase.Number(ms, 3)
}

// rates is plot 2, of an open loop with several rates.
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
	var goal *float64
	for _, g := range run.Gates {
		if limit, ok := limitOf(g.Gate, op); ok {
			goal = &limit
		}
	}
	p := percentiles(open, "rate-"+cells[0].Workload, "How much load meets the goal?", op+".response", "achieved/s",
		func(c results.Cell) float64 { return c.Throughput }, func(xs []float64) axis { return linear("achieved, "+unitOf(cells[0])+" per second", xs, true, 6) }, goal)
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

// kneeOf is the highest achieved rate below the first that was not sustained; 0 where all were.
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

// limitOf is the limit in ms of a gate on a percentile of the response of an operation.
func limitOf(gate, op string) (ms float64, ok bool) {
	metric, limit, found := strings.Cut(gate, "<")
	metric = strings.TrimSpace(metric)
	if !found || !strings.HasPrefix(metric, "p") || !strings.Contains(metric, "("+op) || strings.Contains(metric, "service") {
		return 0, false
	}
	d, err := time.ParseDuration(strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(limit, "=")), " ", ""))
	return float64(d) / float64(time.Millisecond), err == nil
}

// herd is plot 6: three figures of what a release and an acquisition set in motion.
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
		p := &plot{id: f.id + "-" + cells[0].Workload, question: f.question, head: []string{"variant", "sessions", f.label[:len(f.label)-5]}}
		if f.theory != nil {
			p.head = append(p.head, "theory")
		}
		vs := curves(cells, "sessions")
		var xs, ys []float64
		var n []int64
		points, theory, known := make([][]point, len(vs)), make([][]point, len(vs)), false
		for i, v := range vs {
			for _, c := range v.cells {
				if c.Fanout == nil {
					continue
				}
				y := f.of(*c.Fanout)
				row := []string{v.label, strconv.Itoa(c.Sessions), phrase.Number(y, 3)}
				points[i] = append(points[i], point{x: float64(c.Sessions), y: y})
				xs, ys, n = append(xs, float64(c.Sessions)), append(ys, y), append(n, c.Operations)
				if f.theory != nil {
					row = append(row, "-")
					if t := f.theory(*c.Fanout); t > 0 {
						theory[i], known = append(theory[i], point{x: float64(c.Sessions), y: t, hollow: true}), true
						ys, row[3] = append(ys, t), phrase.Number(t, 3)
					}
				}
				p.rows = append(p.rows, row)
			}
		}
		if lo, hi := bounds(ys); len(ys) == 0 || hi <= 0 || f.theory == nil && lo == hi && len(ys) < 2 {
			continue
		}
		p.legend = legendOf(vs)
		p.note = between(n, "operations a point") + "; counted at the socket in the steady phase."
		p.desc = f.label + " against the number of sessions, a line for each variant."
		p.x, p.y = sessionsAxis(xs), logarithmic(f.label, ys, 7)
		p.draw = func(c *canvas, p *plot) {
			for i := range vs[:min(len(vs), mostCurves)] {
				var expected [][2]float64
				for _, q := range theory[i] {
					expected = append(expected, [2]float64{q.x, q.y})
				}
				p.reference(c, expected)
				p.line(c, i, points[i])
			}
		}
		switch flat := p.byRow(vs, "sessions", xs, nil, points, theory); {
		case flat && known:
			p.legend = append(p.legend, key{0, "hollow: theory", hollowKey})
		case known:
			p.legend = append(p.legend, key{0, "theory", dashKey})
		}
		all = append(all, p)
	}
	return all
}
