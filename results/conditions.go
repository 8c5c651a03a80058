package results

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Condition is one thing that makes a cell what it is.
type Condition struct{ Name, Value string }

// Conditions are the load of a cell: sessions, objects, loop, rate, and its parameters, which are sorted. Cells of the same workload and variant
// under the same conditions are repetitions of each other, whatever run they are of.
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

// Same reports whether the cells are of the same workload and variant under the same conditions.
func (c Cell) Same(d Cell) bool {
	return c.Workload == d.Workload && c.Variant == d.Variant && slices.Equal(c.Conditions(), d.Conditions())
}
