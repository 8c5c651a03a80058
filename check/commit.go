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

// The values of votes and decisions, in samples of Vote and Decide.
const (
	Commits int64 = 1
	Aborts  int64 = 2
)

// The operations of an atomic commit: the Object is the number of the transaction. The Value of a Propose is the number of participants; that of a Vote, a
// Decide or a Recall (a Decide by a site that knew the decision) is Commits or Aborts. For a Vote that did not end OK, the value is what was to be cast, and
// may have been.

// transaction is what the history shows about one transaction.
type transaction struct {
	object         uint32
	proposed       *metrics.Sample // nil: not in the history
	votes, decides []metrics.Sample
	troubled       bool // an operation in it did not end OK
}

// transactions yields what a history shows about each transaction, in the order of their numbers; each is valid only until the next. Votes and decisions are
// in the order of their ends.
func transactions(history iter.Seq[metrics.Sample], room *spill.Room) iter.Seq[*transaction] {
	takes := func(s *metrics.Sample) bool {
		return s.Op == metrics.Propose || s.Op == metrics.Vote || s.Op == metrics.Decide || s.Op == metrics.Recall
	}
	compare := func(a, b *metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.End, b.End), cmp.Compare(a.Session, b.Session))
	}
	together := func(a, b *metrics.Sample) bool { return a.Object == b.Object }
	return func(yield func(*transaction) bool) {
		for group := range groups(history, room, takes, compare, together) {
			t := &transaction{object: group[0].Object}
			for i := range group {
				s := &group[i]
				t.troubled = t.troubled || s.Outcome != metrics.OK
				switch s.Op {
				case metrics.Propose:
					if t.proposed == nil || s.Start < t.proposed.Start {
						t.proposed = s
					}
				case metrics.Vote:
					t.votes = append(t.votes, *s)
				case metrics.Decide, metrics.Recall:
					t.decides = append(t.decides, *s)
				}
			}
			if !yield(t) {
				return
			}
		}
	}
}

// breaks returns the times of faults and standstills, merged, because many sessions may report the same one.
func breaks(history iter.Seq[metrics.Sample]) []period {
	var all []period
	full := 1024
	for s := range history {
		if s.Op == metrics.Fault || s.Op == metrics.Expire || isStandstill(s) {
			if len(all) == full {
				all = united(all)
				full = max(full, 2*len(all))
			}
			all = append(all, period{from: s.Start, to: s.End})
		}
	}
	return united(all)
}

// decided yields the decisions that sites were told.
func (t *transaction) decided(yield func(metrics.Sample) bool) {
	for _, d := range t.decides {
		if d.Outcome == metrics.OK && !yield(d) {
			return
		}
	}
}

// offence is one violation: the samples that show it, and a sentence.
type offence struct {
	witness []metrics.Sample
	detail  string
}

// ofTransactions returns a check that judges each transaction by itself. judge returns how much evidence it found, and what is wrong.
func ofTransactions(name, nothing string, judge func(t *transaction, faults []period) (evidence int, wrong []offence)) Check {
	return Check{Name: name, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var v Verdict
		faults := breaks(history)
		for t := range transactions(history, room) {
			evidence, wrong := judge(t, faults)
			v.Evidence += evidence
			for _, o := range wrong {
				v.Count++
				slices.SortStableFunc(o.witness, func(a, b metrics.Sample) int { return cmp.Compare(a.End, b.End) })
				if v.Count > 1 && latest(o.witness) >= latest(v.Witness) {
					continue
				}
				v.Witness, v.Detail = o.witness, o.detail
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
		case v.Evidence > 0:
			v.Answer = Holds
		default:
			v.Detail = nothing
		}
		return v
	}}
}

func latest(witness []metrics.Sample) time.Duration { return witness[len(witness)-1].End }

func outcomeWord(value int64) string {
	switch value {
	case Commits:
		return "commit"
	case Aborts:
		return "abort"
	}
	return fmt.Sprintf("decide %d", value)
}

