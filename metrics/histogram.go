package metrics

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram. Values are recorded in nanoseconds with the resolution of a microsecond: a Duration is in nanoseconds, the HdrHistogram tools
// expect them (HistogramLogProcessor prints milliseconds without being given a ratio), and a lowest value of 1000 keeps the table as small as microseconds
// would.
const (
	LowestValue  = time.Microsecond // anything below shares the first slots, which are 512 ns wide
	HighestValue = time.Hour        // anything above is counted as overflow
	digits       = 3                // significant decimal digits: a value is known to 0.1 %
)

// Histogram is the distribution of durations, over HdrHistogram with three significant digits. Durations below zero or above HighestValue are counted
// separately and are not part of any count, mean or quantile. It is not safe for concurrent use.
type Histogram struct {
	h                  *hdrhistogram.Histogram
	overflow, negative int64
}

// NewHistogram returns an empty histogram of about 190 KiB.
func NewHistogram() *Histogram {
	return &Histogram{h: hdrhistogram.New(int64(LowestValue), int64(HighestValue), digits)}
}

// Record counts d once.
func (h *Histogram) Record(d time.Duration) { h.add(d, 1) }

func (h *Histogram) add(d time.Duration, n int64) {
	switch {
	case d < 0:
		h.negative += n
	case d > HighestValue:
		h.overflow += n
	default:
		if err := h.h.RecordValues(int64(d), n); err != nil {
			panic(fmt.Sprintf("metrics: %v: %v", d, err)) // only more than 2^63 values can cause this
		}
	}
}

// Merge adds the counts of o, which remains unchanged. Nothing is lost: all histograms have the same slots.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count() == 0 {
		h.AddOutside(o.overflow, o.negative)
		return
	}
	if dropped := h.h.Merge(o.h); dropped != 0 {
		panic(fmt.Sprintf("metrics: merge of equal geometries dropped %d values", dropped))
	}
	h.overflow += o.overflow
	h.negative += o.negative
}

// Clone returns an independent copy.
func (h *Histogram) Clone() *Histogram {
	return &Histogram{h: h.h.Clone(), overflow: h.overflow, negative: h.negative}
}

// Equal reports whether both hold the same counts.
func (h *Histogram) Equal(o *Histogram) bool {
	return h.overflow == o.overflow && h.negative == o.negative && h.h.Equals(o.h)
}

// Count returns the number of values in range, which mean and quantiles refer to.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

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
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.Min())
}

// Max returns the upper edge of the highest slot in use; 0 if empty.
func (h *Histogram) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.Max())
}

// Mean returns the arithmetic mean, taking each value as the middle of its slot; 0 if empty.
func (h *Histogram) Mean() time.Duration { return time.Duration(h.h.Mean()) }

// Quantile returns the upper edge of the slot that holds the value of rank q*Count, rounded up, for 0 <= q <= 1; 0 if empty. At least the share q of all
// values is at most the result. The reference implementation of HdrHistogram rounds up too, while hdrhistogram-go rounds to the nearest rank, which for a few
// hundred values is one too low for the p99.
func (h *Histogram) Quantile(q float64) time.Duration {
	n := float64(h.Count())
	if n == 0 {
		return 0
	}
	below := math.Nextafter(q, 0) // a product that should be whole may come out a little above it
	rank := max(math.Ceil(below*n), 1)
	return time.Duration(h.h.ValueAtPercentile(100 * (rank - 0.25) / n)) // ValueAtPercentile rounds to the nearest rank again
}

// AddSlot counts n values of a slot that Slots or a Decoder has returned.
func (h *Histogram) AddSlot(slot [2]time.Duration, n int64) { h.add(slot[0], n) }

// Slots yields the slots in use, lowest first: for each, its lowest value and the one above its highest, and the number of values in it.
func (h *Histogram) Slots() iter.Seq2[[2]time.Duration, int64] {
	return func(yield func([2]time.Duration, int64) bool) {
		for i, n := range h.h.Export().Counts {
			if n > 0 && !yield([2]time.Duration{time.Duration(slotValue(i)), time.Duration(slotValue(i + 1))}, n) {
				return
			}
		}
	}
}

// DecodeHistogram is the inverse of Encode. It rejects histograms with another range or precision, because merging them could lose values.
func DecodeHistogram(payload []byte) (*Histogram, error) {
	h, err := hdrhistogram.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	if h.LowestTrackableValue() != int64(LowestValue) || h.HighestTrackableValue() != int64(HighestValue) || h.SignificantFigures() != digits {
		return nil, fmt.Errorf("decode histogram: range %d..%d ns at %d digits, want %d..%d at %d", h.LowestTrackableValue(),
			h.HighestTrackableValue(), h.SignificantFigures(), int64(LowestValue), int64(HighestValue), digits)
	}
	return &Histogram{h: h}, nil
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

// slotValue returns the lowest value of a slot.
func slotValue(i int) int64 {
	doubling := max(i>>halfBits-1, 0)
	return int64(i-doubling<<halfBits) << (unitBits + doubling)
}

// tally is what a shard records into: it has the same slots as a Histogram, but remembers which of them are in use, so that the cost of emptying it every
// second depends on what was recorded and not on the whole range.
type tally struct {
	counts             [slots]int64
	low, high          int // slots in use: [low, high)
	overflow, negative int64
}

func newTally() *tally { return &tally{low: slots} }

func (t *tally) record(d time.Duration) {
	switch {
	case d < 0:
		t.negative++
	case d > HighestValue:
		t.overflow++
	default:
		i := slot(int64(d))
		t.counts[i]++
		t.low = min(t.low, i)
		t.high = max(t.high, i+1)
	}
}

func (t *tally) empty() bool { return t.low >= t.high && t.overflow == 0 && t.negative == 0 }

// addTo adds everything to h.
func (t *tally) addTo(h *Histogram) {
	for i := t.low; i < t.high; i++ {
		if n := t.counts[i]; n != 0 {
			h.add(time.Duration(slotValue(i)), n)
		}
	}
	h.overflow += t.overflow
	h.negative += t.negative
}

// clear makes t empty.
func (t *tally) clear() {
	if t.low < t.high {
		clear(t.counts[t.low:t.high])
	}
	t.low, t.high, t.overflow, t.negative = slots, 0, 0, 0
}

// pour moves everything into h.
func (t *tally) pour(h *Histogram) {
	t.addTo(h)
	t.clear()
}
