package check

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// drawn reports whether a sample is a draw that ended OK.
func drawn(s *metrics.Sample) bool { return s.Op == metrics.Draw && s.Outcome == metrics.OK }

// UniqueNumbers holds when no object gave a number (the Value of a Draw) twice. Evidence is the number of draws; Witness holds the first two draws of the
// same number, by the end of the second; Count is the number of draws too many. O(n log n).
func UniqueNumbers() Check {
	return Check{Name: "unique-numbers", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		all := sorted(history, room, drawn, byItem)
		defer all.Close()
		v := Verdict{Answer: Holds, Evidence: all.Len()}
		var first metrics.Sample
		for again := range all.All() {
			if first.Op != metrics.OpNone && sameItem(&first, &again) {
				v.Answer = Violated
				if v.Count++; v.Count == 1 || sooner(again, v.Witness[1]) {
					v.Witness = []metrics.Sample{first, again}
					v.Detail = fmt.Sprintf("number %d of object %d was given to session %d and to session %d", first.Value, first.Object, first.Session,
						again.Session)
				}
			}
			first = again
		}
		if all.Len() == 0 {
			return Verdict{Detail: "no number was drawn"}
		}
		return v
	}}
}

// NumberOrder holds when numbers grow: a draw that started after another draw of the object had ended got a greater number. Draws that overlap have no order.
// So the numbers of each client are monotone, and the draws of all clients are in the order of time. Evidence is the number of draws; Witness holds the
// earlier draw and the later one with the smaller number; Count is the number of draws that got no more than one that had ended before. O(n log n).
func NumberOrder() Check {
	return Check{Name: "number-order", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		begins := sorted(history, room, drawn, func(a, b *metrics.Sample) int { return cmp.Or(cmp.Compare(a.Start, b.Start), inTime(*a, *b)) })
		defer begins.Close()
		if begins.Len() < 2 {
			return Verdict{Detail: "fewer than two numbers were drawn", Evidence: begins.Len()}
		}
		ends := sorted(history, room, drawn, func(a, b *metrics.Sample) int { return inTime(*a, *b) })
		defer ends.Close()
		v := Verdict{Answer: Holds, Evidence: begins.Len()}
		highest := map[uint32]metrics.Sample{} // by object, among those that have ended
		next, stop := iter.Pull(ends.All())
		defer stop()
		end, more := next()
		for s := range begins.All() {
			for ; more && end.End < s.Start; end, more = next() {
				if h, known := highest[end.Object]; !known || end.Value > h.Value {
					highest[end.Object] = end
				}
			}
			h, known := highest[s.Object]
			if !known || h.Value < s.Value {
				continue
			}
			v.Answer = Violated
			if v.Count++; v.Count == 1 || sooner(s, v.Witness[1]) {
				v.Witness = []metrics.Sample{h, s}
				v.Detail = fmt.Sprintf("session %d drew %d from object %d after session %d had drawn %d", s.Session, s.Value, s.Object,
					h.Session, h.Value)
			}
		}
		return v
	}}
}

// Total holds when the final value of each counter (Tally) is what was counted: at least the number of draws that ended OK, and at most that plus the draws
// whose reply was lost or that the end of the run cut, each of which may have been applied. Each draw counts one. A counter that was not read leaves the
// answer open. Evidence is the number of draws that ended OK; Witness holds the tally of the first object that is wrong and its last draw; Count is the
// number of such objects.
func Total() Check {
	return Check{Name: "total", Judge: func(history iter.Seq[metrics.Sample], _ *spill.Room) Verdict {
		type account struct {
			made, perhaps int64
			last          metrics.Sample // draw
			tally         *metrics.Sample
		}
		accounts := map[uint32]*account{}
		of := func(object uint32) *account {
			if accounts[object] == nil {
				accounts[object] = &account{}
			}
			return accounts[object]
		}
		var v Verdict
		for s := range history {
			switch a := of(s.Object); {
			case s.Op == metrics.Tally && s.Outcome == metrics.OK:
				a.tally = &s
			case s.Op != metrics.Draw:
			case s.Outcome == metrics.OK:
				v.Evidence++
				a.made++
				if a.made == 1 || sooner(a.last, s) {
					a.last = s
				}
			case s.Outcome == metrics.InDoubt:
				a.perhaps++
			}
		}
		blind := 0
		for _, object := range slices.Sorted(maps.Keys(accounts)) {
			a := accounts[object]
			switch {
			case a.tally == nil && a.made > 0:
				blind++
			case a.tally != nil && (a.tally.Value < a.made || a.tally.Value > a.made+a.perhaps):
				if v.Count++; v.Count == 1 {
					v.Witness = []metrics.Sample{a.last, *a.tally}
					if a.made == 0 {
						v.Witness = v.Witness[1:]
					}
					v.Detail = fmt.Sprintf("object %d has the value %d, but %d were certainly counted and possibly %d more", object, a.tally.Value, a.made,
						a.perhaps)
				}
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
		case v.Evidence == 0:
			v.Detail = "nothing was counted"
		case blind > 0:
			v.Detail = fmt.Sprintf("%d counters were not read at the end", blind)
		default:
			v.Answer = Holds
		}
		return v
	}}
}
