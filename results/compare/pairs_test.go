package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// script says what the runs of a comparison measure.
type script struct {
	config  Config
	handOff func(t PairRun) float64 // the median, in milliseconds
	change  func(t PairRun, run *results.Run) error
	turns   []PairRun
}

func newScript(t *testing.T, pairs int, handOff func(PairRun) float64) *script {
	s := &script{handOff: handOff}
	s.config = Config{Pairs: pairs, Alpha: 0.05, MinEffect: 0.05, Seed: 3, Cells: 1, Metrics: metric(t, "p50(hand-off)"), Run: s.run}
	return s
}

func (s *script) run(_ context.Context, turn PairRun) (*results.Run, string, error) {
	s.turns = append(s.turns, turn)
	run := &results.Run{Schema: results.Schema, Cells: []results.Cell{{Workload: "lock", Variant: "some", Sessions: 5, Objects: 1, Loop: "closed", ElapsedS: 3,
		Operations: 1_000_000, Done: map[string]int64{"acquire": 1_000_000}, Throughput: 1_000_000 / 3.0, Errors: map[string]int64{},
		Measured: []results.Measure{{Op: "acquire", Role: results.RoleOperation, Timed: true}, {Op: "hand-off", Role: results.RolePart}},
		Latency:  map[string]results.Latency{"hand-off.service": {Count: 1_000_000, P50: s.handOff(turn)}},
		Checks:   []results.Check{{Name: "mutual-exclusion", Verdict: "holds", Evidence: 1_000_000}}}}}
	dir := fmt.Sprint(turn)
	if s.change != nil {
		if err := s.change(turn, run); err != nil {
			return run, dir, err
		}
	}
	return run, dir, nil
}

