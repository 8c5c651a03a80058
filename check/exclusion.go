package check

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// MutualExclusion holds when no two grants of one object are held simultaneously. There are two judges, and one of them is enough for a violation.
//
// By the clock a grant is held from the End of its Acquire to the Start of the session's next Release of the object. A Release with outcome Lost ends the
// hold at its Start, like any other; without a Release the grant is held to the end of the history. Holds that only touch are fine, because the measured hold
// lies within the true one. A hold that is given up at once proves nothing: the clock's evidence is the holds that lasted long enough for another session to
// be let in meanwhile.
//
// By zxid a grant is held from the state in which it was given to the removal of its znode, however long that took: see byZxid. Its evidence is the grants
// for which both are known.
//
// Without contention the answer is Unknown: see contended. Evidence is that of the judge with more; Witness holds the Acquire and Release samples of the two
// holders; Count is the number of grants made while another was held.
func MutualExclusion() Check {
	return exclusive("mutual-exclusion", locked, "nothing was granted",
		"session %d was granted object %d at %v while session %d had held it since %v")
}

// exclusive judges that no two of the spans of one object exist simultaneously. clash is the format of the detail: who came when, and who had been there
// since when.
func exclusive(name string, of pairs, nothing, clash string) Check {
	return exclusion{name: name, of: []pairs{of}, rule: alone, nothing: nothing, who: session, clash: func(holder, intruder span, _ int) string {
		return fmt.Sprintf(clash, intruder.begin.Session, intruder.object, intruder.from, holder.begin.Session, holder.from)
	}}.check()
}

// session names the session that has a span.
func session(s span) string { return fmt.Sprintf("session %d", s.begin.Session) }

// exclusion is the promise that the holds of an object obey a rule at all times.
type exclusion struct {
	name    string
	of      []pairs
	rule    rule
	nothing string                                    // detail when nothing was granted
	who     func(span) string                         // names the holder of a span
	clash   func(holder, intruder span, n int) string // describes a clash by the clock: who came when, and which of n had been there since when
	all     bool                                      // all n are shown, not only the holder
}

// instant is less than any server takes to let a session in: a shorter hold is over before another could overlap with it.
const instant = 100 * time.Microsecond

func (x exclusion) check() Check {
	severity := Overlap
	if x.all { // one of several that may hold
		severity = Wrong
	}
	return Check{Name: x.name, Severity: severity, Part: true, Held: true, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		v := x.judge(history, room)
		if v.Answer == Holds && !contendedIn(history, room, x.rule, x.of) {
			return v.uncontended()
		}
		return v
	}, Across: func(hosts []Host, room *spill.Room) Verdict {
		v := x.across(hosts, room)
		if v.Answer == Holds && !contendedAcross(hosts, room, x.rule, x.of) {
			return v.uncontended()
		}
		return v
	}}
}

func (x exclusion) judge(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
	held := spans(history, room, x.of...)
	defer held.close()
	if held.len() == 0 {
		return Verdict{Detail: x.nothing}
	}
	clock, v := x.byClock(held)
	zxid, w := x.byZxid(held, room)
	if clock.Answer != Violated {
		v = w
	}
	v.Judges = []Judge{zxid, clock}
	v.Evidence = max(clock.Evidence, zxid.Evidence)
	switch {
	case clock.Answer == Violated || zxid.Answer == Violated:
		v.Answer = Violated
	case v.Evidence > 0:
		v.Answer = Holds
	default:
		v.Detail = fmt.Sprintf("%d grants were given up within %v, too soon to overlap with another, and their transactions "+
			"are not known: use a hold of at least a millisecond", held.len(), instant)
	}
	return v
}

