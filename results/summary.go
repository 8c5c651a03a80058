package results

import (
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

// The number of samples from which on a percentile has a 95 % confidence interval that ends within the samples: the smallest n
// with q^n below 2.5 %.
const (
	EnoughForP99  = 368
	EnoughForP999 = 3688
)

// Summarize summarizes a histogram and, unless nil, the lower bounds of unserved operations. P99 and P999 are nil if there are too few samples
// to know them.
func Summarize(served, unserved *metrics.Histogram) Latency {
	l := Latency{Count: served.Count(), Overflow: served.Overflow(), Negative: served.Negative()}
	all := served
	if unserved != nil && unserved.Count() > 0 {
		l.Unserved = unserved.Count()
		all = served.Clone()
		all.Merge(unserved)
	}
	// A percentile of all is a lower bound, unless it would be the same if the unserved operations had taken forever.
	quantile := func(name string, q float64) float64 {
		v := all.Quantile(q)
		if rank := max(math.Ceil(q*float64(all.Count())), 1); l.Unserved > 0 &&
			(rank > float64(served.Count()) || served.Quantile(rank/float64(served.Count())) != v) {
			l.AtLeast = append(l.AtLeast, name)
		}
		return ms(v)
	}
	l.Min = quantile("min", 0)
	if l.Mean = ms(all.Mean()); l.Unserved > 0 {
		l.AtLeast = append(l.AtLeast, "mean")
	}
	l.P50, l.P90 = quantile("p50", 0.5), quantile("p90", 0.9)
	if all.Count() >= EnoughForP99 {
		p := quantile("p99", 0.99)
		l.P99 = &p
	}
	if all.Count() >= EnoughForP999 {
		p := quantile("p999", 0.999)
		l.P999 = &p
	}
	l.Max = quantile("max", 1)
	return l
}

// Response returns the latency from when work was due: in an open loop, of all operations that its rate counts. In a document that was read, it is that
// of the first operation that has one.
func (c Cell) Response() (l Latency, known bool) {
	if c.Together != nil {
		return *c.Together, true
	}
	for _, op := range slices.Concat(c.Offered, c.Measures) {
		if l, known := c.Latency[op+".response"]; known {
			return l, true
		}
	}
	return Latency{}, false
}

// Quantile returns the percentile for 0.5, 0.9, 0.99 or 0.999 in milliseconds; NaN if there are too few samples, and for any other q.
func (l Latency) Quantile(q float64) float64 {
	for at, v := range map[float64]*float64{0.5: &l.P50, 0.9: &l.P90, 0.99: l.P99, 0.999: l.P999} {
		if v != nil && math.Abs(q-at) < 1e-9 {
			return *v
		}
	}
	return math.NaN()
}

// Latencies summarizes all histograms of a set. For several operations, such as those of readers and writers, it adds a summary of both together.
func Latencies(t *metrics.Set, ops ...metrics.Op) map[string]Latency {
	out := map[string]Latency{}
	for key, h := range t.All() {
		if !key.Unserved {
			out[key.String()] = Summarize(h, t.Unserved(key.Op, key.Clock))
			continue
		}
		out[key.String()] = Summarize(h, nil)
		if key.Unserved = false; out[key.String()].Count == 0 { // nothing was served
			out[key.String()] = Summarize(t.Histogram(key.Op, key.Clock), h)
		}
	}
	if !slices.Contains(ops, metrics.ReadAcquire) || len(ops) == 1 {
		return out
	}
	for clock := range metrics.Clock(metrics.Clocks) {
		served, unserved := metrics.NewHistogram(), metrics.NewHistogram()
		for _, op := range ops {
			served.Merge(t.Histogram(op, clock))
			unserved.Merge(t.Unserved(op, clock))
		}
		if both := Summarize(served, unserved); both.Count+both.Unserved+both.Overflow+both.Negative > 0 {
			out[BothSides+"."+clock.String()] = both
		}
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// FromVerdict converts a verdict into a Check.
func FromVerdict(name string, v check.Verdict) Check {
	c := Check{Name: name, Severity: string(v.Severity), Overlap: v.Overlap, Verdict: v.Answer.String(), Evidence: v.Evidence, Count: v.Count, Detail: v.Detail}
	for _, s := range v.Witness {
		c.Witness = append(c.Witness, WitnessSample{Op: s.Op.String(), Outcome: s.Outcome.String(), Session: s.Session, Object: s.Object, Zxid: max(s.Zxid, 0),
			Token: s.Token, Value: s.Value, Due: ms(s.Due), Start: ms(s.Start), End: ms(s.End)})
	}
	for _, j := range v.Judges {
		c.Judges = append(c.Judges, Judge{By: j.By, Verdict: j.Answer.String(), Evidence: j.Evidence, Count: j.Count, Held: j.Held.Seconds()})
	}
	return c
}

// severity orders the exit codes, worst first. An interrupt ranks above a missed gate and missing evidence, which it may
// have caused, and below what went wrong before it.
var severity = [...]int{4, 1, 130, 3, 5, 2, 0}

// Worst returns the worst of several exit codes.
func Worst(codes ...int) int {
	return slices.MinFunc(append(codes, 0), func(a, b int) int { return rank(a) - rank(b) })
}

func rank(code int) int {
	if i := slices.Index(severity[:], code); i >= 0 {
		return i
	}
	return 1 // an unknown code is a failure
}
