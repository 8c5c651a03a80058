package compare

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// Defaults returns the metrics of a comparison in pairs that names none: the throughput in a closed loop, where each session waits
// for its response; the median response of what is timed in an open loop, where the profile sets the rate; and the median hand-off,
// if there is one. Tails are not included: a run of seconds seldom has enough samples.
func Defaults(c results.Cell) []results.Metric {
	names := []string{"throughput"}
	roles := c.Measured
	if c.Loop == "open" {
		for _, role := range []string{results.RolePart, results.RoleOperation} { // for a queue the time from put to take, before its operations
			if i := slices.IndexFunc(roles, func(m results.Measure) bool { return m.Timed && m.Role == role }); i >= 0 {
				names[0] = "p50(" + roles[i].Op + ")"
				break
			}
		}
	}
	if handOff := metrics.HandOff.String(); slices.ContainsFunc(roles, func(m results.Measure) bool { return m.Op == handOff }) {
		names = append(names, "p50("+handOff+")")
	}
	return knownTo(c, names)
}

// defaultsOf returns the default metrics for comparing finished runs: errors; in an open loop unserved operations, in a closed one
// throughput; and the median and p99 of what the cell times, the p99 only if each run of the baseline has enough samples.
func defaultsOf(baseline []results.Cell) []results.Metric {
	c := baseline[0]
	names := []string{"errors"}
	if c.Loop == "open" {
		names = append(names, "unserved")
	} else {
		names = append(names, "throughput")
	}
	for _, m := range c.Measured {
		if m.Timed {
			names = append(names, "p50("+m.Op+")", "p99("+m.Op+")")
		}
	}
	return slices.DeleteFunc(knownTo(c, names), func(m results.Metric) bool {
		unknown := func(c results.Cell) bool { return !m.Of(&c).Known }
		return strings.HasPrefix(m.String(), "p99") && slices.ContainsFunc(baseline, unknown)
	})
}

// knownTo returns the metrics of these names that the cell has.
func knownTo(c results.Cell, names []string) (all []results.Metric) {
	for _, name := range names {
		if m, err := results.ParseMetric(name); err == nil && m.In(&c) == nil {
			all = append(all, m)
		}
	}
	return all
}

// of returns the metrics to compare for a cell, given all its runs: those that were asked for, or the default ones.
func (o Options) of(cells []results.Cell) (all []results.Metric, err error) {
	if len(o.Metrics) == 0 {
		return defaultsOf(cells), nil
	}
	for _, m := range o.Metrics {
		if v := m.Variant(); v != "" && v != cells[0].Variant {
			continue
		}
		if err := m.In(&cells[0]); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// scaleOf returns difference for shares of failures, which may be 0.
func scaleOf(m results.Metric) string {
	name, _, _ := strings.Cut(m.String(), "(")
	if name == "errors" || name == "unserved" {
		return results.ScaleDifference
	}
	return results.ScaleRatio
}
