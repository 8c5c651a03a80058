package check

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// led pairs the operations of an election: a session leads from the End of a Campaign to the Start of its next Resign. That is the leader's own resignation
// or, with outcome Lost, the instant at which it learned that its term is suspended or lost, or at which it was made to fail. A term that continues after a
// suspension starts again with a Campaign.
var led = pairs{begins: campaigning, ends: func(o metrics.Op) bool { return o == metrics.Resign }}

// campaigning reports whether an operation is that of a candidate.
func campaigning(o metrics.Op) bool { return o == metrics.Campaign }

// Leadership holds when no two sessions lead simultaneously, as defined by MutualExclusion: a leader that is suspended does not lead. It is judged by
// the clock and by zxid, as MutualExclusion is.
func Leadership() Check {
	return exclusive("leadership", led, "nobody led", "session %d began to lead election %d at %v while session %d had led it since %v")
}

// Terms holds when the tokens of the terms grow from leader to leader, as defined by TokenOrder, except that a session that continues after a suspension
// keeps its token.
func Terms() Check {
	return tokenOrder("terms", campaigning, func(largest, next metrics.Sample) bool {
		return next.Token == largest.Token && next.Session == largest.Session
	})
}

// CampaignFIFO is FIFO for candidates.
func CampaignFIFO() Check { return fifo(metrics.Campaign) }

// LeaderLiveness is Liveness for an election: no candidate waited for longer than bound while nobody led.
func LeaderLiveness(bound time.Duration) Check {
	return liveness(bound, contenders{asks: campaigning, holds: []pairs{led}})
}

// Alternation holds when each session is notified alternately that it leads and that it does not: it never starts to lead while it leads, and never ends a
// lead that it has not started. And a term that its leader has resigned, the Resign being OK, is over: none starts again with the token of the previous one.
// A start is the End of a Campaign with OK, an end the Start of a Resign; samples of one instant may have come in either order. Evidence is the number of
// starts and ends; Witness holds the sample that is out of turn and the one before it.
func Alternation() Check {
	judge := func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		edges := spill.New(room, func(a, b *edge) int {
			if c := cmp.Compare(a.at, b.at); c != 0 {
				return c
			}
			return bySeat(a.Sample, b.Sample)
		})
		defer edges.Close()
		for s := range history {
			switch {
			case led.ends(s.Op):
				edges.Add(edge{Sample: s, at: s.Start, ends: true})
			case led.begins(s.Op) && s.Outcome == metrics.OK:
				edges.Add(edge{Sample: s, at: s.End})
			}
		}
		if edges.Len() == 0 {
			return Verdict{Detail: "nobody led"}
		}
		v := Verdict{Answer: Holds, Evidence: edges.Len()}
		participants := map[participant]*turns{}
		var begins, ends []metrics.Sample // of one participant at one instant
		var at edge
		flush := func() {
			if len(begins)+len(ends) == 0 {
				return
			}
			of := participant{object: at.Object, session: at.Session}
			if participants[of] == nil {
				participants[of] = &turns{last: metrics.Sample{Op: metrics.Resign, Session: at.Session, Object: at.Object}} // no session starts as a leader
			}
			participants[of].take(&v, begins, ends)
			begins, ends = begins[:0], ends[:0]
		}
		for e := range edges.All() {
			if e.at != at.at || bySeat(e.Sample, at.Sample) != 0 {
				flush()
			}
			if at = e; e.ends {
				ends = append(ends, e.Sample)
			} else {
				begins = append(begins, e.Sample)
			}
		}
		flush()
		return v
	}
	return Check{Name: "alternation", Part: true, Judge: judge, Across: func(hosts []Host, room *spill.Room) Verdict { return within(hosts, room, judge) }}
}

// turns is what a session was last told about an election, and how it last started to lead.
type turns struct{ last, led metrics.Sample }

// take judges the samples of one instant.
func (t *turns) take(v *Verdict, begins, ends []metrics.Sample) {
	for len(begins)+len(ends) > 0 {
		var next metrics.Sample
		if len(ends) == 0 || len(begins) > 0 && t.last.Op != metrics.Campaign {
			next, begins = begins[0], begins[1:]
		} else {
			next, ends = ends[0], ends[1:]
		}
		again := next.Op == metrics.Campaign && t.last.Outcome == metrics.OK && next.Token != 0 && next.Token == t.led.Token
		if next.Op == t.last.Op || again {
			v.outOfTurn(t.last, next, again)
		}
		if t.last = next; next.Op == metrics.Campaign {
			t.led = next
		}
	}
}

// outOfTurn counts a sample of the same kind as the one before it. That one is made up if it has no time.
func (v *Verdict) outOfTurn(last, next metrics.Sample, again bool) {
	v.Answer = Violated
	v.Count++
	if v.Count > 1 {
		if shown := v.Witness[len(v.Witness)-1]; cmp.Or(cmp.Compare(next.End, shown.End), bySeat(next, shown)) >= 0 {
			return
		}
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
