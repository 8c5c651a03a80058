package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// shares checks that a share is at most 1, and that events are the sum of those of all causes.
func (v *validation) shares(c Cell) {
	for _, key := range []string{"wake_efficiency", "ownerless_share", "ownerless_share_worst", "fairness_jain", "fairness_random"} {
		if x, known := c.Cost[key]; known && !(x >= 0 && x <= 1+1e-9) {
			v.add("cost.%s is %v", key, x)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Cost)) {
		if !slices.Contains(requestKinds, key) && !slices.Contains(otherCosts, key) {
			v.add("cost.%s is undocumented", key)
		}
	}
	f := c.Fanout
	if f == nil {
		return
	}
	if parts := f.EventsByRelease + f.EventsByArrival + f.EventsByBoth + f.EventsStale; math.Abs(parts-f.EventsPerRelease) > 1e-6*parts+1e-9 {
		v.add("%.4f events per release, but %.4f by cause", f.EventsPerRelease, parts)
	}
	if u := f.UsefulShare; u != nil && (*u < 0 || *u > 1) || (u != nil) != (f.EventsPerRelease > 0) {
		v.add("fanout.useful_share is %v, of %v events per release", text(u), f.EventsPerRelease)
	}
}

func text(x *float64) string {
	if x == nil {
		return "null"
	}
	return fmt.Sprint(*x)
}
