package results

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Condition is one condition under which a cell ran.
type Condition struct{ Name, Value string }

// Conditions returns the load of a cell: sessions, objects, loop, rate, and its parameters, sorted. Cells of the same workload and variant
// under the same conditions are repetitions of each other, even in different runs.
func (c Cell) Conditions() []Condition {
	all := []Condition{{"sessions", strconv.Itoa(c.Sessions)}, {"objects", strconv.Itoa(c.Objects)}, {"loop", c.Loop}}
	if c.RatePerS > 0 {
		all = append(all, Condition{"rate", strconv.FormatFloat(c.RatePerS, 'g', -1, 64)})
	}
	for _, key := range slices.Sorted(maps.Keys(c.Parameters)) {
		all = append(all, Condition{key, fmt.Sprint(c.Parameters[key])})
	}
	return all
}

// Same reports whether the cells have the same workload and variant and ran under the same conditions.
func (c Cell) Same(d Cell) bool {
	return c.Workload == d.Workload && c.Variant == d.Variant && slices.Equal(c.Conditions(), d.Conditions())
}
