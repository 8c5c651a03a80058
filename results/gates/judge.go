package gates

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

// Check says what is wrong with the gate for cells that have not run; these have their workload, variant, loop and measures. The variant of
// the gate must be one of theirs.
func (g Gate) Check(cells []results.Cell) error {
	applies := false
	for i := range cells {
		c := &cells[i]
		if !g.of(c) {
			continue
		}
		applies = true
		if err := g.Metric.In(c); err != nil {
			return fmt.Errorf("gate %q: variant %s: %w", g.Text, c.Variant, err)
		}
		response := strings.HasSuffix(g.Metric.Histogram(), "."+metrics.Response.String())
		switch {
		case response && c.Loop != loopOpen && !g.Closed:
			service := strings.TrimSuffix(g.Metric.Histogram(), metrics.Response.String()) + metrics.Service.String()
			return fmt.Errorf("gate %q: in a closed loop, where a stall hides most of its effect, response is the same as "+
				"service (limit %s with '%s' in the gate, or set a rate)", g.Text, service, closedLoop)
		case g.Closed && c.Loop == loopOpen:
			return fmt.Errorf("gate %q: the loop is open (remove '%s')", g.Text, closedLoop)
		case g.Closed && !response:
			return fmt.Errorf("gate %q: only a response depends on the loop (remove '%s')", g.Text, closedLoop)
		}
	}
	if !applies {
		var variants []string
		for _, c := range cells {
			if len(variants) == 0 || variants[len(variants)-1] != c.Variant {
				variants = append(variants, c.Variant)
			}
		}
		return fmt.Errorf("gate %q: unknown variant %s (expected one of %s)", g.Text, g.Metric.Variant(), strings.Join(variants, ", "))
	}
	return nil
}

// loopOpen is the value of Cell.Loop for an open loop.
const loopOpen = "open"

// of reports whether the gate applies to a cell.
func (g Gate) of(c *results.Cell) bool {
	return g.Metric.Variant() == "" || g.Metric.Variant() == c.Variant
}

// Judge returns the gate's verdict on a run that should have planned cells. The gate is met if every cell that it applies to meets it, missed
// if one misses it, and otherwise unknown: without cells, without samples, or if a lower bound does not decide. Repetitions count as one cell.
func (g Gate) Judge(run *results.Run, planned int) results.Gate {
	out := results.Gate{Gate: g.Text, Metric: g.Metric.String(), Verdict: results.GateMet}
	for _, pool := range run.Pooled() {
		if g.of(&pool) {
			out.Cells = append(out.Cells, g.judgeAll(&pool, repetitions(run, pool))...)
		}
	}
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Partial && g.of(c) { // not in any pool
			out.Cells = append(out.Cells, g.judge(c))
		}
	}
	for _, c := range out.Cells {
		out.Verdict = results.WorseGate(out.Verdict, c.Verdict)
	}
	switch {
	case len(out.Cells) == 0:
		out.Verdict, out.Why = results.GateUnknown, "no cell was measured"
	case len(run.Cells) < planned && out.Verdict == results.GateMet:
		out.Verdict, out.Why = results.GateUnknown, fmt.Sprintf("only %d of %s ran", len(run.Cells), phrase.Count(planned, "cell"))
	}
	return out
}

// repetitions returns the cells of a pool.
func repetitions(run *results.Run, pool results.Cell) (all []*results.Cell) {
	for i := range run.Cells {
		if c := &run.Cells[i]; !c.Partial && c.Same(pool) {
			all = append(all, c)
		}
	}
	return all
}

// judge returns the verdict on one cell.
func (g Gate) judge(c *results.Cell) results.GateCell {
	v := g.Metric.Of(c)
	out := results.GateCell{Cell: c.Name, Variant: c.Variant, Sessions: c.Sessions, Samples: v.N, AtLeast: v.AtLeast, Verdict: results.GateUnknown}
	if !v.Known {
		out.Why = v.Why
		return out
	}
	out.Value, out.Text = &v.X, g.Metric.Format(v.X)
	switch out.Verdict = g.answer(v); {
	case out.Verdict == results.GateUnknown:
		out.Why = "the figure is a lower bound, which does not decide the gate"
	case out.Verdict == results.GateMissed && c.Generator.Saturated:
		out.Why = "zkbench itself was the bottleneck"
	case out.Verdict == results.GateMet && c.Partial:
		out.Verdict, out.Why = results.GateUnknown, "the cell was cut short"
	}
	return out
}

// level is that of the interval of repetitions.
const level = 0.95

// judgeAll judges the repetitions of a cell as one, by their pooled samples, as reports show them. A repetition without samples
// meets nothing. For an estimate with at least six repetitions, the interval of their median must be on the same side of the limit too: otherwise
// the next run may give another verdict. A metric that belongs to a single repetition, such as fairness, is judged in each.
func (g Gate) judgeAll(pool *results.Cell, repeated []*results.Cell) (answers []results.GateCell) {
	if len(repeated) == 1 {
		return []results.GateCell{g.judge(repeated[0])}
	}
	first := repeated[0]
	pool.Name = strings.TrimSuffix(first.Name, fmt.Sprintf("-r%d", first.Repetition))
	var values []float64
	empty := ""
	for _, c := range repeated {
		v := g.Metric.Of(c)
		if v.Known {
			values = append(values, v.X)
		}
		if v.N == 0 && empty == "" {
			empty = c.Name + ": " + v.Why
		}
		pool.Generator.Saturated = pool.Generator.Saturated || c.Generator.Saturated
	}
	whole := g.judge(pool)
	if whole.Value == nil && len(values) > 0 {
		for _, c := range repeated {
			answers = append(answers, g.judge(c))
		}
		return answers
	}
	whole.Repetitions = len(repeated)
	if i := stats.MedianInterval(values, level); g.Metric.Estimated() && len(values) == len(repeated) && i.Bounded() {
		whole.Low, whole.High = &i.Low, &i.High
		met := whole.Verdict == results.GateMet
		if whole.Verdict != results.GateUnknown && (g.meets(i.Low) != met || g.meets(i.High) != met) {
			whole.Verdict, whole.Why = results.GateUnknown, fmt.Sprintf("the median of the repetitions is between %s and %s: the next run may decide differently",
				g.Metric.Format(i.Low), g.Metric.Format(i.High))
		}
	}
	if empty != "" && whole.Verdict == results.GateMet {
		whole.Verdict, whole.Why = results.GateUnknown, empty
	}
	return []results.GateCell{whole}
}

// answer compares a known value with the limit. A lower bound only shows that the value is above the limit.
func (g Gate) answer(v results.Value) string {
	meets := g.meets(v.X)
	above := g.Compare == ">" || g.Compare == ">="
	switch {
	case v.AtLeast && (above && !meets || !above && (meets || v.X < g.Limit)):
		return results.GateUnknown
	case meets:
		return results.GateMet
	}
	return results.GateMissed
}
