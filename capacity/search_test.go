package capacity

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// exact measures what an M/M/1 queue would on average: the expected number of late operations, and its p99.
func exact(mu, limit float64) func(Probe, func([]Block) bool) Measurement {
	return func(p Probe, enough func([]Block) bool) Measurement {
		m := Measurement{Took: p.Settle.Seconds()}
		share, value := 1.0, math.Inf(1)
		if p.Load < mu {
			share, value = math.Exp(-(mu-p.Load)*limit), math.Log(100)/(mu-p.Load)
		}
		for !enough(m.Blocks) {
			due := int(p.Load * p.Block.Seconds())
			m.Blocks = append(m.Blocks, Block{Seconds: p.Block.Seconds(), Due: due, Done: due, Over: []int{int(math.Round(share * float64(due)))}})
			m.Took += p.Block.Seconds()
		}
		m.Values = []*float64{&value}
		return m
	}
}

// carry runs a search with the measurements of a function.
func carry(t *testing.T, plan Plan, measure func(Probe, func([]Block) bool) Measurement) Result {
	t.Helper()
	s, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	for probes := 0; ; probes++ {
		p, more := s.Next()
		if !more {
			return s.Result()
		}
		if probes > 500 {
			t.Fatalf("no result after %d probes", probes)
		}
		s.Tell(measure(p, s.Enough))
	}
}

// Without noise the figure is the closed form, and so is the elasticity: by how many per cent the p99 grows with one per cent of load.
func TestTheFigureOfAnExactQueue(t *testing.T) {
	for _, mu := range []float64{300, 400, 900} {
		r := carry(t, Plan{Goals: p99, From: 20, To: 5000, Confirm: 12, Budget: time.Hour}, exact(mu, 0.05))
		want := mu - math.Log(100)/0.05
		if r.Outcome != Found || math.Abs(r.Load/want-1) > 0.01 || r.Binding != 0 || r.Confirmations != 3 {
			t.Errorf("mu %v: %s %v by goal %d in %d confirmations, want %v", mu, r.Outcome, r.Load, r.Binding, r.Confirmations, want)
		}
		if r.Low.Load >= want || r.High.Load <= want || r.Low.Decision != Pass || r.High.Decision != Fail {
			t.Errorf("mu %v: bracket %+v, %+v does not contain %v", mu, r.Low, r.High, want)
		}
		if r.Interval.Low >= want || r.Interval.High <= want {
			t.Errorf("mu %v: interval %v does not contain %v", mu, r.Interval, want)
		}
		elasticity := math.Log((mu-r.Low.Load)/(mu-r.High.Load)) / math.Log(r.High.Load/r.Low.Load)
		if math.Abs(r.Elasticity/elasticity-1) > 1e-9 {
			t.Errorf("mu %v: elasticity %v, want %v", mu, r.Elasticity, elasticity)
		}
		if len(r.NotMonotone) > 0 {
			t.Errorf("mu %v: not monotone at %v", mu, r.NotMonotone)
		}
	}
}

