package capacity

import (
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
)

// Search finds a capacity. Its only state is the plan and the measurements: its position follows from them each time. It is not safe for concurrent use.
type Search struct {
	plan     Plan
	measured []Measurement
	judged   []Judgement // of the measurements: the same in each walk
	walk     *walk       // over the measurements so far

	intervals map[int]Interval // intervals of confirmed brackets, by the number of steps: the same in each walk
}

// New returns a search, or an error that lists the problems of the plan. Fields of the plan that are 0 get their defaults.
func New(p Plan) (*Search, error) {
	p = p.withDefaults()
	if err := p.validate(); err != nil {
		return nil, err
	}
	s := &Search{plan: p, intervals: map[int]Interval{}}
	s.replay()
	return s, nil
}

func (s *Search) replay() {
	s.walk = &walk{plan: s.plan, measured: s.measured, judged: s.judged, intervals: s.intervals}
	s.walk.search()
	s.judged = s.walk.judged
}

// Next returns the probe to execute, the same until Tell; false when the search has ended.
func (s *Search) Next() (Probe, bool) {
	if s.walk.pending == nil {
		return Probe{}, false
	}
	return *s.walk.pending, true
}

// Enough reports whether the current probe has enough blocks. Confirming probes always have as many blocks as planned: stopping when they agree would make
// them agree too often.
func (s *Search) Enough(blocks []Block) bool {
	p := s.walk.pending
	switch {
	case p == nil, len(blocks) >= p.Max:
		return true
	case len(blocks) == 0, time.Duration(len(blocks))*p.Block < leastSteady:
		return false
	case p.Purpose == Confirm || p.Purpose == Return || p.Purpose == Soaking:
		return false
	case p.Purpose == Warm:
		return len(blocks) >= p.Min && steady(blocks)
	case p.Purpose == Narrow && len(blocks) < events:
		return false
	case settled(s.plan.Goals, blocks, s.walk.bursts(p.Load, blocks)):
		return true
	}
	return len(blocks) >= p.Min && judge(s.plan.Goals, Measurement{Blocks: blocks}, s.walk.bursts(p.Load, blocks)).Decision != Undecided
}

// Tell records what the probe of Next measured. It panics if no probe is pending, or if a block does not have one count for each goal and each limit of the
// curve.
func (s *Search) Tell(m Measurement) {
	if s.walk.pending == nil {
		panic("capacity: a probe was reported after the end of the search")
	}
	for i, b := range m.Blocks {
		if all := len(s.plan.Goals) + len(s.plan.Curve); len(b.Over) != all {
			panic(fmt.Sprintf("capacity: block %d has %d counts for %d goals", i, len(b.Over), all))
		}
	}
	s.measured = append(s.measured, m)
	s.replay()
}

// Block returns the length of the shortest blocks.
func (s *Search) Block() time.Duration { return s.plan.Block }

// Result returns the result after the search has ended. Before that it returns the bracket so far, with outcome Unfinished.
func (s *Search) Result() Result {
	r := s.walk.result
	r.Goals, r.Steps, r.Took = s.plan.Goals, s.walk.steps, s.walk.spent
	if r.Outcome == Unfinished {
		r.Low.Load, r.High.Load = s.walk.bracket()
		if r.High.Load <= r.Low.Load { // that load has passed since, and the loads above it must be probed again
			r.High.Load = 0
		}
	}
	r.NotMonotone = notMonotone(r.Steps, s.plan.Width)
	if r.Outcome != Unfinished {
		r.Curve = s.walk.curve()
	}
	return r
}

// upper says what is known about the upper end of the bracket.
type upper uint8

const (
	failed         upper = iota // the load failed, or pointed that way
	generatorLimit              // the load generator could not offer it
	open                        // every load up to the highest one passed
)

// walk replays the search from its start over the measurements, until it needs a measurement that does not exist yet. The numbers of its steps are those of
// docs/capacity.md. Steps return false when the walk is over: a probe is pending, or there is a result.
type walk struct {
	plan     Plan
	measured []Measurement
	judged   []Judgement // as far as known
	steps    []Step
	spent    time.Duration // without the soak
	pending  *Probe
	result   Result

	cold bool // evidence from before the servers were warm counts

	low, high     end // the bracket
	upper         upper
	confirmStart  time.Duration // when the confirmation of this bracket started; 0 before
	last          bool          // there is no time for another low end
	confirmations int
	refuted       int     // how often fresh samples refuted an end
	widened       int     // how often an end stayed undecided
	was           *Result // result of a bracket that was confirmed, with the steps until then
	intervals     map[int]Interval
}

// end is an end of the bracket: its load, 0 if there is none yet, and what was measured at it to confirm it.
type end struct {
	load  float64
	fresh freshSamples
}

// maxMoves is how many times fresh samples may refute an end.
const maxMoves = 4

