package report

import (
	"slices"

	"github.com/zkbench/zkbench/results"
)

const fanoutCaption = "Watch events per release, by what woke the waiter: a release, an arrival, or both in one event, which theory counts as two; stale events " +
	"reached a session that had no use for them. getChildren is per grant: its calls, and KiB of names on the wire."

// fanoutOf shows the watch events per release and how many children sessions listed because of them. It has no rows if nothing was counted.
func fanoutOf(group []row) table {
	group = slices.DeleteFunc(slices.Clone(group), func(r row) bool { return !r.events.known })
	if len(group) == 0 {
		return table{}
	}
	all := keysBeside(group)
	add := func(above, below, markdown string, in part, of func(row) figure) {
		all = append(all, column{above, below, markdown, false, in, func(r row) string { return of(r).count() }})
	}
	events := func(below, markdown string, pick func(results.Fanout) float64) {
		add("events per release", below, markdown, partOfOp, func(r row) figure {
			return r.figure(byReleases, func(c results.Cell) (float64, bool) {
				if c.Fanout == nil {
					return 0, false
				}
				return pick(*c.Fanout), true
			})
		})
	}
	events("all", "events per release", func(f results.Fanout) float64 { return f.EventsPerRelease })
	events("released", "released", func(f results.Fanout) float64 { return f.EventsByRelease })
	events("arrived", "arrived", func(f results.Fanout) float64 { return f.EventsByArrival })
	events("both", "both", func(f results.Fanout) float64 { return f.EventsByBoth })
	events("stale", "stale", func(f results.Fanout) float64 { return f.EventsStale })
	add("events per release", "theory", "theory", partOfOp, row.theory)
	all = append(all, useful)
	add("getChildren", "calls", "getChildren calls", partWaiting, func(r row) figure { return r.lists })
	add("getChildren", "KiB", "KiB of names", partWaiting, func(r row) figure { return r.kib })
	return build(group, all)
}

// theory returns how many events each release should cause; unknown for an open loop, whose number of contenders is not known in advance.
func (r row) theory() figure {
	f := r.figure(byReleases, func(c results.Cell) (float64, bool) {
		if c.Fanout == nil {
			return 0, false
		}
		return c.Fanout.TheoryPerRelease, true
	})
	if f.value == 0 {
		return figure{}
	}
	return f
}
