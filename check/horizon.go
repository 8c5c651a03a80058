package check

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// horizon is what one process knew of the order of all transactions, and when by its own clock: which it had seen, and which of its own were still
// to come. Two horizons are compared by transactions alone: what one process sent at or after an instant, and another had seen by an instant of
// its own, puts the first instant before the second, whatever their clocks say.
type horizon struct {
	seen []moment // rising
	sent []moment // each with the lowest transaction of itself and all after it
}

// moment is a transaction and an offset of one clock.
type moment struct {
	at   time.Duration
	zxid int64
}

// horizonOf reads one process's history. A session has seen the transaction of a grant by its End, and has sent a release, the create that took a
// place or made a member, and what puts or removes an item, at its Start or later. O(n log n), and 32 bytes in memory for each sample with a transaction.
func horizonOf(history iter.Seq[metrics.Sample]) (h horizon) {
	write := func(s *metrics.Sample, zxid int64) {
		h.seen = append(h.seen, moment{s.End, zxid})
		h.sent = append(h.sent, moment{s.Start, zxid})
	}
	for s := range history {
		switch {
		case s.Session == metrics.Everybody: // from before the load
		case (s.Op == metrics.Enqueue || s.Op == metrics.Put || s.Op == metrics.Change || s.Op == metrics.Join) && s.Outcome == metrics.OK && s.Token > 0:
			write(&s, s.Token)
		case (s.Op == metrics.Take || s.Op == metrics.See) && s.Outcome == metrics.OK && s.Token > 0:
			h.seen = append(h.seen, moment{s.End, s.Token})
		case s.Zxid <= 0:
		case gives(s.Op), s.Op == metrics.Remove:
			write(&s, s.Zxid)
		case s.Outcome == metrics.OK && (locked.begins(s.Op) || shared.begins(s.Op) || led.begins(s.Op)):
			h.seen = append(h.seen, moment{s.End, s.Zxid})
		}
	}
	byTime := func(a, b moment) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(h.seen, byTime)
	slices.SortFunc(h.sent, byTime)
	for i := 1; i < len(h.seen); i++ {
		h.seen[i].zxid = max(h.seen[i].zxid, h.seen[i-1].zxid)
	}
	for i := len(h.sent) - 2; i >= 0; i-- {
		h.sent[i].zxid = min(h.sent[i].zxid, h.sent[i+1].zxid)
	}
	return h
}

// by is the highest transaction that the process had seen at an instant; 0 if none.
func (h *horizon) by(at time.Duration) int64 {
	i := sort.Search(len(h.seen), func(i int) bool { return h.seen[i].at > at })
	if i == 0 {
		return 0
	}
	return h.seen[i-1].zxid
}

// after is the lowest transaction that the process sent at or after an instant: whatever is not below it had not been committed then. MaxInt64 if there
// is none.
func (h *horizon) after(at time.Duration) int64 {
	i := sort.Search(len(h.sent), func(i int) bool { return h.sent[i].at >= at })
	if i == len(h.sent) {
		return math.MaxInt64
	}
	return h.sent[i].zxid
}

// Skew is how much later than that of the first the clock of a process started, at least and at most. It follows from the order of transactions: what
// one sent and another had seen went from the one to the other, and so did what one said before another went on.
type Skew struct {
	Low, High time.Duration
	Known     bool // in both directions
}

// Middle is the best guess, and Error how far it may be off.
func (s Skew) Middle() time.Duration { return s.Low + (s.High-s.Low)/2 }

// Error is half the distance between the bounds. Clocks that drift apart may turn them around.
func (s Skew) Error() time.Duration { return (s.High-s.Low).Abs()/2 + 1 }

// Meet is a place at which all hosts wait for each other, by the clock of one of them: each of them came before any of them went on.
type Meet struct{ Came, Went time.Duration }

// Skews are those of the processes, the first of which has none.
func Skews(hosts []Host) []Skew {
	all := make([]Skew, len(hosts))
	if len(hosts) == 0 {
		return all
	}
	first := horizonOf(hosts[0].History)
	all[0].Known = true
	for i := 1; i < len(hosts); i++ {
		other := horizonOf(hosts[i].History)
		high, above := soonest(&other, &first) // other sent at s, first had seen it at r: s + skew <= r
		low, below := soonest(&first, &other)
		for n := range min(len(hosts[0].Meets), len(hosts[i].Meets)) {
			a, b := hosts[0].Meets[n], hosts[i].Meets[n]
			if d := a.Went - b.Came; !above || d < high {
				high, above = d, true
			}
			if d := b.Went - a.Came; !below || d < low {
				low, below = d, true
			}
		}
		all[i] = Skew{Low: -low, High: high, Known: above && below}
	}
	return all
}

// soonest is the least time, by both clocks, from a transaction's being sent in one process to another's having seen it or a later one.
func soonest(from, to *horizon) (least time.Duration, known bool) {
	for _, m := range from.sent {
		i := sort.Search(len(to.seen), func(i int) bool { return to.seen[i].zxid >= m.zxid })
		if i == len(to.seen) {
			continue
		}
		if d := to.seen[i].at - m.at; !known || d < least {
			least, known = d, true
		}
	}
	return least, known
}
