package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// shared is the pairs of the readers of a read/write lock; its writers are locked.
var shared = pairs{
	begins: func(o metrics.Op) bool { return o == metrics.ReadAcquire },
	ends:   func(o metrics.Op) bool { return o == metrics.ReadRelease },
	shared: true,
}

// writersAlone is the rule of a read/write lock: one writer, or any number of readers.
func writersAlone(next span, exclusive, shared int) bool {
	return exclusive > 0 || !next.shared && shared > 0
}

// ReaderWriter holds when no writer of an object held it beside another writer or a reader. Writers acquire and release, readers
// read-acquire and read-release; a downgrade is the Release of a writer that ends where it begins, and a ReadAcquire. When a hold
// begins and ends is described at MutualExclusion. Evidence is the number of grants; the witness is the samples of two that were
// held together; Count is the number of grants made beside one that excluded them.
func ReaderWriter() Check {
	return Check{Name: "reader-writer-exclusion", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		grants := spans(history, locked, shared)
		if len(grants) == 0 {
			return Verdict{Detail: "nothing was granted"}
		}
		count, first := sweep(grants, writersAlone)
		if count == 0 {
			return Verdict{Answer: Holds, Evidence: len(grants)}
		}
		holder, intruder := first.holder, first.intruder
		return Verdict{Answer: Violated, Evidence: len(grants), Count: count, Witness: witness(holder, intruder),
			Detail: fmt.Sprintf("%s of session %d was let in to object %d at %v while %s of session %d had held it since %v", intruder.side(),
				intruder.begin.Session, intruder.object, intruder.from, holder.side(), holder.begin.Session, holder.from)}
	}}
}

// side is what the holder of a span of a read/write lock does.
func (s span) side() string {
	if s.shared {
		return "a reader"
	}
	return "a writer"
}

// QueueOrder is the TokenOrder of a read/write lock: it holds when a writer has a larger token than everybody who was granted the
// object before it, and a reader none that is smaller than that of a writer granted before it. A reader that a downgrade made has
// its writer's token. So nobody overtakes whom he excludes: readers do not starve writers, nor writers readers. The order of grants
// is that of their End; at one instant they may be in either. Evidence is the number of grants with a token on objects that have two
// of them or more, and a writer among them; the witness is two grants in the wrong order.
func QueueOrder() Check {
	return Check{Name: "token-order", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var grants []metrics.Sample
		for s := range history {
			if (locked.begins(s.Op) || shared.begins(s.Op)) && s.Outcome == metrics.OK && s.Token != 0 {
				grants = append(grants, s)
			}
		}
		slices.SortFunc(grants, func(a, b metrics.Sample) int {
			return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.End, b.End), cmp.Compare(a.Token, b.Token))
		})
		var v Verdict
		for len(grants) > 0 {
			n := slices.IndexFunc(grants, func(s metrics.Sample) bool { return s.Object != grants[0].Object })
			if n < 0 {
				n = len(grants)
			}
			v.queue(grants[:n])
			grants = grants[n:]
		}
		switch {
		case v.Count > 0:
			a, b := v.Witness[0], v.Witness[1]
			v.Answer = Violated
			v.Detail = fmt.Sprintf("on object %d the %s of session %d at %v has token %d, the %s of session %d at %v before it %d", b.Object, b.Op,
				b.Session, b.End, b.Token, a.Op, a.Session, a.End, a.Token)
		case v.Evidence == 0:
			v.Detail = "no object has two grants with tokens, and a writer among them"
		default:
			v.Answer = Holds
		}
		return v
	}}
}

// queue judges the grants of one object, in their order.
func (v *Verdict) queue(grants []metrics.Sample) {
	var all, writers *metrics.Sample // those with the largest token so far
	wrote := slices.ContainsFunc(grants, func(s metrics.Sample) bool { return locked.begins(s.Op) })
	if len(grants) < 2 || !wrote {
		return
	}
	v.Evidence += len(grants)
	for i := range grants {
		g := &grants[i]
		var over *metrics.Sample
		switch reads := shared.begins(g.Op); {
		case reads && writers != nil && g.Token < writers.Token:
			over = writers
		case !reads && all != nil && g.Token <= all.Token:
			over = all
		}
		if over != nil {
			if v.Count == 0 || g.End < v.Witness[1].End {
				v.Witness = []metrics.Sample{*over, *g}
			}
			v.Count++
		}
		if all == nil || g.Token > all.Token {
			all = g
		}
		if !shared.begins(g.Op) && (writers == nil || g.Token > writers.Token) {
			writers = g
		}
	}
}

// ReaderWriterLiveness is Liveness for a read/write lock: nobody, reader or writer, had to wait for longer than bound on an object
// that nobody held.
func ReaderWriterLiveness(bound time.Duration) Check {
	return liveness(bound, func(o metrics.Op) bool { return o == metrics.Acquire || o == metrics.ReadAcquire }, whole, locked, shared)
}
