package metrics

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The slots are those of the library and of HdrHistogram's tools.
func TestHistogramHasTheSlotsOfHdrHistogram(t *testing.T) {
	h := hdrhistogram.New(int64(LowestValue), int64(HighestValue), digits)
	for i := range slots - 1 {
		low, last := slotValue(i), slotValue(i+1)-1
		if slot(low) != i || slot(last) != i {
			t.Fatalf("slot %d holds [%d, %d], but slot(low) = %d, slot(last) = %d", i, low, last, slot(low), slot(last))
		}
		if !h.ValuesAreEquivalent(low, last) || h.ValuesAreEquivalent(last, last+1) {
			t.Fatalf("slot %d is [%d, %d], not a slot of HdrHistogram", i, low, last)
		}
	}
	if top := slot(int64(HighestValue)); top >= slots {
		t.Fatalf("slot(%v) = %d, beyond the %d of a histogram", HighestValue, top, slots)
	}
}

func TestHistogramClampsNothing(t *testing.T) {
	for _, tc := range []struct {
		name                      string
		values                    []time.Duration
		count, overflow, negative int64
		low, high                 time.Duration
	}{
		{"an empty histogram has no minimum and no maximum", nil, 0, 0, 0, 0, 0},
		{"zero is a duration, such as the lag of a closed loop", []time.Duration{0, 0}, 2, 0, 0, 0, time.Microsecond},
		{"an hour is in range", []time.Duration{time.Hour}, 1, 0, 0, time.Hour * 999 / 1000, time.Hour * 1001 / 1000},
		{"more than an hour is overflow and no percentile", []time.Duration{time.Hour + 1, time.Millisecond}, 1, 1, 0, 999 * time.Microsecond, 1001 * time.Microsecond},
		{"a negative duration is a defect and no percentile", []time.Duration{-1, time.Millisecond}, 1, 0, 1, 999 * time.Microsecond, 1001 * time.Microsecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			direct, merged, again := NewHistogram(), NewHistogram(), NewHistogram()
			again.Record(time.Second) // its memory is used before
			again.reset()
			for _, v := range tc.values {
				direct.Record(v)
				again.Record(v)
			}
			merged.Merge(again)
			for _, h := range []*Histogram{direct, again, merged} {
				if h.Count() != tc.count || h.Overflow() != tc.overflow || h.Negative() != tc.negative {
					t.Errorf("count, overflow, negative = %d, %d, %d, want %d, %d, %d", h.Count(), h.Overflow(), h.Negative(), tc.count, tc.overflow, tc.negative)
				}
				if h.Min() < tc.low || h.Max() > tc.high {
					t.Errorf("min, max = %v, %v, want within %v..%v", h.Min(), h.Max(), tc.low, tc.high)
				}
			}
			if !direct.Equal(again) || !direct.Equal(merged) {
				t.Error("what was recorded a second time differs")
			}
			if again.reset(); !again.empty() || !again.Equal(NewHistogram()) {
				t.Error("it is not empty after a reset")
			}
		})
	}
}

// library returns the same histogram of hdrhistogram-go.
func library(h *Histogram) *hdrhistogram.Histogram {
	l := hdrhistogram.New(int64(LowestValue), int64(HighestValue), digits)
	for slot, n := range h.Slots() {
		l.RecordValues(int64(slot[0]), n)
	}
	return l
}

// Whatever the order in which slots come into use, what it answers is what the library answers.
func TestHistogramAnswersAsTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	h := NewHistogram()
	for range 50 {
		reference := hdrhistogram.New(int64(LowestValue), int64(HighestValue), digits)
		for range r.IntN(100) {
			d := time.Duration(r.Int64N(int64(HighestValue)) >> r.IntN(42))
			h.Record(d)
			reference.RecordValue(int64(d))
		}
		if !slices.Equal(library(h).Export().Counts, reference.Export().Counts) {
			t.Fatalf("%d values in other slots than the library's", h.Count())
		}
		if h.Count() != reference.TotalCount() || h.Count() > 0 && (int64(h.Min()) != reference.Min() || int64(h.Max()) != reference.Max()) ||
			h.Mean() != time.Duration(reference.Mean()) {
			t.Fatalf("count %d, min %v, max %v, mean %v; the library says %d, %d, %d and %.0f", h.Count(), h.Min(), h.Max(), h.Mean(), reference.TotalCount(), reference.Min(),
				reference.Max(), reference.Mean())
		}
		c := h.Clone()
		if c.Record(time.Millisecond); c.Equal(h) || h.Equal(c) {
			t.Fatal("a value more makes no difference")
		}
		h.reset()
	}
}

func TestQuantileRoundsTheRankUp(t *testing.T) {
	for _, tc := range []struct {
		n    int
		q    float64
		rank int
	}{
		{1, 0.99, 1}, {2, 0.5, 1}, {3, 0.5, 2}, {100, 0.99, 99}, {100, 0.995, 100}, {400, 0.99, 396}, {460, 0.99, 456}, // the nearest rank is 455
		{501, 0.999, 501}, {700, 0.07, 49}, {600, 1, 600}, {600, 0, 1},
	} {
		h := NewHistogram()
		for i := range tc.n {
			h.Record(time.Duration(i+1) * time.Millisecond)
		}
		want := time.Duration(tc.rank) * time.Millisecond
		if got := h.Quantile(tc.q); got < want || got > want*1001/1000 {
			t.Errorf("Quantile(%v) of %d values = %v, want that of rank %d, %v", tc.q, tc.n, got, tc.rank, want)
		}
	}
}

func TestHistogramEncodeIsLossless(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		h := randomHistogram(r)
		payload, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeHistogram(payload)
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(h) {
			t.Fatalf("decoded count %d, want %d with the same slots", back.Count(), h.Count())
		}
	}
	other := hdrhistogram.New(1, 1000, 2)
	payload, err := other.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeHistogram(payload); err == nil {
		t.Error("DecodeHistogram of another range: no error, though merging would lose values")
	}
}

// Merging adds counts, in any order and grouping.
func TestHistogramMergeAddsCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		whole, left, right := NewHistogram(), NewHistogram(), NewHistogram()
		for range r.IntN(2000) {
			d := time.Duration(r.Int64N(int64(2*time.Hour)) >> r.IntN(42))
			whole.Record(d)
			if r.IntN(2) == 0 {
				left.Record(d)
			} else {
				right.Record(d)
			}
		}
		ab, ba := left.Clone(), right.Clone()
		ab.Merge(right)
		ba.Merge(left)
		if !ab.Equal(whole) || !ba.Equal(whole) {
			t.Fatalf("merged counts %d and %d, want %d with the same slots", ab.Count(), ba.Count(), whole.Count())
		}
	}
}

func randomHistogram(r *rand.Rand) *Histogram {
	h := NewHistogram()
	for range r.IntN(3000) {
		h.Record(time.Duration(r.Int64N(int64(HighestValue)) >> r.IntN(42)))
	}
	return h
}
