package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// swaying is an exact queue whose capacity sways as a sine by a share, with a period, once its bracket is confirmed.
func swaying(mu, share float64, period time.Duration) func(Probe, func([]Block) bool) Measurement {
	now := time.Duration(0)
	return func(p Probe, enough func([]Block) bool) Measurement {
		was := mu
		if p.Purpose == Return {
			was *= 1 + share*math.Sin(2*math.Pi*now.Seconds()/period.Seconds())
		}
		m := exact(was, 0.05)(p, enough)
		now += m.Duration()
		return m
	}
}

func visited(r Result) (loads []float64) {
	for _, s := range r.Steps {
		if s.Probe.Purpose == Return {
			loads = append(loads, s.Probe.Load)
		}
	}
	return loads
}

// Servers that stay the same are visited above and below the figure in turn, and nothing changes. Servers that change are followed as long as there
// is time, and the lower end of the interval decreases to what they carry at their slowest.
func TestTheSearchComesBack(t *testing.T) {
	plan := Plan{Goals: p99, From: 20, To: 5000, Confirm: 4, Budget: 20 * time.Minute}
	same, other := carry(t, plan, exact(900, 0.05)), carry(t, plan, swaying(900, 0.2, 3*time.Minute))
	loads := visited(same)
	if len(loads) != returns || !strings.Contains(same.IntervalOf, "found them the same") {
		t.Errorf("%d visits, and the interval is of %s", len(loads), same.IntervalOf)
	}
	for i, load := range loads {
		if above := i%2 == 0; above != (load > same.Load) || math.Abs(math.Log(load/same.Load)) > 0.04 {
			t.Errorf("visit %d is to %v, of a figure of %v", i, load, same.Load)
		}
	}
	slowest := 900*0.8 - math.Log(100)/0.05
	if other.Outcome != Found || other.Load != same.Load || same.Interval.Low < slowest || other.Interval.Low > slowest || other.Interval.High != same.Interval.High {
		t.Errorf("%s %v in %v, want %v in %v but down to %v", other.Outcome, other.Load, other.Interval, same.Load, same.Interval, slowest)
	}
	loads = visited(other)
	if len(loads) < 2*returns || !strings.Contains(other.IntervalOf, "in the long run") || len(other.NotMonotone) > 0 {
		t.Errorf("%d visits, the interval is of %s; contradictions: %v", len(loads), other.IntervalOf, other.NotMonotone)
	}
	if low, high := slices.Min(loads), slices.Max(loads); low > 0.9*other.Load || high < 1.1*other.Load || other.Took > plan.Budget || other.Took < plan.Budget-2*time.Minute {
		t.Errorf("visits from %v to %v around %v, after %v", low, high, other.Load, other.Took)
	}
}

// A search without time to come back says so; a visit that stays invalid ends the visits but not the search.
func TestAFigureStaysWithoutVisits(t *testing.T) {
	plan := Plan{Goals: p99, From: 50, To: 5000, Confirm: 4, Budget: 6 * time.Minute, Soak: Soak{Share: 0.75, Length: time.Minute}}
	r := carry(t, plan, exact(400, 0.05))
	if r.Outcome != Found || len(visited(r)) >= leastReturns || !strings.Contains(r.IntervalOf, "too little time was left") || r.Soak == nil {
		t.Errorf("%s after %d visits, the interval is of %s; soak %+v", r.Outcome, len(visited(r)), r.IntervalOf, r.Soak)
	}
	strict := plan
	strict.Goals = []Goal{{Name: "expired==0"}}
	undone := carry(t, strict, func(p Probe, enough func([]Block) bool) Measurement {
		m := exact(1e6, 0.05)(p, enough)
		for i := range m.Blocks {
			if p.Load > 300 {
				m.Blocks[i].Over[0] = 1
			}
		}
		return m
	})
	if undone.Outcome != Found || len(visited(undone)) > 0 || undone.Interval != (Interval{undone.Low.Load, undone.High.Load}) || !strings.HasSuffix(undone.IntervalOf, "of the search") {
		t.Errorf("%s in %v after %d visits, the interval is of %s; want the bracket", undone.Outcome, undone.Interval, len(visited(undone)), undone.IntervalOf)
	}
	plan.Budget = time.Hour
	want := carry(t, plan, exact(400, 0.05))
	for _, suspect := range []Suspect{Generator, LeaderChanged} {
		r := carry(t, plan, func(p Probe, enough func([]Block) bool) Measurement {
			m := exact(400, 0.05)(p, enough)
			if p.Purpose == Return {
				m.Suspect = suspect
			}
			return m
		})
		if r.Outcome != Found || r.Load != want.Load || r.Interval != want.Interval || len(visited(r)) != maxAttempts || r.Soak == nil {
			t.Errorf("%s: %s %v in %v after %d visits, want %v in %v", suspect, r.Outcome, r.Load, r.Interval, len(visited(r)), want.Load, want.Interval)
		}
	}
}

// For many independent moments, the lowest load is that below which a normal distribution has the share; for few moments it is lower, and also for
// moments that follow each other slowly.
func TestLowest(t *testing.T) {
	r, previous := rand.New(rand.NewPCG(1, 2)), 0.0
	draw := func(n int, keep float64) (v visits) {
		for range n {
			previous = keep*previous + math.Sqrt(1-keep*keep)*r.NormFloat64()
			v.loads = append(v.loads, previous)
		}
		return v
	}
	const quantile99 = 2.326
	many := draw(20_000, 0)
	deviation := math.Sqrt(variance(many.moments())) // of the mean of two neighbours: they are worth half as many values
	if got := many.lowest(0.01, 1); got > -quantile99*deviation || got < -1.1*quantile99*deviation {
		t.Errorf("of many moments %v, want a little below %v", got, -quantile99*deviation)
	}
	for name, keep := range map[string]float64{"independent": 0, "slow": 0.8} {
		above := 0
		const sets = 400
		for range sets {
			v := draw(30, keep)
			if v.lowest(0.01, 1) > -quantile99*math.Sqrt((1+keep)/2) {
				above++
			}
		}
		if above*20 > sets {
			t.Errorf("%s: of %d lowest loads %d are above that of the distribution", name, sets, above)
		}
	}
}
