package pairs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/stats"
)

// Config is one comparison.
type Config struct {
	Pairs     int     // of each cell
	Looks     []int   // numbers of pairs below Pairs at which a verdict of all metrics ends the comparison, ascending; each has its price in the level
	Alpha     float64 // the probability of a false REGRESSION or IMPROVEMENT among all cells and metrics, such as 0.05
	MinEffect float64 // the least relative difference that matters, such as 0.05
	Seed      uint64  // of the order of the runs
	Cells     int     // of each side: the first of the baseline is compared with the first of the candidate, and so on
	Metrics   []results.Metric
	// Run carries one run out. It returns the document, if there is one, the directory that it is in, and why it could not be carried out to its end.
	Run func(ctx context.Context, t Turn) (doc *results.Run, dir string, err error)
	// Told is called after each pair of a cell, with the metrics of that pair; may be nil.
	Told func(pair, cell int, line string)
}

// Turn is one run of a comparison.
type Turn struct {
	Pair      int // from 1
	Cell      int // from 0
	Candidate bool
}

// LookPoints are the numbers of pairs at which the comparison may end, the last one included.
func (c Config) LookPoints() []int { return append(slices.Clone(c.Looks), c.Pairs) }

// Design is that of the statistics.
func (c Config) Design() stats.Design {
	return stats.Design{Alpha: c.Alpha, MinEffect: 1 + c.MinEffect, Metrics: len(c.Metrics) * c.Cells, Looks: c.LookPoints(), Seed: c.Seed}
}

// Order is the order of the runs: of each pair the cells in random order, and of each cell the sides.
func Order(c Config) (all []Turn) {
	r := rand.New(rand.NewPCG(c.Seed, 0))
	for pair := range c.Pairs {
		for _, cell := range r.Perm(c.Cells) {
			second := r.IntN(2) == 0 // the candidate comes first
			for _, candidate := range []bool{second, !second} {
				all = append(all, Turn{pair + 1, cell, candidate})
			}
		}
	}
	return all
}

// runs are what has been measured of one cell.
type runs struct {
	baseline, candidate []results.Cell
}

// Run carries the comparison out and returns its document, into which the caller writes the names of the sides. It ends early at a look with a
// verdict on everything, at a run that violates a check, and at a run that could not be carried out, whose error it returns. A comparison that
// was cut short has no verdict on its metrics: it was looked at when nobody had planned to look.
func Run(ctx context.Context, c Config) (*results.Comparison, error) {
	doc := &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignPairs, Seed: c.Seed, Alpha: c.Alpha, MinEffect: c.MinEffect,
		Looks: c.LookPoints()}
	all, pending := make([]runs, c.Cells), Turn{}
	var codes []int
	var reasons []string
	fail := func(code int, reason string) {
		if codes = append(codes, code); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	done, broken := 0, false
	var failure error
	var half results.Cell // the first run of a pair
	for i, turn := range Order(c) {
		run, dir, err := c.Run(ctx, turn)
		if run != nil {
			side := sideOf(doc, turn.Candidate)
			side.Runs = append(side.Runs, dir)
			if side.Environment == nil {
				side.Environment = &run.Environment
			}
			if run.Exit.Code != 0 {
				fail(run.Exit.Code, fmt.Sprintf("%s: %s", turn, run.Exit.Reason))
			}
			broken = broken || run.Exit.Code != 0 && run.Exit.Code != codeMissed && run.Exit.Code != codeUnknown
		}
		if err == nil && (run == nil || len(run.Cells) != 1) {
			err = fmt.Errorf("%s: %s instead of one", turn, phrase.Count(cellsOf(run), "cell"))
		}
		if err != nil && (run == nil || run.Exit.Code == 0) {
			fail(codeFailed, fmt.Sprintf("%s: %v", turn, err))
		}
		if failure = err; err == nil && i%2 == 0 {
			half, pending = run.Cells[0], turn
		} else if err == nil {
			first, second := half, run.Cells[0]
			if pending.Candidate {
				first, second = second, first
			}
			a := &all[turn.Cell]
			a.baseline, a.candidate = append(a.baseline, first), append(a.candidate, second)
			if c.Told != nil {
				c.Told(turn.Pair, turn.Cell, c.tell(first, second))
			}
		}
		if err != nil || broken {
			break
		}
		if (i+1)%(2*c.Cells) != 0 {
			continue
		}
		if done = turn.Pair; done < c.Pairs && slices.Contains(c.Looks, done) {
			if doc.Cells = c.judge(all); decided(doc.Cells) {
				doc.Notes = append(doc.Notes, fmt.Sprintf("Ended at the planned look after %d of %s: all metrics have a verdict.", done, phrase.Count(c.Pairs, "pair")))
				break
			}
		}
	}
	doc.Cells, doc.Differing = c.judge(all), differing(doc.Baseline.Environment, doc.Candidate.Environment)
	if broken || failure != nil {
		unjudge(doc.Cells, fmt.Sprintf("cut short after %d of %s", done, phrase.Count(c.Pairs, "pair")))
	}
	for _, cell := range doc.Cells {
		for _, m := range cell.Metrics {
			switch m.Verdict {
			case stats.Regression.String():
				fail(codeMissed, fmt.Sprintf("%s: %s of %s", m.Verdict, m.Metric, label(cell)))
			case stats.Inconclusive.String():
				if !broken && failure == nil {
					fail(codeUnknown, fmt.Sprintf("%s: %s of %s", m.Verdict, m.Metric, label(cell)))
				}
			}
		}
	}
	doc.Exit = results.Exit{Code: results.Worst(codes...), Reason: strings.Join(reasons, "; ")}
	return doc, failure
}

// The exit codes that this package gives, or knows.
const (
	codeFailed  = 1
	codeMissed  = 3
	codeUnknown = 5
)

func (t Turn) String() string {
	side := "baseline"
	if t.Candidate {
		side = "candidate"
	}
	return fmt.Sprintf("%s of pair %d", side, t.Pair)
}

func sideOf(doc *results.Comparison, candidate bool) *results.Side {
	if candidate {
		return &doc.Candidate
	}
	return &doc.Baseline
}

func cellsOf(run *results.Run) int {
	if run == nil {
		return 0
	}
	return len(run.Cells)
}

// tell is the ratios of one pair.
func (c Config) tell(baseline, candidate results.Cell) string {
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

// differing is what the numbers depend on beside the code that is measured, and that is not the same on both sides: on purpose, or by mistake.
func differing(a, b *results.Environment) (all []results.Differing) {
	if a == nil || b == nil {
		return nil
	}
	of := b.Fingerprint()
	for i, k := range a.Fingerprint() {
		if k.Value != of[i].Value {
			all = append(all, results.Differing{Name: k.Name, Baseline: k.Value, Candidate: of[i].Value})
		}
	}
	return all
}

// decided reports whether every metric has a verdict.
func decided(cells []results.CellComparison) bool {
	for _, c := range cells {
		for _, m := range c.Metrics {
			if m.Verdict == stats.Inconclusive.String() {
				return false
			}
		}
	}
	return true
}

// unjudge takes back the verdicts of a comparison that was cut short.
func unjudge(cells []results.CellComparison, why string) {
	for _, c := range cells {
		for i := range c.Metrics {
			c.Metrics[i].Verdict, c.Metrics[i].Reason, c.Metrics[i].Missing = stats.Inconclusive.String(), why, 0
		}
	}
}
