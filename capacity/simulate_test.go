//go:build !race

// Simulations are arithmetic without goroutines that share anything: the race detector has nothing to find in them, and makes them twenty times as
// slow. 'make test' runs them without it.

package capacity_test

import (
	"flag"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/capacity/simulated"
)

var searches = flag.Int("searches", 20, "searches of each simulated server")

// For each simulated server, at least 95 in 100 searches end as expected, within 5 % of its capacity and no later than their budget, and 90 in 100
// intervals contain it.
func TestCapacitiesAreFound(t *testing.T) {
	for _, s := range simulated.Scenarios() {
		if s.Hard != "" && !s.Wide {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			tally := s.Run(*searches)
			least := func(what string, n int, share float64) {
				t.Helper()
				if float64(n) < share*float64(*searches) {
					t.Errorf("%s: %d of %d, want at least %.0f %%; outcomes: %v", what, n, *searches, 100*share, tally.Outcomes)
				}
			}
			if s.Wide && tally.Outcomes[capacity.Between] == 0 {
				t.Errorf("no search ended %s: %v", capacity.Between, tally.Outcomes)
			}
			if !s.Wide {
				least("ended as "+string(s.Want), tally.Outcomes[s.Want], 0.95)
			}
			if s.Truth > 0 {
				least("interval contains the capacity", tally.Covered, 0.9)
			}
			if s.Want == capacity.Found && !s.Wide {
				least("figure within 5 %", tally.Within, 0.95)
			}
			if budget := s.Plan.Budget; tally.Longest > budget {
				t.Errorf("a search took %v, its budget is %v", tally.Longest, budget)
			}
		})
	}
}

// If the speed of servers wanders, all blocks of a probe may find them in one state. With time to come back, 90 in 100 intervals contain what they
// carry in the long run, and the lower end is above it in no more than 5; with less time the interval does not claim the long run.
func TestTheLongRunOfServersThatWander(t *testing.T) {
	for _, s := range simulated.Scenarios() {
		if s.Server.Wander == 0 || s.Server.WanderOver > 60 || s.Plan.Budget < 20*time.Minute {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			tally := s.Run(*searches)
			if n := *searches; tally.Covered*10 < n*9 || tally.Above*20 > n || tally.Outcomes[capacity.Found]*100 < n*95 {
				t.Errorf("of %d searches %d intervals contain the capacity, and the lower end of %d is above it; outcomes: %v", n, tally.Covered, tally.Above, tally.Outcomes)
			}
			if budget := s.Plan.Budget; tally.Longest > budget {
				t.Errorf("a search took %v, its budget is %v", tally.Longest, budget)
			}
		})
	}
}

// In a short search of a server with occasional long stops, the lower end is mostly useful, and hardly ever above the capacity.
func TestTheLowerEndOfShortSearches(t *testing.T) {
	scenarios := simulated.Scenarios()
	stops := scenarios[slices.IndexFunc(scenarios, func(s simulated.Scenario) bool { return s.Wide })]
	stops.Plan.Budget, stops.Plan.Block = 170*time.Second, time.Second
	between, useful, wrong := 0, 0, 0
	for seed := range uint64(100) {
		stops.Plan.Seed = seed
		if r := stops.Server.Search(stops.Plan); r.Outcome == capacity.Between {
			between++
			if r.Interval.Low > stops.Truth/2 {
				useful++
			}
			if r.Interval.Low > stops.Truth {
				wrong++
			}
		}
	}
	if between == 0 || useful*2 < between || wrong*20 > between {
		t.Errorf("of 100 searches %d ended between two loads; the lower end is more than half of the capacity in %d, above it in %d", between, useful, wrong)
	}
}

