//go:build !race

// Simulations are arithmetic without goroutines that share anything: the race detector has nothing to find in them, and makes them twenty times as
// slow. 'make test' runs them without it.

package capacity_test

import (
	"flag"
	"math"
	"testing"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/capacity/internal/simulated"
)

var searches = flag.Int("searches", 20, "searches of each simulated server")

// Of the searches of each simulated server at least 95 in 100 end as they have to and within 5 % of its capacity, no longer than their budget,
// and 90 in 100 intervals contain it.
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

// A bound is never above what could be probed, and never called found.
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