// The samples that led to the bracket confirm nothing: the figure does not depend on them as long as their decisions are the same, and a search whose
// probes were all too optimistic ends at the truth.
func TestOnlyFreshSamplesConfirm(t *testing.T) {
	plan := Plan{Goals: p99, From: 20, Confirm: 12, Budget: time.Hour, Seed: 5}
	honest := exact(400, 0.05)
	want := carry(t, plan, honest)
	wide, many := plan, exact(4000, 0.005)
	wide.From, wide.Width = 200, 0.3 // its ends were probed in the search
	before := carry(t, wide, many)
	for _, end := range []float64{before.Low.Load, before.High.Load} {
		if !slices.ContainsFunc(before.Steps, func(s Step) bool { return s.Probe.Load == end && s.Probe.Purpose != Confirm }) {
			t.Errorf("only the confirmation probed %v: the test shows nothing", end)
		}
	}
	got := carry(t, wide, func(p Probe, enough func([]Block) bool) Measurement {
		m := many(p, enough)
		for _, b := range m.Blocks {
			if p.Purpose != Confirm {
				b.Over[0] -= b.Over[0] / 10 // too little to decide otherwise, but enough to move a figure that is based on it
			}
		}
		return m
	})
	if got.Load != before.Load || got.Interval != before.Interval {
		t.Errorf("figure %v %v, with other samples of the search %v %v", before.Load, before.Interval, got.Load, got.Interval)
	}
	var first []Step
	for _, s := range want.Steps {
		if s.Probe.Confirmation == 1 {
			first = append(first, s)
		}
	}
	if len(first) != 3 || first[0].Probe.Load != first[2].Probe.Load || first[0].Probe.Load >= first[1].Probe.Load ||
		len(first[0].Measurement.Blocks) != 6 || len(first[1].Measurement.Blocks) != 12 || len(first[2].Measurement.Blocks) != 6 {
		t.Errorf("the first confirmation is not 6 blocks of the low end, 12 of the high and 6 of the low: %+v", first)
	}
	lucky := carry(t, plan, func(p Probe, enough func([]Block) bool) Measurement {
		if p.Purpose != Confirm {
			return exact(480, 0.05)(p, enough)
		}
		return honest(p, enough)
	})
	if lucky.Outcome == Found && math.Abs(lucky.Load/want.Load-1) > 0.05 {
		t.Errorf("found %v, where fresh samples say %v", lucky.Load, want.Load)
	}
	if lucky.Outcome != Found && lucky.Outcome != Unstable {
		t.Errorf("ended %s: %s", lucky.Outcome, lucky.Reason)
	}
}

