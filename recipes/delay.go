package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// DelayQueues is the catalogue of queues whose items wait for their time.
var DelayQueues = []Variant[Queue]{
	{
		Name: "delay", Source: "Apache Curator's DistributedDelayQueue, its names; of ZooKeeper's recipe page 'Priority Queues', with time as the priority",
		Doc:   "from when an item may be taken stands in its name; a consumer waits for the earliest, and for one that is earlier still",
		Lists: []string{ListFresh, ListWatched, ListSynced},
		New:   newDelay,
	},
}

func newDelay(s zk.Session, path string, o Options) Queue {
	clock := o.Clock
	if clock == nil {
		clock = time.Now
	}
	return &ordered{producer: producer{s: s, dir: path, names: delayNames, o: o}, clock: clock}
}

const delayPrefix = priorityPrefix + "|"

// delayNames are those of Apache Curator's DistributedDelayQueue: between two bars the milliseconds since 1970 in hexadecimal. Curator
// writes eight digits at least, of which the time has had eleven since 2004 and will until 2527; eleven are always written here, so
// that names sort as their times do.
var delayNames = itemNames{
	prefix: func(it Item) string { return fmt.Sprintf("%s%011X|", delayPrefix, millis(it.Due)) },
	parse: func(name string) (rank, bool) {
		rest, ok := strings.CutPrefix(name, delayPrefix)
		time, _, barred := strings.Cut(rest, "|")
		due, hex := hexadecimal(time)
		if !ok || !barred || !hex || time == "" || len(time) > maxTimeDigits {
			return rank{}, false
		}
		r, ok := suffixed(name, delayPrefix+time+"|")
		r.due = int64(due)
		return r, ok
	},
}

// maxTimeDigits keeps a time within 64 bits, and by far.
const maxTimeDigits = 15

// millis is a time as it stands in a name: in milliseconds since 1970, rounded up, so that nothing comes too early; 0 for the zero time, and
// for what is before 1970.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Add(time.Millisecond-1).UnixMilli(), 0)
}

// time is from when on the item may be taken; the zero time: always.
func (r rank) time() time.Time {
	if r.due == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.due)
}

// ripe cuts off what is not due yet from the items, which are in the order of taking, and tells when the first of that will be.
func (q *ordered) ripe(names []string) (due []string, next time.Time) {
	if q.clock == nil {
		return names, time.Time{}
	}
	now := q.clock()
	for i, name := range names {
		if at, _ := q.names.parse(name); at.time().After(now) {
			return names[:i], at.time()
		}
	}
	return names, time.Time{}
}

// awaitUntil waits for the event of a watch, or until an item is due; the zero time: no item is. An item that is put meanwhile may be due
// earlier, which the event tells.
func (q *ordered) awaitUntil(ctx context.Context, w *zk.Watch, next time.Time) error {
	if next.IsZero() {
		return await(ctx, w)
	}
	brief, cancel := context.WithTimeout(ctx, next.Sub(q.clock()))
	defer cancel()
	err := await(brief, w)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}
