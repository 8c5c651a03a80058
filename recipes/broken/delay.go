package broken

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const notBefore = "not-before"

// delaySteps are what a delay queue has beside the steps of a queue.
type delaySteps struct {
	order func(a, b string) int
	// due says whether an item is.
	due func(at, now time.Time) bool
	// put, while an item that is not due yet is waited for, tells of others; nil never does.
	put func(w *zk.Watch) <-chan zk.Event
}

func rightDelay() delaySteps {
	return delaySteps{
		order: strings.Compare, // a name begins with its time, in fixed width
		due:   func(at, now time.Time) bool { return !at.After(now) },
		put:   (*zk.Watch).C,
	}
}

const timeDigits = 15

// at is when an item is due.
func at(name string) time.Time {
	n, _ := strconv.ParseInt(name[len(itemPrefix):len(itemPrefix)+timeDigits], 10, 64)
	return time.UnixMilli(n)
}

// delaying makes an entry from the delay queue with some steps replaced.
func delaying(caught, name, doc string, fault func(*delaySteps)) Defect[recipes.Queue] {
	return Defect[recipes.Queue]{Caught: caught, Variant: recipes.Variant[recipes.Queue]{Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true,
		New: func(s zk.Session, path string, o recipes.Options) recipes.Queue {
			d := rightDelay()
			fault(&d)
			return d.on(&items{s: s, dir: path, itemSteps: rightItems()}, o.Clock)
		}}}
}

func (d delaySteps) on(q *items, clock func() time.Time) *items {
	q.order = d.order
	q.prefix = func(it recipes.Item) string {
		return fmt.Sprintf("%s%0*d-", itemPrefix, timeDigits, max(it.Due.Add(time.Millisecond-1).UnixMilli(), 0)) // the zero time is at once
	}
	q.list = func(ctx context.Context, q *items) ([]string, int64, error) {
		names, asOf, err := listItems(ctx, q)
		now := clock()
		return slices.DeleteFunc(names, func(name string) bool { return !d.due(at(name), now) }), asOf, err
	}
	q.wait = func(ctx context.Context, q *items) error {
		names, _, w, err := q.s.ChildrenW(ctx, q.dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fired(ctx, w)
		}
		defer w.Stop()
		timer := time.NewTimer(at(slices.Min(names)).Sub(clock()))
		defer timer.Stop()
		select {
		case e := <-d.put(w):
			return e.Err
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return q
}

// DelayQueues is the delay queues with a defect.
var DelayQueues = []Defect[recipes.Queue]{
	delaying(notBefore, "ignores-the-time", "gives an item as soon as it is there", func(d *delaySteps) {
		d.due = func(time.Time, time.Time) bool { return true }
	}),
	delaying(notBefore, "fast-clock", "goes by a clock that is ahead", func(d *delaySteps) {
		d.due = func(at, now time.Time) bool { return !at.After(now.Add(100 * time.Millisecond)) }
	}),
	delaying(priority, "by-arrival", "takes what is due in the order in which it came", func(d *delaySteps) { d.order = byNumber }),
	delaying(liveness, "sleeps-past", "sleeps until the item that it knows is due, and hears of no other", func(d *delaySteps) {
		d.put = func(*zk.Watch) <-chan zk.Event { return nil }
	}),
}
