package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// ranked is a grant with its place in the order of its object, a token or a transaction, and what its host knows about the state in which it was given.
type ranked struct {
	place     int64
	low, high int64 // the state is between these: see known.bound
	seen      int64 // the highest transaction that its host had seen when it was granted
	sent      int64 // the lowest that its host sent from then on
	object    uint32
	host      uint32
	exact     bool // the state is recorded
	shared    bool // a reader's: it has no order among readers
}

func rankedOf(g *metrics.Sample, place int64, host int, h *horizon) ranked {
	r := ranked{place: place, low: g.Zxid, high: g.Zxid, seen: h.by(g.End), sent: h.after(g.End), object: g.Object, host: uint32(host), exact: g.Zxid > 0, shared: shared.begins(g.Op)}
	if !r.exact {
		r.low = max(place, -g.Zxid)
		r.high = max(r.sent-1, r.low)
	}
	return r
}

// inPlaces returns a list of grants, those with the largest place first.
func inPlaces(room *spill.Room) *spill.List[ranked] {
	return spill.New(room, func(a, b *ranked) int {
		return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(b.place, a.place), cmp.Compare(a.host, b.host))
	})
}

// undecided counts the grants that may have been given after one of another host that has a larger place, though nothing shows it, because the state of one of
// them is not known: the larger place may have the earlier state, and the other host, at its own grant, had seen nothing that the host of the smaller place sent
// after its grant. alone says that a place belongs to one grant, so that two grants of one place are out of order in any case.
func undecided(grants *spill.List[ranked], alone bool) (n int) {
	type group struct {
		host          uint32
		shared, exact bool
	}
	var larger map[group][]ranked // by group: those grants of the object with larger places that no other precedes in both respects
	var last ranked
	for g := range grants.All() {
		if larger == nil || g.object != last.object {
			larger = map[group][]ranked{}
		}
		may := alone && last.object == g.object && last.place == g.place && last.host != g.host && !(last.shared && g.shared)
		for of, all := range larger {
			may = may || of.host != g.host && !(of.shared && g.shared) && !(of.exact && g.exact) &&
				slices.ContainsFunc(all, func(l ranked) bool { return l.place > g.place && l.low < g.high && l.seen < g.sent })
		}
		if may {
			n++
		}
		of := group{g.host, g.shared, g.exact}
		all := slices.DeleteFunc(larger[of], func(l ranked) bool { return g.low <= l.low && g.seen <= l.seen })
		if !slices.ContainsFunc(all, func(l ranked) bool { return l.low <= g.low && l.seen <= g.seen }) {
			all = append(all, g)
		}
		larger[of], last = all, g
	}
	return n
}

// decided turns a verdict on several hosts that holds into Unknown if the order of some grants is undecided.
func (v Verdict) decided(grants *spill.List[ranked], alone bool) Verdict {
	if v.Answer != Holds {
		return v
	}
	if n := undecided(grants, alone); n > 0 {
		v.Answer, v.Detail = Unknown, fmt.Sprintf("%d of %d grants may have been given after one that had to follow them: servers before 3.9 sent events without their transactions", n, grants.Len())
	}
	return v
}
