package check

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Views holds when every view of a group (a See, and its Members) is one that the group had, as far as the history can tell. Views are ordered by their Token,
// the transaction that made them. Two views with one token are the same; no member is seen before its Join; within one membership no member is seen again that
// was missing in between; and no member is missing in a view from before the transaction of its Leave (the Zxid), or in one that an observer had before the Leave
// was started. A session that failed to join, in whatever way, may have been a member from then on. Evidence is the number of views; Witness holds the view, and
// what it contradicts.
//
// For several hosts it takes all samples together. The transactions show that a view was there before a Leave or a failed Join had started on another host: that
// host had seen the view's transaction by then, or a later one.
func Views() Check {
	judge := viewed(byClock)
	return Check{Name: "views", Judge: judge, Across: acrossViews("were members", func(o origins) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
		return viewed(o.before)
	})}
}

// viewed judges a history. before reports whether a See had ended when something else started, by the offsets of its clock.
func viewed(before func(see, begun *metrics.Sample) bool) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
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
				g.follow(&v, &shown, member, before)
			}
		}
		return v.settle("nobody saw a group")
	}
}

// follow judges one member in all views.
func (w *watched) follow(v *Verdict, shown *time.Duration, member int64, before func(see, begun *metrics.Sample) bool) {
	doubt, doubted := w.doubts[member]
	var in *span               // the membership
	var missing metrics.Sample // first view of it without the member; zero Op: none
	for _, s := range w.sightings {
		if stay := w.stay(member, s.Token); stay != in {
			in, missing = stay, metrics.Sample{}
		}
		uncertain := doubted && !before(&s.Sample, &doubt)
		tell := func(what string, other ...metrics.Sample) {
			v.offence(s.End, shown, fmt.Sprintf("session %d saw group %d at transaction %d %s", s.Session, s.Object, s.Token,
				fmt.Sprintf(what, member)), append(other, s.Sample)...)
		}
		switch there := s.members[member]; {
		case there && in == nil && !uncertain:
			tell("with member %d, which had not joined")
		case there && missing.Op != 0 && !uncertain:
			tell("with member %d, which had left by then", missing)
		case !there && in != nil && in.outlasts(&s.Sample, before):
			tell("without member %d, which had joined", in.begin)
			fallthrough
		case !there && in != nil && missing.Op == 0:
			missing = s.Sample
		}
	}
}

// outlasts reports whether a membership that had started by the transaction of a view had certainly not ended by it.
func (s *span) outlasts(see *metrics.Sample, before func(see, begun *metrics.Sample) bool) bool {
	if s.ended() && s.end.Zxid > s.begin.Token && see.Token < s.end.Zxid {
		return true
	}
	end := s.begin
	end.Start = s.to
	return !s.void() && before(see, &end)
}

// byClock reports whether a See had ended when something else started, on one host.
func byClock(see, begun *metrics.Sample) bool { return see.End < begun.Start }

// origins says which hosts sessions are on, and what these knew when.
type origins struct {
	horizons []horizon
	of       map[uint32]int // by session
}

func originsOf(hosts []Host, room *spill.Room) origins {
	o := origins{make([]horizon, len(hosts)), map[uint32]int{}}
	for i, h := range hosts {
		o.horizons[i] = horizonOf(h.History, room)
		for s := range h.History {
			switch s.Op {
			case metrics.Change, metrics.See, metrics.Join, metrics.Leave, metrics.Take, metrics.Put:
				o.of[s.Session] = i
			}
		}
	}
	return o
}

// before reports whether a See had certainly ended when something else started: by their common clock if they are on one host, or because the other's host had
// seen the transaction of the See, or a later one.
func (o origins) before(see, begun *metrics.Sample) bool {
	host := o.of[begun.Session]
	return host == o.of[see.Session] && byClock(see, begun) || o.horizons[host].by(begun.Start-1) >= see.Token
}

// acrossViews judges what was seen of groups and settings on several hosts. If the history of one is incomplete, it is not known who did what.
func acrossViews(what string, judge func(origins) func(iter.Seq[metrics.Sample], *spill.Room) Verdict) func([]Host, *spill.Room) Verdict {
	return func(hosts []Host, room *spill.Room) Verdict {
		if i := slices.IndexFunc(hosts, func(h Host) bool { return h.Cut }); i >= 0 {
			return Verdict{Detail: fmt.Sprintf("the history of %s is incomplete: which of its sessions %s is not known", hosts[i].Name, what)}
		}
		o := originsOf(hosts, room)
		defer closeAll(o.horizons)
		return judge(o)(Together(hosts), room)
	}
}

// ViewOrder holds when no observer goes back: each See that ended OK has a greater Token than the previous one of its session and object. Evidence is the number
// of those that have a previous one; Witness holds the two.
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

// WrittenValues holds when every version of a setting that was seen was written: its Value is that of a Change that had started, with the same Token if the
// Change ended OK, or 0, which was there before; and all that saw one Token saw one Value. Evidence is the number of versions seen; Witness holds the See, and
// what it contradicts.
//
// For several hosts it takes all samples together. The transactions show that a version was there before the Change of its value had started on another host:
// that host had seen the version's transaction by then, or a later one.
func WrittenValues() Check {
	return Check{Name: "written-values", Judge: written(byClock), Across: acrossViews("wrote what", func(o origins) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
		return written(o.before)
	})}
}

// written judges a history. before reports whether a See had ended when a Change of its value started.
func written(before func(see, change *metrics.Sample) bool) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
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
					tell("where another session saw a different value", w.sightings[i-1].Sample)
				case s.Value == 0:
				case !written:
					tell("which nobody wrote")
				case before(&s.Sample, &c):
					tell("before it was written", c)
				case c.Outcome == metrics.OK && c.Token != 0 && c.Token != s.Token:
					tell(fmt.Sprintf("which was written at transaction %d", c.Token), c)
				}
			}
		}
		return v.settle("nobody saw a setting")
	}
}
