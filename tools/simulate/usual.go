package main

import (
	"math"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/capacity/simulated"
)

// method is a search as it is usually made: it doubles and bisects, and its result is the middle of the remaining interval, unconfirmed.
type method struct {
	name     string
	scenario simulated.Scenario
	// passes probes a load until it has decided.
	passes func(probe func() capacity.Block) bool
}

// methods returns the usual searches, of the M/D/1 queue with 200 operations a second.
func methods() []method {
	scenario := simulated.Scenarios()[2]
	single := func(probe func() capacity.Block) bool { return late(probe()) <= 1 }
	return []method{
		{"one probe a load", scenario, single},
		{"best of three probes", scenario, func(probe func() capacity.Block) bool {
			passed := 0
			for range 3 {
				if single(probe) {
					passed++
				}
			}
			return passed >= 2
		}},
		{"three probes pooled", scenario, func(probe func() capacity.Block) bool {
			var all capacity.Block
			for range 3 {
				b := probe()
				all.Due += b.Due
				all.Over = append(all.Over, b.Over[0])
			}
			return late(all) <= 1
		}},
	}
}

// late returns the share of late operations, as a multiple of the share that a p99 allows.
func late(b capacity.Block) float64 {
	over := 0
	for _, n := range b.Over {
		over += n
	}
	return float64(over) / float64(b.Due) / 0.01
}

// run searches with seeds from 0.
func (m method) run(searches int) simulated.Tally {
	return m.scenario.RunAs(searches, m.search)
}

// search has blocks of 10 s, as many tools do.
func (m method) search(server *simulated.Server, plan capacity.Plan) capacity.Result {
	server.Seed(plan.Seed)
	r := capacity.Result{Outcome: capacity.Found}
	passes := func(load float64) bool {
		return m.passes(func() capacity.Block {
			p := capacity.Probe{Load: load, Settle: 3 * time.Second, Block: 10 * time.Second}
			measured := server.Carry(p, func(b []capacity.Block) bool { return len(b) == 1 })
			r.Took += measured.Duration()
			return measured.Blocks[0]
		})
	}
	low, high := plan.From, 2*plan.From
	for ; passes(high); high *= 2 {
		low = high
	}
	for high > low*(1+capacity.DefaultWidth) {
		if middle := math.Sqrt(low * high); passes(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	r.Load = math.Sqrt(low * high)
	return r
}
