package profiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// The kinds of Distribution. The zero Distribution is a constant of zero.
const (
	Constant    = "constant"
	Uniform     = "uniform"
	Exponential = "exponential"
	Lognormal   = "lognormal"
)

// Distribution is a distribution of durations.
type Distribution struct {
	Kind     string        // constant, uniform, exponential, lognormal
	Mean     time.Duration // of every kind except uniform
	Min, Max time.Duration // uniform: both bounds are included
	Sigma    float64       // lognormal: standard deviation of the logarithm
}

// Sample draws one duration from r; a constant draws nothing, so r may be nil for it. It is not safe for concurrent use of
// one r.
func (d Distribution) Sample(r *rand.Rand) time.Duration {
	switch d.Kind {
	case Uniform:
		return d.Min + time.Duration(r.Int64N(int64(d.Max-d.Min)+1))
	case Exponential:
		return duration(float64(d.Mean) * r.ExpFloat64())
	case Lognormal:
		// A lognormal has the mean exp(mu + sigma^2/2): mu is chosen so that the mean of the durations, not of their
		// logarithms, is Mean.
		return duration(float64(d.Mean) * math.Exp(d.Sigma*r.NormFloat64()-d.Sigma*d.Sigma/2))
	}
	return d.Mean
}

// Average returns the mean of the durations, for every kind.
func (d Distribution) Average() time.Duration {
	if d.Kind == Uniform {
		return d.Min + (d.Max-d.Min)/2
	}
	return d.Mean
}

// duration converts nanoseconds. Go does not define conversions beyond the range of int64; duration returns the longest duration for them.
func duration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// String returns the distribution in words, such as 'exponential 5ms'; a constant is its duration alone.
func (d Distribution) String() string {
	switch d.Kind {
	case Uniform:
		return fmt.Sprintf("uniform %v to %v", d.Min, d.Max)
	case Exponential:
		return fmt.Sprintf("exponential %v", d.Mean)
	case Lognormal:
		return fmt.Sprintf("lognormal %v, sigma %v", d.Mean, d.Sigma)
	}
	return d.Mean.String()
}
