package workloads

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
)

// dueOf returns the offset from which on an item of a delay queue may be taken.
func dueOf(value int64) time.Duration { return time.Duration(priorityOf(value)) * time.Millisecond }

// lateness describes how long after their due time items were taken, for items that were put before it; "" if there are none.
func lateness(history iter.Seq[metrics.Sample]) string {
	early := map[int64]bool{} // items put before they were due
	var late []time.Duration
	for s := range history {
		if due := dueOf(s.Value); s.Op == metrics.Put && s.Outcome == metrics.OK && due > 0 && s.End <= due {
			early[s.Value] = true
		}
	}
	for s := range history {
		if s.Op == metrics.Take && s.Outcome == metrics.OK && early[s.Value] {
			late = append(late, s.End-dueOf(s.Value))
		}
	}
	if len(late) == 0 {
		return ""
	}
	slices.Sort(late)
	short := func(d time.Duration) string { return phrase.Seconds(phrase.Digits(d.Seconds(), 2)) }
	return fmt.Sprintf("%s waited for their time; lateness median %s, max %s", phrase.Count(len(late), "item"), short(late[(len(late)-1)/2]),
		short(late[len(late)-1]))
}
