package workloads

import (
	"slices"

	"github.com/zkbench/zkbench/metrics"
)

// Measure is something that a result is about: how often it was done, or how long it took.
type Measure struct {
	Op      metrics.Op
	Role    Role
	Unit    string // what its rate counts, as a plural noun: "grants"
	Caption string // what it is, where its name does not say it: whole sentences
	Timed   bool   // its time is how fast the workload is
	Idles   bool   // most of its time may be that there is nothing to do: it says nothing of the recipe
	Offered bool   // it is what the rate of an open loop is of
}

// Role is what a Measure is to a workload.
type Role string

// The roles. Operations make up the operations and the throughput of a result. Parts are brought about by operations, and a user waits for
// them; phases are the pieces that the service of an operation consists of.
const (
	Operation Role = "operation"
	Part      Role = "part"
	Phase     Role = "phase"
)

// what is every Measure of a role.
func what(w Workload, is func(Measure) bool) (ops []metrics.Op) {
	for _, m := range w.Measures() {
		if is(m) {
			ops = append(ops, m.Op)
		}
	}
	return ops
}

// Ops are the operations of a workload. There is one at least.
func Ops(w Workload) []metrics.Op {
	return what(w, func(m Measure) bool { return m.Role == Operation })
}

// Timed are what tells by its time how fast a workload is.
func Timed(w Workload) []metrics.Op { return what(w, func(m Measure) bool { return m.Timed }) }

// Offered are the operations that the rate of an open loop is of.
func Offered(w Workload) []metrics.Op { return what(w, func(m Measure) bool { return m.Offered }) }

// operation is one that a load is made of and judged by.
func operation(op metrics.Op, unit string) Measure {
	return Measure{Op: op, Role: Operation, Unit: unit, Timed: true, Offered: true}
}

// phased are the pieces of an operation.
func phased(ops ...metrics.Op) (all []Measure) {
	for _, op := range ops {
		all = append(all, Measure{Op: op, Role: Phase})
	}
	return all
}

// grants are the measures of a recipe that gives grants: its operations, of which some may be of readers, other ones, and the phases.
func grants(ops []metrics.Op, others ...Measure) []Measure {
	var all []Measure
	for _, op := range ops {
		all = append(all, operation(op, grantUnit))
	}
	return slices.Concat(all, others, phased(metrics.Enqueue, metrics.List, metrics.Wait, metrics.Delivery, metrics.Recheck))
}

// handOffs is a measure where each release lets in whoever is next.
var handOffs = Measure{Op: metrics.HandOff, Role: Part, Unit: "hand-offs", Caption: "A hand-off lasts from the last holder's call of release to the next grant."}

// HandsOver reports whether a workload measures hand-offs.
func HandsOver(w Workload) bool {
	return slices.Contains(what(w, func(m Measure) bool { return m.Role == Part }), metrics.HandOff)
}

// grantUnit is what recipes give of which one excludes others.
const grantUnit = "grants"