// An invalid probe is repeated at most twice and moves no bound, whatever it measured.
func TestAnInvalidProbeMovesNothing(t *testing.T) {
	plan := Plan{Goals: p99, From: 20, Confirm: 12, Budget: time.Hour}
	want := carry(t, plan, exact(400, 0.05))
	for name, over := range map[string]float64{"all late": 1, "none late": 0} {
		got := carry(t, plan, func(p Probe, enough func([]Block) bool) Measurement {
			m := exact(400, 0.05)(p, enough)
			if p.Attempt < 2 {
				m.Suspect = LeaderChanged
				for _, b := range m.Blocks {
					b.Over[0] = int(over * float64(b.Due))
				}
			}
			return m
		})
		if got.Load != want.Load || len(got.Steps) < 2*len(want.Steps) {
			t.Errorf("%s: figure %v in %d probes, want %v as without invalid probes (%d)", name, got.Load, len(got.Steps), want.Load, len(want.Steps))
		}
	}
	for suspect, outcome := range map[Suspect]Outcome{LeaderChanged: Unstable, NotRecovered: Unstable, Paused: Unstable, ServerLost: Unstable, Generator: Limited} {
		r := carry(t, plan, func(p Probe, enough func([]Block) bool) Measurement {
			m := exact(400, 0.05)(p, enough)
			if p.Load > 100 {
				m.Suspect = suspect
			}
			return m
		})
		if r.Outcome != outcome || r.Reason == "" || outcome == Limited && (r.Load > 100 || r.Load < 95) {
			t.Errorf("%s above 100: %s at %v (%s), want %s", suspect, r.Outcome, r.Load, r.Reason, outcome)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		plan    Plan
		measure func(Probe, func([]Block) bool) Measurement
		want    Outcome
		load    float64
	}{
		"the lowest load fails":      {Plan{From: 500}, exact(400, 0.05), None, 0},
		"the highest load passes":    {Plan{From: 20, To: 150}, exact(400, 0.05), AtLeast, 150},
		"no time":                    {Plan{From: 20, Budget: time.Minute}, exact(400, 0.05), OutOfBudget, 0},
		"no time for a probe":        {Plan{From: 20, Budget: time.Second}, exact(400, 0.05), OutOfBudget, 0},
		"a capacity a little higher": {Plan{From: 20, To: 300}, exact(400, 0.05), AtLeast, 300},
		"fresh samples always say the opposite": {Plan{From: 20, To: 1e6}, func(p Probe, enough func([]Block) bool) Measurement {
			if p.Purpose == Confirm && p.Load < 308 {
				return exact(1, 0.05)(p, enough)
			}
			if p.Purpose == Confirm {
				return exact(1e9, 0.05)(p, enough)
			}
			return exact(400, 0.05)(p, enough)
		}, Unstable, 0},
	} {
		c.plan.Goals = p99
		if c.plan.Budget == 0 {
			c.plan.Budget = time.Hour
		}
		r := carry(t, c.plan, c.measure)
		if r.Outcome != c.want || r.Load != c.load || r.Reason == "" {
			t.Errorf("%s: %s %v (%s), want %s %v", name, r.Outcome, r.Load, r.Reason, c.want, c.load)
		}
	}
}

func TestSoak(t *testing.T) {
	plan := Plan{Goals: p99, From: 20, Confirm: 12, Budget: 20 * time.Minute, Soak: Soak{Share: 0.75, Length: 10 * time.Minute}}
	for name, c := range map[string]struct {
		late func(block int) int
		want Decision
	}{
		"steady":    {func(int) int { return 5 }, Pass},
		"a trend":   {func(block int) int { return block / 4 }, Fail},
		"too slow":  {func(int) int { return 200 }, Fail},
		"none late": {func(int) int { return 0 }, Pass},
	} {
		r := carry(t, plan, func(p Probe, enough func([]Block) bool) Measurement {
			m := exact(400, 0.05)(p, enough)
			for i, b := range m.Blocks {
				if p.Purpose == Soaking {
					b.Over[0] = c.late(i)
				}
			}
			return m
		})
		if r.Outcome != Found || r.Soak == nil || r.Soak.Decision != c.want || r.Soak.Load != 0.75*r.Load {
			t.Errorf("%s: %s, soak %+v, want %v at three quarters of %v", name, r.Outcome, r.Soak, c.want, r.Load)
			continue
		}
		if last := r.Steps[len(r.Steps)-1]; time.Duration(len(last.Measurement.Blocks))*last.Probe.Block < plan.Soak.Length {
			t.Errorf("%s: soaked %d blocks of %v", name, len(last.Measurement.Blocks), last.Probe.Block)
		}
	}
}

// Whatever is measured, a search ends, within its budget except for one probe, asks for loads within its bounds, and reports the decisions of fresh
// samples for both ends of a capacity that it found; given the same measurements it does the same again.
func TestAnyMeasurementsEndASearch(t *testing.T) {
	outcomes := map[Outcome]int{}
	for seed := range uint64(100) {
		plan := Plan{Goals: append(p99[:1:1], Goal{Name: "errors<1%", Share: 0.01}), From: 50, To: 3000, Confirm: 2 + int(seed%5), Seed: seed}
		play := func() Result {
			r := rand.New(rand.NewPCG(seed, 1))
			truth, noise := math.Exp(r.Float64()*6+3), r.Float64()*2
			return carry(t, plan, func(p Probe, enough func([]Block) bool) Measurement {
				if p.Load < plan.From/2 || p.Load > plan.To || p.Min > p.Max || p.Block < DefaultBlock || p.Settle < 3*time.Second {
					t.Fatalf("seed %d: probe %+v", seed, p)
				}
				m := Measurement{Took: p.Settle.Seconds()}
				for !enough(m.Blocks) {
					due := int(p.Load * p.Block.Seconds())
					share := min(0.01*math.Pow(p.Load/truth, 8)*math.Exp(noise*r.NormFloat64()), 1)
					m.Blocks = append(m.Blocks, Block{Due: due, Done: due, Over: []int{int(share * float64(due)), r.IntN(due/200 + 1)}})
					m.Took += p.Block.Seconds()
				}
				if r.Float64() < 0.05 {
					m.Suspect = []Suspect{Generator, Paused, ServerLost}[r.IntN(3)]
				}
				return m
			})
		}
		r := play()
		outcomes[r.Outcome]++
		if again := play(); !reflect.DeepEqual(withoutNaN(r), withoutNaN(again)) {
			t.Fatalf("seed %d: two results of the same: %+v, %+v", seed, r, again)
		}
		if r.Took > DefaultBudget {
			t.Errorf("seed %d: took %v", seed, r.Took)
		}
		for name, load := range map[string]float64{"passed": r.Low.Load, "failed": r.High.Load} {
			if load > 0 && !slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Probe.Load == load && s.Probe.Purpose != Warm }) {
				t.Errorf("seed %d: %s (%s), and %v is told as %s, which was never probed", seed, r.Outcome, r.Reason, load, name)
			}
		}
		if r.Interval.Low > r.Interval.High {
			t.Errorf("seed %d: %s (%s) with the interval %v", seed, r.Outcome, r.Reason, r.Interval)
		}
		if r.Outcome != Found {
			continue
		}
		var low, high Measurement
		confirming, refuted := false, false
		for _, s := range r.Steps {
			confirming = confirming || s.Probe.Purpose == Confirm
			refuted = refuted || confirming && s.Probe.Purpose == Narrow // samples of an abandoned bracket are not used again
			if s.Probe.Purpose == Confirm && s.Judgement.Decision != Invalid && s.Probe.Load == r.Low.Load {
				low.Blocks = append(low.Blocks, s.Measurement.Blocks...)
			}
			if s.Probe.Purpose == Confirm && s.Judgement.Decision != Invalid && s.Probe.Load == r.High.Load {
				high.Blocks = append(high.Blocks, s.Measurement.Blocks...)
			}
		}
		if len(low.Blocks) < plan.Confirm || len(high.Blocks) < plan.Confirm {
			t.Errorf("seed %d: ends confirmed by %d and %d blocks, want %d", seed, len(low.Blocks), len(high.Blocks), plan.Confirm)
		}
		fresh := figure{goals: plan.Goals, low: r.Low.Load, high: r.High.Load, width: DefaultWidth, atOnce: judge(plan.Goals, high, nil).Binding}
		if load, _ := fresh.between(judge(plan.Goals, low, nil).Estimates, judge(plan.Goals, high, nil).Estimates); math.Abs(load/r.Load-1) > 0.01 && !refuted && len(r.Moves) == 0 {
			t.Errorf("seed %d: found %v, fresh samples alone say %v", seed, r.Load, load)
		}
		if r.Load < r.Low.Load || r.Load > r.High.Load || r.Interval.Low > r.Load || r.Interval.High < r.Load {
			t.Errorf("seed %d: %v in %v between %v and %v", seed, r.Load, r.Interval, r.Low, r.High)
		}
	}
	for _, o := range []Outcome{Found, None, AtLeast} {
		if outcomes[o] == 0 {
			t.Errorf("no search ended %s: %v", o, outcomes)
		}
	}
}

