package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// compare says how a stands to b on grants per second and hand-off, or why the two are not comparable.
func compare(a, b row) (outcome, string) {
	if why := incomparable(a, b); why != "" {
		return notComparable, why
	}
	grants, handOff := beyond(a.grants, b.grants), 0
	if a.offered > 0 { // what is offered is served, sooner or later: the rate is the profile's
		grants = beyond(b.p50, a.p50)
	}
	if a.handOff.known && b.handOff.known {
		handOff = beyond(b.handOff, a.handOff) // the shorter is the better
	}
	switch {
	case grants*handOff < 0:
		return mixed, ""
	case grants+handOff > 0:
		return better, ""
	case grants+handOff < 0:
		return worse, ""
	}
	return noDifference, ""
}

// incomparable is why two rows may not be compared; empty if they may.
func incomparable(a, b row) string {
	if a.cells[0].Parameters["failover"] == "crash" {
		return "after a crash the hand-off is almost entirely the session timeout, which also determines the rate"
	}
	for _, r := range []row{a, b} {
		if why := r.disqualified(); why != "" {
			return r.label() + " " + why
		}
	}
	if shareA, shareB := a.errorShare(), b.errorShare(); math.Abs(shareA-shareB) > maxErrorGap {
		return fmt.Sprintf("%.1f %% of the operations of %s failed and %.1f %% of those of %s", 100*shareA, a.label(),
			100*shareB, b.label())
	}
	if a.offered > 0 {
		if !a.p50.known || !b.p50.known {
			return "the response of all operations is not known, and the rate is set by the profile"
		}
		for _, r := range []row{a, b} {
			if r.p50.atLeast {
				return fmt.Sprintf("%s did not serve all of the load, so its %s is a lower bound", r.label(), r.timed())
			}
		}
	}
	return ""
}

// beyond is 1 if a lies above b beyond the spread, -1 if below, 0 if neither: the ranges of the repetitions must not meet.
// A figure of one repetition gets the nominal range.
func beyond(a, b figure) int {
	widen := func(f figure) (low, high float64) {
		if f.of >= 2 {
			return f.lowest, f.highest
		}
		half := f.value * nominal / 2
		return f.value - half, f.value + half
	}
	lowA, highA := widen(a)
	lowB, highB := widen(b)
	switch {
	case lowA > highB:
		return 1
	case highA < lowB:
		return -1
	}
	return 0
}

// disqualified is why no number of the row may be compared, as the end of a sentence; empty if they may.
func (r row) disqualified() string {
	for _, c := range r.cells {
		for _, check := range c.Checks {
			if check.Verdict == "violated" {
				return "violated " + check.Name
			}
		}
	}
	switch {
	case !r.grants.known || r.grants.value == 0:
		return map[bool]string{true: "got no grant", false: "completed nothing"}[r.givesGrants()]
	case r.partial():
		return "was cut short"
	}
	return ""
}

// errorShare of the operations of all repetitions.
func (r row) errorShare() float64 {
	var operations int64
	for _, c := range r.cells {
		operations += c.Operations
	}
	if operations+r.errors == 0 {
		return 0
	}
	return float64(r.errors) / float64(operations+r.errors)
}

// late says whether zkbench's timers were late, by no fault of its own.
func (r row) late() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Generator.Late })
}

func (r row) saturated() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Generator.Saturated })
}
