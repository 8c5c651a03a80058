package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// evidence returns what was measured at each load between two. Unless w.cold is set, it leaves out what was measured before the servers were warm.
func (w *walk) evidence(from, to float64) map[float64][]Block {
	loads := map[float64][]Block{}
	for _, s := range w.steps {
		switch p := s.Probe; {
		case p.Purpose == Warm:
			if !w.cold {
				clear(loads)
			}
		case p.Purpose != Base && s.Judgement.Decision != Invalid && from <= p.Load && p.Load <= to:
			loads[p.Load] = append(loads[p.Load][:len(loads[p.Load]):len(loads[p.Load])], s.Measurement.Blocks...)
		}
	}
	return loads
}

// bursts returns the bursts of each goal at a load: over all blocks at this load and at lower loads down to half of it. now holds the current blocks at the
// load.
func (w *walk) bursts(load float64, now []Block) []float64 {
	loads := w.evidence(load/2, load)
	loads[load] = append(loads[load], now...)
	return bursts(len(w.plan.Goals), loads)
}

// near is the factor by which a load may be below the one at which bursts were seen and still have them.
const near = 1.3

// rare reports whether blocks of one load, between half and twice the given one, differ as they do when rare stops make operations late: hardly any in one
// block, many in another.
func (w *walk) rare(load float64) bool {
	for _, blocks := range w.evidence(load/2, load*2) {
		for i, g := range w.plan.Goals {
			clean := func(b Block) bool { return float64(b.Over[i]) <= g.Share*float64(b.Due) }
			bad := func(b Block) bool { return float64(b.Over[i]) > clearFail*g.Share*float64(b.Due) }
			if g.Share > 0 && slices.ContainsFunc(blocks, clean) && slices.ContainsFunc(blocks, bad) {
				return true
			}
		}
	}
	return false
}

// watchShare of the time that is left when a bracket is first confirmed, but at least leastWatch of the budget and at most maxWatch, is how long its low end
// must be watched if stops are rare. A stop that comes every minute is missed by a quarter of the probes of a minute and a half, and by a 50th of those of
// four minutes.
const (
	watchShare = 0.65
	leastWatch = 0.2 // of the budget
	maxWatch   = 4 * time.Minute
)

// leftToWatch returns for how many more blocks the low end must be watched.
func (w *walk) leftToWatch() int {
	if !w.rare(w.low.load) {
		return 0
	}
	if w.last && w.low.judge(w).Decision != Pass {
		return watchBlocks
	}
	begun := w.confirmStart
	if begun == 0 {
		begun = w.spent
	}
	watch := min(max(watchShare*float64(w.plan.Budget-begun), leastWatch*float64(w.plan.Budget)), float64(maxWatch))
	return int(math.Ceil(watch/float64(w.plan.block(w.low.load, Confirm)))) - len(w.low.fresh.blocks)
}

// lastShare of the budget is reserved for the last low end, if stops are rare and no load near it is known to pass. The last low end is away from the one
// that stayed undecided, where the bursts of that one are not expected, and is watched to the end. Less time at each of several loads would show for none of
// them that it passes.
const (
	lastShare = 0.2
	lastStep  = 1.1 * near
)

// timeForLastEnd reports whether it is time for the last low end.
func (w *walk) timeForLastEnd() bool {
	return w.rare(w.low.load) && float64(w.plan.Budget-w.spent) < lastShare*float64(w.plan.Budget) && w.passing() < w.low.load/lastStep
}

// mayPass reports whether the low end passes or, if it is the last one, may still pass.
func (w *walk) mayPass(low Judgement) bool {
	return low.Decision == Pass || w.last && low.Decision == Undecided
}

// rareTail is the largest probability of the late operations, at a load that just meets the goal, with which the load passes. Bursts are estimated from the
// few that were seen, which is conservative: in simulations 1 in 50 of the low ends of searches that end between two loads is above the capacity, and with
// tail instead, 1 in 300.
const rareTail = 0.06

