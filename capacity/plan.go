package capacity

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Method is the number of the way in which searches are planned and judged. It grows whenever the same measurements may lead to other probes or to another answer.
const Method = 2

// Plan is what is fixed before a search begins.
type Plan struct {
	Goals []Goal // all of them have to be met
	// Curve are other limits, easier to miss than the goals, of which the same samples tell the critical loads. They decide nothing.
	Curve []Goal
	// From and To bound the loads that are probed, in operations a second or any other unit whose number can be varied.
	From, To float64
	// Rate is how many operations a second there are at a load; the load itself if nil. It sets the length of blocks.
	Rate func(load float64) float64
	// Width of the bracket in which the capacity is found, as a share: 0.04. Finer costs probes, and more of them undecided.
	Width float64
	// Block is the length of the shortest blocks. That of the longest and the time to settle are in proportion to it; what the percentile needs is not.
	Block time.Duration
	// Confirm is the number of blocks with which each end of the bracket is confirmed, at least 2; more tell finer ends apart.
	Confirm int
	// Budget is the time that the search may take, without the soak. It is checked before each probe.
	Budget time.Duration
	// Soak asks for a last probe at a share of the capacity, for a time; none if its length is 0.
	Soak Soak
	Seed uint64

	least []int // operations that carry each goal with two over
}

// Soak is a long probe at a share of the capacity that has to pass without a trend.
type Soak struct {
	Share  float64
	Length time.Duration
}

// Defaults of a Plan, where a field is 0.
const (
	DefaultWidth   = 0.04
	DefaultBlock   = 5 * time.Second
	DefaultConfirm = 6
	DefaultBudget  = 10 * time.Minute
	DefaultFrom    = 100
	DefaultTo      = 50_000
)

func (p Plan) withDefaults() Plan {
	set := func(field *float64, to float64) {
		if *field == 0 {
			*field = to
		}
	}
	set(&p.Width, DefaultWidth)
	set(&p.From, DefaultFrom)
	set(&p.To, DefaultTo)
	if p.Block == 0 {
		p.Block = DefaultBlock
	}
	if p.Confirm == 0 {
		p.Confirm = DefaultConfirm
	}
	if p.Budget == 0 {
		p.Budget = DefaultBudget
	}
	if p.Rate == nil {
		p.Rate = func(load float64) float64 { return load }
	}
	p.least = make([]int, len(p.Goals))
	for i, g := range p.Goals {
		if g.Share < 1 {
			p.least[i] = MinOperations(g.Share, 2)
		}
	}
	return p
}

func (p Plan) validate() error {
	var all []error
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	expect(len(p.Goals) > 0, "goals: there is none (at least one, like p99<50ms)")
	for i, g := range p.Goals {
		if err := g.validate(); err != nil {
			all = append(all, fmt.Errorf("goals[%d]: %w", i, err))
		}
	}
	for i, g := range p.Curve {
		if err := g.validate(); err != nil {
			all = append(all, fmt.Errorf("curve[%d]: %w", i, err))
		}
	}
	expect(p.From > 0 && !math.IsInf(p.From, 1), "from: must be above 0, got %v", p.From)
	expect(p.To > p.From && !math.IsInf(p.To, 1), "to: must be above from (%v), got %v", p.From, p.To)
	expect(p.Width >= 0.005 && p.Width <= 0.5, "width: must be between 0.5 %% and 50 %%, got %v %%", 100*p.Width)
	expect(p.Block >= leastBlock, "block: must be at least %v, got %v", leastBlock, p.Block)
	expect(p.Confirm >= 2, "confirm: must be at least 2 blocks, got %d", p.Confirm)
	expect(p.Budget > 0, "budget: must be above 0, got %v", p.Budget)
	expect(p.Soak.Length >= 0, "soak: must not be negative, got %v", p.Soak.Length)
	expect(p.Soak.Length == 0 || p.Soak.Share > 0 && p.Soak.Share <= 1, "soak: must be at a share of the capacity between 0 and 100 %%, got %v %%", 100*p.Soak.Share)
	return errors.Join(all...)
}

// Purpose says why a probe is asked for.
type Purpose string

// The purposes, in the order of a search.
const (
	Base    Purpose = "base"    // the lowest load
	Climb   Purpose = "climb"   // doubling until a load fails
	Warm    Purpose = "warm-up" // until the servers are steady; it decides nothing
	Narrow  Purpose = "narrow"  // bisecting, or following an end that was refuted
	Confirm Purpose = "confirm" // fresh samples of an end of the bracket
	Return  Purpose = "return"  // to loads around the figure, to see whether the servers are still in the state in which it was found
	Soaking Purpose = "soak"
)

// Probe asks for open-loop load: a settling time that is not counted, then blocks until Search.Enough says so.
type Probe struct {
	Number  int // from 0; a repetition has a number of its own
	Purpose Purpose
	Load    float64
	Settle  time.Duration // at least; and until the base latency is back
	Block   time.Duration
	Min     int // blocks
	Max     int
	// Confirmation numbers the confirmations from 1. Probes of another confirmation than the probe before need fresh sessions and a fresh root.
	Confirmation int
	Attempt      int    // from 0: repetitions of an invalid probe
	Seed         uint64 // of the arrivals
}

// leastBlock is the shortest Plan.Block: a run has to be ended a block later, and counts its seconds.
const leastBlock = 200 * time.Millisecond

// leastSteady is how long all blocks of a probe are together at least: in less, what the load generator used of its CPUs is not known.
const leastSteady = time.Second

// settle is how long a probe has to settle: 3 s for blocks of 5 s.
func (p Plan) settle() time.Duration { return p.Block * 3 / 5 }

// firstSettle is how long the first probe has to settle: sessions, and what servers do at first.
func (p Plan) firstSettle() time.Duration { return 2 * p.Block }

// enoughOver is how many operations over the limit a block should have at the capacity, so that they tell a little more or less.
const enoughOver = 50

// block is the length of a block at a load: 5 s by default at kHz rates, up to twice as long below, and longer where two blocks would not carry the percentile. The
// lowest loads need only show that they pass.
func (p Plan) block(load float64, purpose Purpose) time.Duration {
	length := p.Block
	for i, g := range p.Goals {
		if g.Share == 0 {
			continue
		}
		seconds := float64(p.least[i]) * 1.1 / 2 / p.Rate(load)
		if purpose != Base && purpose != Climb && purpose != Warm {
			seconds = max(seconds, min(enoughOver/(p.Rate(load)*g.Share), 2*p.Block.Seconds()))
		}
		length = max(length, time.Duration(min(seconds, maxBlock.Seconds())*float64(time.Second)))
	}
	return length.Round(time.Millisecond)
}

// maxBlock is a bound for loads so low that no percentile can be told; such a probe is invalid.
const maxBlock = 10 * time.Minute
