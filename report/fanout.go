package report

import (
	"slices"

	"github.com/zkbench/zkbench/results"
)

// fanout tells of the events that ended the waiting at a lock.
func (p *printer) fanout(group []row, look Look) {
	t := fanoutOf(group)
	if len(t.rows) == 0 {
		return
	}
	p.line("")
	p.line("Watch events per release, by what woke the waiter: a release, an arrival, or both in one event, which theory counts as two; stale events " +
		"reached a session that had no use for them. getChildren is per grant: its calls, and KiB of names on the wire.")
	p.line("")
	p.try(t.draw(p.w, look))
}

// fanoutOf is the watch events per release, and what they made the sessions list. It has no rows where nothing was counted.
func fanoutOf(group []row) table {
	group = slices.DeleteFunc(slices.Clone(group), func(r row) bool { return !r.events.known })
	if len(group) == 0 {
		return table{}
	}
	all := keysBeside(group)
	add := func(above, below string, in part, of func(row) figure) {
		all = append(all, column{above, below, "", false, in, func(r row) string { return of(r).count() }})
	}
	events := func(below string, pick func(results.Fanout) float64) {
		add("events per release", below, partOfOp, func(r row) figure {
			return r.figure(byReleases, func(c results.Cell) (float64, bool) {
				if c.Fanout == nil {
					return 0, false
				}
				return pick(*c.Fanout), true
			})
		})
	}
	events("all", func(f results.Fanout) float64 { return f.EventsPerRelease })
	events("released", func(f results.Fanout) float64 { return f.EventsByRelease })
	events("arrived", func(f results.Fanout) float64 { return f.EventsByArrival })
	events("both", func(f results.Fanout) float64 { return f.EventsByBoth })
	events("stale", func(f results.Fanout) float64 { return f.EventsStale })
	add("events per release", "theory", partOfOp, row.theory)
	all = append(all, useful)
	add("getChildren", "calls", partWaiting, func(r row) figure { return r.lists })
	add("getChildren", "KiB", partWaiting, func(r row) figure { return r.kib })
	return build(group, all)
}

// theory is how many events each release should cause; not known of an open loop, where nobody knows beforehand how many contend.
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
