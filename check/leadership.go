package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// led is the pairs of an election: a session leads from the End of a Campaign to the Start of its next Resign. That is the leader's own
// resignation, or with outcome Lost the instant at which it learnt that its term is suspended or lost, or at which it was made to fail.
// A term that goes on after a suspension begins again with a Campaign.
var led = pairs{begins: campaigning, ends: func(o metrics.Op) bool { return o == metrics.Resign }}

// campaigning is the operation of who wants to lead.
func campaigning(o metrics.Op) bool { return o == metrics.Campaign }

// Leadership holds when no two sessions lead at the same time, as MutualExclusion has it: a leader that is suspended does not lead.
// Evidence is the number of times that somebody began to lead.
func Leadership() Check {
	return exclusive("leadership", led, "nobody led", "session %d began to lead election %d at %v while session %d had led it since %v")
}

// Terms holds when the tokens of the terms grow from leader to leader, as TokenOrder has it, except that a session which goes on after a
// suspension keeps its token.
func Terms() Check {
	return tokenOrder("terms", campaigning, func(largest, next metrics.Sample) bool {
		return next.Token == largest.Token && next.Session == largest.Session
	})
}

// CampaignFIFO is FIFO for candidates.
func CampaignFIFO() Check { return fifo(metrics.Campaign) }

// LeaderLiveness is Liveness for an election: no candidate waited for longer than bound while nobody led.
func LeaderLiveness(bound time.Duration) Check { return liveness(bound, campaigning, whole, led) }

// Alternation holds when each session is told by turns that it leads and that it does not: it never begins to lead while it leads, and
// never ends what it has not begun. And a term that its leader has resigned, the Resign being OK, is over: none begins again with the token
// of the one before. A beginning is the End of a Campaign with OK, an end the Start of a Resign; what is told at one instant
// may have come in either order. Evidence is the number of both; the witness is the sample that is out of turn and the one before it.
func Alternation() Check {
	return Check{Name: "alternation", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var begins, ends []metrics.Sample
		for s := range history {
			switch {
			case led.ends(s.Op):
				ends = append(ends, s)
			case led.begins(s.Op) && s.Outcome == metrics.OK:
				begins = append(begins, s)
			}
		}
		if len(begins)+len(ends) == 0 {
			return Verdict{Detail: "nobody led"}
		}
		slices.SortFunc(begins, func(a, b metrics.Sample) int { return cmp.Or(bySeat(a, b), cmp.Compare(a.End, b.End)) })
		slices.SortFunc(ends, func(a, b metrics.Sample) int { return cmp.Or(bySeat(a, b), cmp.Compare(a.Start, b.Start)) })
		v := Verdict{Answer: Holds, Evidence: len(begins) + len(ends)}
		var last, led metrics.Sample // of the seat; zero Op: none
		for len(begins)+len(ends) > 0 {
			var next metrics.Sample
			switch order := earlier(begins, ends); {
			case order < 0, order == 0 && !(last.Op == metrics.Campaign && bySeat(last, begins[0]) == 0):
				next, begins = begins[0], begins[1:]
			default:
				next, ends = ends[0], ends[1:]
			}
			if last.Op == 0 || bySeat(last, next) != 0 {
				led = metrics.Sample{}
				last = metrics.Sample{Op: metrics.Resign, Session: next.Session, Object: next.Object} // nobody begins as a leader
			}
			again := next.Op == metrics.Campaign && last.Outcome == metrics.OK && next.Token != 0 && next.Token == led.Token
			if next.Op == last.Op || again {
				v.outOfTurn(last, next, again)
			}
			if last = next; next.Op == metrics.Campaign {
				led = next
			}
		}
		return v
	}}
}

// earlier compares the heads of beginnings and ends by seat and time; a list that is empty comes last.
func earlier(begins, ends []metrics.Sample) int {
	switch {
	case len(ends) == 0:
		return -1
	case len(begins) == 0:
		return 1
	}
	return cmp.Or(bySeat(begins[0], ends[0]), cmp.Compare(begins[0].End, ends[0].Start))
}

// outOfTurn counts a sample that is of the same kind as the one before it, which is made up if it has no time.
func (v *Verdict) outOfTurn(last, next metrics.Sample, again bool) {
	v.Answer = Violated
	v.Count++
	if v.Count > 1 && next.End >= v.Witness[len(v.Witness)-1].End {
		return
	}
	v.Witness = []metrics.Sample{next}
	if last.End > 0 {
		v.Witness = []metrics.Sample{last, next}
	}
	what := "began to lead election %d at %v, and led it already"
	switch {
	case again:
		what = "began to lead election %d at %v in the term that it had resigned"
	case next.Op == metrics.Resign:
		what = "ended its lead of election %d at %v, and did not lead it"
	}
	v.Detail = fmt.Sprintf("session %d "+what, next.Session, next.Object, next.End)
}
