package capacity

import (
	"fmt"
	"math"
	"time"
)

const (
	warmBlocks = 4  // minimum: two pairs to compare
	maxWarm    = 24 // maximum number of blocks of one warm-up
	maxRewarm  = 4  // how many times the climb continues after a warm-up
	// stillWarming: if the ratio of the mean responses of the last two blocks to those of the two before is below it, servers are still getting faster.
	stillWarming = 0.9
	// warmShare is the share of the budget that one warm-up may take.
	warmShare = 1. / 6
)

// steady reports whether the responses no longer get faster. Those of fresh servers do for minutes, because their code is compiled while it runs.
func steady(blocks []Block) bool {
	n := len(blocks)
	if n < warmBlocks {
		return false
	}
	before, last := blocks[n-4].Mean+blocks[n-3].Mean, blocks[n-2].Mean+blocks[n-1].Mean
	return last >= stillWarming*before
}

// warm is step 3: a load that failed while the servers were cold may pass later. They are warmed up at half of that load until they are steady. If the load
// fails again, it has failed; otherwise the climb continues.
func (w *walk) warm() bool {
	for range maxRewarm {
		if w.upper != failed {
			return true
		}
		again := w.high.load
		if !w.warmAt(max(w.plan.From, again/2)) || !w.try(Ramp, again, rampBlocks) {
			return false
		}
		if w.low.load != again {
			return true
		}
		w.moved("%s failed at first and passed when the servers were warm: the climb went on", number(again))
		if !w.ramp(Ramp, 2, 1) {
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

// warmed returns the judgement of a warm-up, which has no decision.
func warmed(m Measurement) Judgement {
	j := Judgement{Binding: -1, Reason: "it decides nothing"}
	if n := len(m.Blocks); n > 0 && m.Blocks[0].Mean > 0 {
		state := "no longer getting faster"
		if !steady(m.Blocks) {
			state = "still getting faster"
		}
		j.Reason = fmt.Sprintf("%s after %d blocks: mean response %.3g ms in the first, %.3g ms in the last", state, n, m.Blocks[0].Mean, m.Blocks[n-1].Mean)
	}
	return j
}

// width returns the width of the bracket to look for. A bracket that fresh samples refuted repeatedly is narrower than the variation of the servers, so the
// width doubles.
func (w *walk) width() float64 {
	return min(w.plan.Width*math.Pow(2, float64(max(w.refuted-2, 0))), max(w.plan.Width, 8*DefaultWidth))
}

// mayNarrow reports whether there is time for another probe and for the confirmation after it. If the bracket is already narrow, there must also be time for
// a confirmation that refutes it.
func (w *walk) mayNarrow() bool {
	load := math.Sqrt(w.low.load * w.high.load)
	need := w.plan.settle() + w.overhead() + rampBlocks*w.plan.block(load, Narrow) + w.confirmTime()
	if w.high.load <= w.low.load*(1+2*w.width()) {
		need += w.confirmTime()
	}
	return w.spent+need <= w.plan.Budget
}

// overhead returns the mean time of a probe so far, without its settling and its blocks.
func (w *walk) overhead() (mean time.Duration) {
	for _, s := range w.steps {
		mean += max(0, s.Measurement.Duration()-s.Probe.Settle-time.Duration(len(s.Measurement.Blocks))*s.Probe.Block) / time.Duration(len(w.steps))
	}
	return mean
}

// moved notes how the bracket was contradicted.
func (w *walk) moved(format string, args ...any) {
	w.result.Moves = append(w.result.Moves, fmt.Sprintf(format, args...))
}

// fallBack ends a search that ran out of time or moves with the bracket that was confirmed before, if there was one. Later samples contradicted it, so the
// interval also contains whatever they pointed to.
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
