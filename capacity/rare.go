package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// evidence is what was measured at each load between two, as far as the servers were warm, or cold are as good; now is what is measured at one of them.
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

// bursts are those of each goal at a load: of all blocks there and at lower ones down to half of it.
func (w *walk) bursts(load float64, now []Block) []float64 {
	loads := w.evidence(load/2, load)
	loads[load] = append(loads[load], now...)
	return bursts(len(w.plan.Goals), loads)
}

// near is how far above a load the bursts were seen that it may have, too.
const near = 1.3

// rare reports whether blocks of one load from half of this one to twice as much differ as they do where rare stops make operations late: hardly any in one, many in
// another.
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

// vigilShare of the time that is left when a bracket is first confirmed, at least leastVigil of the budget and maxVigil at most, is how long its low end has to be watched where
// stops are rare: one that comes every minute is missed by a quarter of the probes of a minute and a half, and by a 50th of those of four minutes.
const (
	vigilShare = 0.65
	leastVigil = 0.2 // of the budget
	maxVigil   = 4 * time.Minute
)

// vigil is how many blocks more the low end has to be watched.
func (w *walk) vigil() int {
	if !w.rare(w.low.load) {
		return 0
	}
	if w.last && w.low.judge(w).Decision != Pass {
		return watchBlocks
	}
	begun := w.begun
	if begun == 0 {
		begun = w.spent
	}
	watch := min(max(vigilShare*float64(w.plan.Budget-begun), leastVigil*float64(w.plan.Budget)), float64(maxVigil))
	return int(math.Ceil(watch/float64(w.plan.block(w.low.load, Confirm)))) - len(w.low.fresh.blocks)
}

// lastShare of the budget is what is left for the last low end, where stops are rare and no load near it is known to pass: it is away from the one that stayed undecided,
// where the bursts of that one are not expected, and is watched to the end. Less time at each of several loads tells of none that it passes.
const (
	lastShare = 0.2
	away      = 1.1 * near
)

// late reports whether it is time for the last low end.
func (w *walk) late() bool {
	return w.rare(w.low.load) && float64(w.plan.Budget-w.spent) < lastShare*float64(w.plan.Budget) && w.passing() < w.low.load/away
}

// mayPass reports whether the low end passes, or, if it is the last one, may yet.
func (w *walk) mayPass(low Judgement) bool {
	return low.Decision == Pass || w.last && low.Decision == Undecided
}

// rareTail is how probable the late operations may be, at a load that just meets the goal, for the load to pass. Bursts are told from the few that were seen, which is careful:
// in simulations 1 in 50 of the low ends of searches that end between two loads is above the capacity, and with tail for it one of 300.
const rareTail = 0.06

// between ends a search that has no time left to confirm what rare stops do: all that was measured says between which loads the capacity is.
func (w *walk) between() {
	low, high := w.passing(), w.failing()
	if low >= high { // servers that changed meanwhile: below all that fails, and above all that passes
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

// passing is the highest load which the blocks there and at higher loads, where at least as many operations are late, say passes.
func (w *walk) passing() float64 { return w.passes(0, w.plan.Goals, math.Inf(1)) }

// passes is passing for goals whose counts are from a place on, of loads below one.
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

// failing is the lowest load which the blocks there and at lower loads say fails.
func (w *walk) failing() float64 { return w.fails(0, w.plan.Goals, 0) }

// fails is failing for goals whose counts are from a place on, of loads above one.
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

// curve is where the limits of the curve are just met: between a load that passes and one that fails by all blocks at it, and above or below it. What cold
// servers carry, warm ones do.
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

// crossing is where a limit is just met, interpolated between the highest load between two that does not miss it and the next one.
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