func (w *walk) search() {
	if !w.base() || !w.ramp(Ramp, 2, 1) || !w.warm() || !w.narrow() {
		return
	}
	for w.refuted <= maxMoves {
		w.confirmStart = w.spent
		c, ok := w.confirm()
		switch {
		case !ok:
			return
		case c.generatorLimit:
			w.refuted++
			continue
		case c.low.Decision == Pass && w.upper == generatorLimit:
			w.bound(c, Limited, "zkbench could not offer "+number(w.high.load))
			return
		case c.low.Decision == Pass && w.upper == open:
			w.bound(c, AtLeast, fmt.Sprintf("no load above %s was probed", number(w.plan.To)))
			return
		case c.low.Decision == Pass && c.high.Decision == Fail:
			w.found(c)
			return
		case c.low.Decision == Fail, w.upper == failed && c.high.Decision == Pass:
			ok = w.follow(c)
		default:
			ok = w.widen(c)
		}
		if !ok {
			return
		}
	}
	w.end(Unstable, fmt.Sprintf("fresh samples refuted an end of the bracket %d times", maxMoves+1))
}

// base is step 1: the lowest load must pass. If it fails, it is measured once more with fresh sessions.
func (w *walk) base() bool {
	j, ok := w.ask(Probe{Purpose: Base, Load: w.plan.From, Settle: w.plan.firstSettle(), Min: 2, Max: searchBlocks})
	if ok && j.Decision == Fail {
		if !w.warmAt(w.plan.From) {
			return false
		}
		w.confirmations++
		j, ok = w.ask(Probe{Purpose: Confirm, Load: w.plan.From, Min: w.plan.Confirm, Max: w.plan.Confirm, Confirmation: w.confirmations})
	}
	switch {
	case !ok:
		return false
	case j.Decision == Invalid:
		return w.end(Limited, "zkbench could not offer the lowest load")
	case j.Decision == Fail:
		w.high = end{load: w.plan.From}
		return w.end(None, j.Reason)
	}
	w.low = end{load: w.plan.From}
	return true
}

const (
	rampBlocks   = 3
	searchBlocks = 6
)

// ramp is step 2: it raises the load by a factor, which is raised to the power of growth each time, until a load fails or the highest one has passed.
func (w *walk) ramp(purpose Purpose, factor, growth float64) bool {
	for w.low.load < w.plan.To {
		was := w.low.load
		if !w.try(purpose, min(was*factor, w.plan.To), rampBlocks) {
			return false
		}
		if w.low.load == was {
			return true
		}
		factor = math.Pow(factor, growth)
	}
	w.high, w.upper = end{load: w.plan.To}, open
	return true
}

// try probes a load and moves the end of the bracket that it decides. An undecided load gives the direction.
func (w *walk) try(purpose Purpose, load float64, blocks int) bool {
	j, ok := w.ask(Probe{Purpose: purpose, Load: load, Min: 2, Max: blocks})
	switch {
	case !ok:
		return false
	case j.Decision == Invalid:
		w.high, w.upper = end{load: load}, generatorLimit
	case j.Decision == Fail, j.Decision == Undecided && j.Above:
		w.high, w.upper = end{load: load}, failed
	default:
		w.low = end{load: load}
	}
	return true
}

// narrow is step 4: it bisects in ln(load) until the bracket is as narrow as planned, or a load stays undecided. Such a load is close to the capacity, and
// its neighbours would be undecided too, so the ends are placed a width to each side of it. It ends with a wider bracket if the rest of the budget is needed
// to confirm.
func (w *walk) narrow() bool {
	step := 1 + w.width()
	for w.high.load > w.low.load*step*(1+1e-9) && w.mayNarrow() {
		load := math.Sqrt(w.low.load * w.high.load)
		if !w.try(Narrow, load, searchBlocks) {
			return false
		}
		if w.steps[len(w.steps)-1].Judgement.Decision == Undecided {
			if w.low.load < load/step {
				w.low = end{load: load / step}
			}
			if w.high.load > load*step {
				w.high, w.upper = end{load: load * step}, failed
			}
			return true
		}
	}
	return true
}

// follow moves the bracket after fresh samples refuted an end: that end becomes the other end and keeps its samples. The search continues beyond it, by one
// width at first and farther each time.
func (w *walk) follow(c confirmed) bool {
	w.refuted++
	step := 1 + w.width()
	if c.low.Decision == Fail {
		w.moved("fresh samples failed at %s, which had seemed to pass (%s): the search went on below", number(w.low.load), c.low.Reason)
		return w.descend(step, c.low.Reason) && w.narrow()
	}
	w.moved("fresh samples passed at %s, which had seemed to fail (%s): the search went on above", number(w.high.load), c.high.Reason)
	w.low = w.high
	return w.ramp(Narrow, step, 2) && w.narrow()
}

