package check

import (
	"iter"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// groups yields the samples of a history that belong together, one group after the other, each valid only until the next. takes says which samples count;
// compare orders them so that those of a group are adjacent.
func groups(history iter.Seq[metrics.Sample], room *spill.Room, takes func(s *metrics.Sample) bool, compare func(a, b *metrics.Sample) int,
	together func(a, b *metrics.Sample) bool) iter.Seq[[]metrics.Sample] {
	return func(yield func([]metrics.Sample) bool) {
		all := sorted(history, room, takes, compare)
		defer all.Close()
		var group []metrics.Sample
		for s := range all.All() {
			if len(group) > 0 && !together(&group[0], &s) {
				if !yield(group) {
					return
				}
				group = group[:0]
			}
			group = append(group, s)
		}
		if len(group) > 0 {
			yield(group)
		}
	}
}

// sorted returns the samples of a history that count, in order. The caller closes the list.
func sorted(history iter.Seq[metrics.Sample], room *spill.Room, takes func(s *metrics.Sample) bool, compare func(a, b *metrics.Sample) int) *spill.List[metrics.Sample] {
	all := spill.New(room, compare)
	for s := range history {
		if takes(&s) {
			all.Add(s)
		}
	}
	return all
}

// sameItem reports whether two samples concern the same item, round or number: the same Value of the same object.
func sameItem(a, b *metrics.Sample) bool { return a.Object == b.Object && a.Value == b.Value }
