package results

import "slices"

// What documents lack that were written before their measures and parameters declared it. Nothing is added here: a workload declares it.
var (
	olderMeasures = map[string]Measure{"hand-off": {Owner: "holder"}, "acquire": {Side: "writers"}, "read-acquire": {Side: "readers"}, "revoke": {Side: "revocations"}}
	olderMeanings = []Meaning{{Key: "readers", Role: RoleShare, Unit: "reader"}, {Key: "participants", Role: RoleContenders, Unit: "participant"},
		{Key: "barriers", Role: RoleAmount, Unit: "barrier"}, {Key: "hold", Role: RoleHold}, {Key: "secure", Role: RoleOption}, {Key: "fence", Role: RoleOption}}
)

// explained fills in what older documents lack about measures.
func (c Cell) explained(all []Measure) []Measure {
	if slices.ContainsFunc(all, func(m Measure) bool {
		return m != Measure{Op: m.Op, Role: m.Role, Unit: m.Unit, Timed: m.Timed, Idles: m.Idles, Caption: m.Caption}
	}) {
		return all
	}
	all = slices.Clone(all)
	for i, m := range all {
		known := olderMeasures[m.Op]
		all[i].Owner, all[i].Side = known.Owner, known.Side
		if m.Op == "acquire" && c.Workload == "lock" {
			all[i].EndedBy = "release"
		}
	}
	return all
}

// Meaning returns the meaning of a parameter of the cell. For an older document only that of some keys is known.
func (c Cell) Meaning(key string) Meaning {
	all := c.Meanings
	if all == nil {
		all = olderMeanings
	}
	if i := slices.IndexFunc(all, func(m Meaning) bool { return m.Key == key }); i >= 0 {
		return all[i]
	}
	return Meaning{Key: key}
}
