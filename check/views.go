package check

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
)

// Views holds when every view of a group (a See, and the Members of it) is one that the group had, as far as the history can tell. Views
// are ordered by their Token, the transaction that made them: two with one token are the same; no member is seen before its Join; of one
// membership no session is seen again that was missing in between; and nobody is missing in a view that an observer had before the Leave was
// begun. A session that failed to join, in whatever way, may have been a member from then on. Evidence is the number of views; the witness is
// the view, and what it contradicts.
func Views() Check {
	return Check{Name: "views", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		var shown time.Duration
		groups := watchedIn(history, room, nil)
		for _, g := range groups {
			v.Evidence += len(g.sightings)
			for i := 1; i < len(g.sightings); i++ {
				if a, b := g.sightings[i-1], g.sightings[i]; a.Token == b.Token && !maps.Equal(a.members, b.members) {
					v.offence(b.End, &shown, fmt.Sprintf("sessions %d and %d saw different members of group %d at transaction %d", a.Session, b.Session,
						b.Object, b.Token), a.Sample, b.Sample)
				}
			}
			for _, member := range slices.Sorted(maps.Keys(g.unions)) {
				g.follow(&v, &shown, member)
			}
		}
		return v.settle("nobody saw a group")
	}}
}

// follow judges one member in all views.
func (w *watched) follow(v *Verdict, shown *time.Duration, member int64) {
	doubt, doubted := w.doubts[member]
	var in *span               // the membership
	var missing metrics.Sample // the first view of it without the member; zero Op: none
	for _, s := range w.sightings {
		if stay := w.stay(member, s.Token); stay != in {
			in, missing = stay, metrics.Sample{}
		}
		uncertain := doubted && doubt <= s.End
		tell := func(what string, other ...metrics.Sample) {
			v.offence(s.End, shown, fmt.Sprintf("session %d saw group %d at transaction %d %s", s.Session, s.Object, s.Token,
				fmt.Sprintf(what, member)), append(other, s.Sample)...)
		}
		switch there := s.members[member]; {
		case there && in == nil && !uncertain:
			tell("with member %d, which had not joined")
		case there && missing.Op != 0 && !uncertain:
			tell("with member %d, which had gone by then", missing)
		case !there && in != nil && s.End < in.to:
			tell("without member %d, which was one", in.begin)
			fallthrough
		case !there && in != nil && missing.Op == 0:
			missing = s.Sample
		}
	}
}

// ViewOrder holds when no observer goes back: each See that ended OK has a greater Token than the one of its session and object before it.
// Evidence is the number of those that have one before them; the witness is the two.
func ViewOrder() Check {
	judge := func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		var shown time.Duration
		all := watchedIn(history, room, nil)
		for _, w := range all {
			var last sighting
			for _, s := range w.sees {
				if s.Outcome != metrics.OK {
					continue
				}
				if last.Op != 0 && last.Session == s.Session {
					v.Evidence++
					if s.Token <= last.Token {
						v.offence(s.End, &shown, fmt.Sprintf("session %d saw object %d at transaction %d after it had seen %d", s.Session, s.Object, s.Token,
							last.Token), last.Sample, s.Sample)
					}
				}
				last = s
			}
		}
		return v.settle("nobody saw two views")
	}
	return Check{Name: "view-order", Part: true, Judge: judge, Across: func(hosts []Host, room *spill.Room) Verdict { return within(hosts, room, judge) }}
}

// WrittenValues holds when every version of a setting that was seen was written: its Value is that of a Change which had begun, of the same
// Token where the Change ended OK, or 0, which was there before; and whoever saw one Token saw one Value. Evidence is the number of
// versions seen; the witness is the See, and what it contradicts.
//
// Of several hosts it takes all samples together. That a version was there before the Change of its value had begun on another host shows by the
// transactions: that host had seen it by then, or a later one.
func WrittenValues() Check {
	return Check{Name: "written-values", Judge: written(func(change, see *metrics.Sample) bool { return change.Start > see.End }), Across: writtenAcross}
}

// writtenAcross is WrittenValues of several hosts.
func writtenAcross(hosts []Host, room *spill.Room) Verdict {
	if i := slices.IndexFunc(hosts, func(h Host) bool { return h.Cut }); i >= 0 {
		return Verdict{Detail: fmt.Sprintf("the history of %s is not whole: what its sessions wrote is not known", hosts[i].Name)}
	}
	horizons, of := make([]horizon, len(hosts)), map[uint32]int{}
	for i, h := range hosts {
		horizons[i] = horizonOf(h.History)
		for s := range h.History {
			if s.Op == metrics.Change || s.Op == metrics.See {
				of[s.Session] = i
			}
		}
	}
	return written(func(change, see *metrics.Sample) bool {
		writer := of[change.Session]
		return writer == of[see.Session] && change.Start > see.End || horizons[writer].by(change.Start) >= see.Token
	})(Together(hosts), room)
}

// written judges a history; early says of a Change and a See of its value that the Change had not begun when the See ended.
func written(early func(change, see *metrics.Sample) bool) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		var shown time.Duration
		changes := map[identity]metrics.Sample{}
		for s := range history {
			if s.Op == metrics.Change {
				changes[identity{s.Object, s.Value}] = s
			}
		}
		settings := watchedIn(history, room, nil)
		for _, w := range settings {
			for i, s := range w.sightings {
				v.Evidence++
				tell := func(what string, other ...metrics.Sample) {
					v.offence(s.End, &shown, fmt.Sprintf("session %d saw setting %d with value %d at transaction %d, %s", s.Session, s.Object,
						s.Value, s.Token, what), append(other, s.Sample)...)
				}
				c, written := changes[identity{s.Object, s.Value}]
				switch {
				case i > 0 && w.sightings[i-1].Token == s.Token && w.sightings[i-1].Value != s.Value:
					tell("where another saw another value", w.sightings[i-1].Sample)
				case s.Value == 0:
				case !written:
					tell("which nobody wrote")
				case early(&c, &s.Sample):
					tell("before it was written", c)
				case c.Outcome == metrics.OK && c.Token != 0 && c.Token != s.Token:
					tell(fmt.Sprintf("which was written at transaction %d", c.Token), c)
				}
			}
		}
		return v.settle("nobody saw a setting")
	}
}
