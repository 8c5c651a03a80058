package check

import (
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// fairness returns only the figures.
func fairness(history iter.Seq[metrics.Sample], room *spill.Room) Fairness {
	f, _ := DealOf(history, room)
	return f
}

// RandomJain is the mean Jain index of random deals.
func TestFairnessOfARandomDeal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ grants, sessions int }{{20, 8}, {100, 8}, {1000, 50}, {50, 50}, {7, 1}} {
		const deals = 2000
		mean := 0.0
		for range deals {
			x := make([]float64, c.sessions)
			for range c.grants {
				x[r.IntN(c.sessions)]++
			}
			mean += Jain(x) / deals
		}
		if got := RandomJain(c.grants, c.sessions); math.Abs(got-mean) > 0.02 {
			t.Errorf("RandomJain(%d, %d) = %.3f, the mean of %d deals is %.3f", c.grants, c.sessions, got, deals, mean)
		}
	}
	if got := RandomJain(0, 4); got != 0 {
		t.Errorf("RandomJain(0, 4) = %v, want 0", got)
	}
}
