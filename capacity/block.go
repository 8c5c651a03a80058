package capacity

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/aclements/go-moremath/mathx"
)

// Block is a stretch of open-loop load.
type Block struct {
	Length time.Duration
	// Due is the number of operations that came due; all counts below are of them, whenever they ended.
	Due int
	// Done is the number of operations that ended well during the block, those that came due earlier included.
	Done int
	// Stuck is the number of operations that at the end of the block were unfinished for longer than the longest latency goal.
	Stuck int
	// Over has, for each goal, the operations that missed it, latency counted from the due time. Failed and unfinished work misses every goal.
	Over []int
	// Mean is the mean response of the operations of Due that ended well; 0 if it is not known. It tells servers that still warm up.
	Mean time.Duration
	// Ended is how many these were; Together alone needs it.
	Ended int
	// Mark says what else happened meanwhile (a snapshot), for the record; it changes no decision.
	Mark string
}

// Together adds up the blocks that several load generators counted at the same time, each of its part of the operations: the blocks of one that offered all of
// them. Where one of them has fewer blocks, these count. Marks are those of the first.
func Together(first []Block, others ...[]Block) (all []Block) {
	for k, sum := range first {
		sum.Over = slices.Clone(sum.Over)
		took := float64(sum.Mean) * float64(sum.Ended)
		for _, blocks := range others {
			if k >= len(blocks) {
				return all
			}
			b := blocks[k]
			sum.Due, sum.Done, sum.Stuck, sum.Ended = sum.Due+b.Due, sum.Done+b.Done, sum.Stuck+b.Stuck, sum.Ended+b.Ended
			took += float64(b.Mean) * float64(b.Ended)
			for goal, n := range b.Over {
				sum.Over[goal] += n
			}
		}
		if sum.Ended > 0 {
			sum.Mean = time.Duration(took / float64(sum.Ended))
		}
		all = append(all, sum)
	}
	return all
}

// Suspect is why a probe says nothing about the servers.
type Suspect string

// The reasons of an invalid probe.
const (
	Trusted       Suspect = ""
	Generator     Suspect = "the load generator was late"    // its CPU or its timers: a limit of zkbench
	Paused        Suspect = "the load generator was stopped" // by the machine or by a person
	LeaderChanged Suspect = "the leader changed without a planned fault"
	ServerLost    Suspect = "a server was lost"
	NotRecovered  Suspect = "the base latency did not come back after the load before" // hysteresis
	TooFew        Suspect = "too few operations for the percentile"                    // told by Search itself
)

// Measurement is what a probe measured.
type Measurement struct {
	Blocks []Block
	// Suspect says why the probe is invalid; what it measured is then not used.
	Suspect Suspect
	// Unsafe says that a safety check was violated.
	Unsafe bool
	// Took is the time of the whole probe: draining the one before, settling, all blocks. The budget is counted with it.
	Took time.Duration
	// Recovery is the part of Took until the base latency was back.
	Recovery time.Duration
	// Values has, for each goal, what its metric was (milliseconds for p99<50ms), if known: for the record, and for the elasticity.
	Values []float64
}

// Estimate of the share of operations that are over a limit.
type Estimate struct {
	Due, Over int
	Blocks    int
	P         float64 // the share; half an operation is added to none, so that it has a logarithm
	SE        float64 // its standard error
	// Burst is how many late operations come together: the index of dispersion of the counts of the blocks, at least 1 (independent operations).
	Burst float64
}

// estimate pools all blocks: the counts are added up, never the verdicts. The error is that of a ratio estimator over the blocks (Cochran,
// Sampling Techniques, section 6.3), inflated by the correlation r of neighbouring blocks, if positive, by (1+r)/(1-r), the variance of a mean
// of a first-order autoregressive sequence; and never below that of late operations which come burst at a time (Poisson's, if burst is at most 1).
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

// maxCorrelation bounds what a correlation of few blocks, itself uncertain, may do to an error: a factor of 3.
const maxCorrelation = 0.8

// ratio is how far the share is from that of the goal, in logarithms.
func (e Estimate) ratio(share float64) float64 { return math.Log(e.P / share) }

// clusters are the numbers of independent late clusters: those that were seen, and those that would be if the goal were just met.
func (e Estimate) clusters(share float64) (seen, expected float64) {
	return float64(e.Over) / e.Burst, share * float64(e.Due) / e.Burst
}

// atMost is the probability to see as few late clusters at a load that just meets the goal; atLeast, as many. Their number has a Poisson
// distribution, continued to numbers that are not whole by the incomplete gamma function.
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

// carries reports whether there are operations enough to say that the share of all is below that of the goal.
func (e Estimate) carries(share float64) bool { return e.atMost(share) <= 1-confidence }

// bursts are how many late operations of each goal come together in the blocks of one load and others: the dispersion around the mean of
// each load, pooled. 0 where nothing was late or no load has two blocks.
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
