package check

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Fairness says how evenly the grants of a history were distributed: figures, not a verdict, because only a FIFO recipe promises any fairness.
type Fairness struct {
	Sessions     int     // sessions that asked at least once, granted or not
	Grants       int     // by Acquire
	Jain         float64 // Jain's index of the grants per session: 1 if all have the same number, 1/Sessions if one has all; 0 without grants
	LongestWait  time.Duration
	MedianWait   time.Duration // of the responses of granted Acquires; the lower of two middle ones
	Overtakes    int           // pairs of grants on one object of which the later arrival was granted first
	MaxOvertakes int           // the most times that one grant was overtaken
}

// Deal is the data that Fairness summarizes.
type Deal struct {
	PerSession []int // grants of each session that asked, the fewest first
	// Overtaken counts grants by how often they were overtaken: [0] never, [k] at least 2^(k-1) times and less than 2^k.
	Overtaken []int
}

// DealOf computes the figures and the data that they summarize. A grant arrived later if its Enqueue started after that of the other had ended; for a recipe
// without a queue, if its Acquire started after the other's did.
func DealOf(history iter.Seq[metrics.Sample], room *spill.Room) (f Fairness, d Deal) {
	return dealOf(history, room, nil)
}

// DealAcross is DealOf for several hosts. A grant arrived later if it took its place in a later transaction, and was granted first if that was in an earlier
// state. If one of these is not known for any grant, overtakes cannot be determined: Overtaken is empty.
func DealAcross(hosts []Host, room *spill.Room) (f Fairness, d Deal) {
	byTransaction := spill.New(room, func(a, b *attempt) int {
		return cmp.Or(cmp.Compare(a.granted.End, b.granted.End), cmp.Compare(a.placed(), b.placed()))
	})
	defer byTransaction.Close()
	return dealOf(Together(hosts), room, byTransaction)
}

