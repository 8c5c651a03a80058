package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results/stats"
)

// The conclusions of a report have a level of 95 % for all comparisons of a load together; a ratio below 1.05 counts as no difference.
const (
	alpha     = 0.05
	minEffect = 1.05
)

// contest compares one metric of two variants at one number of contenders.
type contest struct {
	a, b   row
	metric versus
	ratio  float64 // of a to b, with the repetitions of each pooled
	stats.Judgement
}

// versus is a metric that compares two rows.
type versus struct {
	name   string // what is counted per second, or what is timed
	higher bool   // higher is better
	of     func(row) figure
}

// contestsOf returns the metrics that compare two rows. In an open loop, whose rate the profile sets, it is the median response.
func contestsOf(a, b row) []versus {
	all := []versus{{a.what() + " per second", true, func(r row) figure { return r.grants }}}
	if a.offered > 0 {
		all = []versus{{a.timed(), false, func(r row) figure { return r.p50 }}}
	}
	if a.handOff.known && b.handOff.known {
		all = append(all, versus{"hand-off", false, func(r row) figure { return r.handOff }})
	}
	return slices.DeleteFunc(all, func(v versus) bool { return v.of(a).value <= 0 || v.of(b).value <= 0 }) // no ratio exists
}

// tournament is all contests of a load, judged together: repetitions are independent runs, each with fresh sessions and its own root.
type tournament struct {
	load     []row
	variants []string
	design   stats.Design
	runs     int // of the row with the fewest
	contests []contest
}

func newTournament(load []row, variants []string) tournament {
	t := tournament{load: load, variants: variants, design: stats.Design{Alpha: alpha, MinEffect: minEffect}, runs: math.MaxInt}
	var effects []stats.Effect
	for i, x := range variants {
		for _, y := range variants[:i] {
			for _, pair := range pairsOf(load, x, y) {
				if incomparable(pair[0], pair[1]) != "" {
					continue
				}
				for _, v := range contestsOf(pair[0], pair[1]) {
					a, b := v.of(pair[0]), v.of(pair[1])
					t.runs = min(t.runs, len(a.values), len(b.values))
					effects = append(effects, stats.Effect{Baseline: logs(b.values), Candidate: logs(a.values), Higher: v.higher})
					t.contests = append(t.contests, contest{a: pair[0], b: pair[1], metric: v, ratio: a.value / b.value})
				}
			}
		}
	}
	t.design.Metrics = len(effects)
	for i, j := range stats.JudgeIndependent(t.design, effects) {
		t.contests[i].Judgement = j
	}
	return t
}

// conclusive reports whether there are enough runs for any conclusion.
func (t tournament) conclusive() bool { return t.runs >= t.design.MinRuns() }

// logs returns the logarithms of the positive values. A value of 0 has no ratio to anything; leaving it out makes the sample too small.
func logs(values []float64) (all []float64) {
	for _, v := range values {
		if v > 0 {
			all = append(all, math.Log(v))
		}
	}
	return all
}

// outcome is the result of comparing two variants at one number of contenders.
type outcome uint8

const (
	undecided outcome = iota
	noDifference
	better
	worse
	mixed // more grants but a longer hand-off, or the other way round
)

// decision combines the contests of two variants at one number of contenders.
type decision struct {
	a, b row
	outcome
	of []contest
}

// between returns the decisions for a against b, fewest contenders first.
func (t tournament) between(a, b string) (all []decision) {
	for _, c := range t.contests {
		if c.a.label() == b && c.b.label() == a {
			c = c.turned()
		}
		if c.a.label() != a || c.b.label() != b {
			continue
		}
		if n := len(all); n == 0 || all[n-1].a.contenders() != c.a.contenders() {
			all = append(all, decision{a: c.a, b: c.b})
		}
		all[len(all)-1].of = append(all[len(all)-1].of, c)
	}
	for i := range all {
		all[i].decide()
	}
	slices.SortStableFunc(all, func(x, y decision) int { return cmp.Compare(x.a.contenders(), y.a.contenders()) })
	return all
}

// turned returns the same contest with the sides exchanged.
func (c contest) turned() contest {
	c.a, c.b, c.ratio = c.b, c.a, 1/c.ratio
	c.Estimate, c.Interval.Low, c.Interval.High = -c.Estimate, -c.Interval.High, -c.Interval.Low
	switch c.Verdict {
	case stats.Improvement:
		c.Verdict = stats.Regression
	case stats.Regression:
		c.Verdict = stats.Improvement
	}
	return c
}

func (d *decision) decide() {
	has := func(v stats.Verdict) bool {
		return slices.ContainsFunc(d.of, func(c contest) bool { return c.Verdict == v })
	}
	switch {
	case has(stats.Improvement) && has(stats.Regression):
		d.outcome = mixed
	case has(stats.Improvement):
		d.outcome = better
	case has(stats.Regression):
		d.outcome = worse
	case !has(stats.Inconclusive):
		d.outcome = noDifference
	}
}

