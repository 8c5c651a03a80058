package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// round holds what the sessions did at one barrier in one round. The Value of a sample is the number of the round.
type round struct {
	object uint32
	number int64
	enters []metrics.Sample // in the order of their ends
	leaves []metrics.Sample
}

// roundsOf yields the rounds of a history, in the order of objects and numbers; each is valid only until the next.
func roundsOf(history iter.Seq[metrics.Sample], room *spill.Room, enter metrics.Op) iter.Seq[*round] {
	takes := func(s *metrics.Sample) bool { return s.Op == enter || s.Op == metrics.Leave }
	compare := func(a, b *metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Value, b.Value), cmp.Compare(a.End, b.End), cmp.Compare(a.Session, b.Session))
	}
	return func(yield func(*round) bool) {
		for group := range groups(history, room, takes, compare, sameItem) {
			r := &round{object: group[0].Object, number: group[0].Value}
			for _, s := range group {
				if s.Op == enter {
					r.enters = append(r.enters, s)
				} else {
					r.leaves = append(r.leaves, s)
				}
			}
			if !yield(r) {
				return
			}
		}
	}
}

// begun returns when each session first started to enter, by attempts that the filter accepts, earliest first.
func (r *round) begun(takes func(metrics.Outcome) bool) []metrics.Sample {
	first := map[uint32]metrics.Sample{}
	for _, s := range r.enters {
		if f, known := first[s.Session]; takes(s.Outcome) && (!known || s.Start < f.Start) {
			first[s.Session] = s
		}
	}
	var all []metrics.Sample
	for _, s := range first {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Session, b.Session))
	})
	return all
}

// countBegun returns how many of the samples, which are in the order of their starts, had started by an instant.
func countBegun(all []metrics.Sample, at time.Duration) int {
	n, _ := slices.BinarySearchFunc(all, at, func(s metrics.Sample, at time.Duration) int {
		if s.Start <= at {
			return -1
		}
		return 1
	})
	return n
}

// offence adds a violation to v. The earliest violation is the one that is shown.
func (v *Verdict) offence(at time.Duration, shown *time.Duration, detail string, samples ...metrics.Sample) {
	v.Count++
	if v.Answer == Violated && at >= *shown {
		return
	}
	slices.SortStableFunc(samples, func(a, b metrics.Sample) int { return cmp.Compare(a.End, b.End) })
	v.Answer, v.Witness, v.Detail, *shown = Violated, samples, detail, at
}

// settle makes v hold if there was evidence and no offence.
func (v *Verdict) settle(silence string) Verdict {
	switch {
	case v.Answer == Violated:
	case v.Evidence > 0:
		v.Answer = Holds
	default:
		v.Detail = silence
	}
	return *v
}

// EnterSafety holds when no session was let in before all members of the round had started to enter. A member that has started and not ended may be counted,
// whatever its outcome; one that has not started cannot. Evidence is the number of entries by operation enter that succeeded; Witness holds the entry that
// came too early, and the member that started after it, if there was one.
func EnterSafety(enter metrics.Op, members int) Check {
	return Check{Name: "enter-safety", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		var shown time.Duration
		for r := range roundsOf(history, room, enter) {
			begun := r.begun(func(metrics.Outcome) bool { return true })
			for _, s := range r.enters {
				if s.Outcome != metrics.OK {
					continue
				}
				v.Evidence++
				n := countBegun(begun, s.End)
				if n >= members {
					continue
				}
				w := []metrics.Sample{s}
				if n < len(begun) {
					w = append(w, begun[n])
				}
				v.offence(s.End, &shown, fmt.Sprintf("session %d was let into round %d of object %d at %v, when %d of %d members had begun to enter",
					s.Session, r.number, r.object, s.End, n, members), w...)
			}
		}
		return v.settle("nobody entered")
	}}
}

// EqualOutcome holds when no session was let into a round with the help of a member that gave up and was told that nobody had gone in: an entry with the
// outcome Timeout. Entries that came too early regardless of the others are left to EnterSafety. Evidence is the number of entries that succeeded or timed
// out; Witness holds one that was let in, and one that was not.
func EqualOutcome(enter metrics.Op, members int) Check {
	return Check{Name: "equal-outcome", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		var shown time.Duration
		for r := range roundsOf(history, room, enter) {
			begun := r.begun(func(metrics.Outcome) bool { return true })
			helped := r.begun(func(o metrics.Outcome) bool { return o != metrics.Timeout })
			out := slices.IndexFunc(r.enters, func(s metrics.Sample) bool { return s.Outcome == metrics.Timeout })
			for _, s := range r.enters {
				if s.Outcome != metrics.OK && s.Outcome != metrics.Timeout {
					continue
				}
				v.Evidence++
				if s.Outcome == metrics.OK && out >= 0 && countBegun(begun, s.End) >= members && countBegun(helped, s.End) < members {
					v.offence(s.End, &shown, fmt.Sprintf("session %d was let into round %d of object %d at %v by %d members, of which session %d "+
						"had timed out", s.Session, r.number, r.object, s.End, members, r.enters[out].Session), s, r.enters[out])
				}
			}
		}
		return v.settle("nobody entered")
	}}
}

