package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

// Config describes a comparison in pairs.
type Config struct {
	Pairs     int     // of each cell
	Looks     []int   // numbers of pairs below Pairs at which a verdict on all metrics ends the comparison, ascending; each costs some of the level
	Alpha     float64 // the probability of a false REGRESSION or IMPROVEMENT among all cells and metrics, such as 0.05
	MinEffect float64 // the smallest relative difference that matters, such as 0.05
	Seed      uint64  // of the order of the runs
	Cells     int     // number of cells of each side: the first of the baseline is compared with the first of the candidate, and so on
	Metrics   []results.Metric
	// Run executes one run. It returns the document, if there is one, its directory, and why the run could not be completed.
	Run func(ctx context.Context, r PairRun) (doc *results.Run, dir string, err error)
	// Progress is called after each pair of a cell, with the metrics of that pair; may be nil.
	Progress func(pair, cell int, line string)
}

// PairRun is one run of a comparison in pairs.
type PairRun struct {
	Pair      int // starts at 1
	Cell      int // starts at 0
	Candidate bool
}

func (r PairRun) String() string {
	side := "baseline"
	if r.Candidate {
		side = "candidate"
	}
	return fmt.Sprintf("%s of pair %d", side, r.Pair)
}

// LookPoints returns the numbers of pairs at which the comparison may end, including the last one.
func (c Config) LookPoints() []int { return append(slices.Clone(c.Looks), c.Pairs) }

// Design returns the design of the statistics.
func (c Config) Design() stats.Design {
	return stats.Design{Alpha: c.Alpha, MinEffect: 1 + c.MinEffect, Metrics: len(c.Metrics) * c.Cells, Looks: c.LookPoints(), Seed: c.Seed}
}

// Order returns the order of the runs: cells in random order within each pair, and sides in random order within each cell.
func Order(c Config) (all []PairRun) {
	r := rand.New(rand.NewPCG(c.Seed, 0))
	for pair := range c.Pairs {
		for _, cell := range r.Perm(c.Cells) {
			second := r.IntN(2) == 0 // the candidate runs first
			for _, candidate := range []bool{second, !second} {
				all = append(all, PairRun{pair + 1, cell, candidate})
			}
		}
	}
	return all
}

// Pairs executes the comparison and returns its document, into which the caller writes the names of the sides. It ends early at a look with a
// verdict on everything, at a run that violates a check, and at a run that could not be executed, whose error it returns. A comparison that
// was cut short has no verdict on its metrics, because the look at its end was not planned.
func Pairs(ctx context.Context, c Config) (*results.Comparison, error) {
	doc := &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignPairs, Seed: c.Seed, Alpha: c.Alpha, MinEffect: c.MinEffect,
		Looks: c.LookPoints()}
	measured := make([]matched, c.Cells)
	var baseline, candidate []Run // for their environments
	var end ending
	done, broken := 0, false
	var failure error
	var half results.Cell // the first run of a pair
	for i, r := range Order(c) {
		run, dir, err := c.Run(ctx, r)
		if run != nil {
			runs := &baseline
			if r.Candidate {
				runs = &candidate
			}
			*runs = append(*runs, Run{dir, &results.Run{Environment: run.Environment}})
			if run.Exit.Code != 0 {
				end.add(run.Exit.Code, "%s: %s", r, run.Exit.Reason)
			}
			broken = broken || run.Exit.Code != 0 && run.Exit.Code != codeMissed && run.Exit.Code != codeUnknown
		}
		if err == nil && (run == nil || len(run.Cells) != 1) {
			err = fmt.Errorf("%s: expected a run of one cell", r)
		}
		if err != nil && (run == nil || run.Exit.Code == 0) {
			end.add(codeFailed, "%s: %v", r, err)
		}
		if failure = err; err == nil && i%2 == 0 {
			half = run.Cells[0]
		} else if err == nil {
			m := &measured[r.Cell]
			a, b := half, run.Cells[0]
			if !r.Candidate {
				a, b = b, a
			}
			m.baseline, m.candidate = append(m.baseline, a), append(m.candidate, b)
			if c.Progress != nil {
				c.Progress(r.Pair, r.Cell, c.ratios(a, b))
			}
		}
		if err != nil || broken {
			break
		}
		if (i+1)%(2*c.Cells) != 0 {
			continue
		}
		if done = r.Pair; done < c.Pairs && slices.Contains(c.Looks, done) {
			if doc.Cells = c.judge(measured); decided(doc.Cells) {
				doc.Notes = append(doc.Notes, fmt.Sprintf("Ended at the planned look after %d of %s: all metrics have a verdict.", done, phrase.Count(c.Pairs, "pair")))
				break
			}
		}
	}
	doc.Baseline, doc.Candidate, doc.Differing = side(baseline), side(candidate), append(differing(baseline, candidate), beside(baseline, candidate)...)
	doc.Cells = c.judge(measured)
	cutShort := broken || failure != nil
	for _, cell := range doc.Cells {
		for i := range cell.Metrics {
			m := &cell.Metrics[i]
			if cutShort {
				m.Verdict, m.Reason, m.Missing = stats.Inconclusive.String(), fmt.Sprintf("cut short after %d of %s", done, phrase.Count(c.Pairs, "pair")), 0
				continue
			}
			switch m.Verdict {
			case stats.Regression.String():
				end.add(codeMissed, "%s: %s of %s", m.Verdict, m.Metric, label(cell))
			case stats.Inconclusive.String():
				end.add(codeUnknown, "%s: %s of %s", m.Verdict, m.Metric, label(cell))
			}
		}
	}
	doc.Exit = end.exit()
	return doc, failure
}

// label says what is compared with what.
func label(c results.CellComparison) string {
	text := c.Variant
	if c.Against != "" {
		text += " against " + c.Against
	}
	if n := c.Conditions["sessions"]; n != "" {
		text += " with " + n + " sessions"
	}
	return text
}

// ratios formats the ratios of one pair.
func (c Config) ratios(baseline, candidate results.Cell) string {
	var texts []string
	for _, m := range c.Metrics {
		a, b := m.Of(&baseline), m.Of(&candidate)
		if d, why := logRatio(a, b); why != "" {
			texts = append(texts, fmt.Sprintf("%s unknown (%s)", m, why))
		} else {
			texts = append(texts, fmt.Sprintf("%s %s against %s, ratio %s", m, m.Format(b.X), m.Format(a.X), phrase.Fixed(math.Exp(d), 3)))
		}
	}
	return strings.Join(texts, ", ")
}

// decided reports whether every metric has a verdict.
func decided(cells []results.CellComparison) bool {
	return !slices.ContainsFunc(cells, func(c results.CellComparison) bool {
		return slices.ContainsFunc(c.Metrics, func(m results.MetricComparison) bool { return m.Verdict == stats.Inconclusive.String() })
	})
}
