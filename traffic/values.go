package traffic

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// values collects numbers of at least 0 in bounded memory. The zero value is ready.
type values struct {
	count, sum, least, most int64
	h                       *hdrhistogram.Histogram
}

const mostCounted = 1 << 40 // larger numbers count as this in the quantiles

func (v *values) add(n int64) {
	n = max(n, 0)
	if v.h == nil {
		v.h = hdrhistogram.New(1, mostCounted, 2)
		v.least = n
	}
	v.count++
	v.sum += n
	v.least, v.most = min(v.least, n), max(v.most, n)
	v.h.RecordValue(min(n, mostCounted)) // cannot fail: it is within the bounds
}

func (v *values) values() Values {
	if v.count == 0 {
		return Values{}
	}
	at := func(percent float64) int64 { return max(v.least, min(v.most, v.h.ValueAtQuantile(percent))) }
	all := Values{Count: v.count, Mean: float64(v.sum) / float64(v.count), Min: v.least, P50: at(50), P90: at(90), P99: at(99), Max: v.most}
	for i := range all.Quantiles {
		all.Quantiles[i] = at(float64(10*i + 5))
	}
	return all
}

// span is the time of a report, in milliseconds: from on, and before to.
type span struct{ from, to int64 }

// spanOf returns the time of a report.
func spanOf(o Options) span {
	s := span{math.MinInt64, math.MaxInt64}
	if !o.From.IsZero() {
		s.from = o.From.UnixMilli()
	}
	if !o.To.IsZero() {
		s.to = o.To.UnixMilli()
	}
	return s
}

func (s span) has(at int64) bool { return at >= s.from && at < s.to }

// overTime follows a number. Its mean is over the time of the report in which it was positive.
type overTime struct {
	now, since int64 // the number, and since when
	area, time int64 // number times milliseconds, and milliseconds
	most, end  int64 // the most in the time of the report, and what it was at the end of that
}

func (o *overTime) set(n, at int64, of span) {
	if length := min(at, of.to) - max(o.since, of.from); o.now > 0 && length > 0 {
		o.area += o.now * length
		o.time += length
		o.most = max(o.most, o.now)
	}
	o.now, o.since = n, at
	if of.has(at) {
		o.most = max(o.most, n)
	}
	if at < of.to {
		o.end = n
	}
}

// rates counts events in intervals of one length, those without any included.
type rates struct {
	width           int64 // milliseconds
	start, current  int64 // of the first interval; number of the current one
	in              int64 // events in the current one
	n, sum, squares float64
	peak            int64
	begun           bool
}

func (r *rates) add(at int64) {
	if !r.begun {
		r.begun, r.start = true, at
	}
	r.until(at)
	r.in++
}

// until closes the intervals that end before at.
func (r *rates) until(at int64) {
	if i := (at - r.start) / r.width; i > r.current {
		r.n += float64(i - r.current)
		r.sum += float64(r.in)
		r.squares += float64(r.in) * float64(r.in)
		r.peak = max(r.peak, r.in)
		r.current, r.in = i, 0
	}
}

func (r *rates) window() Window {
	w := Window{Seconds: r.width / 1000, Intervals: int64(r.n), Peak: r.peak, PeakRate: 1000 * float64(r.peak) / float64(r.width)}
	if mean := r.sum / r.n; r.n >= 2 && mean > 0 {
		w.Dispersion = (r.squares - r.n*mean*mean) / (r.n - 1) / mean
	}
	return w
}

const points = 600 // of a timeline, at most

// timeline counts events in at most 600 intervals, which become twice as long whenever these are too few.
type timeline struct {
	width, start int64 // milliseconds
	counts       []int64
}

func (t *timeline) add(at int64) {
	if t.counts == nil {
		t.width, t.start = 1000, at
	}
	for (at-t.start)/t.width >= points {
		for i := range t.counts {
			if i%2 == 0 {
				t.counts[i/2] = t.counts[i]
			} else {
				t.counts[i/2] += t.counts[i]
			}
		}
		t.counts = t.counts[:(len(t.counts)+1)/2]
		t.width *= 2
	}
	for i := (at - t.start) / t.width; int64(len(t.counts)) <= i; {
		t.counts = append(t.counts, 0)
	}
	t.counts[(at-t.start)/t.width]++
}