// LeaveSafety holds when no leave ended before every member that was inside had started to leave or was lost. A member whose Leave has another outcome than
// OK, Timeout or Unfinished was lost at an unknown time, and nobody has to wait for it; nor for one that started to enter after another had started to leave.
// Evidence is the number of leaves that succeeded; Witness holds the one that ended too early, and the entry and the leave of the member that was still
// inside.
func LeaveSafety() Check {
	return Check{Name: "leave-safety", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		var shown time.Duration
		for r := range roundsOf(history, room, metrics.Enter) {
			inside := r.inside()
			for _, s := range r.leaves {
				if s.Outcome != metrics.OK {
					continue
				}
				v.Evidence++
				for _, m := range inside { // the last that started to leave comes first
					if !waited(m.leave.Outcome) || m.leave.Session == s.Session {
						continue
					}
					if m.leave.Start > s.End {
						v.offence(s.End, &shown, fmt.Sprintf("session %d left round %d of object %d at %v, while session %d was inside until %v",
							s.Session, r.number, r.object, s.End, m.leave.Session, m.leave.Start), m.enter, s, m.leave)
					}
					break
				}
			}
		}
		return v.settle("nobody left")
	}}
}

// stay is a member's entry and its leave.
type stay struct{ enter, leave metrics.Sample }

// inside returns the members that were let in before anybody started to leave, and whose leave is known; the last to leave comes first. It excludes a member
// that was lost and came back: the others may have entered with its first znode, and be out when the second is created.
func (r *round) inside() []stay {
	back := map[uint32]int{} // number of attempts that were not abandoned
	for _, s := range r.enters {
		if s.Outcome != metrics.Timeout {
			back[s.Session]++
		}
	}
	leaves := map[uint32]metrics.Sample{}
	first := forever
	for _, s := range r.leaves {
		first = min(first, s.Start)
		if _, known := leaves[s.Session]; !known { // a member that gives up and tries again has still started to leave
			leaves[s.Session] = s
		}
	}
	var all []stay
	for _, s := range r.enters {
		if leave, known := leaves[s.Session]; known && s.Outcome == metrics.OK && s.Start < first && back[s.Session] == 1 {
			all = append(all, stay{s, leave})
		}
	}
	slices.SortFunc(all, func(a, b stay) int {
		return cmp.Or(cmp.Compare(b.leave.Start, a.leave.Start), cmp.Compare(a.leave.Session, b.leave.Session))
	})
	return all
}

// Barred holds when no session passed a barrier that was set for the whole of its wait: from before its Start to after its End. The barrier is certainly set
// from the End of the operation Bar to the Start of the next Unbar. Evidence is the number of waits that passed.
func Barred() Check {
	return Check{Name: "barred", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		passes := spill.New(room, byStart)
		defer passes.Close()
		set := spans(func(yield func(metrics.Sample) bool) {
			for s := range history {
				if s.Op == metrics.Pass && s.Outcome == metrics.OK {
					passes.Add(s)
				}
				if !yield(s) {
					return
				}
			}
		}, room, setting)
		defer set.close()
		if set.len() == 0 {
			return Verdict{Detail: "the barrier was never set"}
		}
		var shown time.Duration
		last := map[uint32]span{} // last set before the wait started
		next, stop := iter.Pull(set.all())
		defer stop()
		bar, more := next()
		for p := range passes.All() {
			for ; more && bar.from <= p.Start; bar, more = next() {
				last[bar.object] = bar
			}
			v.Evidence++
			if s, known := last[p.Object]; known && s.to >= p.End {
				v.offence(p.End, &shown, fmt.Sprintf("session %d passed object %d at %v, which was set from %v to %v", p.Session, p.Object, p.End,
					s.from, s.to), append(witness(s), p)...)
			}
		}
		return v.settle("nobody waited")
	}}
}

// setting pairs the operations that set and remove a single barrier.
var setting = pairs{
	begins: func(o metrics.Op) bool { return o == metrics.Bar },
	ends:   func(o metrics.Op) bool { return o == metrics.Unbar },

	lasting: true,
}

// PassLiveness is Liveness for a single barrier: no session had to wait for longer than bound while it was not set. A removal that did not succeed may not
// have been applied: the barrier counts as set until one succeeds. A setting that did not succeed may have been applied: it counts from its start.
func PassLiveness(bound time.Duration) Check {
	return liveness(bound, contenders{asks: func(o metrics.Op) bool { return o == metrics.Pass }, holds: []pairs{setting}, times: 2, whole: true, read: maySet})
}

// maySet yields a history in which a barrier is set whenever it may be.
func maySet(history iter.Seq[metrics.Sample]) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		for s := range history {
			if s.Op == metrics.Bar && s.Outcome != metrics.OK {
				s.Outcome, s.End = metrics.OK, s.Start
			}
			if (s.Op != metrics.Unbar || s.Outcome == metrics.OK) && !yield(s) {
				return
			}
		}
	}
}
