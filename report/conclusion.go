package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/stats"
)

// The conclusions of a report are of a level of 95 % for all comparisons of a load together, and a ratio below 1.05 is no difference.
const (
	alpha     = 0.05
	minEffect = 1.05
)

// contest is one metric of two variants at one number of contenders.
type contest struct {
	a, b   row
	name   string // what is counted per second, or what is timed
	higher bool   // is better
	stats.Judgement
}

// tournament is all contests of a load, judged together: repetitions are independent runs, with fresh sessions and a root of their own.
type tournament struct {
	design   stats.Design
	runs     int // of the row that has the fewest
	contests []contest
}

func newTournament(load []row, variants []string) tournament {
	t := tournament{design: stats.Design{Alpha: alpha, MinEffect: minEffect}, runs: math.MaxInt}
	var effects []stats.Effect
	for i, x := range variants {
		for _, y := range variants[:i] {
			for _, pair := range pairsOf(load, x, y) {
				if incomparable(pair[0], pair[1]) != "" {
					continue
				}
				for _, c := range contestsOf(pair[0], pair[1]) {
					a, b := c.of(pair[0]), c.of(pair[1])
					t.runs = min(t.runs, len(a.values), len(b.values))
					candidate, baseline := logs(a.values), logs(b.values)
					effects = append(effects, stats.Effect{Baseline: baseline, Candidate: candidate, Higher: c.higher})
					t.contests = append(t.contests, contest{a: pair[0], b: pair[1], name: c.name, higher: c.higher})
				}
			}
		}
	}
	if len(effects) == 0 {
		t.runs = 0
	}
	t.design.Metrics = len(effects)
	for i, j := range stats.JudgeIndependent(t.design, effects) {
		t.contests[i].Judgement = j
	}
	return t
}

// conclusive reports whether there are enough runs for any conclusion.
func (t tournament) conclusive() bool { return t.runs >= t.design.MinRuns() }

// versus is a metric by which two rows are compared.
type versus struct {
	name   string
	higher bool
	of     func(row) figure
}

// contestsOf are the metrics by which two rows are compared: of an open loop, whose rate is the profile's, the median response.
func contestsOf(a, b row) []versus {
	all := []versus{{a.what() + " per second", true, func(r row) figure { return r.grants }}}
	if a.offered > 0 {
		all = []versus{{a.timed(), false, func(r row) figure { return r.p50 }}}
	}
	if a.handOff.known && b.handOff.known {
		all = append(all, versus{"hand-off", false, func(r row) figure { return r.handOff }})
	}
	return all
}

// logs are the logarithms of positive values: what is 0 has no ratio to anything, and leaves the sample too small.
func logs(values []float64) (all []float64) {
	for _, v := range values {
		if v > 0 {
			all = append(all, math.Log(v))
		}
	}
	return all
}

// decision is what the contests of two variants at one number of contenders come to.
type decision struct {
	at      row
	outcome outcome
	decided bool // otherwise there is no conclusion
	of      []contest
}

// between are the decisions for a against b, the fewest contenders first.
func (t tournament) between(a, b string) (all []decision) {
	for _, c := range t.contests {
		if c.a.label() == b && c.b.label() == a {
			c = c.turned()
		}
		if c.a.label() != a || c.b.label() != b {
			continue
		}
		if n := len(all); n == 0 || all[n-1].at.contenders() != c.a.contenders() {
			all = append(all, decision{at: c.a})
		}
		all[len(all)-1].of = append(all[len(all)-1].of, c)
	}
	for i := range all {
		all[i].decide()
	}
	slices.SortStableFunc(all, func(x, y decision) int { return cmp.Compare(x.at.contenders(), y.at.contenders()) })
	return all
}

// turned is the same contest with the sides exchanged.
func (c contest) turned() contest {
	c.a, c.b = c.b, c.a
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
		d.outcome, d.decided = mixed, true
	case has(stats.Improvement):
		d.outcome, d.decided = better, true
	case has(stats.Regression):
		d.outcome, d.decided = worse, true
	case !has(stats.Inconclusive):
		d.outcome, d.decided = noDifference, true
	}
}

