package check

import (
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// shared pairs the operations of the readers of a read/write lock; its writers are locked.
var shared = pairs{
	begins: func(o metrics.Op) bool { return o == metrics.ReadAcquire },
	ends:   func(o metrics.Op) bool { return o == metrics.ReadRelease },
	shared: true,
}

// writersAlone is the rule of a read/write lock: one writer, or any number of readers.
func writersAlone(next span, exclusive, shared int) bool {
	return exclusive > 0 || !next.shared && shared > 0
}

// ReaderWriter holds when no writer of an object held it together with another writer or a reader. Writers acquire and release, readers read-acquire and
// read-release; a downgrade is the Release of a writer that ends where it starts, and a ReadAcquire. For when a hold starts and ends, by which two judges, and
// what is evidence, see MutualExclusion. Witness holds the samples of two that were held together; Count is the number of grants made during one that excluded
// them.
func ReaderWriter() Check {
	who := func(s span) string { return fmt.Sprintf("%s of session %d", s.side(), s.begin.Session) }
	return exclusion{name: "reader-writer-exclusion", of: []pairs{locked, shared}, rule: writersAlone, nothing: "nothing was granted", who: who,
		clash: func(holder, intruder span, _ int) string {
			return fmt.Sprintf("%s was let in to object %d at %v while %s had held it since %v", who(intruder), intruder.object, intruder.from,
				who(holder), holder.from)
		}}.check()
}

// side says whether the holder of a span of a read/write lock reads or writes.
func (s span) side() string {
	if s.shared {
		return "a reader"
	}
	return "a writer"
}

// QueueOrder is the TokenOrder of a read/write lock: it holds when a writer has a larger token than every session that was granted the object before it, and no
// reader has a smaller token than a writer granted before it. A reader that a downgrade made has its writer's token. So no session overtakes one that it
// excludes: readers do not starve writers, nor writers readers. The order of grants is that of their End; at one instant they may be in either order. Evidence is
// the number of grants with a token on objects that have two or more of them, and a writer among them; Witness holds two grants in the wrong order.
func QueueOrder() Check {
	return granting("token-order", func(o metrics.Op) bool { return locked.begins(o) || shared.begins(o) }, func(grants iter.Seq[metrics.Sample]) Verdict {
		var v Verdict
		queues := map[uint32]*queued{}
		for g := range grants {
			q := queues[g.Object]
			if q == nil {
				q = &queued{}
				queues[g.Object] = q
			}
			if over, wrong := q.next(g); wrong {
				if v.Count++; v.Count == 1 {
					v.Witness = []metrics.Sample{over, g}
				}
			}
		}
		for _, q := range queues {
			if q.n > 1 && q.writers.Op != metrics.OpNone {
				v.Evidence += q.n
			}
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
	})
}

// queued summarizes the grants of one object so far: how many, and which have the largest tokens.
type queued struct {
	n            int
	all, writers metrics.Sample
}

// next processes a grant. It is wrong if it should have come before over.
func (q *queued) next(g metrics.Sample) (over metrics.Sample, wrong bool) {
	reads := shared.begins(g.Op)
	switch {
	case reads && q.writers.Op != metrics.OpNone && g.Token < q.writers.Token:
		over, wrong = q.writers, true
	case !reads && q.n > 0 && g.Token <= q.all.Token:
		over, wrong = q.all, true
	}
	if q.n == 0 || g.Token > q.all.Token {
		q.all = g
	}
	if !reads && (q.writers.Op == metrics.OpNone || g.Token > q.writers.Token) {
		q.writers = g
	}
	q.n++
	return over, wrong
}

// ReaderWriterLiveness is Liveness for a read/write lock: no session, reader or writer, had to wait for longer than bound on an object that nobody held.
func ReaderWriterLiveness(bound time.Duration) Check {
	return liveness(bound, contenders{asks: func(o metrics.Op) bool { return o == metrics.Acquire || o == metrics.ReadAcquire }, holds: []pairs{locked, shared}})
}