// Agreement holds when all sites of a transaction that decided made the same decision: AC1. Evidence is the number of decisions, without those that a site
// asked for again; a violation is a decision that differs from the first of its transaction.
func Agreement() Check {
	return ofTransactions("commit-agreement", "nobody decided", func(t *transaction, _ []period) (evidence int, wrong []offence) {
		var first metrics.Sample
		for d := range t.decided {
			if first.Op == 0 {
				first = d
			}
			if d.Op == metrics.Decide {
				evidence++
			}
			if d.Value != first.Value {
				wrong = append(wrong, offence{[]metrics.Sample{first, d}, fmt.Sprintf("in transaction %d session %d decided to %s at %v and session %d to %s at %v",
					t.object, first.Session, outcomeWord(first.Value), first.End, d.Session, outcomeWord(d.Value), d.End)})
			}
		}
		return evidence, wrong
	})
}

// CommitValidity holds when nothing was committed without the votes of all participants to commit, started before the decision was told: AC2. Votes that did
// not end OK count as cast. A transaction whose proposal is not in the history is not judged. Evidence is the number of decisions to commit.
func CommitValidity() Check {
	return ofTransactions("commit-validity", "nobody committed", func(t *transaction, _ []period) (evidence int, wrong []offence) {
		if t.proposed == nil {
			return 0, nil
		}
		for d := range t.decided {
			if d.Value != Commits {
				continue
			}
			evidence++
			sites := map[uint32]bool{}
			for _, v := range t.votes {
				if v.Value == Commits && v.Start <= d.End {
					sites[v.Session] = true
				}
			}
			if int64(len(sites)) < t.proposed.Value {
				wrong = append(wrong, offence{[]metrics.Sample{*t.proposed, d}, fmt.Sprintf("in transaction %d session %d decided to commit at %v with %d of %d votes",
					t.object, d.Session, d.End, len(sites), t.proposed.Value)})
			}
		}
		return evidence, wrong
	})
}

// AbortValidity holds when nothing was committed that a site had voted to abort: AC3. Evidence is the number of decisions in transactions with such a vote.
func AbortValidity() Check {
	return ofTransactions("abort-validity", "nobody voted to abort, or nobody decided then", func(t *transaction, _ []period) (evidence int, wrong []offence) {
		i := slices.IndexFunc(t.votes, func(v metrics.Sample) bool { return v.Outcome == metrics.OK && v.Value == Aborts })
		if i < 0 {
			return 0, nil
		}
		for d := range t.decided {
			if evidence++; d.Value == Commits {
				wrong = append(wrong, offence{[]metrics.Sample{t.votes[i], d}, fmt.Sprintf("in transaction %d session %d decided to commit at %v, and session %d voted to abort",
					t.object, d.Session, d.End, t.votes[i].Session)})
			}
		}
		return evidence, wrong
	})
}

// DecisionStands holds when every session that was told a decision more than once was told the same one: AC4. Evidence is the number of decisions that were
// told again.
func DecisionStands() Check {
	return ofTransactions("decision-stands", "nobody received a decision twice", func(t *transaction, _ []period) (evidence int, wrong []offence) {
		first := map[uint32]metrics.Sample{}
		for d := range t.decided {
			before, notified := first[d.Session]
			if !notified {
				first[d.Session] = d
				continue
			}
			if evidence++; d.Value != before.Value {
				wrong = append(wrong, offence{[]metrics.Sample{before, d}, fmt.Sprintf("in transaction %d session %d was told %s at %v and %s at %v",
					t.object, d.Session, outcomeWord(before.Value), before.End, outcomeWord(d.Value), d.End)})
			}
		}
		return evidence, wrong
	})
}

