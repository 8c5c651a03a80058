package results

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

// The number of samples from which on a percentile has a 95 % confidence interval that ends within the samples: the smallest n
// with q^n below 2.5 %.
const (
	enoughForP99  = 368
	enoughForP999 = 3688
)

// Summarize reads the percentiles off a histogram. P99 and P999 are nil when there are too few samples to know them.
func Summarize(h *metrics.Histogram) Latency {
	l := Latency{Count: h.Count(), Min: ms(h.Min()), Mean: ms(h.Mean()), P50: ms(h.Quantile(0.5)), P90: ms(h.Quantile(0.9)), Max: ms(h.Max()),
		Overflow: h.Overflow(), Negative: h.Negative()}
	if l.Count >= enoughForP99 {
		p := ms(h.Quantile(0.99))
		l.P99 = &p
	}
	if l.Count >= enoughForP999 {
		p := ms(h.Quantile(0.999))
		l.P999 = &p
	}
	return l
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// FromVerdict puts a verdict into words.
func FromVerdict(name string, v check.Verdict) Check {
	c := Check{Name: name, Verdict: v.Answer.String(), Evidence: v.Evidence, Count: v.Count, Detail: v.Detail}
	for _, s := range v.Witness {
		c.Witness = append(c.Witness, WitnessSample{Op: s.Op.String(), Outcome: s.Outcome.String(), Session: s.Session, Object: s.Object,
			Token: s.Token, Value: s.Value, Due: ms(s.Due), Start: ms(s.Start), End: ms(s.End)})
	}
	return c
}

// severity is the order of the exit codes, worst first. An interrupt ranks above a missed gate and missing evidence, which it may
// have caused, and below what went wrong before it.
var severity = [...]int{4, 1, 130, 3, 5, 2, 0}

// Worst is the exit code that wins.
func Worst(codes ...int) int {
	return slices.MinFunc(append(codes, 0), func(a, b int) int { return rank(a) - rank(b) })
}

func rank(code int) int {
	if i := slices.Index(severity[:], code); i >= 0 {
		return i
	}
	return 1 // an unknown code is a failure
}
