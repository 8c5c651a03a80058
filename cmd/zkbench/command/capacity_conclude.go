package command

import (
	"fmt"
	"math"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/capacity/bottleneck"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// Outcomes of a search that did not finish.
const (
	outcomeInterrupted = "interrupted"
	outcomeFailed      = "failed"
	outcomeLost        = "lost" // a share or the coordinator was lost
)

// brokenOutcome returns the outcome of a search that ended with an exit code of brokenExit.
func brokenOutcome(code int) string {
	switch code {
	case exitInterrupted:
		return outcomeInterrupted
	case exitUnknown:
		return outcomeLost
	}
	return outcomeFailed
}

// orNull returns a pointer to a figure of a document, or nil if the figure is not known.
func orNull(x float64) *float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// figures writes what a search found into the document.
func figures(doc *results.Capacity, r capacity.Result) {
	doc.Outcome, doc.Reason, doc.Confirmations, doc.NotMonotone, doc.Moves = string(r.Outcome), r.Reason, r.Confirmations, r.NotMonotone, r.Moves
	doc.Load, doc.Passed, doc.Failed = orNull(r.Load), orNull(r.Low.Load), orNull(r.High.Load)
	doc.Low, doc.High, doc.IntervalOf = orNull(r.Interval.Low), orNull(r.Interval.High), r.IntervalOf
	if r.Outcome == capacity.Found {
		doc.Elasticity = orNull(r.Elasticity)
		if r.Binding >= 0 {
			doc.Binding = doc.Goals[r.Binding]
		}
	}
	doc.Curve = nil
	for _, c := range r.Curve {
		doc.Curve = append(doc.Curve, results.CriticalLoad{Goal: c.Goal.Name, Share: c.Goal.Share, Load: orNull(c.Load), Low: orNull(c.Interval.Low), High: orNull(c.Interval.High)})
	}
	if r.Soak != nil {
		doc.Soak = fmt.Sprintf("%s at %s: %s", r.Soak.Decision, phrase.Number(r.Soak.Load, 4), r.Soak.Reason)
	}
}

// conclude writes the findings of a search into the document, with its probes, the bottleneck and the exit code.
func conclude(doc *results.Capacity, r capacity.Result, dirs []string, cells []results.Cell, broken error) {
	figures(doc, r)
	unsafe := false
	for i, step := range r.Steps {
		p := results.CapacityProbe{Dir: dirs[i], Purpose: string(step.Probe.Purpose), Load: step.Probe.Load, Decision: step.Judgement.Decision.String(),
			Reason: step.Judgement.Reason, Measurement: step.Measurement}
		if l, has := cells[i].Response(); has {
			p.P50, p.P99 = orNull(l.P50), l.P99
		}
		doc.Probes, unsafe = append(doc.Probes, p), unsafe || step.Measurement.Unsafe
	}
	doc.Limit, doc.Evidence = bottleneck.Find(doc, cells)
	doc.LeaderCPUs = bottleneck.LeaderCPUs(doc, cells)
	switch {
	case broken != nil:
		doc.Exit = brokenExit(broken)
		doc.Outcome, doc.Reason = brokenOutcome(doc.Exit.Code), doc.Exit.Reason
	case unsafe:
		doc.Exit = results.Exit{Code: exitViolated, Reason: "a probe violated a safety check"}
	default:
		doc.Exit = answered(doc, r)
	}
}

// answered returns the exit of a search that finished. The exit is a regression if the interval, not the figure, is below --min. Otherwise it depends on
// whether the search reported a capacity, or that the capacity is at least --min.
func answered(doc *results.Capacity, r capacity.Result) results.Exit {
	least := phrase.Number(doc.Least, 6)
	low, high := r.Interval.Low, r.Interval.High
	switch r.Outcome {
	case capacity.Found, capacity.Between, capacity.AtLeast:
	case capacity.None:
		if doc.Least > 0 && r.High.Load <= doc.Least {
			return results.Exit{Code: exitRegression, Reason: "the lowest load fails, so the capacity is below --min " + least}
		}
		return results.Exit{Code: exitUnknown, Reason: report.CapacitySentence(*doc)}
	default:
		if r.Outcome != capacity.Limited || doc.Least == 0 || low < doc.Least {
			return results.Exit{Code: exitUnknown, Reason: report.CapacitySentence(*doc)}
		}
	}
	switch {
	case high < doc.Least:
		return results.Exit{Code: exitRegression, Reason: "the capacity is below --min " + least}
	case r.Soak != nil && r.Soak.Decision != capacity.Pass:
		return results.Exit{Code: exitUnknown, Reason: "the soak did not pass: " + doc.Soak}
	case low < doc.Least:
		return results.Exit{Code: exitUnknown, Reason: "the interval contains --min " + least}
	}
	return results.Exit{}
}
