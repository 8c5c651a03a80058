package simulated

import (
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/capacity"
)

// Scenario is a server, a search for its capacity, and the expected result.
type Scenario struct {
	Name   string
	Server Server
	Plan   capacity.Plan
	Want   capacity.Outcome
	Truth  float64 // the capacity, or the lower bound of it that the search must give; 0 for other outcomes
	// Hard says why the figure or its interval may be wrong more often than 5 in 100 times; empty if the search promises to be right.
	Hard string
	// Wide says that for a hard server at least the interval must be right.
	Wide bool
}

const limit = 0.050 // seconds

const few = "six blocks of 200 operations a second have few independent late operations"

const swaying = "the capacity is another one in each minute"

const wanders = "a search sees few of the speeds, and the slowest hundredth of the time decides"

const rare = "most late operations are of a few long stops, of which a probe meets one or none"

const flat = "the share of late operations hardly depends on the load"

var p99 = []capacity.Goal{{Name: "p99<50ms", Share: 0.01}}

// exponential returns the capacity of an M/M/1 queue: responses at a rate l are exponential with the rate mu-l.
func exponential(mu float64) float64 { return mu - math.Log(100)/limit }

// Scenarios returns the servers by which the search is judged. A capacity without a closed form is that of Server.Capacity with 4,000,000 operations per
// load; a test compares them. For servers that wander it is the mean of three runs with 100,000,000 or, with 600 s, that of the M/M/1 queue over all speeds.
func Scenarios() []Scenario {
	quick := capacity.Plan{Goals: p99, From: 100, To: 50_000, Confirm: 4, Budget: capacity.DefaultBudget}
	slow := capacity.Plan{Goals: p99, From: 20, To: 5000, Confirm: 6, Budget: 18 * time.Minute}
	thorough := slow
	thorough.Confirm, thorough.Budget = 12, 25*time.Minute
	below, above, patient := quick, quick, quick
	below.From, above.To, patient.Budget = 2500, 1000, 15*time.Minute
	fast := Server{Mu: 2000, Limits: []float64{limit}}
	with := func(change func(*Server)) Server {
		s := fast
		change(&s)
		return s
	}
	deterministic := Server{Mu: 200, Fixed: true, Limits: []float64{limit}}
	stalling := deterministic
	stalling.StallEvery, stalling.StallFor = 7, 0.06
	return []Scenario{
		{Name: "M/M/1, 2000/s", Server: fast, Plan: quick, Want: capacity.Found, Truth: exponential(2000)},
		{Name: "M/D/1, 2000/s", Server: with(func(s *Server) { s.Fixed = true }), Plan: quick, Want: capacity.Found, Truth: 1955},
		{Name: "M/D/1, 200/s", Server: deterministic, Plan: slow, Want: capacity.Found, Truth: 154.5, Hard: few},
		{Name: "M/D/1, 200/s, 12 blocks to confirm", Server: deterministic, Plan: thorough, Want: capacity.Found, Truth: 154.5},
		{Name: "M/D/1, 200/s, stalls of 60 ms every 7 s", Server: stalling, Plan: slow, Want: capacity.Found, Truth: 128.7, Hard: flat},
		{Name: "M/M/1, 2000/s, 15 minutes", Server: fast, Plan: patient, Want: capacity.Found, Truth: exponential(2000)},
		{Name: "M/D/1, 2000/s, p99 < 100 ms, stalls of 60 ms every 7 s", Server: with(func(s *Server) {
			s.Fixed, s.StallEvery, s.StallFor, s.Limits = true, 7, 0.06, []float64{0.1}
		}), Plan: quick, Want: capacity.Found, Truth: 1951},
		{Name: "M/M/1, 200/s", Server: Server{Mu: 200, Limits: []float64{limit}}, Plan: slow, Want: capacity.Found, Truth: exponential(200), Hard: flat},
		{Name: "M/M/1, 2000/s, 3 % slower within 5 minutes", Server: with(func(s *Server) { s.Drift, s.DriftOver = -0.03, 300 }), Plan: quick,
			Want: capacity.Found, Truth: exponential(2000 * 0.985)},
		{Name: "M/M/1, 2000/s, 30 % faster in the first minute", Server: with(func(s *Server) { s.LuckyFor, s.Lucky = 60, 1.3 }), Plan: quick,
			Want: capacity.Found, Truth: exponential(2000)},
		{Name: "M/M/1, 2000/s, at first an eighth of it, warms within 2 minutes", Server: with(func(s *Server) { s.Cold, s.WarmsIn = 0.875, 40 }),
			Plan: slower(quick), Want: capacity.Found, Truth: exponential(2000)},
		{Name: "M/M/1, 2000/s, 12 % more and less, every 2 minutes", Server: with(func(s *Server) { s.Sway, s.SwayEvery = 0.12, 120 }),
			Plan: slower(quick), Want: capacity.Found, Truth: 1726, Hard: swaying},
		wandering(quick, 0.05, 60, 10*time.Minute, 1735),
		wandering(quick, 0.05, 60, 20*time.Minute, 1735),
		wandering(quick, 0.1, 20, 10*time.Minute, 1502),
		wandering(quick, 0.1, 20, 20*time.Minute, 1502),
		wandering(quick, 0.05, 600, 20*time.Minute, 1741),
		{Name: "M/M/1, 2000/s, stops for 100 ms about every 30 s", Server: with(func(s *Server) { s.StopEvery, s.StopFor = 30, 0.1 }),
			Plan: slower(quick), Want: capacity.Found, Truth: 1550, Hard: rare, Wide: true},
		{Name: "M/M/1, 2000/s, slow for 20 s after an overload", Server: with(func(s *Server) { s.TroubleAbove, s.TroubleFor = 5000, 20 }), Plan: quick,
			Want: capacity.Found, Truth: exponential(2000)},
		{Name: "M/M/1, 2000/s, an election in each twentieth probe", Server: with(func(s *Server) { s.Elections = 0.05 }), Plan: slower(quick),
			Want: capacity.Found, Truth: exponential(2000)},
		{Name: "M/M/1, 2000/s, fails between 380 and 420", Server: with(func(s *Server) { s.NotchFrom, s.NotchTo = 380, 420 }), Plan: slower(quick),
			Want: capacity.Found, Truth: 380},
		{Name: "capacity below the lowest load", Server: fast, Plan: below, Want: capacity.None},
		{Name: "capacity above the highest load", Server: fast, Plan: above, Want: capacity.AtLeast, Truth: 1000},
		{Name: "a generator that offers at most 1200", Server: with(func(s *Server) { s.Generator = 1200 }), Plan: quick, Want: capacity.Limited, Truth: 1200},
		{Name: "never recovers from an overload", Server: with(func(s *Server) { s.TroubleAbove, s.TroubleFor = 5000, 3600 }), Plan: quick,
			Want: capacity.Unstable},
	}
}