// judged runs the comparison.
func (s *script) judged(t *testing.T, code int) (*results.Comparison, results.MetricComparison) {
	t.Helper()
	doc, err := Pairs(t.Context(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Exit.Code != code {
		t.Errorf("exit %+v, want %d", doc.Exit, code)
	}
	return doc, doc.Cells[0].Metrics[0]
}

// slower returns a candidate that takes ratio times as long as its baseline, which drifts far more than that from pair to pair, with noise that does
// not hide it.
func slower(ratio float64) func(PairRun) float64 {
	return func(t PairRun) float64 {
		ms := 5 * math.Pow(1.7, float64(t.Pair%7))
		ms *= 1 + 0.004*math.Sin(float64(10*t.Pair)+map[bool]float64{true: 1}[t.Candidate])
		if t.Candidate {
			ms *= ratio
		}
		return ms
	}
}

func TestVerdictsAndExitCodes(t *testing.T) {
	for _, test := range []struct {
		about   string
		pairs   int
		handOff func(PairRun) float64
		verdict string
		code    int
	}{
		{"a tenth slower in each pair, on a machine that drifts by 40 times", 10, slower(1.10), "REGRESSION", 3},
		{"a tenth faster", 10, slower(0.90), "IMPROVEMENT", 0},
		{"the same", 10, slower(1), "EQUIVALENT", 0},
		{"too few pairs, with a million operations each", 5, slower(2), "INCONCLUSIVE", 5},
		{"two pairs of a million operations", 2, slower(2), "INCONCLUSIVE", 5},
		{"noise", 10, func(turn PairRun) float64 {
			return math.Exp(rand.New(rand.NewPCG(uint64(turn.Pair), map[bool]uint64{true: 1}[turn.Candidate])).NormFloat64())
		}, "INCONCLUSIVE", 5},
	} {
		s := newScript(t, test.pairs, test.handOff)
		doc, m := s.judged(t, test.code)
		if m.Verdict != test.verdict {
			t.Errorf("%s: %s, want %s (%+v)", test.about, m.Verdict, test.verdict, m)
		}
		if c := doc.Cells[0]; c.Baseline.Runs != test.pairs || c.Candidate.Runs != test.pairs || len(m.Baseline.Values) != test.pairs {
			t.Errorf("%s: %d and %d runs, %d values, want %d of each", test.about, c.Baseline.Runs, c.Candidate.Runs, len(m.Baseline.Values), test.pairs)
		}
		if len(doc.Baseline.Runs) != test.pairs || len(doc.Candidate.Runs) != test.pairs {
			t.Errorf("%s: directories %v and %v", test.about, doc.Baseline.Runs, doc.Candidate.Runs)
		}
	}
}

// The seed determines the order: both sides of a pair follow each other, either may come first, and the same seed gives the same order.
func TestOrder(t *testing.T) {
	c := Config{Pairs: 100, Cells: 3, Seed: 5}
	all, first, moved := Order(c), 0, 0
	if !reflect.DeepEqual(all, Order(c)) {
		t.Error("the same seed gives another order")
	}
	if c.Seed++; reflect.DeepEqual(all, Order(c)) {
		t.Error("another seed gives the same order")
	}
	seen := map[PairRun]int{}
	for i := 0; i < len(all); i += 2 {
		a, b := all[i], all[i+1]
		if a.Pair != b.Pair || a.Cell != b.Cell || a.Candidate == b.Candidate || a.Pair != i/6+1 {
			t.Fatalf("runs %d and %d are %+v and %+v, want a pair", i, i+1, a, b)
		}
		seen[a]++
		seen[b]++
		if a.Candidate {
			first++
		}
		if a.Cell != i/2%3 {
			moved++
		}
	}
	if len(seen) != 600 || first < 100 || first > 200 || moved < 100 {
		t.Errorf("%d different runs, the candidate first in %d of 300 pairs, %d cells out of their order", len(seen), first, moved)
	}
}

// A violation ends the comparison, with code 4, and nothing is concluded about speed.
func TestAViolationEndsTheComparison(t *testing.T) {
	s := newScript(t, 10, slower(0.5))
	s.change = func(turn PairRun, run *results.Run) error {
		if turn.Pair == 3 && turn.Candidate {
			run.Cells[0].Checks[0].Verdict, run.Exit = "violated", results.Exit{Code: 4, Reason: "violated: mutual-exclusion"}
		}
		return nil
	}
	doc, m := s.judged(t, 4)
	if m.Verdict != "INCONCLUSIVE" || m.Reason == "" || len(s.turns) > 6 || !strings.Contains(doc.Exit.Reason, "candidate of pair 3: violated: mutual-exclusion") {
		t.Errorf("%+v after %d runs, exit %+v", m, len(s.turns), doc.Exit)
	}
}

// A run that could not be completed, or was interrupted, ends the comparison, which then has no verdict, however clear it looks.
func TestAComparisonThatIsCutShort(t *testing.T) {
	for _, code := range []int{1, 130} {
		s := newScript(t, 10, slower(3))
		broken := errors.New("the servers are gone")
		s.change = func(turn PairRun, run *results.Run) error {
			if turn.Pair < 9 {
				return nil
			}
			run.Exit = results.Exit{Code: code, Reason: broken.Error()}
			return broken
		}
		doc, err := Pairs(t.Context(), s.config)
		if !errors.Is(err, broken) || doc.Exit.Code != code || len(s.turns) != 17 {
			t.Errorf("%v, exit %+v after %d runs, want the error and %d after 17", err, doc.Exit, len(s.turns), code)
		}
		if m := doc.Cells[0].Metrics[0]; m.Verdict != "INCONCLUSIVE" || m.Reason != "cut short after 8 of 10 pairs" {
			t.Errorf("%+v, want no verdict", m)
		}
	}
}

// A run that lacks evidence itself, such as a check that saw too little, affects the exit code.
func TestTheWorstRunCounts(t *testing.T) {
	s := newScript(t, 10, slower(1))
	s.change = func(turn PairRun, run *results.Run) error {
		if turn.Pair == 2 {
			run.Exit = results.Exit{Code: 5, Reason: "no evidence: liveness"}
		}
		return nil
	}
	if doc, m := s.judged(t, 5); m.Verdict != "EQUIVALENT" || len(s.turns) != 20 {
		t.Errorf("%+v after %d runs, exit %+v", m, len(s.turns), doc.Exit)
	}
}

// Errors come before numbers: sides with different failure rates are not compared.
func TestSidesWithDifferentErrorsAreNotCompared(t *testing.T) {
	s := newScript(t, 10, slower(0.5))
	s.change = func(turn PairRun, run *results.Run) error {
		if turn.Candidate {
			run.Cells[0].Errors = map[string]int64{"failed": 30_000}
		}
		return nil
	}
	if _, m := s.judged(t, 5); m.Verdict != "INCONCLUSIVE" || m.Effect != nil || !strings.Contains(m.Reason, "0 % of the operations of the baseline failed and 2.9 % of those of the candidate") {
		t.Errorf("%+v (%s), want that the errors differ", m, m.Reason)
	}
}

// A metric that one run does not know, or that is a lower bound, has no verdict: using only the pairs that know it would bias the selection.
func TestWhatIsNotKnownIsNotCompared(t *testing.T) {
	for _, test := range []struct {
		about     string
		candidate bool
		change    func(*results.Latency)
		says      string
	}{
		{"no samples", true, func(l *results.Latency) { l.Count = 0 }, "not known in 1 of 10 pairs: candidate: no samples of hand-off.service"},
		{"a lower bound", true, func(l *results.Latency) { l.AtLeast = []string{"p50"} }, "candidate: a lower bound"},
		{"no samples of the baseline", false, func(l *results.Latency) { l.Count = 0 }, "baseline: no samples"},
		{"a lower bound of the baseline", false, func(l *results.Latency) { l.AtLeast = []string{"p50"} }, "baseline: a lower bound"},
		{"zero", true, func(l *results.Latency) { l.P50 = 0 }, "there is no ratio"},
	} {
		s := newScript(t, 10, slower(2))
		s.change = func(turn PairRun, run *results.Run) error {
			if turn.Pair == 4 && turn.Candidate == test.candidate {
				l := run.Cells[0].Latency["hand-off.service"]
				test.change(&l)
				run.Cells[0].Latency["hand-off.service"] = l
			}
			return nil
		}
		if _, m := s.judged(t, 5); m.Verdict != "INCONCLUSIVE" || m.P != nil || !strings.Contains(m.Reason, test.says) {
			t.Errorf("%s: %+v (%q), want %q", test.about, m, m.Reason, test.says)
		}
	}
	s := newScript(t, 10, func(PairRun) float64 { return 0 })
	if _, m := s.judged(t, 0); m.Verdict != "EQUIVALENT" {
		t.Errorf("0 in all runs: %+v, want equivalent", m)
	}
}

// A planned look may end the comparison; one that shows nothing does not, and a number of pairs without a look never does.
func TestLooks(t *testing.T) {
	s := newScript(t, 20, slower(2))
	s.config.Looks = []int{6, 12} // 6 are too few at a third of the level
	if doc, m := s.judged(t, 3); m.Verdict != "REGRESSION" || len(s.turns) != 24 || len(doc.Notes) != 1 {
		t.Errorf("%+v after %d runs, notes %q, want the end at the second look", m, len(s.turns), doc.Notes)
	}
	s = newScript(t, 20, slower(2))
	if _, m := s.judged(t, 3); len(s.turns) != 40 {
		t.Errorf("%+v after %d runs, want 40 without a look", m, len(s.turns))
	}
	// Three looks have a third of the level each: six pairs that agree no longer suffice.
	s = newScript(t, 6, slower(2))
	s.config.Looks = []int{4, 5}
	if _, m := s.judged(t, 5); m.Verdict != "INCONCLUSIVE" {
		t.Errorf("%+v of 6 pairs with three looks, want inconclusive", m)
	}
}

// Several cells are each compared with their counterparts, and all metrics of all cells share the level.
func TestSeveralCells(t *testing.T) {
	s := newScript(t, 7, nil)
	s.handOff = func(turn PairRun) float64 {
		return slower([]float64{1.5, 1}[turn.Cell])(turn) * float64(1+100*turn.Cell)
	}
	s.config.Cells = 2
	doc, m := s.judged(t, 3)
	if other := doc.Cells[1].Metrics[0]; m.Verdict != "REGRESSION" || other.Verdict != "EQUIVALENT" {
		t.Errorf("%+v and %+v, want a regression of the first cell alone", m, other)
	}
	if math.Abs(*m.Adjusted-2**m.P) > 1e-12 {
		t.Errorf("p %v after Holm %v, want twice", *m.P, *m.Adjusted)
	}
	if got := s.config.Design().MinPairs(); got != 7 {
		t.Errorf("two cells need %d pairs, want 7", got)
	}
	s.config.Pairs = 6 // enough for one cell, but not for two
	if _, m := s.judged(t, 5); m.Verdict != "INCONCLUSIVE" {
		t.Errorf("%+v of 6 pairs with two cells, want inconclusive", m)
	}
}

// The environments of the sides are compared, because a difference may be intended, or a mistake.
func TestWhatDiffersIsTold(t *testing.T) {
	s := newScript(t, 1, slower(1))
	s.change = func(turn PairRun, run *results.Run) error {
		run.Environment = results.Environment{CPU: "one", Cores: 2, Engine: map[bool]string{true: "go-zookeeper", false: "native"}[turn.Candidate]}
		return nil
	}
	doc, _ := s.judged(t, 5)
	if want := []results.Differing{{Name: "engine", Baseline: "native", Candidate: "go-zookeeper"}}; !slices.Equal(doc.Differing, want) {
		t.Errorf("%+v, want %+v", doc.Differing, want)
	}
}

// So is what belongs to the servers of a side: where they come from, and their settings as far as both sides report them.
func TestWhatDiffersBetweenTheServersOfTheSidesIsTold(t *testing.T) {
	s := newScript(t, 1, slower(1))
	s.change = func(turn PairRun, run *results.Run) error {
		run.Environment = results.Environment{ZooKeeper: "3.8.0", Source: "/a", SessionTimeout: 10000, Options: map[string]string{"ticktime": "2000", "java.version": "17.0.1", "initlimit": "5"}}
		if turn.Candidate {
			run.Environment.Source, run.Environment.Encrypted = "/b", true
			run.Environment.Options = map[string]string{"ticktime": "3000", "java.version": "21.0.1", "synclimit": "5"}
		}
		return nil
	}
	doc, _ := s.judged(t, 5)
	if want := []results.Differing{{Name: "source", Baseline: "/a", Candidate: "/b"}, {Name: "encrypted", Baseline: "false", Candidate: "true"},
		{Name: "java.version", Baseline: "17.0.1", Candidate: "21.0.1"}, {Name: "ticktime", Baseline: "2000", Candidate: "3000"}}; !slices.Equal(doc.Differing, want) {
		t.Errorf("%+v, want %+v", doc.Differing, want)
	}
}

func TestDefaults(t *testing.T) {
	for _, test := range []struct {
		cell results.Cell
		want []string
	}{
		{results.Cell{Loop: "closed"}, []string{"throughput"}},
		{results.Cell{Loop: "closed", Measured: []results.Measure{{Op: "acquire", Role: "operation", Timed: true}, {Op: "hand-off", Role: "part"}}}, []string{"throughput", "p50(hand-off.service)"}},
		{results.Cell{Loop: "open", Measured: []results.Measure{{Op: "acquire", Role: "operation", Timed: true}, {Op: "hand-off", Role: "part"}}},
			[]string{"p50(acquire.response)", "p50(hand-off.service)"}},
		{results.Cell{Loop: "open", Measured: []results.Measure{{Op: "put", Role: "operation", Timed: true}, {Op: "put-to-take", Role: "part", Timed: true}}}, []string{"p50(put-to-take.response)"}},
	} {
		var got []string
		for _, m := range Defaults(test.cell) {
			got = append(got, m.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("Defaults(%+v) = %v, want %v", test.cell, got, test.want)
		}
	}
}
