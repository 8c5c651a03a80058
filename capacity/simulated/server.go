package simulated

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/capacity"
)

// Server is a queue with one server, first come, first served, whose arrivals are a Poisson stream. Times are in seconds. A field that is zero has no effect.
type Server struct {
	Mu     float64   // operations per second
	Fixed  bool      // every operation takes 1/Mu (M/D/1); otherwise exponential (M/M/1)
	Limits []float64 // latency limit of each goal

	StallEvery, StallFor float64 // period and length of intervals in which nothing is served
	StopEvery, StopFor   float64 // means of exponential distributions: the time between stops in which nothing is served, and their length
	Drift                float64 // share by which Mu changes, evenly, over DriftOver
	DriftOver            float64
	Cold, WarmsIn        float64 // at first Mu is lower by the share Cold, of which about a third is left after each WarmsIn
	Sway, SwayEvery      float64 // Mu is higher and lower by the share Sway, as a sine of that period: the load of others
	Wander, WanderOver   float64 // relative standard deviation and time constant: Mu is a first-order autoregressive sequence, with one value per second
	LuckyFor, Lucky      float64 // for the first LuckyFor seconds Mu is multiplied by Lucky
	NotchFrom, NotchTo   float64 // at loads between them the server has an eighth of its speed
	Generator            float64 // loads above it cannot be offered
	Elections            float64 // share of the probes whose operations are all late, and which are known to be invalid
	TroubleAbove         int     // after more unfinished operations than that the server is slower by a third for TroubleFor
	TroubleFor           float64

	now, free, trouble float64
	stop, stopEnds     float64     // the next stop, or the current one
	open               []operation // unfinished, in order
	rand               *rand.Rand

	away       float64 // deviation of Mu from its mean, in standard deviations
	wandered   float64 // time up to which away has been computed
	wanderings *rand.Rand
}

// operation has the times at which it is due and ends.
type operation struct{ due, end float64 }

// Seed resets the server.
func (s *Server) Seed(seed uint64) {
	s.now, s.free, s.trouble, s.open = 0, 0, 0, s.open[:0]
	s.stop, s.stopEnds = 0, 0
	s.rand = rand.New(rand.NewPCG(seed, 0x7365727665))
	s.wanderings = rand.New(rand.NewPCG(seed, 0x77616e646572))
	s.away, s.wandered = s.wanderings.NormFloat64(), 0
}

func (s *Server) mu(load float64) float64 {
	mu := s.Mu
	if s.DriftOver > 0 {
		mu *= 1 + s.Drift*min(s.now/s.DriftOver, 1)
	}
	if s.WarmsIn > 0 {
		mu *= 1 - s.Cold*math.Exp(-s.now/s.WarmsIn)
	}
	if s.SwayEvery > 0 {
		mu *= 1 + s.Sway*math.Sin(2*math.Pi*s.now/s.SwayEvery)
	}
	if s.WanderOver > 0 {
		mu *= 1 + s.Wander*s.wander()
	}
	if s.now < s.LuckyFor {
		mu *= s.Lucky
	}
	if load > s.NotchFrom && load < s.NotchTo {
		mu /= 8
	}
	if s.now < s.trouble {
		mu /= 1.5
	}
	return mu
}

// wander returns by how many standard deviations the speed deviates from its mean now.
func (s *Server) wander() float64 {
	keep := math.Exp(-1 / s.WanderOver)
	for ; s.wandered < s.now; s.wandered++ {
		s.away = keep*s.away + math.Sqrt(1-keep*keep)*s.wanderings.NormFloat64()
	}
	return s.away
}