// The figure is between both ends, however wide the requested bracket: even if the high end fails because work is left undone, before half of it is
// late.
func TestAFigureIsInItsBracket(t *testing.T) {
	const mu = 250
	server := simulated.Server{Mu: mu, Fixed: true, Limits: []float64{0.2}}
	found, held := 0, 0
	for seed := range uint64(50) {
		r := server.Search(capacity.Plan{Goals: []capacity.Goal{{Name: "p50<200ms", Share: 0.5}}, From: 107.5, To: 50_000, Width: 0.45, Confirm: 2, Block: 500 * time.Millisecond,
			Budget: time.Minute, Seed: seed})
		if r.Outcome != capacity.Found {
			continue
		}
		if found++; r.Interval.Low < mu*1.01 && mu*0.99 < r.Interval.High {
			held++
		}
		if r.Load < r.Low.Load || r.Load > r.High.Load || r.Interval.Low > r.Load || r.Interval.High < r.Load || r.Interval.Low == r.Interval.High {
			t.Errorf("seed %d: %v in %v, between %v and %v", seed, r.Load, r.Interval, r.Low, r.High)
		}
	}
	if found < 45 || held < found*9/10 {
		t.Errorf("%d of 50 found, %d intervals hold", found, held)
	}
}

// The samples of a search for one limit also show where shorter limits are just met: M/M/1, in closed form.
func TestTheCurveOfCriticalLoads(t *testing.T) {
	const mu = 2000
	limits := []float64{0.1, 0.025, 0.05} // the first is searched for
	plan := capacity.Plan{Goals: []capacity.Goal{{Name: "p99<100ms", Share: 0.01}}, Curve: []capacity.Goal{{Name: "p99<25ms", Share: 0.01}, {Name: "p99<50ms", Share: 0.01}}, Confirm: 4}
	server := simulated.Server{Mu: mu, Limits: limits}
	reported, held := 0, 0
	for seed := range uint64(40) {
		plan.Seed = seed
		r := server.Search(plan)
		for i, c := range r.Curve {
			want := mu - math.Log(100)/limits[1+i]
			if c.Interval.Low < want && want < c.Interval.High {
				held++
			}
			if c.Load == 0 {
				continue
			}
			if reported++; math.Abs(c.Load/want-1) > 0.15 || c.Load < c.Interval.Low || c.Load > c.Interval.High || c.Goal.Name != plan.Curve[i].Name {
				t.Errorf("seed %d: %+v, want %v", seed, c, want)
			}
		}
	}
	if reported < 70 || held < 72 {
		t.Errorf("of 80 critical loads %d are told, and %d intervals hold", reported, held)
	}
}

// A bound is never above what could be probed, and is never called found.
func TestALowerBoundIsNoFigure(t *testing.T) {
	for _, s := range simulated.Scenarios() {
		if s.Want != capacity.AtLeast && s.Want != capacity.Limited {
			continue
		}
		for seed := range 5 {
			s.Plan.Seed = uint64(seed)
			r := s.Server.Search(s.Plan)
			if r.Outcome == capacity.Found || r.Load > s.Truth || r.Load < 0.9*s.Truth || !math.IsInf(r.Interval.High, 1) {
				t.Errorf("%s: %s %v, %v; want %s, between %v and %v, with no upper end", s.Name, r.Outcome, r.Load, r.Interval, s.Want, 0.9*s.Truth, s.Truth)
			}
		}
	}
}

// The simulated M/M/1 queue is one: its responses are exponential with the rate mu-l. The M/D/1 queue has the capacity of its scenario.
func TestTheSimulatedQueuesAreThoseOfTheTheory(t *testing.T) {
	s := simulated.Server{Mu: 200, Limits: []float64{0.02, 0.05}}
	for _, load := range []float64{100, 150} {
		for i, share := range s.Share(load, 400_000, 1) {
			if want := math.Exp(-(s.Mu - load) * s.Limits[i]); math.Abs(share/want-1) > 0.1 {
				t.Errorf("at %v/s a share of %.4f is above %v s, want %.4f", load, share, s.Limits[i], want)
			}
		}
	}
	m := simulated.Scenarios()[2]
	if got := m.Server.Capacity(0.01, 200_000); math.Abs(got/m.Truth-1) > 0.015 {
		t.Errorf("the capacity of %s is %.1f, its scenario says %.1f", m.Name, got, m.Truth)
	}
}