// dealOf determines the order of overtakes by the clock or, if the list for them is not nil, by transactions.
func dealOf(history iter.Seq[metrics.Sample], room *spill.Room, byTransaction *spill.List[attempt]) (f Fairness, d Deal) {
	grants := map[uint32]float64{}
	waits := spill.New(room, func(a, b *time.Duration) int { return cmp.Compare(*a, *b) })
	defer waits.Close()
	all := attemptsOf(metrics.Acquire, func(yield func(metrics.Sample) bool) { // one pass over the history for both
		for s := range history {
			if s.Op == metrics.Acquire {
				n := grants[s.Session]
				if s.Outcome == metrics.OK {
					n++
					waits.Add(s.Response())
				}
				grants[s.Session] = n
			}
			if !yield(s) {
				return
			}
		}
	}, room, false)
	defer func(own *spill.List[attempt]) { own.Close() }(all)
	f.Sessions, f.Grants = len(grants), waits.Len()
	perSession := make([]float64, 0, len(grants))
	for _, n := range grants {
		perSession = append(perSession, n)
		d.PerSession = append(d.PerSession, int(n))
	}
	slices.Sort(d.PerSession)
	f.Jain = Jain(perSession)
	n := 0
	for w := range waits.All() {
		if n == (waits.Len()-1)/2 {
			f.MedianWait = w
		}
		f.LongestWait = w
		n++
	}
	if byTransaction != nil {
		for a := range all.All() {
			if a.enqueued.Token == 0 || a.granted.Zxid <= 0 {
				return f, d
			}
			a.enqueued.Start, a.enqueued.End = time.Duration(a.enqueued.Token), time.Duration(a.enqueued.Token)
			a.granted.End = time.Duration(a.granted.Zxid)
			byTransaction.Add(a)
		}
		all = byTransaction
	}
	f.Overtakes, f.MaxOvertakes = overtakes(all, func(times int) {
		k := bits.Len(uint(times))
		for len(d.Overtaken) <= k {
			d.Overtaken = append(d.Overtaken, 0)
		}
		d.Overtaken[k]++
	})
	return f, d
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

// RandomJain returns the expected Jain's index of n grants that are dealt to k sessions at random. Their counts are multinomial: the mean of the sum of
// squares is n + n(n-1)/k, so the index is about n/(n+k-1).
func RandomJain(n, k int) float64 {
	if n == 0 || k == 0 {
		return 0
	}
	return float64(n) / float64(n+k-1)
}

// overtakes counts, for every attempt, the attempts that arrived after it had its place and were granted before it. It returns the total and the maximum for
// one attempt, and calls each with the count of every attempt. It goes through the attempts in the order of grants and remembers when the ones granted so far
// arrived, as long as an attempt that had its place before them is yet to be granted. So its memory grows with the longest wait.
func overtakes(all *spill.List[attempt], each func(times int)) (total, most int) {
	const stretch = 4096
	var earliest []time.Duration // the earliest place of the attempts from each stretch on, the last stretch first
	n, first := all.Len(), forever
	for i, a := range backward(all) {
		if first = min(first, a.placed()); i%stretch == 0 {
			earliest = append(earliest, first)
		}
	}
	type object struct {
		came arrivals
		at   time.Duration // the instant of the last grant
		now  []time.Duration
	}
	objects := map[uint32]*object{}
	i := 0
	for a := range all.All() {
		if i%stretch == 0 {
			needed := earliest[(n-1)/stretch-i/stretch]
			for _, o := range objects {
				o.came.forget(needed)
			}
		}
		i++
		o := objects[a.granted.Object]
		if o == nil {
			o = &object{}
			objects[a.granted.Object] = o
		}
		if a.granted.End != o.at { // attempts granted at one instant do not overtake each other
			for _, came := range o.now {
				o.came.add(came)
			}
			o.at, o.now = a.granted.End, o.now[:0]
		}
		o.now = append(o.now, a.came())
		overtaken := o.came.after(a.placed())
		each(overtaken)
		total += overtaken
		most = max(most, overtaken)
	}
	return total, most
}

// backward yields the attempts from the last to the first, with their places in the order of grants.
func backward(all *spill.List[attempt]) iter.Seq2[int, attempt] {
	return func(yield func(int, attempt) bool) {
		i := all.Len()
		for a := range all.Backward() {
			if i--; !yield(i, a) {
				return
			}
		}
	}
}

// arrivals are times in order, in blocks short enough to insert new ones at any place.
type arrivals struct{ blocks [][]time.Duration }

const longestBlock = 512

func (a *arrivals) add(at time.Duration) {
	if len(a.blocks) == 0 {
		a.blocks = [][]time.Duration{make([]time.Duration, 0, longestBlock)}
	}
	i := len(a.blocks) - 1
	for i > 0 && a.blocks[i][0] > at { // most come late
		i--
	}
	place, _ := slices.BinarySearch(a.blocks[i], at)
	if a.blocks[i] = slices.Insert(a.blocks[i], place, at); len(a.blocks[i]) < longestBlock {
		return
	}
	half := append(make([]time.Duration, 0, longestBlock), a.blocks[i][longestBlock/2:]...)
	a.blocks[i] = a.blocks[i][:longestBlock/2]
	a.blocks = slices.Insert(a.blocks, i+1, half)
}

// after returns how many times are after an instant.
func (a *arrivals) after(at time.Duration) (n int) {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if b := a.blocks[i]; b[0] <= at {
			place, _ := slices.BinarySearch(b, at+1)
			return n + len(b) - place
		}
		n += len(a.blocks[i])
	}
	return n
}

// forget drops the blocks in which no time is after an instant.
func (a *arrivals) forget(upTo time.Duration) {
	n := 0
	for n < len(a.blocks) && a.blocks[n][len(a.blocks[n])-1] <= upTo {
		n++
	}
	a.blocks = slices.Delete(a.blocks, 0, n)
}