// serve offers a load for a time, and returns its counts.
func (s *Server) serve(load float64, length time.Duration) capacity.Block {
	b := capacity.Block{Seconds: length.Seconds(), Over: make([]int, len(s.Limits))}
	end := s.now + length.Seconds()
	unfinished, took := len(s.open), 0.0
	var late []operation
	for at := s.now + s.rand.ExpFloat64()/load; at < end; at += s.rand.ExpFloat64() / load {
		s.now = at
		service := 1 / s.mu(load)
		if !s.Fixed {
			service *= s.rand.ExpFloat64()
		}
		s.free = s.stall(max(s.free, at)) + service
		if s.free > end { // all others end in this block
			late = append(late, operation{at, s.free})
		}
		b.Due++
		took += s.free - at
		for i, limit := range s.Limits {
			if s.free-at > limit {
				b.Over[i]++
			}
		}
	}
	s.now = end
	b.Mean = 1e3 * took / float64(max(b.Due, 1))
	s.open = append(slices.DeleteFunc(s.open, func(o operation) bool { return o.end <= end }), late...)
	b.Done = b.Due + unfinished - len(s.open)
	for _, o := range s.open {
		if o.due < end-slices.Max(s.Limits) {
			b.Stuck++
		}
	}
	if s.TroubleAbove > 0 && len(s.open) > s.TroubleAbove {
		s.trouble = end + s.TroubleFor
	}
	return b
}

// stall returns when a service that could start at a given time does start.
func (s *Server) stall(at float64) float64 {
	for s.StopEvery > 0 && at >= s.stop {
		at = max(at, s.stopEnds)
		s.stop = max(s.stop, s.stopEnds) + s.StopEvery*s.rand.ExpFloat64()
		s.stopEnds = s.stop + s.StopFor*s.rand.ExpFloat64()
	}
	if s.StallEvery == 0 {
		return at
	}
	if phase := math.Mod(at, s.StallEvery); phase < s.StallFor {
		return at + s.StallFor - phase
	}
	return at
}

// recoveryLimit is how long a probe waits for the server to recover.
const recoveryLimit = 60

// Carry executes a probe: it waits until the queue is empty and the server has recovered, settles, and serves blocks until there are enough.
func (s *Server) Carry(p capacity.Probe, enough func([]capacity.Block) bool) (m capacity.Measurement) {
	begun := s.now
	defer func() { m.Took = s.now - begun }()
	s.now = max(s.now, s.free)
	if s.trouble > s.now+recoveryLimit {
		s.now += recoveryLimit
		return capacity.Measurement{Suspect: capacity.NotRecovered}
	}
	s.now = max(s.now, s.trouble)
	m.Recovery = s.now - begun
	if s.Generator > 0 && p.Load > s.Generator {
		s.serve(s.Generator, p.Settle)
		m.Suspect = capacity.Generator
		return m
	}
	s.serve(p.Load, p.Settle)
	for !enough(m.Blocks) {
		m.Blocks = append(m.Blocks, s.serve(p.Load, p.Block))
	}
	if s.Elections > 0 && s.rand.Float64() < s.Elections {
		m.Suspect = capacity.LeaderChanged
		for _, b := range m.Blocks {
			for i := range b.Over {
				b.Over[i] = b.Due
			}
		}
	}
	return m
}

// Search finds the capacity of the server, starting with a reset server.
func (s *Server) Search(plan capacity.Plan) capacity.Result {
	s.Seed(plan.Seed)
	search, err := capacity.New(plan)
	if err != nil {
		panic(err) // the plan of a simulation is a constant
	}
	for p, more := search.Next(); more; p, more = search.Next() {
		search.Tell(s.Carry(p, search.Enough))
	}
	return search.Result()
}

// Share returns the share of operations over each limit at a load, with the given number of operations after a warm-up: the brute-force reference.
func (s *Server) Share(load float64, operations int, seed uint64) []float64 {
	s.Seed(seed)
	length := time.Duration(float64(operations) / load * float64(time.Second))
	s.serve(load, length/10)
	b := s.serve(load, length)
	shares := make([]float64, len(b.Over))
	for i, over := range b.Over {
		shares[i] = float64(over) / float64(b.Due)
	}
	return shares
}

// Capacity returns the load at which the share over the first limit is that of the goal, by bisection with the given number of operations per load.
func (s *Server) Capacity(share float64, operations int) float64 {
	low, high := 0.0, s.Mu
	for high-low > s.Mu/2000 {
		middle := (low + high) / 2
		if s.Share(middle, operations, 1)[0] > share {
			high = middle
		} else {
			low = middle
		}
	}
	return (low + high) / 2
}
