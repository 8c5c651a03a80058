package results

import "slices"

// Gate is the verdict on one limit that the profile sets.
type Gate struct {
	Gate    string     `json:"gate"`            // as written
	At      string     `json:"at,omitempty"`    // position: file:line:column, or --gate
	Metric  string     `json:"metric"`          // its canonical name
	Verdict string     `json:"verdict"`         // the worst of its cells
	Why     string     `json:"why,omitempty"`   // for a verdict that no cell gives
	Cells   []GateCell `json:"cells,omitempty"` // the cells it applies to, in the order they ran
}

// GateCell is the verdict on one cell, or on its pooled repetitions.
type GateCell struct {
	Cell        string   `json:"cell"`
	Variant     string   `json:"variant"`
	Sessions    int      `json:"sessions"`
	Value       *float64 `json:"value"`              // in the metric's unit; null if unknown
	Text        string   `json:"text,omitempty"`     // the same with its unit
	AtLeast     bool     `json:"at_least,omitempty"` // a lower bound
	Samples     int64    `json:"samples"`
	Repetitions int      `json:"repetitions,omitempty"` // if there are several: the value is that of all their samples
	Low         *float64 `json:"low,omitempty"`         // the interval of the median of the repetitions, for an estimate with enough of them
	High        *float64 `json:"high,omitempty"`
	Verdict     string   `json:"verdict"`
	Why         string   `json:"why,omitempty"`
}

// The verdicts of gates, best first.
const (
	GateMet     = "met"
	GateUnknown = "unknown" // not enough evidence
	GateMissed  = "missed"
)

// WorseGate returns the worse of two verdicts.
func WorseGate(a, b string) string {
	order := []string{GateMet, GateUnknown, GateMissed}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// gates checks that a verdict is the worst of its cells, that none lacks evidence, and that the exit code matches.
func (v *validation) gates() {
	for _, g := range v.r.Gates {
		v.where = "gate " + g.Gate
		worst := GateMet
		for _, c := range g.Cells {
			if !slices.Contains([]string{GateMet, GateUnknown, GateMissed}, c.Verdict) {
				v.add("%s: unknown verdict %q", c.Cell, c.Verdict)
				return
			}
			worst = WorseGate(worst, c.Verdict)
			if c.Verdict != GateUnknown && (c.Value == nil || c.Samples <= 0) {
				v.add("%s: %s without samples", c.Cell, c.Verdict)
			}
		}
		if g.Verdict != worst && (g.Verdict != GateUnknown || g.Why == "") || g.Verdict == GateMet && len(g.Cells) == 0 {
			v.add("it is %s, but the worst of its %d cells is %s", g.Verdict, len(g.Cells), worst)
		}
		if code := v.r.Exit.Code; g.Verdict == GateMissed && !slices.Contains([]int{exitMissed, 1, 4, 130}, code) || g.Verdict == GateUnknown && code == 0 {
			v.add("it is %s, but the exit code is %d", g.Verdict, code)
		}
	}
}

// exitMissed is the exit code of a missed gate.
const exitMissed = 3
