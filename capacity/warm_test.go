package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// Servers are steady when the last two blocks are hardly faster than the two before.
func TestSteady(t *testing.T) {
	for name, c := range map[string]struct {
		means []int
		want  bool
	}{
		"too few blocks":       {[]int{5, 5, 5}, false},
		"the same":             {[]int{5, 5, 5, 5}, true},
		"faster":               {[]int{9, 8, 6, 5}, false},
		"faster at first":      {[]int{90, 20, 6, 5, 5, 5}, true},
		"slower":               {[]int{5, 5, 6, 7}, true},
		"a tenth and no more":  {[]int{10, 10, 9, 9}, true},
		"nothing that is told": {[]int{0, 0, 0, 0}, true},
	} {
		var blocks []Block
		for _, m := range c.means {
			blocks = append(blocks, Block{Mean: float64(m)})
		}
		if got := steady(blocks); got != c.want {
			t.Errorf("%s: steady(%v) = %v, want %v", name, c.means, got, c.want)
		}
	}
}

// warming is an exact queue whose capacity grows with the blocks that it has served, to its full speed after that many.
func warming(mu float64, after int) func(Probe, func([]Block) bool) Measurement {
	served := 0
	return func(p Probe, enough func([]Block) bool) (m Measurement) {
		m.Took = p.Settle.Seconds()
		for !enough(m.Blocks) {
			served++
			now := mu * min(1, 0.2+0.8*float64(served)/float64(after))
			one := exact(now, 0.05)(p, func(b []Block) bool { return len(b) == 1 })
			one.Blocks[0].Mean = 1000 / max(now-p.Load, 1)
			m.Blocks = append(m.Blocks, one.Blocks[0])
			m.Took += p.Block.Seconds()
		}
		return m
	}
}

// A load that failed while the servers were cold is probed again when they are warm; the earlier failure is no contradiction.
func TestColdServersAreWarmedFirst(t *testing.T) {
	plan := Plan{Goals: p99, From: 20, To: 5000, Confirm: 4, Budget: 20 * time.Minute}
	want := 900 - math.Log(100)/0.05
	r := carry(t, plan, warming(900, 30))
	if r.Outcome != Found || math.Abs(r.Load/want-1) > 0.02 || len(r.NotMonotone) > 0 {
		t.Errorf("%s %v (%v), want found %v and no contradictions", r.Outcome, r.Load, r.NotMonotone, want)
	}
	again := slices.ContainsFunc(r.Moves, func(s string) bool { return strings.Contains(s, "passed when the servers were warm") })
	warmUps := 0
	for _, s := range r.Steps {
		if s.Probe.Purpose == Warm {
			warmUps++
			if s.Judgement.Decision != Undecided {
				t.Errorf("a warm-up decides %s", s.Judgement.Decision)
			}
		}
	}
	if !again || warmUps < 2 {
		t.Errorf("%d warm-ups; %v", warmUps, r.Moves)
	}
}

// During a search, a load that has passed is not reported as one that failed before the servers were warm.
func TestABracketIsOfTwoLoads(t *testing.T) {
	s, err := New(Plan{Goals: p99, From: 20, To: 5000, Confirm: 4, Budget: 20 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	measure, known := warming(900, 30), 0
	for p, more := s.Next(); more; p, more = s.Next() {
		r := s.Result()
		if r.High.Load > 0 && r.High.Load <= r.Low.Load {
			t.Errorf("before probe %d: between %v and %v", p.Number+1, r.Low.Load, r.High.Load)
		}
		if r.High.Load > 0 {
			known++
		}
		s.Tell(measure(p, s.Enough))
	}
	if known == 0 {
		t.Error("no load ever failed")
	}
}

// A search that runs out of time after confirming a bracket that fresh samples contradict gives an interval that contains both.
func TestWhatContradictsAFigureWidensIt(t *testing.T) {
	plan := Plan{Goals: p99, From: 20, To: 5000, Confirm: 4, Width: 0.16, Budget: 8 * time.Minute}
	slower, confirmed := 400., 0
	r := carry(t, plan, func(p Probe, enough func([]Block) bool) Measurement {
		if p.Confirmation > 1 {
			slower = 230 // 138 within the goal
		}
		if p.Purpose == Confirm {
			confirmed++
		}
		return exact(slower, 0.05)(p, enough)
	})
	first := 400 - math.Log(100)/0.05
	if r.Outcome != Found || math.Abs(r.Load/first-1) > 0.02 || r.Interval.Low > 179 || r.Interval.High < first || len(r.Moves) == 0 {
		t.Errorf("%s %v %v after %v: %v; want found, and an interval down to the lowest load that failed later", r.Outcome, r.Load, r.Interval, r.Took, r.Moves)
	}
	if r.Took > plan.Budget {
		t.Errorf("took %v of %v", r.Took, plan.Budget)
	}
}

// A search with little time confirms a wider bracket rather than none.
func TestLittleTimeMakesAWideBracket(t *testing.T) {
	want := 400 - math.Log(100)/0.05
	for _, budget := range []time.Duration{6 * time.Minute, 8 * time.Minute, time.Hour} {
		r := carry(t, Plan{Goals: p99, From: 50, To: 5000, Confirm: 4, Budget: budget}, exact(400, 0.05))
		if r.Outcome != Found || r.Interval.Low > want || r.Interval.High < want || r.Took > budget {
			t.Errorf("%v: %s %v in %v after %v (%s), want %v", budget, r.Outcome, r.Load, r.Interval, r.Took, r.Reason, want)
		}
	}
}
