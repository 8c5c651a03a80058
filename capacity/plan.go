package capacity

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Method is the version of the planning and the judging of searches. It grows whenever the same measurements may lead to other probes or to another answer.
const Method = 2

// Plan is what is fixed before a search starts.
type Plan struct {
	Goals []Goal // all of them must be met
	// Curve are other limits, easier to miss than the goals. The same samples give the loads at which they are just met. They decide nothing.
	Curve []Goal
	// From and To bound the probed loads, in operations per second or any other unit whose number can be varied.
	From, To float64
	// A load has Rate + RatePerLoad x load operations per second; if both are 0, as many as the load. They determine the length of blocks.
	Rate, RatePerLoad float64
	// Width is the width of the bracket that contains the capacity, as a share: 0.04. A narrower one costs more probes, more of them undecided.
	Width float64
	// Block is the length of the shortest blocks. That of the longest and the time to settle are proportional to it; what the percentile needs is not.
	Block time.Duration
	// Confirm is the number of blocks with which each end of the bracket is confirmed, at least 2; more blocks distinguish closer ends.
	Confirm int
	// Budget is the time that the search may take, without the soak. It is checked before each probe.
	Budget time.Duration
	// Soak asks for a last, long probe at a share of the capacity; none if its length is 0.
	Soak Soak
	Seed uint64

	least []int // number of operations that suffice for each goal with two over
}

// Soak is a long probe at a share of the capacity. It must pass without a trend.
type Soak struct {
	Share  float64
	Length time.Duration
}

// The defaults of Plan fields that are 0.
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
	if p.Rate == 0 {
		set(&p.RatePerLoad, 1)
	}
	p.least = make([]int, len(p.Goals))
	for i, g := range p.Goals {
		if g.Share < 1 {
			p.least[i] = MinOperations(g.Share, 2)
		}
	}
	return p
}

func (p Plan) rate(load float64) float64 { return p.Rate + p.RatePerLoad*load }

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

// Purpose says why a probe is requested.
type Purpose string

// The purposes, in the order of a search.
const (
	Base    Purpose = "base"    // the lowest load
	Ramp    Purpose = "climb"   // doubling until a load fails
	Warm    Purpose = "warm-up" // until the servers are steady; it decides nothing
	Narrow  Purpose = "narrow"  // bisecting, or following an end that was refuted
	Confirm Purpose = "confirm" // fresh samples of an end of the bracket
	Return  Purpose = "return"  // to loads around the figure, to see whether the servers are still in the state in which it was found
	Soaking Purpose = "soak"
)

// Probe is a request for open-loop load: a settling time that is not counted, then blocks until Search.Enough reports true.
type Probe struct {
	Number  int // from 0; a repetition has a new number
	Purpose Purpose
	Load    float64
	Settle  time.Duration // minimum; it lasts until the base latency is restored
	Block   time.Duration
	Min     int // number of blocks
	Max     int
	// Confirmation numbers the confirmations from 1. A probe of another confirmation than the previous probe needs fresh sessions and a fresh root.
	Confirmation int
	Attempt      int    // from 0: repetitions of an invalid probe
	Seed         uint64 // for the arrivals
}

// leastBlock is the minimum of Plan.Block: ending a run takes up to a block, and a run counts in seconds.
const leastBlock = 200 * time.Millisecond

// leastSteady is the minimum total length of a probe's blocks: in less time the CPU usage of the load generator cannot be measured.
const leastSteady = time.Second

// settle returns how long a probe settles: 3 s for blocks of 5 s.
func (p Plan) settle() time.Duration { return p.Block * 3 / 5 }

// firstSettle returns how long the first probe settles: it opens sessions, and servers behave differently at first.
func (p Plan) firstSettle() time.Duration { return 2 * p.Block }

// enoughOver is how many operations over the limit a block should have at the capacity, so that a small change is visible.
const enoughOver = 50

// block returns the length of a block at a load: 5 s by default at kHz rates, up to twice that below, and longer if two blocks would not suffice for the
// percentile. The lowest loads only need to show that they pass.
func (p Plan) block(load float64, purpose Purpose) time.Duration {
	length := p.Block
	for i, g := range p.Goals {
		if g.Share == 0 {
			continue
		}
		seconds := float64(p.least[i]) * 1.1 / 2 / p.rate(load)
		if purpose != Base && purpose != Ramp && purpose != Warm {
			seconds = max(seconds, min(enoughOver/(p.rate(load)*g.Share), 2*p.Block.Seconds()))
		}
		length = max(length, time.Duration(min(seconds, maxBlock.Seconds())*float64(time.Second)))
	}
	return length.Round(time.Millisecond)
}

// maxBlock is a bound for loads so low that no percentile can be determined; such a probe is invalid.
const maxBlock = 10 * time.Minute
