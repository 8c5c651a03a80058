package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Tests is a result in the form that CI services read.
type Tests struct {
	Name    string // name of the profile, or of the command
	Started time.Time
	Cases   []Case
}

// Case is one thing that a result passes or fails: a gate, a check of a cell, a finding, a metric that is compared, or that the result is complete.
type Case struct {
	Suite   string // the cell, 'gates', 'findings' or, for completeness, 'run'
	Name    string
	Gate    int    // index among the gates of the run; -1 for anything else
	Variant string // for a check
	Answer  Answer
	Message string // one line; empty if the case passed
	Detail  string // more lines, such as the samples of a counterexample
	Seconds float64
}

// Answer is the outcome of a Case.
type Answer int

// The answers. Failed is what a run found; Unknown is what it could not find out.
const (
	Passed Answer = iota
	Failed
	Unknown
)

// Tests returns what a run passes or fails: one case per gate, per check of each cell and per finding, and one for completeness. A run whose exit
// code is not 0 has a case that says why.
func (run Run) Tests(string) Tests {
	var all []Case
	for i, g := range run.Gates {
		c := Case{Suite: "gates", Name: g.Gate, Gate: i, Answer: map[string]Answer{results.GateMet: Passed, results.GateMissed: Failed}[g.Verdict]}
		if g.Verdict == results.GateUnknown {
			c.Answer = Unknown
		}
		var lines []string
		for _, cell := range notMet(g) {
			line := fmt.Sprintf("%s with %s: %s", cell.Variant, phrase.Count(cell.Sessions, "session"), measuredValue(cell))
			if cell.Why != "" {
				line += ", " + cell.Why
			}
			lines = append(lines, line)
		}
		if g.Why != "" {
			lines = append(lines, g.Why)
		}
		if c.Answer != Passed && len(lines) > 0 {
			c.Message = fmt.Sprintf("%s: %s: %s", strings.ToLower(gateAnswers[g.Verdict]), g.Gate, lines[0])
			c.Detail = strings.Join(lines, "\n")
		}
		all = append(all, c)
	}
	for _, cell := range run.Cells {
		for _, k := range cell.Checks {
			c := Case{Suite: cell.Name, Name: k.Name, Gate: -1, Variant: cell.Variant, Seconds: cell.ElapsedS}
			where := fmt.Sprintf("%s with %s", cell.Variant, phrase.Count(cell.Sessions, "session"))
			switch {
			case k.Verdict == "holds":
			case k.Uncontended:
				c.Detail = why(k)
			case k.Verdict == "violated":
				lines := violation(where, k)
				c.Answer, c.Message, c.Detail = Failed, lines[0], strings.Join(lines, "\n")
			default:
				c.Answer, c.Message = Unknown, fmt.Sprintf("not enough evidence for %s in %s: %s", k.Name, where, why(k))
			}
			all = append(all, c)
		}
	}
	for _, f := range run.Findings {
		c := Case{Suite: "findings", Name: f.Variant + " in " + f.Scenario, Gate: -1, Variant: f.Variant, Detail: f.Witness}
		switch code, reason := f.Fault(); code {
		case 0:
			c.Detail = ""
		case 1:
			c.Answer, c.Message = Unknown, reason
		default:
			c.Answer, c.Message = Failed, reason
		}
		all = append(all, c)
	}
	seconds := max(run.Finished.Sub(run.Started).Seconds(), 0)
	return Tests{run.Profile, run.Started, append(all, end("the run finishes", all, run.Exit, run.Partial, seconds))}
}

// end returns the case for the completeness of a result. It fails if no other case explains why the exit code is not 0.
func end(name string, others []Case, exit results.Exit, partial bool, seconds float64) Case {
	c := Case{Suite: "run", Name: name, Gate: -1, Seconds: seconds}
	explained := slices.ContainsFunc(others, func(c Case) bool { return c.Answer != Passed })
	if code := exit.Code; code != 0 && (!explained || code == 1 || code == 130) || partial {
		c.Answer, c.Message = Unknown, fmt.Sprintf("exit code %d: %s", code, exit.Reason)
	}
	return c
}

// Tests returns what a comparison passes or fails: one case per metric of each cell, which fails for a regression and is an error if the metric is
// inconclusive; one per cell with a violated check; and one for completeness.
func (doc Comparison) Tests(name string) Tests {
	var all []Case
	for _, cell := range doc.Cells {
		suite := comparisonCaption(cell)
		variant := cmp.Or(cell.Against, cell.Variant)
		broken := slices.Concat(cell.Candidate.Violated)
		if doc.Design == results.DesignPairs { // a violation on either side ends the comparison
			broken = append(broken, cell.Baseline.Violated...)
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(broken))) {
			all = append(all, Case{Suite: suite, Name: name, Gate: -1, Variant: variant, Answer: Failed, Message: fmt.Sprintf("violated: %s of %s", name, suite),
				Detail: strings.Join(comesFirst(cell), "\n")})
		}
		for _, m := range cell.Metrics {
			c := Case{Suite: suite, Name: m.Metric, Gate: -1, Variant: variant}
			measured := fmt.Sprintf("%s: %s against %s, %s", m.Metric, sideText(m, m.Candidate, "..", true), sideText(m, m.Baseline, "..", true), effectText(m, m.Effect))
			if interval := intervalText(m, " to "); interval != "" {
				measured += " (" + interval + ")"
			}
			switch m.Verdict {
			case "REGRESSION":
				c.Answer, c.Message = Failed, "regression of "+measured
			case "INCONCLUSIVE":
				c.Answer, c.Message = Unknown, "inconclusive: "+measured
				c.Detail = strings.Join(reasons(results.CellComparison{Baseline: cell.Baseline, Candidate: cell.Candidate, Metrics: []results.MetricComparison{m}},
					doc.Design == results.DesignPairs), "\n")
			}
			all = append(all, c)
		}
	}
	return Tests{name, doc.Made, append(all, end("the comparison finishes", all, doc.Exit, false, 0))}
}

// Tests returns what a series of runs passes or fails: one case per metric of each cell, which fails if its last change is a regression and is an error
// if there are too few runs; and one for completeness.
func (doc Trend) Tests(name string) Tests {
	var all []Case
	for _, s := range doc.Series {
		c := Case{Suite: strings.Join(append([]string{s.Workload, s.Variant}, conditions(s.Conditions)...), ", "), Name: s.Metric, Gate: -1, Variant: s.Variant}
		if n := len(s.Changes); n > 0 && s.Changes[n-1].Verdict == "REGRESSION" {
			last := s.Changes[n-1]
			c.Answer = Failed
			c.Message = fmt.Sprintf("regression of %s: %s from %s on, %s before, %s", s.Metric, valueText(s.Metric, last.To), doc.Runs[last.After].Dir,
				valueText(s.Metric, last.From), effectText(results.MetricComparison{Scale: s.Scale}, &last.Effect))
		} else if s.Used < s.Needed {
			c.Answer, c.Message = Unknown, fmt.Sprintf("%s of %s: finding a change needs at least %d", s.Metric, phrase.Count(s.Used, "run"), s.Needed)
		}
		all = append(all, c)
	}
	return Tests{name, doc.Made, append(all, end("the trend finishes", all, doc.Exit, false, 0))}
}
