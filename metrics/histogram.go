package metrics

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// The range of every histogram. Values are recorded in nanoseconds with the resolution of a microsecond: a Duration is in nanoseconds, the HdrHistogram tools
// expect them (HistogramLogProcessor prints milliseconds without being given a ratio), and a lowest value of 1000 keeps the table as small as microseconds
// would.
const (
	LowestValue  = time.Microsecond // anything below shares the first slots, which are 512 ns wide
	HighestValue = time.Hour        // anything above is counted as overflow
	digits       = 3                // significant decimal digits: a value is known to 0.1 %
)

// Histogram is the distribution of durations, in the slots of an HdrHistogram with three significant digits. Durations below zero or above HighestValue are
// counted separately and are not part of any count, mean or quantile. It takes memory only for the slots between the lowest and the highest in use: 190 KiB
// if those are all. It is not safe for concurrent use; the zero value is empty.
type Histogram struct {
	counts             []int64 // of the slots from first on; beyond its length, its memory is zero
	first              int
	n                  int64 // sum of counts
	overflow, negative int64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return &Histogram{} }

// Record counts d once.
func (h *Histogram) Record(d time.Duration) {
	switch {
	case d < 0:
		h.negative++
	case d > HighestValue:
		h.overflow++
	default:
		h.add(slot(int64(d)), 1)
	}
}

// add counts n values of slot i.
func (h *Histogram) add(i int, n int64) {
	if at := i - h.first; at < 0 || at >= len(h.counts) {
		h.reach(i, i+1)
	}
	h.counts[i-h.first] += n
	h.n += n
}

// reach makes room for the slots [low, high).
func (h *Histogram) reach(low, high int) {
	if len(h.counts) == 0 {
		h.first = low
	}
	low, high = min(low, h.first), max(high, h.first+len(h.counts))
	old, before := h.counts, h.first-low
	if h.first = low; high-low <= cap(old) {
		h.counts = old[:high-low]
	} else {
		h.counts = make([]int64, high-low, min(2*(high-low)+64, slots))
	}
	copy(h.counts[before:], old)
	clear(h.counts[:min(before, len(old))])
}

// Merge adds the counts of o, which remains unchanged.
func (h *Histogram) Merge(o *Histogram) {
	if len(o.counts) > 0 {
		h.reach(o.first, o.first+len(o.counts))
		for i, n := range o.counts {
			h.counts[o.first-h.first+i] += n
		}
	}
	h.n += o.n
	h.AddOutside(o.overflow, o.negative)
}

// reset makes the histogram empty; it keeps its memory.
func (h *Histogram) reset() {
	clear(h.counts)
	*h = Histogram{counts: h.counts[:0]}
}

// empty reports whether nothing was recorded, in range or out of it.
func (h *Histogram) empty() bool { return h.n == 0 && h.overflow == 0 && h.negative == 0 }

// Clone returns an independent copy.
func (h *Histogram) Clone() *Histogram {
	c := NewHistogram()
	c.Merge(h)
	return c
}

// Equal reports whether both hold the same counts.
func (h *Histogram) Equal(o *Histogram) bool {
	if h.n != o.n || h.overflow != o.overflow || h.negative != o.negative {
		return false
	}
	for i, n := range h.used() {
		if at := i - o.first; at < 0 || at >= len(o.counts) || o.counts[at] != n {
			return false
		}
	}
	return true
}

// used yields the slots in use, lowest first, and the number of values in each.
func (h *Histogram) used() iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for i, n := range h.counts {
			if n > 0 && !yield(h.first+i, n) {
				return
			}
		}
	}
}

// Count returns the number of values in range, which mean and quantiles refer to.
func (h *Histogram) Count() int64 { return h.n }

// Overflow returns the number of values above HighestValue.
func (h *Histogram) Overflow() int64 { return h.overflow }

// Negative returns the number of values below zero, each of them a bug in the clock or in zkbench.
func (h *Histogram) Negative() int64 { return h.negative }

// AddOutside adds counts of values out of range, which the payload of Encode does not carry.
func (h *Histogram) AddOutside(overflow, negative int64) {
	h.overflow += overflow
	h.negative += negative
}

// Min returns the lower edge of the lowest slot in use; 0 if empty.
func (h *Histogram) Min() time.Duration {
	for i := range h.used() {
		return time.Duration(slotValue(i))
	}
	return 0
}

// Max returns the upper edge of the highest slot in use; 0 if empty.
func (h *Histogram) Max() time.Duration {
	for i, n := range slices.Backward(h.counts) {
		if n > 0 {
			return edge(h.first + i)
		}
	}
	return 0
}

// Mean returns the arithmetic mean, taking each value as the middle of its slot, with the roundings of hdrhistogram-go; 0 if empty.
func (h *Histogram) Mean() time.Duration {
	mean := 0.0
	for i, n := range h.used() {
		mean += float64(n) * middle(i) / float64(h.n)
	}
	return time.Duration(mean)
}

// Quantile returns the upper edge of the slot that holds the value of rank q*Count, rounded up, for 0 <= q <= 1; 0 if empty. At least the share q of all
// values is at most the result. The reference implementation of HdrHistogram rounds up too, while hdrhistogram-go rounds to the nearest rank, which for a few
// hundred values is one too low for the p99.
func (h *Histogram) Quantile(q float64) time.Duration {
	below := math.Nextafter(q, 0) // a product that should be whole may come out a little above it
	rank := max(int64(math.Ceil(below*float64(h.n))), 1)
	for i, n := range h.used() {
		if rank -= n; rank <= 0 {
			return edge(i)
		}
	}
	return 0
}

// AddSlot counts n values of a slot that Slots or a Decoder has returned.
func (h *Histogram) AddSlot(from [2]time.Duration, n int64) { h.add(slot(int64(from[0])), n) }

// Slots yields the slots in use, lowest first: for each, its lowest value and the one above its highest, and the number of values in it.
func (h *Histogram) Slots() iter.Seq2[[2]time.Duration, int64] {
	return func(yield func([2]time.Duration, int64) bool) {
		for i, n := range h.used() {
			if !yield([2]time.Duration{time.Duration(slotValue(i)), time.Duration(slotValue(i + 1))}, n) {
				return
			}
		}
	}
}

// DecodeHistogram is the inverse of Encode. It rejects histograms with another range or precision, because merging them could lose values.
func DecodeHistogram(payload []byte) (*Histogram, error) {
	h := NewHistogram()
	if err := new(Decoder).slots(payload, h.add); err != nil {
		return nil, err
	}
	return h, nil
}

// The slots of an HdrHistogram with this range: 2048 linear ones of 512 ns, then 1024 for each doubling.
const (
	unitBits = 9  // floor(log2(LowestValue))
	halfBits = 10 // ceil(log2(2*10^digits)) - 1
	slots    = 24 << halfBits
)

// slot returns the index that HdrHistogram gives to v, 0 <= v <= HighestValue.
func slot(v int64) int {
	doubling := bits.Len64(uint64(v)|(1<<(halfBits+1)-1)<<unitBits) - unitBits - halfBits - 1
	return doubling<<halfBits + int(v>>(unitBits+doubling))
}

// edge returns the highest value of a slot.
func edge(i int) time.Duration { return time.Duration(slotValue(i+1) - 1) }

// middle returns the value that represents a slot.
func middle(i int) float64 { return float64(slotValue(i) + (slotValue(i+1)-slotValue(i))/2) }

// slotValue returns the lowest value of a slot.
func slotValue(i int) int64 {
	doubling := max(i>>halfBits-1, 0)
	return int64(i-doubling<<halfBits) << (unitBits + doubling)
}
