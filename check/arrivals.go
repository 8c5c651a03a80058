package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Arrivals describes how the members of a barrier arrived and how they were released, over all its rounds.
type Arrivals struct {
	Op     metrics.Op
	Rounds int // rounds that are included
	Left   int // rounds that are not: a member did not pass, or passed before the barrier was open
	Ranks  []Rank
}

// Rank says when a given number of members of a round had arrived, and when that many had been released: the distributions over the rounds, as times before
// and after the instant from which nothing held them back.
type Rank struct {
	Members       int
	Before, After *metrics.Histogram
}

// ArrivalsOf summarizes the rounds of a barrier for each of the operations that wait at it, at evenly spaced ranks, at most ranks of them. A member arrives
// when it first starts to wait, and is released when its wait succeeds. A barrier opens when the last member has arrived; a barrier at which sessions wait by
// Pass opens when its removal is issued. It is not a verdict.
func ArrivalsOf(history iter.Seq[metrics.Sample], room *spill.Room, ops []metrics.Op, members, ranks int) []Arrivals {
	all := make([]Arrivals, len(ops))
	for i, op := range ops {
		all[i].Op = op
		for k := range min(ranks, members) {
			all[i].Ranks = append(all[i].Ranks, Rank{Members: members * (k + 1) / min(ranks, members), Before: metrics.NewHistogram(), After: metrics.NewHistogram()})
		}
	}
	takes := func(s *metrics.Sample) bool { return slices.Contains(ops, s.Op) || s.Op == metrics.Unbar }
	compare := func(a, b *metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Session, b.Session))
	}
	for round := range groups(history, room, takes, compare, sameItem) {
		for i := range all {
			all[i].add(round, members)
		}
	}
	return all
}

// add adds a round, whose samples are in the order of their starts.
func (a *Arrivals) add(round []metrics.Sample, members int) {
	var came, let []time.Duration
	open := time.Duration(-1)
	seen := map[uint32]bool{}
	for _, s := range round {
		switch {
		case s.Op == metrics.Unbar && a.Op == metrics.Pass:
			if open < 0 {
				open = s.Start
			}
		case s.Op == a.Op:
			if !seen[s.Session] {
				seen[s.Session] = true
				came = append(came, s.Start)
			}
			if s.Outcome == metrics.OK {
				let = append(let, s.End)
			}
		}
	}
	if len(came) == 0 {
		return
	}
	if a.Op != metrics.Pass {
		open = came[len(came)-1]
	}
	slices.Sort(let)
	if len(came) != members || len(let) != members || open < came[members-1] || let[0] < open {
		a.Left++
		return
	}
	a.Rounds++
	for _, r := range a.Ranks {
		r.Before.Record(open - came[r.Members-1])
		r.After.Record(let[r.Members-1] - open)
	}
}
