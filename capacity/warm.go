package capacity

import (
	"fmt"
	"math"
	"time"
)

const (
	warmBlocks = 4  // at least: two pairs to compare
	maxWarm    = 24 // blocks of one warm-up at most
	maxRewarm  = 4  // how often the climb goes on after a warm-up
	// stillWarming is the ratio of the mean responses of the last two blocks to those of the two before, below which servers still get faster.
	stillWarming = 0.9
	// warmShare of the budget is what one warm-up may take.
	warmShare = 1. / 6
)

// steady reports whether the responses no longer get faster: fresh servers do for minutes, because theirs is code that is compiled while it runs.
func steady(blocks []Block) bool {
	n := len(blocks)
	if n < warmBlocks {
		return false
	}
	before, last := blocks[n-4].Mean+blocks[n-3].Mean, blocks[n-2].Mean+blocks[n-1].Mean
	return float64(last) >= stillWarming*float64(before)
}

// warm is step 3: a load that failed while the servers were cold may pass later. They are warmed at half of it until they are steady; what fails
// again has failed, and otherwise the climb goes on.
func (w *walk) warm() bool {
	for range maxRewarm {
		if w.upper != failed {
			return true
		}
		again := w.high.load
		if !w.warmAt(max(w.plan.From, again/2)) || !w.try(Climb, again, climbBlocks) {
			return false
		}
		if w.low.load != again {
			return true
		}
		w.moved("%s failed at first and passed when the servers were warm: the climb went on", number(again))
		if !w.climb(Climb, 2, 1) {
			return false
		}
	}
	return true
}

// warmAt offers a load until the servers are steady.
func (w *walk) warmAt(load float64) bool {
	p := Probe{Purpose: Warm, Load: load, Min: warmBlocks}
	p.Max = min(maxWarm, max(warmBlocks, int(float64(w.plan.Budget)*warmShare/float64(w.plan.block(load, Warm)))))
	_, ok := w.ask(p)
	return ok
}

// warmed is what a warm-up says: no decision.
func warmed(m Measurement) Judgement {
	j := Judgement{Binding: -1, Reason: "it decides nothing"}
	if n := len(m.Blocks); n > 0 && m.Blocks[0].Mean > 0 {
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		state := "no longer getting faster"
		if !steady(m.Blocks) {
			state = "still getting faster"
		}
		j.Reason = fmt.Sprintf("%s after %d blocks: mean response %.3g ms in the first, %.3g ms in the last", state, n, ms(m.Blocks[0].Mean), ms(m.Blocks[n-1].Mean))
	}
	return j
}

// width of the bracket to look for. A bracket that fresh samples refuted again and again is narrower than what the servers vary by: it doubles.
func (w *walk) width() float64 {
	return min(w.plan.Width*math.Pow(2, float64(max(w.refuted-2, 0))), max(w.plan.Width, 8*DefaultWidth))
}

// mayNarrow reports whether there is time for one more probe and for the confirmation after it; for a bracket that is narrow already there has
// to be time for a confirmation that refutes it, too.
func (w *walk) mayNarrow() bool {
	load := math.Sqrt(w.low.load * w.high.load)
	need := w.plan.settle() + w.overhead() + climbBlocks*w.plan.block(load, Narrow) + w.confirmTime()
	if w.high.load <= w.low.load*(1+2*w.width()) {
		need += w.confirmTime()
	}
	return w.spent+need <= w.plan.Budget
}

// overhead is what a probe takes beside its settling and its blocks, in the mean so far.
func (w *walk) overhead() (mean time.Duration) {
	for _, s := range w.steps {
		mean += max(0, s.Measurement.Took-s.Probe.Settle-time.Duration(len(s.Measurement.Blocks))*s.Probe.Block) / time.Duration(len(w.steps))
	}
	return mean
}

// moved tells how the bracket was contradicted.
func (w *walk) moved(format string, args ...any) {
	w.result.Moves = append(w.result.Moves, fmt.Sprintf(format, args...))
}

// fallBack ends a search that ran out of time or moves with the bracket that was confirmed before, if there was one: later samples contradicted
// it, so the interval contains whatever they pointed to as well.
func (w *walk) fallBack(reason string) {
	if w.was == nil {
		return
	}
	low, high := w.was.Interval.Low, w.was.Interval.High
	if w.low.load > 0 {
		low = min(low, w.low.load)
	}
	if w.upper == failed {
		high = max(high, w.high.load)
	}
	for _, s := range w.steps[len(w.was.Steps):] {
		switch s.Judgement.Decision {
		case Fail:
			low = min(low, s.Probe.Load)
		case Pass:
			high = max(high, s.Probe.Load)
		}
	}
	w.moved("%s was found first; later samples contradicted its bracket and %s: the interval contains both", number(w.was.Load), reason)
	moves := w.result.Moves
	w.result = *w.was
	w.result.Interval, w.result.Moves, w.result.Steps = Interval{low, high}, moves, nil
	w.soak()
}
