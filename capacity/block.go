package capacity

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/aclements/go-moremath/mathx"
)

// Block counts the operations that came due in one interval of open-loop load.
type Block struct {
	Seconds float64 `json:"seconds"`
	// Mean is the mean response in milliseconds of the operations of Due that succeeded; 0 if it is not known. It shows servers that are still warming up.
	Mean float64 `json:"mean_ms"`
	// Ended is the number of these operations; only Together needs it.
	Ended int `json:"ended,omitempty"`
	// Due is the number of operations that came due. All counts below except Done are counts of these, whenever they ended.
	Due int `json:"due"`
	// Done is the number of operations that succeeded during the block, including those that came due earlier.
	Done int `json:"done"`
	// Stuck is the number of operations that at the end of the block had been unfinished for longer than the longest latency goal.
	Stuck int `json:"stuck"`
	// Over has, for each goal and each limit of the curve, the number of operations that missed it. Latency is counted from the due time. Failed and
	// unfinished operations miss every goal.
	Over []int `json:"over"`
	// Mark says what else happened during the block (a snapshot), for the record; it changes no decision.
	Mark string `json:"mark,omitempty"`
}

// Together adds up the blocks that several load generators counted at the same time, each for its part of the operations, as if one had offered all of them.
// It returns as many blocks as the generator with the fewest has. Marks are those of the first.
func Together(first []Block, others ...[]Block) (all []Block) {
	for k, sum := range first {
		sum.Over = slices.Clone(sum.Over)
		took := sum.Mean * float64(sum.Ended)
		for _, blocks := range others {
			if k >= len(blocks) {
				return all
			}
			b := blocks[k]
			sum.Due, sum.Done, sum.Stuck, sum.Ended = sum.Due+b.Due, sum.Done+b.Done, sum.Stuck+b.Stuck, sum.Ended+b.Ended
			took += b.Mean * float64(b.Ended)
			for goal, n := range b.Over {
				sum.Over[goal] += n
			}
		}
		if sum.Ended > 0 {
			sum.Mean = took / float64(sum.Ended)
		}
		all = append(all, sum)
	}
	return all
}

// Suspect says why a probe says nothing about the servers.
type Suspect string

// The reasons for which a probe is invalid.
const (
	Trusted       Suspect = ""
	Generator     Suspect = "the load generator was late"    // its CPU or its timers: a limit of zkbench
	Paused        Suspect = "the load generator was stopped" // by the machine or by a person
	LeaderChanged Suspect = "the leader changed without a planned fault"
	ServerLost    Suspect = "a server was lost"
	NotRecovered  Suspect = "the base latency did not come back after the load before" // hysteresis
	TooFew        Suspect = "too few operations for the percentile"                    // found by Search itself
)

// Measurement is what a probe measured.
type Measurement struct {
	// Took is the time of the whole probe in seconds: draining the previous one, settling, all blocks. It counts towards the budget.
	Took float64 `json:"took_s"`
	// Recovery is the part of Took until the base latency was restored.
	Recovery float64 `json:"recovery_s,omitempty"`
	// Znodes is the number of znodes before the probe, if known.
	Znodes *float64 `json:"znodes,omitempty"`
	// Suspect says why the probe is invalid; its measurements are then not used.
	Suspect Suspect `json:"suspect,omitempty"`
	// Unsafe says that a safety check was violated.
	Unsafe bool `json:"unsafe,omitempty"`
	// Values has, for each goal, the value of its metric (milliseconds for p99<50ms), if known: for the record, and for the elasticity.
	Values []*float64 `json:"values_ms,omitempty"`
	Blocks []Block    `json:"blocks"`
}

// Duration returns Took as a Duration.
func (m Measurement) Duration() time.Duration {
	return time.Duration(math.Round(m.Took * float64(time.Second)))
}