// CommitProgress holds when every transaction that all participants voted to commit, within half the deadline and without a failure, was committed: AC5. A
// failure is any operation of the transaction that did not end OK, and any fault or session expiry while it was in progress. The other half of the deadline
// is for reading the votes. It may not have been enough if something was late, or a session without a connection, for half of that time. Evidence is the
// number of decisions in such transactions.
func CommitProgress(deadline time.Duration) Check {
	const name, nothing = "commit-progress", "no transaction had all votes to commit within half its deadline and without a failure"
	return Check{Name: name, Severity: Late, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var delays []period
		for s := range history {
			if (s.Op == metrics.Late || s.Op == metrics.Down) && s.End-s.Start >= deadline/4 {
				delays = append(delays, period{from: s.Start, to: s.End})
			}
		}
		return ofTransactions(name, nothing, func(t *transaction, faults []period) (evidence int, wrong []offence) {
			if t.proposed == nil || t.troubled || len(t.decides) == 0 || len(t.votes) == 0 {
				return 0, nil
			}
			from, to := t.proposed.Start, t.decides[len(t.decides)-1].End
			beside := func(f period) bool { return f.from <= to && f.to >= from }
			if slices.ContainsFunc(faults, beside) || slices.ContainsFunc(delays, beside) {
				return 0, nil
			}
			sites := map[uint32]bool{}
			for _, v := range t.votes {
				if v.Value != Commits || v.End-from > deadline/2 {
					return 0, nil
				}
				sites[v.Session] = true
			}
			if int64(len(sites)) != t.proposed.Value {
				return 0, nil
			}
			for d := range t.decided {
				if evidence++; d.Value != Commits {
					wrong = append(wrong, offence{[]metrics.Sample{*t.proposed, d}, fmt.Sprintf("in transaction %d session %d decided to abort at %v, and all had voted to commit by %v",
						t.object, d.Session, d.End, t.votes[len(t.votes)-1].End)})
				}
			}
			return evidence, wrong
		}).Judge(history, room)
	}}
}

// DecisionLiveness holds when every site that voted and lived was told the decision within bound of the start of its vote: AC6; and, once some site had been
// told, before it took too long (see conditions). The time of faults and standstills is not counted. A site whose Decide ended Lost, Failed or InDoubt was
// cut off, and is no evidence. Evidence is the number of votes whose site waited for the decision, or should have.
func DecisionLiveness(bound time.Duration) Check {
	const name = "decision-liveness"
	return Check{Name: name, Severity: Late, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		c := newConditions(room)
		defer c.close()
		for s := range history {
			c.see(s)
		}
		c.settle(bound)
		return ofTransactions(name, "no voter waited for the decision", func(t *transaction, faults []period) (int, []offence) {
			return t.late(c, bound, faults)
		}).Judge(history, room)
	}}
}

// wakesOfADecision is how many wake-ups may come between the first site that is told a decision and the last.
const wakesOfADecision = 4

// late returns the votes whose sites waited for the decision, or should have, and those that waited for too long.
func (t *transaction) late(c *conditions, bound time.Duration, faults []period) (evidence int, wrong []offence) {
	seen := map[uint32]bool{}
	known := forever // since when any site has known the decision
	for _, d := range t.decides {
		if d.Outcome == metrics.OK {
			known = min(known, d.End)
		}
	}
	for _, v := range t.votes {
		if v.Outcome != metrics.OK || seen[v.Session] {
			continue
		}
		seen[v.Session] = true
		i := slices.IndexFunc(t.decides, func(d metrics.Sample) bool { return d.Session == v.Session })
		if i < 0 {
			evidence++
			wrong = append(wrong, offence{[]metrics.Sample{v}, fmt.Sprintf("in transaction %d session %d voted at %v and never asked for the decision",
				t.object, v.Session, v.End)})
			continue
		}
		d := t.decides[i]
		if !waited(d.Outcome) {
			continue
		}
		evidence++
		until := max(v.Start, c.unrefused(d.End, func(uint32) bool { return true }))
		took := until - v.Start
		for _, f := range faults {
			took -= max(0, min(f.to, until)-max(f.from, v.Start))
		}
		from := max(known, d.Start)
		switch {
		case took > bound:
			wrong = append(wrong, offence{[]metrics.Sample{v, d}, fmt.Sprintf("in transaction %d session %d voted at %v and waited for the decision until %v, for longer than %v",
				t.object, v.Session, v.End, d.End, bound)})
		case c.overdue(from, d.End, bound, wakesOfADecision, func(uint32) bool { return true }):
			wrong = append(wrong, offence{[]metrics.Sample{v, d}, fmt.Sprintf("in transaction %d session %d waited for the decision until %v, which others knew at %v",
				t.object, v.Session, d.End, known)})
		}
	}
	return evidence, wrong
}
