package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/traffic/replay"
	"github.com/zkbench/zkbench/workloads"
)

// The axes that a search can vary.
const (
	overRate       = "rate"
	overSessions   = "sessions"
	overWatches    = "watches"
	overPayload    = "payload"
	overPrefill    = "prefill"
	overContenders = "contenders"
	overSpeed      = "speed" // of the replay of a trace: --replay
)

// axis is what a search varies.
type axis struct {
	name, doc, unit string
	from, to        float64 // the default range
	// key returns the key of the profile that a load sets, or "" if the workload has none.
	key func(profiles.Profile) string
	// value returns the value of the key at a load. If it is nil, the value is the load, rounded.
	value func(p profiles.Profile, load float64) string
	// perLoad is the operations a second that one more of load offers, if that is known beforehand; 0: see rate.
	perLoad float64
}

// speedAxis is the axis of the replay of a trace.
func speedAxis(plan *replay.Plan) axis {
	return axis{name: overSpeed, doc: "how many times as fast as recorded", unit: "times the recorded speed", from: 0.5, to: mostSpeed, key: fixed("rate"),
		value: func(_ profiles.Profile, load float64) string { return rateAt(plan, load) }, perLoad: plan.Rate()}
}

func fixed(key string) func(profiles.Profile) string {
	return func(profiles.Profile) string { return key }
}

// payloadKey returns the key that sets how many bytes a workload writes, or "" if there is none.
func payloadKey(p profiles.Profile) string {
	for _, own := range p.Own() {
		if own.Key == "payload" || own.Key == "size" {
			return own.Key
		}
	}
	return ""
}

func whole(n int) string { return fmt.Sprintf("[%d]", n) }

// axes returns all axes that a search can vary. All but the rate axis keep the rate of the profile.
func axes() []axis {
	return []axis{
		{name: overRate, doc: "operations offered per second", unit: "operations/s", from: capacity.DefaultFrom, to: capacity.DefaultTo, key: fixed("rate"),
			value: func(_ profiles.Profile, load float64) string { return strconv.FormatFloat(load, 'f', 3, 64) + "/s" }},
		{name: overSessions, doc: "simulated clients", unit: "sessions", from: 10, to: 10_000, key: fixed("sessions")},
		{name: overWatches, doc: "sessions that watch a znode, in the workload watch", unit: "watches", from: 10, to: 10_000,
			key: func(p profiles.Profile) string {
				if p.Workload != "watch" {
					return ""
				}
				return "sessions"
			},
			value: func(_ profiles.Profile, load float64) string { return whole(int(math.Round(load)) + 1) }}, // plus the session that changes the znode
		{name: overPayload, doc: "bytes of each item, of what is watched, or of the data of operations", unit: "bytes", from: 100, to: 500_000, key: payloadKey},
		{name: overPrefill, doc: "znodes that exist before the load", unit: "znodes", from: 1000, to: 1_000_000, key: fixed("prefill")},
		{name: overContenders, doc: "sessions at each object", unit: "contenders", from: 2, to: 2000,
			key: func(p profiles.Profile) string {
				if p.Ints(profiles.Field{Key: workloads.ObjectsKey}) == nil {
					return ""
				}
				return "sessions"
			},
			value: func(p profiles.Profile, load float64) string {
				return whole(int(math.Round(load)) * p.Ints(profiles.Field{Key: workloads.ObjectsKey})[0])
			}},
	}
}

// axisOf returns the axis with a name.
func axisOf(name string) (axis, error) {
	all := axes()
	if i := slices.IndexFunc(all, func(a axis) bool { return a.name == name }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, a := range all {
		names = append(names, a.name)
	}
	return axis{}, usagef("--over %q: expected %s", name, strings.Join(names, ", "))
}

// open sets the axis to a single value, so that the profile has one cell.
func (a axis) open(p profiles.Profile) (profiles.Profile, error) {
	key := a.key(p)
	if key == "" {
		return p, usagef("--over %s: not available for workload %s (it varies %s)", a.name, p.Workload, a.doc)
	}
	if a.name == overRate {
		p.RatePerSession = nil
		return a.at(p, a.from)
	}
	if len(p.Rate) == 0 && len(p.RatePerSession) == 0 {
		return p, usagef("--over %s: the profile has no rate (add --set rate=100/s)", a.name)
	}
	return a.at(p, a.from)
}

// at returns the profile at a load.
func (a axis) at(p profiles.Profile, load float64) (profiles.Profile, error) {
	text := whole(int(math.Round(load)))
	if a.value != nil {
		text = a.value(p, load)
	}
	return profiles.Set(p, a.key(p)+"="+text)
}

// rate returns the operations a second that the profile offers: a fixed number, plus a number for each unit of load.
func (a axis) rate(p profiles.Profile) (fixed, each float64, err error) {
	if a.name == overRate {
		return 0, 1, nil
	}
	if a.perLoad > 0 {
		return 0, a.perLoad, nil
	}
	const one, two = 1000, 2000 // loads in the range of every axis
	var at [2]float64
	for i, load := range []float64{one, two} {
		q, err := a.at(p, load)
		if err != nil {
			return 0, 0, err
		}
		at[i] = q.Points()[0].Rate[0]
	}
	each = (at[1] - at[0]) / (two - one)
	return at[0] - one*each, each, nil
}
