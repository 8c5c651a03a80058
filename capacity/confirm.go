package capacity

import (
	"math"
	"time"
)

// maxConfirmations is how many times a bracket is confirmed, if the budget allows: their spread shows how much runs differ.
const maxConfirmations = 3

// confirmed is what fresh samples say about both ends of a bracket, or about the lower end if there is no upper one.
type confirmed struct {
	low, high      Judgement    // over all rounds, pooled
	rounds         [][2][]Block // of the low and the high end
	generatorLimit bool         // the load generator could not offer the load of an end
}

// freshSamples holds what was measured at one end.
type freshSamples struct {
	blocks []Block
	values [][]*float64
	unsafe bool
}

func (l *freshSamples) add(m Measurement) {
	l.blocks = append(l.blocks, m.Blocks...)
	if m.Values != nil {
		l.values = append(l.values, m.Values)
	}
	l.unsafe = l.unsafe || m.Unsafe
}

// value returns the geometric mean of a goal's metric over the probes, NaN if it is not known for all of them.
func (l *freshSamples) value(goal int) float64 {
	if goal < 0 || len(l.values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range l.values {
		if goal >= len(v) || v[goal] == nil {
			return math.NaN()
		}
		sum += math.Log(*v[goal])
	}
	return math.Exp(sum / float64(len(l.values)))
}

func (e *end) judge(w *walk) Judgement {
	return judge(w.plan.Goals, Measurement{Blocks: e.fresh.blocks, Unsafe: e.fresh.unsafe}, w.bursts(e.load, nil))
}

// confirm is step 5: it takes samples with fresh sessions, none of those that chose the bracket. After one confirmation it confirms again as long as there is
// time, and judges by all fresh samples of the ends.
func (w *walk) confirm() (confirmed, bool) {
	var c confirmed
	for range maxConfirmations {
		if len(c.rounds) > 0 && (w.rare(w.low.load) || w.spent+2*w.confirmTime() > w.plan.Budget) { // reserve the same time again, in case it is no longer confirmed
			break
		}
		if ok := w.round(&c); !ok || c.generatorLimit {
			return c, ok
		}
		c.low = w.low.judge(w)
		if w.upper != failed {
			break
		}
		if c.high = w.high.judge(w); !w.mayPass(c.low) || c.high.Decision != Fail {
			break
		}
		if ok := w.watch(&c); !ok || c.low.Decision != Pass {
			return c, ok
		}
		w.keep(c)
	}
	return c, true
}

// watch measures the low end for longer if stops are rare, because most of few blocks have none.
func (w *walk) watch(c *confirmed) bool {
	for left := w.leftToWatch(); left > 0 && w.mayPass(c.low); left = w.leftToWatch() {
		n := min(left, watchBlocks)
		if _, ok := w.ask(Probe{Purpose: Confirm, Load: w.low.load, Min: n, Max: n, Confirmation: w.confirmations}); !ok {
			return false
		}
		w.low.fresh.add(w.steps[len(w.steps)-1].Measurement)
		c.low = w.low.judge(w)
	}
	return true
}

// watchBlocks is the number of blocks that are measured at a low end before it is judged again.
const watchBlocks = 8

// endProbe is a probe of one end of the bracket.
type endProbe struct {
	end    *end
	blocks int
}

// round is one confirmation: low, high, high, low, so that a drift favours no end. The first one leaves out an end that already has its samples, because only
// the other end moved.
func (w *walk) round(c *confirmed) bool {
	w.confirmations++
	all := w.plan.Confirm
	var order []endProbe
	switch known := len(c.rounds) == 0; {
	case w.upper != failed, known && w.high.fresh.blocks != nil:
		order = []endProbe{{&w.low, all}}
	case known && w.low.fresh.blocks != nil:
		order = []endProbe{{&w.high, all}}
	default:
		order = []endProbe{{&w.low, all / 2}, {&w.high, all}, {&w.low, all - all/2}}
	}
	low, high := 0, 0
	if len(c.rounds) > 0 {
		low, high = len(w.low.fresh.blocks), len(w.high.fresh.blocks)
	}
	for _, p := range order {
		j, ok := w.ask(Probe{Purpose: Confirm, Load: p.end.load, Min: p.blocks, Max: p.blocks, Confirmation: w.confirmations})
		if !ok {
			return false
		}
		if j.Decision == Invalid {
			c.generatorLimit = true
			w.high, w.upper = end{load: p.end.load}, generatorLimit
			if p.end == &w.low {
				w.low = end{load: w.low.load / (1 + w.plan.Width)}
			}
			return true
		}
		p.end.fresh.add(w.steps[len(w.steps)-1].Measurement)
	}
	c.rounds = append(c.rounds, [2][]Block{w.low.fresh.blocks[low:], w.high.fresh.blocks[high:]})
	return true
}

// confirmTime returns the minimum time of a confirmation.
func (w *walk) confirmTime() time.Duration {
	more := time.Duration(max(0, w.leftToWatch()-w.plan.Confirm)) * w.plan.block(w.low.load, Confirm)
	return more + 3*(w.plan.settle()+w.overhead()) + time.Duration(w.plan.Confirm)*(w.plan.block(w.low.load, Confirm)+w.plan.block(w.high.load, Confirm))
}

// bound ends a search that has no upper end.
func (w *walk) bound(c confirmed, outcome Outcome, reason string) {
	w.end(outcome, reason)
	w.result.Binding = c.low.Binding
	w.result.Low = End{Load: w.low.load, Decision: c.low.Decision, Value: w.low.fresh.value(c.low.Binding)}
	if outcome == AtLeast {
		w.result.High = End{}
	}
	w.result.Load, w.result.Interval = w.low.load, Interval{w.low.load, math.Inf(1)}
	w.result.Confirmations = len(c.rounds)
	w.soak()
}

// found is step 6: the figure between two confirmed ends. If no share crosses its goal, there is no figure, and nothing to return to.
func (w *walk) found(c confirmed) {
	if crosses := w.answer(c); crosses && !w.wander() {
		return
	}
	w.soak()
}

// keep remembers the result of a confirmed bracket, which a later confirmation may contradict.
func (w *walk) keep(c confirmed) {
	before := w.result
	w.answer(c)
	was := w.result
	was.Steps = w.steps
	w.result, w.was = before, &was
}

func (w *walk) answer(c confirmed) (crosses bool) {
	w.end(Found, "")
	r := &w.result
	f := figure{goals: w.plan.Goals, low: w.low.load, high: w.high.load, width: w.plan.Width, atOnce: c.high.Binding}
	r.Load, r.Binding, crosses = f.point(c.low.Estimates, c.high.Estimates)
	interval, known := w.intervals[len(w.steps)]
	if !known { // what was measured up to here fixes it
		interval = f.interval(c, w.plan.Seed)
		w.intervals[len(w.steps)] = interval
	}
	r.Interval = interval
	r.Low = End{Load: w.low.load, Decision: c.low.Decision, Value: w.low.fresh.value(r.Binding)}
	r.High = End{Load: w.high.load, Decision: c.high.Decision, Value: w.high.fresh.value(r.Binding)}
	r.Elasticity = math.Log(r.High.Value/r.Low.Value) / math.Log(w.high.load/w.low.load)
	r.Confirmations = len(c.rounds)
	r.IntervalOf = w.ofTheSearch()
	return crosses
}

// soak is step 8, if requested: a long probe at a share of the figure, or of the lower end of the interval if there is no figure. It must show no trend.
func (w *walk) soak() {
	if w.plan.Soak.Length == 0 {
		return
	}
	load := w.plan.Soak.Share * w.result.Load
	if load == 0 {
		load = w.plan.Soak.Share * w.result.Interval.Low
	}
	outcome, reason := w.result.Outcome, w.result.Reason
	w.result.Outcome = Unfinished
	j, ok := w.ask(Probe{Purpose: Soaking, Load: load, Confirmation: w.confirmations + 1})
	if !ok {
		return
	}
	w.result.Outcome, w.result.Reason = outcome, reason
	s := &Soaked{Load: load, Decision: j.Decision, Reason: j.Reason}
	if blocks := w.steps[len(w.steps)-1].Measurement.Blocks; j.Decision == Pass && grows(w.plan.Goals, blocks) {
		s.Decision, s.Reason = Fail, "more operations missed the goal in the second half than in the first"
	}
	w.result.Soak = s
}

// grows reports whether the share of a goal is higher in the second half of the blocks by two standard errors.
func grows(goals []Goal, blocks []Block) bool {
	half := len(blocks) / 2
	for i, g := range goals {
		if g.Share == 0 {
			continue
		}
		a, b := estimate(blocks[:half], i, 0), estimate(blocks[half:], i, 0)
		if a.Due > 0 && b.Due > 0 && b.P-a.P > sigmas*math.Hypot(a.SE, b.SE) {
			return true
		}
	}
	return false
}
