package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// gateAnswers are the verdicts of gates in words.
var gateAnswers = map[string]string{results.GateMet: "met", results.GateMissed: "MISSED", results.GateUnknown: "not enough evidence"}

// gatesOf returns the table of gates: for a gate that is met, the cell nearest to the limit; for others, each cell that does not meet it.
func gatesOf(run results.Run) table {
	t := table{below: []string{"gate", "answer", "variant", "sessions", "measured", "samples"}, text: []bool{true, true, true, false, false, false}, code: true}
	for _, g := range run.Gates {
		cells := notMet(g)
		if len(cells) == 0 && len(g.Cells) > 0 {
			cells = []results.GateCell{nearest(g)}
		}
		if len(cells) == 0 || g.Why != "" {
			t.rows = append(t.rows, []string{g.Gate, gateAnswers[g.Verdict], "", "", "-", ""})
			continue
		}
		for _, c := range cells {
			t.rows = append(t.rows, []string{g.Gate, gateAnswers[c.Verdict], c.Variant, strconv.Itoa(c.Sessions), measuredValue(c), strconv.FormatInt(c.Samples, 10)})
		}
	}
	return t
}

// gatesCaption counts the answers.
func gatesCaption(run results.Run) string {
	var words []string
	for _, verdict := range []string{results.GateMissed, results.GateUnknown, results.GateMet} {
		n := 0
		for _, g := range run.Gates {
			if g.Verdict == verdict {
				n++
			}
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, strings.ToLower(gateAnswers[verdict])))
		}
	}
	return "Gates: " + strings.Join(words, ", ")
}

// gateSentences explains answers where the table cannot.
func gateSentences(run results.Run) (lines []string) {
	for _, g := range run.Gates {
		if g.Why != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", g.Gate, stop(g.Why)))
		}
		for _, c := range g.Cells {
			if c.Why != "" {
				lines = append(lines, fmt.Sprintf("%s in %s: %s", g.Gate, c.Cell, stop(c.Why)))
			}
		}
	}
	return lines
}

// notMet returns the cells that do not meet a gate.
func notMet(g results.Gate) []results.GateCell {
	return slices.DeleteFunc(slices.Clone(g.Cells), func(c results.GateCell) bool { return c.Verdict == results.GateMet })
}

// nearest returns the cell that is nearest to missing a gate that all cells meet.
func nearest(g results.Gate) results.GateCell {
	least := strings.Contains(g.Gate, ">")
	return slices.MaxFunc(g.Cells, func(a, b results.GateCell) int {
		if a.Value == nil || b.Value == nil {
			return 0
		}
		if least {
			return cmp.Compare(*b.Value, *a.Value)
		}
		return cmp.Compare(*a.Value, *b.Value)
	})
}

func measuredValue(c results.GateCell) string {
	switch {
	case c.Value == nil:
		return "-"
	case c.AtLeast:
		return ">=" + c.Text
	}
	return c.Text
}
