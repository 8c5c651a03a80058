package capacity

import (
	"math"
	"testing"
	"time"
)

// stopping is an exact queue that stops once in that many blocks, so that a quarter of the operations of that block is late.
func stopping(mu float64, every int) func(Probe, func([]Block) bool) Measurement {
	served := 0
	return func(p Probe, enough func([]Block) bool) (m Measurement) {
		m.Took = p.Settle.Seconds()
		for !enough(m.Blocks) {
			one := exact(mu, 0.05)(p, func(b []Block) bool { return len(b) == 1 })
			if served++; served%every == 0 {
				one.Blocks[0].Over[0] = max(one.Blocks[0].Over[0], one.Blocks[0].Due/4)
			}
			m.Blocks = append(m.Blocks, one.Blocks[0])
			m.Took += p.Block.Seconds()
		}
		return m
	}
}

// Stops in one block of ten, whatever the load, make a share of 2.5 % late: no load is found to pass because few blocks had no stop.
func TestLuckyBlocksConfirmNothing(t *testing.T) {
	soaked := false
	for _, budget := range []time.Duration{10 * time.Minute, 20 * time.Minute} {
		r := carry(t, Plan{Goals: p99, From: 100, To: 5000, Confirm: 4, Budget: budget, Soak: Soak{Share: 0.75, Length: time.Minute}}, stopping(2000, 10))
		switch r.Outcome {
		case Between:
			if soaked = true; r.Soak == nil || r.Soak.Load != 0.75*r.Interval.Low { // there is no figure
				t.Errorf("%v: soak %+v, want one at three quarters of %v", budget, r.Soak, r.Interval.Low)
			}
			if r.Load != 0 || r.Reason == "" || r.Low.Load != r.Interval.Low || r.High.Load != r.Interval.High || math.IsInf(r.Interval.High, 1) {
				t.Errorf("%v: %v in %v (%s), want no figure, and an interval between two loads", budget, r.Load, r.Interval, r.Reason)
			}
		case None, OutOfBudget:
		default:
			t.Errorf("%v: %s %v in %v, where each load has 2.5 %% late", budget, r.Outcome, r.Load, r.Interval)
		}
	}
	if !soaked {
		t.Error("no search ended between two loads")
	}
}

// Blocks that differ as rare stops make them are recognized near the load, but not far above it.
func TestRare(t *testing.T) {
	for name, c := range map[string]struct {
		load float64
		over []int
		want bool
	}{
		"none is late":                {100, []int{0, 0, 0}, false},
		"all are alike":               {100, []int{20, 22, 18}, false},
		"one is bad, others good":     {100, []int{0, 0, 200}, true},
		"not five times the share":    {100, []int{0, 0, 50}, false},
		"all are bad":                 {100, []int{200, 300, 200}, false},
		"at twice the load":           {200, []int{0, 200}, true},
		"far above":                   {201, []int{0, 200}, false},
		"far below":                   {49, []int{0, 200}, false},
		"at a load of half as much":   {50, []int{0, 200}, true},
		"what is invalid is no proof": {-100, []int{0, 200}, false},
	} {
		s := Step{Probe: Probe{Purpose: Narrow, Load: math.Abs(c.load)}, Measurement: Measurement{Blocks: blocks(c.over...)}}
		if c.load < 0 {
			s.Judgement.Decision = Invalid
		}
		w := walk{plan: Plan{Goals: p99}, steps: []Step{s}}
		if got := w.rare(100); got != c.want {
			t.Errorf("%s: rare(100) = %v, want %v", name, got, c.want)
		}
	}
}

// Measurements at higher loads show that a lower load passes, and measurements at lower loads that a higher one fails; bursts that were seen slightly
// above are also expected below.
func TestRangesOfLoads(t *testing.T) {
	step := func(load float64, over ...int) Step {
		return Step{Probe: Probe{Purpose: Confirm, Load: load}, Measurement: Measurement{Blocks: blocks(over...)}}
	}
	w := walk{plan: Plan{Goals: p99}, steps: []Step{step(100, 0, 0, 0, 0), step(110, 0, 0, 0, 0), step(150, 0, 400), step(200, 400, 420), step(400, 900, 900)}}
	if passes, fails := w.passing(), w.failing(); passes != 110 || fails != 200 {
		t.Errorf("%v passes and %v fails, want 110 and 200", passes, fails)
	}
	w.steps[2].Probe.Load = 140 // its burst of 400 may also occur at 110 with 8000 operations, and none in 8000 is too few to exclude that
	if passes := w.passing(); passes != 100 {
		t.Errorf("%v passes, want 100", passes)
	}
}

// If a load failed that is below one that passed later, the interval is from a load below both to one above both, and never upside down.
func TestBetweenLoadsThatContradictEachOther(t *testing.T) {
	step := func(load float64, over ...int) Step {
		return Step{Probe: Probe{Purpose: Confirm, Load: load}, Measurement: Measurement{Blocks: blocks(over...)}}
	}
	w := walk{plan: Plan{Goals: p99, From: 20, Budget: time.Minute}, low: end{load: 400}, steps: []Step{step(50, 0, 0, 0, 0), step(100, 300, 300, 300, 300), step(400, 0, 0, 0, 0, 0, 0),
		step(900, 0, 200, 300, 300)}}
	if passes, fails := w.passing(), w.failing(); passes <= fails {
		t.Fatalf("%v passes and %v fails: the test shows nothing", passes, fails)
	}
	w.between()
	if w.result.Outcome != Between || w.result.Interval != (Interval{50, 900}) || w.result.Low.Load != 50 || w.result.High.Load != 900 {
		t.Errorf("%s in %v, want between 50 and 900", w.result.Outcome, w.result.Interval)
	}
}
