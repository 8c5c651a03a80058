package check

import (
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics/spill"
)

// table holds troubles in the order of their starts, searchable by time. What does not fit into memory is on disk, with the first start and the last end of each
// page in memory. A query reads the pages that may contain something from its time.
type table struct {
	list  *spill.List[trouble]
	pages []period
}

// pageLength is the number of troubles per page.
const pageLength = 1024

func newTable(room *spill.Room) *table { return &table{list: spill.New[trouble](room, nil)} }

// add appends the next trouble.
func (t *table) add(v trouble) {
	if t.list.Len()%pageLength == 0 {
		t.pages = append(t.pages, v.period)
	}
	t.list.Add(v)
	last := &t.pages[len(t.pages)-1]
	last.to = max(last.to, v.to)
}

// within yields the troubles that have more than an instant in common with the time from one offset to another, in order.
func (t *table) within(from, to time.Duration) iter.Seq[trouble] {
	return func(yield func(trouble) bool) {
		var page []trouble
		for i, p := range t.pages {
			if p.from >= to {
				return
			}
			if !p.meets(from, to) {
				continue
			}
			if page == nil {
				page = make([]trouble, min(pageLength, t.list.Len()))
			}
			for _, v := range page[:t.list.Read(i*pageLength, page)] {
				if v.meets(from, to) && !yield(v) {
					return
				}
			}
		}
	}
}

// cover sums up how much of the time from one offset to another is covered by periods, which are added in the order of their starts.
type cover struct{ from, to, total time.Duration } // from is the offset up to which it has counted

func (c *cover) add(p period) {
	if from, to := max(p.from, c.from), min(p.to, c.to); from < to {
		c.total, c.from = c.total+to-from, to
	}
}