// between ends a search that has no time left to confirm the effect of rare stops: all measurements together say between which loads the capacity is.
func (w *walk) between() {
	low, high := w.passing(), w.failing()
	if low >= high { // the servers changed meanwhile: below all that fails, and above all that passes
		low, high = w.passes(0, w.plan.Goals, high), w.fails(0, w.plan.Goals, low)
	}
	low = max(low, w.plan.From)
	if w.low.load == 0 || math.IsInf(high, 1) || !w.rare(high) {
		return
	}
	w.result.Outcome, w.result.Interval = Between, Interval{low, high}
	w.result.Low.Load, w.result.High.Load = low, high
	w.result.Reason = fmt.Sprintf("late operations come together in stops too rare to tell more in %v", w.plan.Budget.Round(time.Second))
	w.soak()
}

// passing returns the highest load that passes according to the blocks at it and at higher loads, where at least as many operations are late.
func (w *walk) passing() float64 { return w.passes(0, w.plan.Goals, math.Inf(1)) }

// passes is passing for goals whose counts start at a place, and for loads below a limit.
func (w *walk) passes(place int, goals []Goal, below float64) (passes float64) {
	w.ranges(func(from, to float64, blocks []Block) {
		burst := bursts(place+len(goals), w.evidence(from/2, max(to, from*near)))
		for i, g := range goals {
			if e := estimate(blocks, place+i, burst[place+i]); g.Share > 0 && (e.ratio(g.Share) >= 0 || e.atMost(g.Share) > rareTail) {
				return
			}
		}
		if from < below {
			passes = max(passes, from)
		}
	})
	return passes
}

// failing returns the lowest load that fails according to the blocks at it and at lower loads.
func (w *walk) failing() float64 { return w.fails(0, w.plan.Goals, 0) }

// fails is failing for goals whose counts start at a place, and for loads above a limit.
func (w *walk) fails(place int, goals []Goal, above float64) float64 {
	fails := math.Inf(1)
	w.ranges(func(from, to float64, blocks []Block) {
		burst := bursts(place+len(goals), w.evidence(to/2, to))
		for i, g := range goals {
			if e := estimate(blocks, place+i, burst[place+i]); g.Share > 0 && to > above && e.ratio(g.Share) > 0 && e.atLeast(g.Share) <= tail {
				fails = min(fails, to)
			}
		}
	})
	return fails
}

// curve returns where the limits of the curve are just met: between a load that passes and one that fails, judged by all blocks at it and at higher or lower
// loads. What cold servers carry, warm ones carry too.
func (w *walk) curve() (all []Critical) {
	early := *w
	early.cold = true
	for i, g := range w.plan.Curve {
		place := len(w.plan.Goals) + i
		at := Interval{early.passes(place, []Goal{g}, math.Inf(1)), w.fails(place, []Goal{g}, 0)}
		c := Critical{Goal: g, Interval: at}
		if at.Low > 0 && at.Low < at.High && !math.IsInf(at.High, 1) {
			c.Load = early.crossing(place, g, at)
		}
		all = append(all, c)
	}
	return all
}

// crossing returns where a limit is just met, interpolated between the highest load in an interval that does not miss it and the next one.
func (w *walk) crossing(place int, g Goal, at Interval) float64 {
	all := w.evidence(at.Low, at.High)
	f := figure{goals: []Goal{g}, low: at.Low, high: at.High, width: w.plan.Width, atOnce: -1}
	of := func(load float64) []Estimate { return []Estimate{estimate(all[load], place, 0)} }
	for _, load := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		if of(load)[0].ratio(g.Share) < 0 {
			f.low = load
			break
		}
		f.high = load
	}
	load, _, _ := f.point(of(f.low), of(f.high))
	return load
}

// ranges visits each range of loads with all blocks in it.
func (w *walk) ranges(visit func(from, to float64, blocks []Block)) {
	all := w.evidence(0, math.Inf(1))
	loads := slices.Sorted(maps.Keys(all))
	for i, from := range loads {
		var blocks []Block
		for _, to := range loads[i:] {
			blocks = append(blocks, all[to]...)
			visit(from, to, blocks)
		}
	}
}