// byClock returns the judgement by the clock and, for a violation, the verdict that shows it. A hold of a session that was expired counts again from the time
// by which its client must know.
func (x exclusion) byClock(held holds) (j Judge, v Verdict) {
	j.By = ByClock
	for s := range held.all() {
		if s.to == forever {
			j.Evidence++
		} else if lasted := s.to - s.from; lasted >= instant {
			j.Evidence++
			j.Held += lasted
		}
	}
	count, first := sweep(held.withLate(), x.rule)
	if j.Count = count; count == 0 {
		if j.Evidence > 0 {
			j.Answer = Holds
		}
		return j, v
	}
	j.Answer, j.Evidence = Violated, held.len()
	v.Count, v.Witness = count, x.witness(first)
	v.Detail = x.clash(first.holder(), first.intruder, len(first.held))
	return j, v
}

// byZxid is byClock by the order of transactions.
func (x exclusion) byZxid(held holds, room *spill.Room) (j Judge, v Verdict) {
	placed, known := byZxid(held, room)
	defer placed.Close()
	j = Judge{By: ByZxid, Evidence: known}
	count, first := sweep(placed.All(), x.rule)
	switch j.Count = count; {
	case count > 0:
		j.Answer, j.Evidence = Violated, placed.Len()
	case known > 0:
		j.Answer = Holds
		return j, v
	default:
		return j, v
	}
	holder := first.holder()
	v.Count, v.Witness = count, x.witness(first)
	others := x.who(holder)
	if x.all {
		others = fmt.Sprintf("each of %d others", len(first.held))
	}
	v.Detail = fmt.Sprintf("%s was granted object %d as of transaction %#x, and %s had been granted it before and gave it up later, %s at %#x; "+
		"by luck they never held it at the same instant", x.who(first.intruder), first.intruder.object, int64(first.intruder.from), others,
		x.who(holder), int64(holder.to))
	return j, v
}

func (x exclusion) witness(c clash) []metrics.Sample {
	held := c.held
	if !x.all {
		held = []span{c.holder()}
	}
	return witness(append(slices.Clip(held), c.intruder)...)
}

// SessionsOpen is the Value of a Left or a Drain that was recorded while all sessions were still open and held nothing. Leftover ephemeral znodes can be
// found only then.
const SessionsOpen = 1

// NothingLeft holds when every znode path inspected after the run (operation Left) was found clean. A path that could not be inspected, whose outcome is
// neither OK nor Failed, leaves the answer open, and so do leftovers of sessions to which the servers refused something (Refused). Evidence is the number of
// paths inspected.
func NothingLeft() Check {
	return examined("nothing-left", metrics.Left, "znodes are left under %d of %d paths, the first of them of object %d",
		"%d of %d paths could not be read, or were not empty while sessions still had requests in flight", "no path was read")
}

// examined judges what an operation found when it inspected something after the run. OK is as it should be. Failed is what found describes, with the count,
// the evidence and the object. Any other outcome leaves the answer open, which blind describes, with the counts of these and of all. nothing is the detail if
// there was no evidence.
func examined(name string, op metrics.Op, found, blind, nothing string) Check {
	return Check{Name: name, Left: true, Judge: func(history iter.Seq[metrics.Sample], _ *spill.Room) Verdict {
		var v Verdict
		open, refused := 0, false
		for s := range history {
			switch {
			case s.Op == metrics.Refused:
				refused = true
			case s.Op != op:
			case s.Outcome == metrics.OK:
				v.Evidence++
			case s.Outcome == metrics.Failed:
				v.Evidence++
				v.Count++
				if len(v.Witness) == 0 || s.End < v.Witness[0].End {
					v.Witness = []metrics.Sample{s}
				}
			default:
				open++
			}
		}
		switch {
		case v.Count > 0 && refused:
			return Verdict{Evidence: v.Evidence, Detail: "the servers refused requests, which may be why something is left"}
		case v.Count > 0:
			v.Answer = Violated
			v.Detail = fmt.Sprintf(found, v.Count, v.Evidence, v.Witness[0].Object)
			if v.Witness[0].Value == SessionsOpen {
				v.Detail += ", while the sessions were still open"
			}
		case open > 0:
			v.Detail = fmt.Sprintf(blind, open, open+v.Evidence)
		case v.Evidence == 0:
			v.Detail = nothing
		default:
			v.Answer = Holds
		}
		return v
	}}
}
