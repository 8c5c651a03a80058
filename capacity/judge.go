package capacity

import (
	"fmt"
	"math"
)

// Decision is what a probe says about its load.
type Decision uint8

// The decisions.
const (
	Undecided Decision = iota // not distinguishable from the goal: a direction, never a final bound
	Pass
	Fail
	Invalid // says nothing about the servers, and moves no bound
)

func (d Decision) String() string { return [...]string{"undecided", "pass", "fail", "invalid"}[d] }

// Judgement is a Decision with its reason.
type Judgement struct {
	Decision Decision
	Reason   string
	Suspect  Suspect // for an invalid probe
	// Binding is the index of the goal that is hardest to meet: the one that failed, or the one with the least room; -1 if no goal decided.
	Binding int
	// Above says in which direction an undecided probe points: that the load is too high.
	Above     bool
	Estimates []Estimate // for each goal
}

const (
	sigmas       = 2     // distance of a decision from the goal, in standard errors
	tail         = 0.023 // the probability of a distance of sigmas
	clearFail    = 5     // multiple of the goal's share that fails a probe early
	clearPass    = 8     // divisor of the goal's share that passes a probe early
	leastAchieve = 0.98  // of what came due
	events       = 2     // number of blocks that must show that a load cannot be carried: a single one is one event, which may be rare
	stuckSigmas  = 3     // of sqrt(due), by which a Poisson stream varies
)

// judge decides in this order: invalid, failed at once, passed or failed by two standard errors, undecided. burst is how many late operations of each goal
// come together; nil: 1 each.
func judge(goals []Goal, m Measurement, burst []float64) Judgement {
	j := Judgement{Binding: -1}
	if burst == nil {
		burst = make([]float64, len(goals))
	}
	for i := range goals {
		j.Estimates = append(j.Estimates, estimate(m.Blocks, i, burst[i]))
	}
	if j.Suspect = suspect(goals, m, j.Estimates); j.Suspect != Trusted {
		j.Decision, j.Reason = Invalid, string(j.Suspect)
		return j
	}
	if reason, goal, failed := atOnce(goals, m); failed {
		j.Decision, j.Reason, j.Binding = Fail, reason+marked(goals, m.Blocks), goal
		return j
	}
	passed, hardest := 0, math.Inf(-1) // the hardest goal; if any failed, the hardest of these
	for i, g := range goals {
		if g.Share == 0 {
			passed++
			continue
		}
		d, x := decide(j.Estimates[i], g.Share), j.Estimates[i].ratio(g.Share)
		switch {
		case d == Fail && j.Decision != Fail:
			j.Decision, j.Binding, hardest = Fail, i, x
		case (d == Fail || j.Decision != Fail) && x > hardest:
			j.Binding, hardest = i, x
		}
		if d == Pass {
			passed++
		}
	}
	j.Above = hardest > 0
	if passed == len(goals) {
		j.Decision = Pass
	}
	if j.Binding >= 0 {
		e, g := j.Estimates[j.Binding], goals[j.Binding]
		j.Reason = fmt.Sprintf("%s: missed by %.3g %% ± %.2g %%, %.3g %% may miss it", g.Name, 100*float64(e.Over)/float64(e.Due), 100*e.SE, 100*g.Share)
	} else {
		j.Reason = fmt.Sprintf("none of %d missed %s", j.Estimates[0].Due, goals[0].Name)
	}
	j.Reason += marked(goals, m.Blocks)
	return j
}

// marked says what else happened in the blocks that missed a goal.
func marked(goals []Goal, blocks []Block) (text string) {
	missed := func(b Block) bool {
		for i, g := range goals {
			if float64(b.Over[i]) > g.Share*float64(b.Due) {
				return true
			}
		}
		return false
	}
	for k, b := range blocks {
		if b.Mark != "" && missed(b) {
			text += fmt.Sprintf("; in block %d, which missed it: %s", k+1, b.Mark)
		}
	}
	return text
}

// suspect returns why a measurement is invalid.
func suspect(goals []Goal, m Measurement, estimates []Estimate) Suspect {
	if m.Suspect != Trusted {
		return m.Suspect
	}
	for i, g := range goals {
		if estimates[i].Due < MinOperations(g.Share, 0) && !m.Unsafe {
			return TooFew
		}
	}
	return Trusted
}

// atOnce returns a reason that fails a probe regardless of its percentiles, and the goal that it misses, -1 if none.
func atOnce(goals []Goal, m Measurement) (reason string, goal int, failed bool) {
	if m.Unsafe {
		return "a safety check was violated", -1, true
	}
	due, done, stuck, worst := 0, 0, 0, Block{}
	for _, b := range m.Blocks {
		due += b.Due
		done += b.Done
		if b.Due-b.Done > worst.Due-worst.Done {
			worst = b
		}
		for i, g := range goals {
			if g.Share == 0 && b.Over[i] > 0 {
				return fmt.Sprintf("%s: missed by %d", g.Name, b.Over[i]), i, true
			}
		}
		if limit := stuckSigmas * math.Sqrt(float64(b.Due)); float64(b.Stuck) > limit {
			if stuck++; stuck >= min(events, len(m.Blocks)) {
				return fmt.Sprintf("%d operations stuck at the end of a block, more than %.0f", b.Stuck, limit), -1, true
			}
		}
	}
	short := func(due, done int) bool { // by more than in-flight work varies
		return float64(done) < leastAchieve*float64(due) && float64(due-done) > stuckSigmas*math.Sqrt(float64(due)/float64(len(m.Blocks)))
	}
	if short(due, done) && (len(m.Blocks) < events || short(due-worst.Due, done-worst.Done)) {
		return fmt.Sprintf("%d of %d due operations done, below %.0f %%", done, due, 100*leastAchieve), -1, true
	}
	return "", -1, false
}

// decide compares a share with that of the goal.
func decide(e Estimate, share float64) Decision {
	switch x := e.ratio(share); {
	case e.Over == 0, x < -math.Log(clearPass):
		if e.carries(share) {
			return Pass
		}
	case x < 0 && e.atMost(share) <= tail:
		return Pass
	case x > 0 && e.atLeast(share) <= tail:
		return Fail
	}
	return Undecided
}

// settled reports whether more blocks of a probe are not worth their time: it fails at once, or its shares are far from the goals.
func settled(goals []Goal, blocks []Block, burst []float64) bool {
	if _, _, failed := atOnce(goals, Measurement{Blocks: blocks}); failed {
		return true
	}
	far := true
	for i, g := range goals {
		if g.Share == 0 {
			continue
		}
		e := estimate(blocks, i, burst[i])
		if e.Due == 0 {
			return false
		}
		x := e.ratio(g.Share)
		if x > math.Log(clearFail) && e.Blocks >= 2 && e.atLeast(g.Share) <= tail {
			return true
		}
		far = far && x < -math.Log(clearPass) && e.carries(g.Share)
	}
	return far
}
