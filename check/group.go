package check

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// membersEach is the number of members that fit in one sample.
const membersEach = 48

// MembersOf returns the samples of the operation Members that say which members are in the view of a See. Members are numbered from 0.
func MembersOf(see metrics.Sample, members []int64) []metrics.Sample {
	words := map[int64]int64{}
	for _, m := range members {
		words[m/membersEach] |= 1 << (m % membersEach)
	}
	see.Op = metrics.Members
	var all []metrics.Sample
	for _, place := range slices.Sorted(maps.Keys(words)) {
		see.Value = place<<membersEach | words[place]
		all = append(all, see)
	}
	return all
}

// membership pairs the operations of a group: a session is a member from the End of a Join to the Start of its Leave, which has the outcome Lost if the
// member crashed or learned that it could no longer rely on its membership. The Value of a Join is the number of the member.
var membership = pairs{begins: joining, ends: func(o metrics.Op) bool { return o == metrics.Leave }}

func joining(o metrics.Op) bool { return o == metrics.Join }

// sighting is a view of a group, or a version of a setting, that an observer was given.
type sighting struct {
	metrics.Sample // the See
	members        map[int64]bool
}

// watched holds what was done to a group or a setting, and what was seen of it.
type watched struct {
	sees      []sighting               // with any outcome, by session, then by end
	sightings []sighting               // that ended OK, by token
	changes   []metrics.Sample         // Joins and Changes that ended OK, by token
	stays     map[int64][]span         // by member, each by token
	doubts    map[int64]metrics.Sample // by member: the first Join that failed; from then on it may be a member
	unions    map[int64]bool           // all members, of stays and sightings
}

// watchedIn returns the groups or settings of a history in the order of their objects. The history is also passed to the conditions, unless they are nil.
func watchedIn(history iter.Seq[metrics.Sample], room *spill.Room, c *conditions) (all []*watched) {
	index := map[uint32]*watched{}
	of := func(object uint32) *watched {
		if index[object] == nil {
			index[object] = &watched{stays: map[int64][]span{}, doubts: map[int64]metrics.Sample{}, unions: map[int64]bool{}}
		}
		return index[object]
	}
	type view struct {
		object, session uint32
		token           int64
	}
	members := map[view]map[int64]bool{}
	stays := spans(func(yield func(metrics.Sample) bool) {
		for s := range history {
			switch w := of(s.Object); {
			case s.Op == metrics.See:
				w.sees = append(w.sees, sighting{Sample: s})
			case s.Op == metrics.Members:
				v := view{s.Object, s.Session, s.Token}
				if members[v] == nil {
					members[v] = map[int64]bool{}
				}
				for bit := range int64(membersEach) {
					if s.Value>>bit&1 == 1 {
						members[v][s.Value>>membersEach*membersEach+bit] = true
						w.unions[s.Value>>membersEach*membersEach+bit] = true
					}
				}
			case (s.Op == metrics.Join || s.Op == metrics.Change) && s.Outcome == metrics.OK:
				w.changes = append(w.changes, s)
			case s.Op == metrics.Join:
				if first, known := w.doubts[s.Value]; !known || s.Start < first.Start {
					w.doubts[s.Value] = s
				}
			}
			if c != nil {
				c.see(s)
			}
			if !yield(s) {
				return
			}
		}
	}, room, membership)
	defer stays.close()
	for s := range stays.all() {
		w := of(s.object)
		w.stays[s.begin.Value] = append(w.stays[s.begin.Value], s)
		w.unions[s.begin.Value] = true
	}
	byToken := func(a, b metrics.Sample) int { return cmp.Or(cmp.Compare(a.Token, b.Token), inTime(a, b)) }
	for _, object := range slices.Sorted(maps.Keys(index)) {
		w := index[object]
		slices.SortFunc(w.sees, func(a, b sighting) int { return cmp.Or(cmp.Compare(a.Session, b.Session), inTime(a.Sample, b.Sample)) })
		for i, s := range w.sees {
			if s.Outcome == metrics.OK {
				w.sees[i].members = members[view{s.Object, s.Session, s.Token}]
				w.sightings = append(w.sightings, w.sees[i])
			}
		}
		slices.SortFunc(w.sightings, func(a, b sighting) int { return byToken(a.Sample, b.Sample) })
		slices.SortFunc(w.changes, byToken)
		for _, of := range w.stays {
			slices.SortFunc(of, func(a, b span) int { return byToken(a.begin, b.begin) })
		}
		all = append(all, w)
	}
	return all
}

// stay returns the last membership of a member that had started by a token; nil if there is none.
func (w *watched) stay(member, token int64) *span {
	of := w.stays[member]
	n, _ := slices.BinarySearchFunc(of, token, func(s span, token int64) int {
		if s.begin.Token <= token {
			return -1
		}
		return 1
	})
	if n == 0 {
		return nil
	}
	return &of[n-1]
}