// withoutNaN makes a result comparable.
func withoutNaN(r Result) Result {
	for _, x := range []*float64{&r.Low.Value, &r.High.Value, &r.Elasticity} {
		if math.IsNaN(*x) {
			*x = -1
		}
	}
	return r
}

// However short the blocks are, those of a probe are together long enough to measure the CPU usage of the load generator.
func TestShortBlocksAreMore(t *testing.T) {
	for _, block := range []time.Duration{leastBlock, 300 * time.Millisecond, 5 * time.Second} {
		r := carry(t, Plan{Goals: p99, From: 2000, To: 50_000, Confirm: 2, Block: block, Budget: time.Minute * 20}, exact(9000, 0.05))
		if r.Outcome != Found {
			t.Errorf("blocks of %v: %s (%s)", block, r.Outcome, r.Reason)
		}
		for _, s := range r.Steps {
			if steady := time.Duration(len(s.Measurement.Blocks)) * s.Probe.Block; steady < time.Second {
				t.Errorf("blocks of %v: probe %d (%s) lasts %v", block, s.Probe.Number, s.Probe.Purpose, steady)
			}
		}
	}
}

// Each probe has its own arrivals: those that confirm are not those that chose the bracket.
func TestEachProbeHasItsOwnSeed(t *testing.T) {
	seen := map[uint64]int{}
	for _, s := range carry(t, Plan{Goals: p99, From: 20, Confirm: 4, Budget: time.Hour}, exact(400, 0.05)).Steps {
		if before, again := seen[s.Probe.Seed]; again {
			t.Errorf("probes %d and %d have the seed %d", before, s.Probe.Number, s.Probe.Seed)
		}
		seen[s.Probe.Seed] = s.Probe.Number
	}
}

