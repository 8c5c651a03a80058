package report

import (
	"slices"

	"github.com/zkbench/zkbench/results"
)

// quantile is a percentile with its name in Latency.AtLeast.
type quantile struct {
	name string
	of   func(results.Latency) (float64, bool)
}

// The percentiles of reports. The median is the value at half of the samples, the lower of the two middle ones for an even number, as in HdrHistogram.
var (
	median = quantile{"p50", func(l results.Latency) (float64, bool) { return l.P50, l.Count+l.Unserved >= leastForMedian }}
	p99    = quantile{"p99", func(l results.Latency) (float64, bool) { return known(l.P99) }}
	p999   = quantile{"p999", func(l results.Latency) (float64, bool) { return known(l.P999) }}
)

// figure returns the mean of a value over the repetitions, weighted by weight; if every weight is zero, all count alike. The figure is unknown if any
// repetition lacks the value.
func (r *row) figure(weight func(results.Cell) float64, of func(results.Cell) (float64, bool)) figure {
	var values, weights []float64
	for _, c := range r.cells {
		v, ok := of(c)
		if !ok {
			return figure{}
		}
		values, weights = append(values, v), append(weights, weight(c))
	}
	return figureOf(values, weights)
}

func figureOf(values, weights []float64) figure {
	if len(values) == 0 {
		return figure{}
	}
	f := figure{known: true, lowest: slices.Min(values), highest: slices.Max(values), of: len(values), values: values}
	total, sum := 0.0, 0.0
	for i, v := range values {
		total += weights[i]
		sum += v * weights[i]
		f.value += v / float64(len(values))
	}
	if total > 0 {
		f.value = sum / total
	}
	return f
}

// percentile returns a percentile of all repetitions pooled, from the first of the histograms that exists.
func (r *row) percentile(q quantile, keys ...string) figure {
	f, all := figure{of: len(r.cells)}, latency(r.latencies, keys...)
	f.value, f.known = q.of(all)
	f.atLeast = slices.Contains(all.AtLeast, q.name)
	for i, c := range r.cells {
		v, has := q.of(latency(c.Latency, keys...))
		if has {
			f.values = append(f.values, v)
		} else {
			v = f.value
		}
		if i == 0 {
			f.lowest, f.highest = v, v
		}
		f.lowest, f.highest = min(f.lowest, v), max(f.highest, v)
	}
	return f
}

// maximum returns the largest value of all repetitions; it is unknown without samples.
func (r *row) maximum(keys ...string) figure {
	f := figure{of: len(r.cells)}
	for _, c := range r.cells {
		l := latency(c.Latency, keys...)
		if l.Count+l.Unserved == 0 {
			continue
		}
		f.atLeast = f.atLeast || slices.Contains(l.AtLeast, "max")
		if !f.known {
			f.known, f.lowest, f.highest = true, l.Max, l.Max
		}
		f.lowest, f.highest = min(f.lowest, l.Max), max(f.highest, l.Max)
		f.value = f.highest
	}
	return f
}

// spread returns half of the range as a share of the value.
func (f figure) spread() float64 {
	if !f.known || f.value == 0 {
		return 0
	}
	return (f.highest - f.lowest) / 2 / f.value
}
