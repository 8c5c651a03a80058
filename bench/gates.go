package bench

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/gates"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// checkGates reports the gates of a profile that are none, and those of metrics that its cells will not have.
func checkGates(p profiles.Profile, kind workloads.Kind) (problems []error) {
	if len(p.Gates) == 0 {
		return nil
	}
	if len(p.Sessions) == 0 {
		return []error{fmt.Errorf("%s: gates: workload %s has no cells to judge", p.AtGate(0), p.Workload)}
	}
	cells := blank(p, kind)
	for i, text := range p.Gates {
		gate, err := gates.Parse(text)
		if err == nil && len(cells) > 0 {
			err = gate.Check(cells)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.AtGate(i), err))
		}
	}
	return problems
}

// blank are the cells of a profile before they have run: one for each variant and loop. A variant that is not known has none.
func blank(p profiles.Profile, kind workloads.Kind) (cells []results.Cell) {
	for _, s := range plan(p) {
		c := results.Cell{Workload: p.Workload, Variant: s.variant, Loop: loopOf(s.rate)}
		if slices.ContainsFunc(cells, func(other results.Cell) bool { return other.Variant == c.Variant && other.Loop == c.Loop }) {
			continue
		}
		v, known := kind.Find(s.variant)
		if !known || v.New == nil || v.Broken != "" {
			continue
		}
		w, err := v.New(load(s, ""), p.Options)
		if err != nil { // of an option, which has been reported
			continue
		}
		c.Measured = measuredOf(w)
		cells = append(cells, c)
	}
	slices.SortFunc(cells, func(a, b results.Cell) int {
		return slices.Index(p.Variants, a.Variant) - slices.Index(p.Variants, b.Variant)
	})
	return cells
}

// measuredOf is what the cells of a workload are about.
func measuredOf(w workloads.Workload) (all []results.Measure) {
	for _, m := range w.Measures() {
		all = append(all, results.Measure{Op: m.Op.String(), Role: string(m.Role), Unit: m.Unit, Timed: m.Timed, Idles: m.Idles, Caption: m.Caption})
	}
	return all
}

// loopOf is the loop of a cell with a rate, 0 for none.
func loopOf(rate float64) string {
	if rate > 0 {
		return "open"
	}
	return "closed"
}

// judgeGates gives the answers to the gates of the profile, and what they make of the exit.
func (r *runner) judgeGates() (codes []int, reasons []string) {
	r.doc.Gates = nil
	if !r.Share.Whole() {
		return nil, nil
	}
	for i, text := range r.profile.Gates {
		gate, err := gates.Parse(text)
		if err != nil { // a profile that was not checked
			codes, reasons = append(codes, 1), append(reasons, err.Error())
			continue
		}
		answer := gate.Judge(r.doc, len(r.planned))
		answer.At = r.profile.AtGate(i).String()
		r.doc.Gates = append(r.doc.Gates, answer)
		switch answer.Verdict {
		case results.GateMissed:
			codes, reasons = append(codes, 3), append(reasons, "gate missed: "+gateReason(answer))
		case results.GateUnknown:
			codes, reasons = append(codes, 5), append(reasons, "not enough evidence for the gate "+gateReason(answer))
		}
	}
	return codes, reasons
}

// gateReason is a gate and the first cell that gives its verdict.
func gateReason(g results.Gate) string {
	for _, c := range g.Cells {
		if c.Verdict != g.Verdict {
			continue
		}
		why := c.Why
		if c.Value != nil {
			bound := ""
			if c.AtLeast {
				bound = "at least "
			}
			if why = bound + c.Text; c.Why != "" {
				why += ", " + c.Why
			}
		}
		return fmt.Sprintf("%s: %s with %s: %s", g.Gate, c.Variant, phrase.Count(c.Sessions, "session"), why)
	}
	return g.Gate + ": " + g.Why
}
