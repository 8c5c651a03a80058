package plan

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/profiles"
)

func TestMeanOfDistributions(t *testing.T) {
	for _, d := range []profiles.Distribution{
		{Kind: profiles.Constant, Mean: 10 * time.Millisecond},
		{Kind: profiles.Uniform, Min: 5 * time.Millisecond, Max: 15 * time.Millisecond},
		{Kind: profiles.Exponential, Mean: 10 * time.Millisecond},
		{Kind: profiles.Lognormal, Mean: 10 * time.Millisecond, Sigma: 1},
	} {
		if got := Mean(d); got != 10*time.Millisecond {
			t.Errorf("mean of %s is %v", d, got)
		}
	}
}
