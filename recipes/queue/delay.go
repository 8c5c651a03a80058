package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

func newDelay(s zk.Session, path string, o recipes.Options) *ordered {
	clock := o.Clock
	if clock == nil {
		clock = time.Now
	}
	return &ordered{producer: producer{s: s, dir: path, names: delayNames, o: o}, clock: clock}
}

const delayPrefix = priorityPrefix + "|"

// delayNames are those of Apache Curator's DistributedDelayQueue: between two bars the milliseconds since 1970 in hexadecimal. Curator writes at
// least eight digits, and the time has eleven from 2004 until 2527; here eleven are always written, so that names sort as their
// times do.
var delayNames = seam.Names{
	Before: inRank,
	Prefix: func(it recipes.Item) string { return fmt.Sprintf("%s%011X|", delayPrefix, millis(it.Due)) },
	Parse: func(name string) (seam.Rank, bool) {
		rest, ok := strings.CutPrefix(name, delayPrefix)
		time, _, barred := strings.Cut(rest, "|")
		due, hex := hexadecimal(time)
		if !ok || !barred || !hex || time == "" || len(time) > maxTimeDigits {
			return seam.Rank{}, false
		}
		r, ok := suffixed(name, delayPrefix+time+"|")
		r.Due = int64(due)
		return r, ok
	},
}

// maxTimeDigits keeps a time well within 64 bits.
const maxTimeDigits = 15

// millis converts a time to its form in a name: in milliseconds since 1970, rounded up, so that nothing comes too early; 0 for the zero time, and for times before 1970.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Add(time.Millisecond-1).UnixMilli(), 0)
}

// dueAt returns when an item of that rank may be taken; the zero time means always.
func dueAt(r seam.Rank) time.Time {
	if r.Due == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.Due)
}

// ripe returns those of the items, given in the order of taking, that are due, and when the first of the others will be.
func (q *ordered) ripe(names []string) (due []string, next time.Time) {
	if q.clock == nil {
		return names, time.Time{}
	}
	now := q.clock()
	for _, name := range names {
		rank, _ := q.names.Parse(name)
		at := dueAt(rank)
		switch {
		case !at.After(now):
			due = append(due, name)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return due, next
}

// awaitUntil waits for the event of a watch, or until an item is due; the zero time means that no item is. An item put in the meantime may be due
// earlier, which the event reports.
func (q *ordered) awaitUntil(ctx context.Context, w *zk.Watch, next time.Time) error {
	if next.IsZero() {
		return znode.Await(ctx, w)
	}
	brief, cancel := context.WithTimeout(ctx, next.Sub(q.clock()))
	defer cancel()
	err := znode.Await(brief, w)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}
