package stats

import moremath "github.com/aclements/go-moremath/stats"

// UTest is the two-sided p-value of the hypothesis that two independent samples are of one distribution (Mann and Whitney 1947): exact for up
// to 50 values without ties and 25 with ties, a normal approximation beyond. It is 1 where a sample is empty or all values are equal.
func UTest(a, b []float64) float64 {
	r, err := moremath.MannWhitneyUTest(a, b, moremath.LocationDiffers)
	if err != nil {
		return 1
	}
	return r.P
}