// Estimate is an estimate of the share of operations that are over a limit.
type Estimate struct {
	Due, Over int
	Blocks    int
	P         float64 // the share; if there are none, half an operation is counted, so that the share has a logarithm
	SE        float64 // its standard error
	// Burst is how many late operations come together: the index of dispersion of the counts of the blocks, at least 1 (independent operations).
	Burst float64
}

// estimate pools all blocks: it adds up the counts, never the verdicts. The error is that of a ratio estimator over the blocks (Cochran, Sampling Techniques,
// section 6.3). It is inflated by the correlation r of neighbouring blocks, if positive, by (1+r)/(1-r), the variance of a mean of a first-order
// autoregressive sequence. It is never below the error of late operations that come burst at a time (Poisson's, if burst is at most 1).
func estimate(blocks []Block, goal int, burst float64) Estimate {
	e := Estimate{Blocks: len(blocks), Burst: max(burst, 1)}
	for _, b := range blocks {
		e.Due += b.Due
		e.Over += b.Over[goal]
	}
	if e.Due == 0 {
		return e
	}
	over := max(float64(e.Over), 0.5)
	e.P = over / float64(e.Due)
	variance := over * e.Burst
	if n := len(blocks); n > 1 && e.Over > 0 {
		squares, products, last := 0.0, 0.0, 0.0
		for i, b := range blocks {
			r := float64(b.Over[goal]) - e.P*float64(b.Due)
			squares += r * r
			if i > 0 {
				products += r * last
			}
			last = r
		}
		if squares > 0 {
			r := min(max(products/squares, 0), maxCorrelation)
			variance = max(variance, squares*float64(n)/float64(n-1)*(1+r)/(1-r))
		}
	}
	e.SE = math.Sqrt(variance) / float64(e.Due)
	e.Burst = variance / over
	return e
}

// maxCorrelation limits the effect of a correlation of few blocks, itself uncertain, on an error: to a factor of 3.
const maxCorrelation = 0.8

// ratio returns the logarithm of the ratio of the share to that of the goal.
func (e Estimate) ratio(share float64) float64 { return math.Log(e.P / share) }

// clusters returns the numbers of independent late clusters: the number seen, and the number expected if the goal were just met.
func (e Estimate) clusters(share float64) (seen, expected float64) {
	return float64(e.Over) / e.Burst, share * float64(e.Due) / e.Burst
}

// atMost returns the probability of at most this number of late clusters at a load that just meets the goal; atLeast, of at least this number. Their number
// has a Poisson distribution, continued to non-integers by the incomplete gamma function.
func (e Estimate) atMost(share float64) float64 {
	if e.Burst == 1 {
		return binomialAtMost(e.Over, e.Due, share)
	}
	seen, expected := e.clusters(share)
	return mathx.GammaIncComp(seen+1, expected)
}

func (e Estimate) atLeast(share float64) float64 {
	seen, expected := e.clusters(share)
	return mathx.GammaInc(seen, expected)
}

// carries reports whether there are enough operations to say that the share of all operations is below that of the goal.
func (e Estimate) carries(share float64) bool { return e.atMost(share) <= 1-confidence }

// bursts returns, for each goal, how many late operations come together in the blocks of the loads: the dispersion around the mean of each load, pooled. It
// is 0 if no operation was late or no load has two blocks.
func bursts(goals int, loads map[float64][]Block) []float64 {
	all := make([]float64, goals)
	for goal := range all {
		squares, over := 0.0, 0
		for _, load := range slices.Sorted(maps.Keys(loads)) { // in order: a sum of floats depends on it
			blocks := loads[load]
			if len(blocks) < 2 {
				continue
			}
			e := estimate(blocks, goal, 0)
			for _, b := range blocks {
				r := float64(b.Over[goal]) - float64(e.Over)/float64(max(e.Due, 1))*float64(b.Due)
				squares += r * r * float64(len(blocks)) / float64(len(blocks)-1)
			}
			over += e.Over
		}
		if over > 0 {
			all[goal] = squares / float64(over)
		}
	}
	return all
}