// conclusions are what follows for each variant against the one that beats the most others at the largest number of contenders.
func (t tournament) conclusions(load []row, variants []string) string {
	wins := func(v string) (n int) {
		for _, other := range variants {
			if all := t.between(v, other); other != v && len(all) > 0 && all[len(all)-1].outcome == better {
				n++
			}
		}
		return n
	}
	winner := slices.MaxFunc(variants, func(a, b string) int { return cmp.Compare(wins(a), wins(b)) })
	var clauses []string
	for _, other := range variants {
		if other != winner {
			clauses = append(clauses, t.conclusion(load, winner, other))
		}
	}
	return strings.Join(clauses, "; ") + fmt.Sprintf(" (%s of each, at most a %.0f %% chance of a wrong conclusion in %s: U test, Holm)", phrase.Count(t.runs, "run"),
		100*alpha, phrase.Count(len(t.contests), "comparison"))
}

// conclusion is what follows for two variants.
func (t tournament) conclusion(load []row, a, b string) string {
	all := t.between(a, b)
	if pairs := pairsOf(load, a, b); len(pairs) == 0 || len(all) == 0 || all[len(all)-1].at.contenders() != pairs[len(pairs)-1][0].contenders() {
		return duel(load, a, b) // which says why they are not comparable
	}
	if all[len(all)-1].outcome == worse {
		a, b, all = b, a, t.between(b, a)
	}
	last := all[len(all)-1]
	at := last.at.contended()
	switch {
	case !last.decided:
		return fmt.Sprintf("no conclusion about %s and %s at %s: %s", a, b, at, last.factors())
	case last.outcome == noDifference:
		return fmt.Sprintf("%s and %s are equivalent within %.0f %% at %s", a, b, 100*(minEffect-1), at)
	case last.outcome == mixed:
		return fmt.Sprintf("neither %s nor %s is better at %s: %s", a, b, at, last.factors())
	}
	from := len(all) - 1
	for from > 0 && all[from-1].outcome == better {
		from--
	}
	text := fmt.Sprintf("%s is better than %s at %s%s: %s", a, b, all[from].at.andAbove(last.at), crossing(all[:from], all[from]), last.factors())
	if from < len(all)-1 {
		text += " at " + number(last.at.contenders())
	}
	if ahead, behind := last.at.p99, last.of[0].b.p99; ahead.known && behind.known && ahead.value > behind.value {
		text += fmt.Sprintf(", but a longer p99 of the %s, %s against %s ms", last.at.timed(), ahead.digits(2), behind.digits(2))
	}
	return text
}

// crossing says where one variant begins to be better than another: above the largest number of contenders at which it surely is not, and not above
// the least from which on it surely is.
func crossing(below []decision, from decision) string {
	for _, d := range slices.Backward(below) {
		if d.decided {
			return fmt.Sprintf(" (but not at %s: they cross in between)", number(d.at.contenders()))
		}
	}
	if len(below) > 0 {
		return fmt.Sprintf(" (possibly from fewer: inconclusive from %s on)", number(below[0].at.contenders()))
	}
	return ""
}

// factors are the ratios of the first variant to the second with their intervals.
func (d decision) factors() string {
	var words []string
	for _, c := range d.of {
		sign, what := 1.0, "times the "+c.name
		switch {
		case c.higher:
		case c.Estimate > 0:
			what = "times longer " + c.name
		default:
			sign, what = -1, "times shorter "+c.name
		}
		ends := []float64{math.Exp(sign * c.Interval.Low), math.Exp(sign * c.Interval.High)}
		words = append(words, fmt.Sprintf("%s %s (%s to %s)", times(math.Exp(sign*c.Estimate)), what, times(min(ends[0], ends[1])), times(max(ends[0], ends[1]))))
	}
	return strings.Join(words, " and ")
}