// widen moves an end that stayed undecided outwards by a width, and by more after several times or if there is hardly time for another one: farther from the
// goal, fewer samples decide.
func (w *walk) widen(c confirmed) bool {
	if w.widened++; w.spent+w.confirmTime()*5/4 > w.plan.Budget {
		w.widened = max(w.widened, lastWiden)
	}
	doublings := min(max(w.widened-3, 0), 3)
	if w.rare(w.low.load) {
		doublings = max(doublings, 1) // fewer loads to be lucky at
	}
	step := 1 + w.plan.Width*math.Pow(2, float64(doublings))
	if c.low.Decision != Pass {
		if w.timeForLastEnd() {
			w.last, step = true, lastStep
		}
		w.low = end{load: w.low.load / step}
	}
	if w.upper == failed && c.high.Decision != Fail {
		if w.high = (end{load: w.high.load * step}); w.high.load > w.plan.To {
			w.high, w.upper = end{load: w.plan.To}, open
		}
	}
	return true
}

// lastWiden is the number of the widening that moves an end by four widths.
const lastWiden = 5

// descend finds a load that passes below the lower end, which has failed.
func (w *walk) descend(step float64, reason string) bool {
	w.high, w.upper, w.low = w.low, failed, end{}
	for ; w.low.load == 0; step *= step {
		if w.high.load <= w.plan.From {
			return w.end(None, reason)
		}
		if !w.try(Narrow, max(w.high.load/step, w.plan.From), searchBlocks) {
			return false
		}
	}
	return true
}

// maxAttempts is how many times a probe is executed as long as it is invalid.
const maxAttempts = 3

// ask requests a probe, and repeats it while it is invalid. It returns an invalid judgement only if the load generator is the limit, or for a visit or a
// soak; any other reason that persists ends the search.
func (w *walk) ask(p Probe) (Judgement, bool) {
	p.Block = w.plan.block(p.Load, p.Purpose)
	p.Settle = max(p.Settle, w.plan.settle())
	least := int((leastSteady + p.Block - 1) / p.Block)
	p.Min, p.Max = max(p.Min, least), max(p.Max, least)
	if p.Purpose == Soaking {
		p.Max = max(2, int(math.Ceil(float64(w.plan.Soak.Length)/float64(p.Block))))
		p.Min = p.Max
	}
	for p.Attempt = 0; ; p.Attempt++ {
		p.Number = len(w.steps)
		p.Seed = w.plan.Seed + uint64(p.Number)*0x9e3779b97f4a7c15 // distinct for each number: the factor is odd
		if left := w.plan.Budget - w.spent - p.Settle - w.overhead(); p.Purpose != Soaking {
			if p.Purpose == Return && left < 2*time.Duration(p.Min)*p.Block { // the search has its figure, and an overload takes time to drain
				return Judgement{Decision: Invalid}, true
			}
			if left < time.Duration(p.Min)*p.Block {
				return Judgement{}, w.end(OutOfBudget, fmt.Sprintf("no time for the probe at %s (%s)", number(p.Load), p.Purpose))
			}
			p.Max = min(p.Max, int(left/p.Block))
		}
		if len(w.steps) == len(w.measured) {
			w.pending = &p
			return Judgement{}, false
		}
		m := w.measured[len(w.steps)]
		if len(w.judged) == len(w.steps) {
			var burst []float64
			if p.Purpose != Return { // the blocks of a visit are of one moment
				burst = w.bursts(p.Load, m.Blocks)
			}
			w.judged = append(w.judged, judge(w.plan.Goals, m, burst))
		}
		j := w.judged[len(w.steps)]
		w.steps = append(w.steps, Step{Probe: p, Measurement: m, Judgement: j})
		if p.Purpose != Soaking {
			w.spent += m.Duration()
		}
		switch {
		case p.Purpose == Warm:
			w.steps[len(w.steps)-1].Judgement = warmed(m)
			return j, true
		case j.Decision != Invalid, p.Attempt == maxAttempts-1 && (j.Suspect == Generator || p.Purpose == Return || p.Purpose == Soaking):
			return j, true
		case p.Attempt == maxAttempts-1:
			return j, w.end(Unstable, fmt.Sprintf("%d probes at %s were invalid: %s", maxAttempts, number(p.Load), j.Suspect))
		}
	}
}

// end sets the result and returns false: there is no next step.
func (w *walk) end(outcome Outcome, reason string) bool {
	w.result.Outcome, w.result.Reason = outcome, reason
	w.result.Low.Load, w.result.High.Load = w.bracket()
	if outcome == OutOfBudget || outcome == Unstable {
		w.fallBack(reason)
	}
	if w.result.Outcome == OutOfBudget {
		w.between()
	}
	return false
}

// bracket returns the measured part of the bracket: an end that stayed undecided has moved to a load that may not have been probed yet.
func (w *walk) bracket() (low, high float64) {
	for _, s := range w.steps {
		load, d, above := s.Probe.Load, s.Judgement.Decision, s.Judgement.Above
		switch {
		case s.Probe.Purpose == Warm:
		case (d == Pass || d == Undecided && !above) && load <= w.low.load:
			low = max(low, load)
		case (d == Fail || d == Undecided && above) && load <= w.high.load:
			high = max(high, load)
		}
	}
	if w.upper != failed {
		high = w.high.load
	}
	return low, high
}

// number formats a load for a sentence.
func number(load float64) string { return phrase.Number(load, 4) }