// wandering returns an M/M/1 queue whose speed wanders, in a search with the given budget. The truth is that of the long run: the load at which 1 % of the
// operations are late on average over all speeds.
func wandering(p capacity.Plan, deviation, over float64, budget time.Duration, truth float64) Scenario {
	p.Budget = budget
	return Scenario{Name: fmt.Sprintf("M/M/1, 2000/s, speed wanders by %.0f %% with %.0f s, %.0f minutes", 100*deviation, over, budget.Minutes()), Plan: p,
		Server: Server{Mu: 2000, Limits: []float64{limit}, Wander: deviation, WanderOver: over}, Want: capacity.Found, Truth: truth, Hard: wanders}
}

// slower returns a plan with more time.
func slower(p capacity.Plan) capacity.Plan {
	p.Budget = 10 * time.Minute
	return p
}

// Tally summarizes many searches of one scenario.
type Tally struct {
	Searches int
	Outcomes map[capacity.Outcome]int
	Within   int     // searches with the expected outcome whose figure is within 5 % of the truth
	Above    int     // searches whose interval has its lower end above the truth
	Covered  int     // searches whose interval contains the truth, whatever the outcome
	Bias     float64 // mean of ln(figure/truth)
	Spread   float64 // root mean square of it
	Took     time.Duration
	Longest  time.Duration
	Probes   float64
}

// Run runs that many searches, with seeds from 0.
func (s Scenario) Run(searches int) Tally {
	return s.RunAs(searches, (*Server).Search)
}

// RunAs is Run with a custom search function.
func (s Scenario) RunAs(searches int, search func(*Server, capacity.Plan) capacity.Result) Tally {
	t := Tally{Searches: searches, Outcomes: map[capacity.Outcome]int{}}
	for seed := range searches {
		s.Plan.Seed = uint64(seed)
		r := search(&s.Server, s.Plan)
		t.Outcomes[r.Outcome]++
		t.Took += r.Took / time.Duration(searches)
		t.Longest = max(t.Longest, r.Took)
		t.Probes += float64(len(r.Steps)) / float64(searches)
		if s.Truth > 0 && r.Outcome == s.Want {
			t.count(math.Log(r.Load / s.Truth))
		}
		if s.Truth > 0 && r.Interval.Low <= s.Truth && s.Truth <= r.Interval.High {
			t.Covered++
		}
		if s.Truth > 0 && r.Interval.Low > s.Truth {
			t.Above++
		}
	}
	if n := float64(t.Outcomes[s.Want]); n > 0 {
		t.Bias, t.Spread = t.Bias/n, math.Sqrt(t.Spread/n)
	}
	return t
}

func (t *Tally) count(away float64) {
	t.Bias += away
	t.Spread += away * away
	if math.Abs(away) <= math.Log(1.05) {
		t.Within++
	}
}
