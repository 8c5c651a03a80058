package results

import (
	"math"
	"testing"
)

// A quantile is requested as a share: 0.9 is the p90, and 90 is invalid.
func TestQuantile(t *testing.T) {
	p99, p999 := 3.0, 4.0
	for q, want := range map[float64]float64{0.5: 1, 0.9: 2, 0.99: 3, 0.999: 4, 0.95: math.NaN(), 90: math.NaN()} {
		if got := (Latency{P50: 1, P90: 2, P99: &p99, P999: &p999}).Quantile(q); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := (Latency{P50: 1, P90: 2}).Quantile(0.99); !math.IsNaN(got) {
		t.Errorf("the p99 of too few is %v", got)
	}
}
