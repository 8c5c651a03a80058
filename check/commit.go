package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// The values of votes and decisions: of samples of Vote and Decide.
const (
	Commits int64 = 1
	Aborts  int64 = 2
)

// The operations of an atomic commit: the Object is the number of the transaction; a Propose has the number of its participants as its
// Value, a Vote, a Decide and a Recall, which is a Decide of who knew, Commits or Aborts. Of a Vote that did not end OK the value is what was to be cast, and may have been.

// transaction is what the history tells of one.
type transaction struct {
	object         uint32
	proposed       *metrics.Sample // nil: not in the history
	votes, decides []metrics.Sample
	troubled       bool // something of it did not end OK
}

// transactions sorts a history by transaction, in the order of their numbers, and finds the times of faults. Votes and decisions are in the
// order of their ends.
func transactions(history iter.Seq[metrics.Sample]) (all []*transaction, faults []span) {
	byObject := map[uint32]*transaction{}
	for s := range history {
		switch s.Op {
		case metrics.Propose, metrics.Vote, metrics.Decide, metrics.Recall:
		case metrics.Fault, metrics.Expire:
			faults = append(faults, span{from: s.Start, to: s.End})
			continue
		default:
			continue
		}
		t := byObject[s.Object]
		if t == nil {
			t = &transaction{object: s.Object}
			byObject[s.Object] = t
			all = append(all, t)
		}
		t.troubled = t.troubled || s.Outcome != metrics.OK
		switch s.Op {
		case metrics.Propose:
			if t.proposed == nil || s.Start < t.proposed.Start {
				t.proposed = &s
			}
		case metrics.Vote:
			t.votes = append(t.votes, s)
		case metrics.Decide, metrics.Recall:
			t.decides = append(t.decides, s)
		}
	}
	byEnd := func(a, b metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Session, b.Session))
	}
	for _, t := range all {
		slices.SortStableFunc(t.votes, byEnd)
		slices.SortStableFunc(t.decides, byEnd)
	}
	slices.SortFunc(all, func(a, b *transaction) int { return cmp.Compare(a.object, b.object) })
	return all, united(faults)
}

// decided is the decisions that a site was told.
func (t *transaction) decided(yield func(metrics.Sample) bool) {
	for _, d := range t.decides {
		if d.Outcome == metrics.OK && !yield(d) {
			return
		}
	}
}

// AtomicCommit is the promises of an atomic commit, each a check of its own. deadline is how long the sites of a transaction wait for each
// other, and slack what they may take beyond it to tell each other, or to find out what they are in doubt about.
func AtomicCommit(deadline, slack time.Duration) []Check {
	return []Check{Agreement(), CommitValidity(), AbortValidity(), DecisionStands(), CommitProgress(deadline), DecisionLiveness(deadline + slack)}
}

// offence is one violation: the samples that show it and a sentence.
type offence struct {
	witness []metrics.Sample
	detail  string
}

// ofTransactions judges one transaction after the other. judge tells how much evidence it found, and what is wrong.
func ofTransactions(name, nothing string, judge func(t *transaction, faults []span) (evidence int, wrong []offence)) Check {
	return Check{Name: name, Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var v Verdict
		all, faults := transactions(history)
		for _, t := range all {
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

// Agreement holds when all sites of a transaction that decided, decided the same: AC1. Evidence is the number of decisions, without those
// that were asked for again; a violation is one that differs from the first of its transaction.
func Agreement() Check {
	return ofTransactions("commit-agreement", "nobody decided", func(t *transaction, _ []span) (evidence int, wrong []offence) {
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

// CommitValidity holds when nothing was committed without the votes of all participants to commit, begun before the decision was told: AC2.
// Votes that did not end OK count as cast. A transaction whose proposal is not in the history is not judged. Evidence is the number of
// decisions to commit.
func CommitValidity() Check {
	return ofTransactions("commit-validity", "nobody committed", func(t *transaction, _ []span) (evidence int, wrong []offence) {
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

// AbortValidity holds when nothing was committed that a site had voted to abort: AC3. Evidence is the number of decisions in transactions
// with such a vote.
func AbortValidity() Check {
	return ofTransactions("abort-validity", "nobody voted to abort, or nobody decided then", func(t *transaction, _ []span) (evidence int, wrong []offence) {
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

// DecisionStands holds when a session that was told a decision more than once was told the same: AC4. Evidence is the number of decisions
// told again.
func DecisionStands() Check {
	return ofTransactions("decision-stands", "nobody was told a decision twice", func(t *transaction, _ []span) (evidence int, wrong []offence) {
		first := map[uint32]metrics.Sample{}
		for d := range t.decided {
			before, told := first[d.Session]
			if !told {
				first[d.Session] = d
				continue
			}
			if evidence++; d.Value != before.Value {
				wrong = append(wrong, offence{[]metrics.Sample{before, d}, fmt.Sprintf("in transaction %d session %d was told to %s at %v and to %s at %v",
					t.object, d.Session, outcomeWord(before.Value), before.End, outcomeWord(d.Value), d.End)})
			}
		}
		return evidence, wrong
	})
}

// CommitProgress holds when a transaction that all participants voted to commit, in half the deadline and without a failure, was committed:
// AC5. A failure is anything of the transaction that did not end OK, and a fault, or a session expired, while it was under way. The other
// half is for reading the votes. Evidence is the number of decisions in such transactions.
func CommitProgress(deadline time.Duration) Check {
	return ofTransactions("commit-progress", "in no transaction did all vote to commit, in half its deadline and without a failure",
		func(t *transaction, faults []span) (evidence int, wrong []offence) {
			if t.proposed == nil || t.troubled || len(t.decides) == 0 {
				return 0, nil
			}
			from, to := t.proposed.Start, t.decides[len(t.decides)-1].End
			if slices.ContainsFunc(faults, func(f span) bool { return f.from <= to && f.to >= from }) {
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
		})
}

// DecisionLiveness holds when every site that voted and lived was told the decision within bound of the beginning of its vote: AC6. The time
// of faults is not counted. Whose Decide ended Lost, Failed or InDoubt was cut off, and is no evidence. Evidence is the number of votes whose
// site waited for the decision, or should have.
func DecisionLiveness(bound time.Duration) Check {
	return ofTransactions("decision-liveness", "nobody who voted waited for the decision", func(t *transaction, faults []span) (evidence int, wrong []offence) {
		seen := map[uint32]bool{}
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
			took := d.End - v.Start
			for _, f := range faults {
				took -= max(0, min(f.to, d.End)-max(f.from, v.Start))
			}
			if took > bound {
				wrong = append(wrong, offence{[]metrics.Sample{v, d}, fmt.Sprintf("in transaction %d session %d voted at %v and waited for the decision until %v, for longer than %v",
					t.object, v.Session, v.End, d.End, bound)})
			}
		}
		return evidence, wrong
	})
}