// conclusions compares each variant with the one that beats the most others at the largest number of contenders. If there are too few runs for
// conclusions, it says what was seen of each against the variant with the best figures.
func (t tournament) conclusions() string {
	wins := func(v string) (n float64) {
		for _, other := range t.variants {
			all := t.between(v, other)
			if len(all) == 0 {
				continue
			}
			switch last := all[len(all)-1]; {
			case !t.conclusive():
				n += last.gain()
			case last.outcome == better:
				n++
			}
		}
		return n
	}
	winner := slices.MaxFunc(t.variants, func(a, b string) int { return cmp.Compare(wins(a), wins(b)) })
	var clauses []string
	for _, other := range t.variants {
		if other != winner {
			clauses = append(clauses, t.conclusion(winner, other))
		}
	}
	text := strings.Join(clauses, "; ")
	switch runs := phrase.Count(t.runs, "run"); {
	case len(t.contests) == 0:
	case t.conclusive():
		text += fmt.Sprintf(" (%s of each, at most a %.0f %% chance of a wrong conclusion in %s: U test, Holm)", runs, 100*alpha, phrase.Count(len(t.contests), "comparison"))
	default:
		text += fmt.Sprintf(" (seen in this run; no conclusion from %s of each: fewer than %d cannot tell a difference from chance)", runs, t.design.MinRuns())
	}
	return text
}

// conclusion says what follows, or what was seen, for two variants at the largest number of contenders that both have.
func (t tournament) conclusion(a, b string) string {
	pairs := pairsOf(t.load, a, b)
	if len(pairs) == 0 {
		return fmt.Sprintf("%s and %s were not measured with the same number of %s", a, b, t.load[0].who())
	}
	top := pairs[len(pairs)-1]
	at := top[0].contended()
	if why := incomparable(top[0], top[1]); why != "" {
		return fmt.Sprintf("%s and %s are not comparable at %s: %s", a, b, at, why)
	}
	all := t.between(a, b)
	if len(all) == 0 || all[len(all)-1].a.contenders() != top[0].contenders() {
		return fmt.Sprintf("%s and %s are not comparable at %s: a figure of 0 has no ratio", a, b, at)
	}
	if all[len(all)-1].outcome == worse {
		a, b, all = b, a, t.between(b, a)
	}
	last := all[len(all)-1]
	if !t.conclusive() {
		return fmt.Sprintf("%s had %s at %s%s", a, last.seen(b), at, last.but())
	}
	switch last.outcome {
	case undecided:
		return fmt.Sprintf("no conclusion about %s and %s at %s: %s", a, b, at, last.factors())
	case noDifference:
		return fmt.Sprintf("%s and %s are equivalent within %.0f %% at %s", a, b, 100*(minEffect-1), at)
	case mixed:
		return fmt.Sprintf("neither %s nor %s is better at %s: %s", a, b, at, last.factors())
	}
	from := len(all) - 1
	for from > 0 && all[from-1].outcome == better {
		from--
	}
	text := fmt.Sprintf("%s is better than %s at %s%s: %s", a, b, all[from].a.andAbove(last.a), crossing(all[:from], all[from]), last.factors())
	if from < len(all)-1 {
		text += " at " + number(last.a.contenders())
	}
	return text + last.but()
}

// crossing says where one variant starts to be better than another: above the largest number of contenders at which it surely is not, and at or below
// the smallest from which on it surely is.
func crossing(below []decision, from decision) string {
	for _, d := range slices.Backward(below) {
		if d.outcome != undecided {
			return fmt.Sprintf(" (but not at %s: they cross in between)", number(d.a.contenders()))
		}
	}
	if len(below) > 0 {
		return fmt.Sprintf(" (possibly from fewer: inconclusive from %s on)", number(below[0].a.contenders()))
	}
	return ""
}

// factors formats the ratios of the first variant to the second, with their intervals.
func (d decision) factors() string {
	var words []string
	for _, c := range d.of {
		sign, what := 1.0, "times the "+c.metric.name
		switch {
		case c.metric.higher:
		case c.Estimate > 0:
			what = "times longer " + c.metric.name
		default:
			sign, what = -1, "times shorter "+c.metric.name
		}
		ends := []float64{math.Exp(sign * c.Interval.Low), math.Exp(sign * c.Interval.High)}
		words = append(words, fmt.Sprintf("%s %s (%s to %s)", times(math.Exp(sign*c.Estimate)), what, times(min(ends[0], ends[1])), times(max(ends[0], ends[1]))))
	}
	return strings.Join(words, " and ")
}

// seen formats the ratios of the first variant to the second, named b, without any claim.
func (d decision) seen(b string) string {
	var words []string
	for i, c := range d.of {
		text, link := times(c.ratio)+" times the "+c.metric.name, " of "
		switch {
		case max(c.ratio, 1/c.ratio) < minEffect:
			text, link = "about the same "+c.metric.name, " as "
		case c.metric.higher:
		case c.ratio > 1:
			text, link = "a "+times(c.ratio)+" times longer "+c.metric.name, " than "
		default:
			text, link = "a "+times(1/c.ratio)+" times shorter "+c.metric.name, " than "
		}
		if i == 0 {
			text += link + b
		}
		words = append(words, text)
	}
	return strings.Join(words, " and ")
}

// gain returns by how much the figures of the first variant are better than those of the second, as the sum of the logarithms.
func (d decision) gain() (sum float64) {
	for _, c := range d.of {
		if x := math.Log(c.ratio); c.metric.higher {
			sum += x
		} else {
			sum -= x
		}
	}
	return sum
}

// but says what qualifies the figures of the first variant: a longer tail, or measurements that are not of the servers.
func (d decision) but() (text string) {
	if a, b := d.a.p99, d.b.p99; a.known && b.known && a.value > b.value {
		text = fmt.Sprintf(", but a longer p99 of the %s, %s against %s ms", d.a.timed(), a.digits(2), b.digits(2))
	}
	switch {
	case d.a.saturated() || d.b.saturated():
		text += ", but zkbench itself was the bottleneck: this does not measure the servers"
	case d.a.late() || d.b.late():
		text += ", but the machine was late: this does not measure the servers alone"
	}
	return text
}
