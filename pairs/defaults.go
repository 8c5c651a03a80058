package pairs

import (
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// Defaults are the metrics of a comparison that names none, from what a cell is about: its throughput in a closed loop, where each session waits
// for its response, or the median response of what is timed in an open loop, where the rate is the profile's; and the median hand-off,
// where there is one. Tails are none of them: a run of seconds seldom has the samples.
func Defaults(c results.Cell) []results.Metric {
	names := []string{"throughput"}
	roles := c.Roles()
	if c.Loop == "open" {
		for _, role := range []string{results.RolePart, results.RoleOperation} { // of a queue the time from put to take, before its operations
			if i := slices.IndexFunc(roles, func(m results.Measure) bool { return m.Timed && m.Role == role }); i >= 0 {
				names[0] = "p50(" + roles[i].Op + ")"
				break
			}
		}
	}
	if handOff := metrics.HandOff.String(); slices.ContainsFunc(roles, func(m results.Measure) bool { return m.Op == handOff }) {
		names = append(names, "p50("+handOff+")")
	}
	var all []results.Metric
	for _, name := range names {
		if m, err := results.ParseMetric(name); err == nil && m.In(&c) == nil {
			all = append(all, m)
		}
	}
	return all
}
