package workloads

import (
	"slices"

	"github.com/zkbench/zkbench/metrics"
)

// Measure is something that a result reports: how often an operation was done, or how long it took.
type Measure struct {
	Op      metrics.Op
	Role    Role
	Unit    string // what its rate counts, as a plural noun: "grants"
	Caption string // what it is, if its name does not say it: complete sentences
	Timed   bool   // its time says how fast the workload is
	Idles   bool   // most of its time may be waiting for work: it says nothing about the recipe
	Offered bool   // the rate of an open loop is the rate of this operation

	Question string     // the question that its plot answers, if it is not just "how long does it take"
	Opens    string     // for an operation that waits for others: what lets all of them continue, as a clause
	Side     string     // for a workload with several sides, which are reported next to each other: the side, as a plural noun
	Owner    string     // if it is the hand-off, the time from one owner of an object to the next: the owner, as a noun ("holder")
	EndedBy  metrics.Op // for grants that exclude each other: the operation that ends one
}

// Role is the role of a Measure in a workload.
type Role string

// The roles. Operations make up the operations and the throughput of a result. Parts are caused by operations, and users wait for them; phases
// are the pieces that the service time of an operation consists of.
const (
	Operation Role = "operation"
	Part      Role = "part"
	Phase     Role = "phase"
	Aside     Role = "aside" // measured, but in no column of a table
)

// what returns the operations of the measures for which is returns true.
func what(w Workload, is func(Measure) bool) (ops []metrics.Op) {
	for _, m := range w.Measures() {
		if is(m) {
			ops = append(ops, m.Op)
		}
	}
	return ops
}

// Ops returns the operations of a workload. There is at least one.
func Ops(w Workload) []metrics.Op {
	return what(w, func(m Measure) bool { return m.Role == Operation })
}

// Timed returns the operations whose time says how fast a workload is.
func Timed(w Workload) []metrics.Op { return what(w, func(m Measure) bool { return m.Timed }) }

// Offered returns the operations that the rate of an open loop applies to.
func Offered(w Workload) []metrics.Op { return what(w, func(m Measure) bool { return m.Offered }) }

// operation returns the measure of an operation that a load consists of and is judged by.
func operation(op metrics.Op, unit string) Measure {
	return Measure{Op: op, Role: Operation, Unit: unit, Timed: true, Offered: true}
}

// phased returns the measures of the phases of an operation.
func phased(ops ...metrics.Op) (all []Measure) {
	for _, op := range ops {
		all = append(all, Measure{Op: op, Role: Phase})
	}
	return all
}

// grants returns the measures of a recipe that gives grants: its operations, some of which may be those of readers, the others, and the phases.
func grants(ops []metrics.Op, others ...Measure) []Measure {
	var all []Measure
	for _, op := range ops {
		all = append(all, operation(op, grantUnit))
	}
	return slices.Concat(all, others, phased(metrics.Enqueue, metrics.List, metrics.Wait, metrics.Delivery, metrics.Recheck))
}

// handOffs is a measure of recipes in which each release lets in the next session.
var handOffs = Measure{Op: metrics.HandOff, Role: Part, Unit: "hand-offs", Owner: "holder", Question: "How long does it take from one holder to the next?", Caption: "A hand-off lasts from the last holder's call of release to the next grant."}

// HandsOver reports whether a workload measures hand-offs.
func HandsOver(w Workload) bool {
	return slices.Contains(what(w, func(m Measure) bool { return m.Role == Part }), metrics.HandOff)
}

// Questions of plots that several workloads have.
const (
	lossDetected  = "How long until the loss is detected?"
	changeArrives = "How long does a change take to arrive?"
)

// grantUnit is the unit of recipes whose grants exclude each other.
const grantUnit = "grants"
