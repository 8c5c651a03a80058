package check

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// LinearizableQueue holds when each queue behaves as a FIFO queue: its puts and removals can be put into an order in which each happened at one instant
// between its Start and its End, and every removal took the oldest item; what is left (Remain) is what such a queue holds in the end. Puts whose Token, the
// czxid, is known are in the order of the servers' transactions. A put or take in doubt may have happened at any time after its Start, or never.
//
// It uses Porcupine (Athalye, 2017; the algorithm is that of Wing and Gong, with the memory of Lowe), whose time can grow exponentially with the number of
// operations that overlap. So it is for short histories, and a second opinion on Conservation and DeliveryOrder, which judge long ones: past limit the answer
// is Unknown. Evidence is the number of operations; Witness holds the operation that fits nowhere behind the longest order found; Count is the number of
// queues.
func LinearizableQueue(limit time.Duration) Check {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{held{}} },
		Step: func(state, input, _ any) []any { return input.(entry).queue(state.(held)) },
		Equal: func(a, b any) bool {
			return a.(held).last == b.(held).last && slices.Equal(a.(held).items, b.(held).items)
		},
	}
	return linearizable(limit, model.ToModel(), queueHistory)
}

// LinearizableRegister holds when each register that a lock protects behaves as one register to sessions that read it (Read) and to sessions that read it,
// think, and write it under the lock (Update, whose Token is the value read): a read sees the last write, or 0 if there was none, and no write replaces
// anything but what its writer had read. Otherwise it is like LinearizableQueue.
func LinearizableRegister(limit time.Duration) Check {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{int64(0)} },
		Step: func(state, input, _ any) []any { return input.(entry).register(state.(int64)) },
	}
	return linearizable(limit, model.ToModel(), registerHistory)
}

// held is the content of a queue, the oldest first, and the token of the last put. It is never changed.
type held struct {
	items []int64
	last  int64
}

// entry is an operation of a model.
type entry struct {
	metrics.Sample
	left []int64 // for the read of what is left
}

// queue returns what a queue may contain after the entry.
func (e entry) queue(q held) []any {
	var after []any
	switch {
	case e.Op == metrics.Put && (e.Token == 0 || e.Token > q.last):
		after = append(after, held{append(slices.Clip(q.items), e.Value), max(q.last, e.Token)})
	case e.Op == metrics.Remain && slices.Equal(q.items, e.left):
		after = append(after, q)
	case e.Op == metrics.Take && len(q.items) > 0 && q.items[0] == e.Value:
		after = append(after, held{q.items[1:], q.last})
	}
	if e.Outcome == metrics.InDoubt {
		after = append(after, q)
	}
	return after
}

// register returns what a register may contain after the entry.
func (e entry) register(held int64) []any {
	var after []any
	switch {
	case e.Op == metrics.Update && held == e.Token:
		after = append(after, e.Value)
	case e.Op == metrics.Read && held == e.Value:
		after = append(after, held)
	}
	if e.Outcome == metrics.InDoubt {
		after = append(after, held)
	}
	return after
}

