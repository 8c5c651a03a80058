package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Fairness is how evenly the grants of a history fell: figures, not a verdict, because no recipe but a FIFO one promises any.
type Fairness struct {
	Sessions     int     // that asked at least once, granted or not
	Grants       int     // by Acquire
	Jain         float64 // Jain's index of the grants per session: 1 when all have the same, 1/Sessions when one has all; 0 without grants
	LongestWait  time.Duration
	MedianWait   time.Duration // of the responses of granted Acquires, the lower of two middle ones
	Overtakes    int           // pairs of grants on one object of which the second to come was granted first
	MaxOvertakes int           // the most that one grant was overtaken
}

// FairnessOf computes the figures. A grant came second when its Enqueue began after that of the other had ended; of a recipe
// without a queue, when its Acquire began after the other's did. O(n log n).
func FairnessOf(history iter.Seq[metrics.Sample]) Fairness {
	var f Fairness
	grants := map[uint32]float64{}
	var waits []time.Duration
	all := attempts(func(yield func(metrics.Sample) bool) { // one pass over the history for all
		for s := range history {
			if s.Op == metrics.Acquire {
				n := grants[s.Session]
				if s.Outcome == metrics.OK {
					n++
					waits = append(waits, s.Response())
				}
				grants[s.Session] = n
			}
			if !yield(s) {
				return
			}
		}
	})
	f.Sessions, f.Grants = len(grants), len(waits)
	perSession := make([]float64, 0, len(grants))
	for _, n := range grants {
		perSession = append(perSession, n)
	}
	f.Jain = Jain(perSession)
	if len(waits) > 0 {
		slices.Sort(waits)
		f.LongestWait, f.MedianWait = waits[len(waits)-1], waits[(len(waits)-1)/2]
	}
	for queue := range sameObject(all) {
		for _, n := range overtakes(queue) {
			f.Overtakes += n
			f.MaxOvertakes = max(f.MaxOvertakes, n)
		}
	}
	return f
}

// Jain is the fairness index (sum x)^2 / (n * sum x^2) of Jain, Chiu and Hawe, "A quantitative measure of fairness and
// discrimination for resource allocation in shared computer systems", DEC-TR-301, 1984. It is 0 when there is nothing to share.
func Jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(x)) * squares)
}

// overtakes counts for every attempt, in the order of grants, how many came after it had its place and were granted before it.
// It goes through the grants in their order and keeps the times of coming of those granted so far in a binary indexed tree
// (Fenwick, "A new data structure for cumulative frequency tables", 1994): O(n log n).
func overtakes(all []attempt) []int {
	queue := pointers(all)
	slices.SortFunc(queue, func(a, b *attempt) int { return cmp.Compare(a.granted.End, b.granted.End) })
	came := make([]time.Duration, len(queue))
	for i, a := range queue {
		came[i] = a.came()
	}
	slices.Sort(came)
	tree := make([]int, len(queue)+1)
	counts := make([]int, len(queue))
	granted := 0 // how many are in the tree: all that were granted strictly before the attempt
	for i, a := range queue {
		for ; queue[granted].granted.End < a.granted.End; granted++ {
			at, _ := slices.BinarySearch(came, queue[granted].came())
			for at++; at < len(tree); at += at & -at {
				tree[at]++
			}
		}
		notAfter, _ := slices.BinarySearch(came, a.placed()+1)
		counts[i] = granted
		for ; notAfter > 0; notAfter &= notAfter - 1 {
			counts[i] -= tree[notAfter]
		}
	}
	return counts
}