func TestNotMonotone(t *testing.T) {
	step := func(load float64, d Decision) Step {
		return Step{Probe: Probe{Load: load}, Judgement: Judgement{Decision: d}}
	}
	for name, c := range map[string]struct {
		steps []Step
		want  []float64
	}{
		"in order":                      {[]Step{step(100, Pass), step(200, Fail)}, nil},
		"a lower load fails":            {[]Step{step(200, Pass), step(100, Fail), step(400, Fail)}, []float64{100, 200}},
		"within a width":                {[]Step{step(104, Pass), step(100, Fail)}, nil},
		"undecided loads say nothing":   {[]Step{step(200, Undecided), step(100, Fail)}, nil},
		"what is invalid says nothing":  {[]Step{step(200, Pass), step(100, Invalid)}, nil},
		"the same load, another result": {[]Step{step(100, Pass), step(100, Fail)}, nil},
	} {
		if got := notMonotone(c.steps, 0.04); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	good := Plan{Goals: p99}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Plan){
		"goals: there is none (at least one, like p99<50ms)":                                                         func(p *Plan) { p.Goals = nil },
		"goals[0]: share: must be at least 0 and below 1, got 1":                                                     func(p *Plan) { p.Goals = []Goal{{"p0", 1}} },
		"goals[0]: name: is empty (a text like p99<50ms)":                                                            func(p *Plan) { p.Goals = []Goal{{"", 0}} },
		"from: must be above 0, got -1":                                                                              func(p *Plan) { p.From = -1 },
		"to: must be above from (100), got 100":                                                                      func(p *Plan) { p.To = 100 },
		"width: must be between 0.5 % and 50 %, got 0.1 %":                                                           func(p *Plan) { p.Width = 0.001 },
		"confirm: must be at least 2 blocks, got 1":                                                                  func(p *Plan) { p.Confirm = 1 },
		"budget: must be above 0, got -1s":                                                                           func(p *Plan) { p.Budget = -time.Second },
		"soak: must not be negative, got -1s\nsoak: must be at a share of the capacity between 0 and 100 %, got 0 %": func(p *Plan) { p.Soak.Length = -time.Second },
		"soak: must be at a share of the capacity between 0 and 100 %, got 120 %":                                    func(p *Plan) { p.Soak = Soak{1.2, time.Minute} },
		"from: must be above 0, got -1\nconfirm: must be at least 2 blocks, got 1":                                   func(p *Plan) { p.From, p.Confirm = -1, 1 },
		"goals[0]: share: must be at least 0 and below 1, got NaN":                                                   func(p *Plan) { p.Goals = []Goal{{"p", math.NaN()}} },
	} {
		p := good
		change(&p)
		if _, err := New(p); err == nil || err.Error() != want {
			t.Errorf("New says %v, want %s", err, want)
		}
	}
}