func linearizable(limit time.Duration, model porcupine.Model, of func(iter.Seq[metrics.Sample]) map[uint32][]entry) Check {
	return Check{Name: "linearizable", Judge: func(history iter.Seq[metrics.Sample], _ *spill.Room) Verdict {
		var v Verdict
		histories := of(history)
		open := 0
		for _, object := range slices.Sorted(maps.Keys(histories)) {
			ops := operations(histories[object])
			v.Evidence += len(ops)
			switch porcupine.CheckOperationsTimeout(model, ops, limit) {
			case porcupine.Unknown:
				open++
			case porcupine.Illegal:
				v.Count++
				if misfit := misfitOf(model, ops, limit); len(v.Witness) == 0 || sooner(misfit, v.Witness[0]) {
					v.Witness = []metrics.Sample{misfit}
				}
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
			w := v.Witness[0]
			v.Detail = fmt.Sprintf("no order explains the history of object %d: %v of %d by session %d, which ended at %v, fits nowhere", w.Object,
				w.Op, w.Value, w.Session, w.End)
		case open > 0:
			v.Detail = fmt.Sprintf("undecided after %v: %d of %d histories, %d operations in all", limit, open, len(histories), v.Evidence)
		case v.Evidence == 0:
			v.Detail = "there were no operations"
		default:
			v.Answer = Holds
		}
		return v
	}}
}

// operations returns the entries for the checker. An operation in doubt may happen at any time after its start.
func operations(entries []entry) []porcupine.Operation {
	slices.SortFunc(entries, func(a, b entry) int { return inTime(a.Sample, b.Sample) })
	ops := make([]porcupine.Operation, len(entries))
	for i, e := range entries {
		ops[i] = porcupine.Operation{ClientId: i, Input: e, Call: int64(e.Start), Return: int64(e.End), Metadata: i}
		if e.Outcome == metrics.InDoubt {
			ops[i].Return = math.MaxInt64
		}
	}
	return ops
}

// misfitOf returns the first operation that the longest order found leaves out; of several orders of that length, that of the one that gets furthest.
func misfitOf(model porcupine.Model, ops []porcupine.Operation, limit time.Duration) metrics.Sample {
	_, info := porcupine.CheckOperationsVerbose(model, ops, limit)
	var longest int
	var misfits []metrics.Sample
	for _, part := range info.PartialLinearizationsOperations() {
		for _, order := range part {
			if len(order) > longest {
				longest, misfits = len(order), nil
			}
			if len(order) == longest {
				misfits = append(misfits, firstBut(order, ops))
			}
		}
	}
	if len(misfits) == 0 { // the search for the counterexample ran out of time
		return firstBut(nil, ops)
	}
	return slices.MaxFunc(misfits, inTime)
}

// firstBut returns the first operation by its end that an order leaves out.
func firstBut(order, ops []porcupine.Operation) metrics.Sample {
	fits := map[any]bool{}
	for _, op := range order {
		fits[op.Metadata] = true
	}
	rest := slices.DeleteFunc(slices.Clone(ops), func(op porcupine.Operation) bool { return fits[op.Metadata] })
	return slices.MinFunc(rest, func(a, b porcupine.Operation) int {
		return cmp.Or(cmp.Compare(a.Return, b.Return), inTime(a.Input.(entry).Sample, b.Input.(entry).Sample))
	}).Input.(entry).Sample
}

// queueHistory returns the entries of each queue. For a take that succeeded it uses the request that removed the item, if known, which is shorter than the
// take: the fewer operations overlap, the sooner there is an answer.
func queueHistory(history iter.Seq[metrics.Sample]) map[uint32][]entry {
	entries, left, looked, removed := map[uint32][]entry{}, map[uint32][]metrics.Sample{}, map[uint32]metrics.Sample{}, map[turn]bool{}
	var takes []metrics.Sample
	for s := range history {
		certain, doubtful := s.Outcome == metrics.OK, s.Outcome == metrics.InDoubt
		switch {
		case s.Op == metrics.Remain && certain && s.Value == 0:
			looked[s.Object] = s
		case s.Op == metrics.Remain && certain:
			left[s.Object] = append(left[s.Object], s)
		case s.Value == 0:
		case s.Op == metrics.Put && (certain || doubtful), s.Op == metrics.Take && doubtful:
			entries[s.Object] = append(entries[s.Object], entry{Sample: s})
		case s.Op == metrics.Take && certain:
			takes = append(takes, s)
		case s.Op == metrics.Remove && certain:
			removed[turnOf(s)] = true
			s.Op = metrics.Take
			entries[s.Object] = append(entries[s.Object], entry{Sample: s})
		}
	}
	for _, s := range takes {
		if !removed[turnOf(s)] {
			entries[s.Object] = append(entries[s.Object], entry{Sample: s})
		}
	}
	for object, s := range looked {
		remain := left[object]
		slices.SortFunc(remain, func(a, b metrics.Sample) int { return cmp.Compare(a.Token, b.Token) })
		e := entry{Sample: s}
		for _, r := range remain {
			e.left = append(e.left, r.Value)
		}
		if len(entries[object]) > 0 {
			e.Start, e.End = math.MaxInt64-1, math.MaxInt64-1 // after everything except what never ended
			entries[object] = append(entries[object], e)
		}
	}
	return entries
}

// registerHistory returns the entries of each register.
func registerHistory(history iter.Seq[metrics.Sample]) map[uint32][]entry {
	entries := map[uint32][]entry{}
	for s := range history {
		if s.Op == metrics.Update && (s.Outcome == metrics.OK || s.Outcome == metrics.InDoubt) || s.Op == metrics.Read && s.Outcome == metrics.OK {
			entries[s.Object] = append(entries[s.Object], entry{Sample: s})
		}
	}
	return entries
}
