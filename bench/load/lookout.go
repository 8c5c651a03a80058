package load

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// lookout watches the circumstances of a cell under load, so that a session that waits for a slow server, for a machine busy with something else, or for a
// connection is not mistaken for one that the recipe has forgotten. What it sees becomes samples of the history: how long a wake-up may take, and when
// something was late or disconnected.
type lookout struct {
	c    *Cell
	work sync.WaitGroup
	end  context.CancelFunc
}

const (
	// LeastQuick is what a wake-up may take however fast the servers are: one TCP retransmission takes 200 ms.
	LeastQuick = 250 * time.Millisecond
	// leastDriverWake is a bound that a wake-up of a driver's lock rarely exceeds: some drivers poll, a few times a second.
	leastDriverWake = time.Second
	// probeEvery is how often a server is asked for its round trip, and a timer is set: it detects any stall of twice this length.
	probeEvery = 50 * time.Millisecond
)

// newLookout starts watching. The origin of the cell must be known.
func (c *Cell) newLookout(ctx context.Context) *lookout {
	ctx, end := context.WithCancel(ctx)
	l := &lookout{c: c, end: end}
	addresses := c.target.Addresses()
	for i := range addresses {
		l.work.Go(func() { l.probe(ctx, addresses[i:i+1], c.Profile.Seed-1-uint64(i)) })
	}
	return l
}

// lag records that a timer of this process was late.
func (l *lookout) lag(due, woken time.Time) {
	l.everybody(l.c.origin.At(due), l.c.origin.At(woken))
}

// everybody records that all sessions were late between two offsets.
func (l *lookout) everybody(from, to time.Duration) {
	l.c.trips.Keep(metrics.Trip{Session: metrics.Everybody, Start: from, End: to})
}

// probe repeatedly asks one server, on a dedicated session, whether it has caught up with the leader.
func (l *lookout) probe(ctx context.Context, server []string, seed uint64) {
	var s zk.Session
	defer func() {
		if s != nil {
			s.Close()
		}
	}()
	for wait := l.next(); sleep.For(ctx, wait) == nil; wait = l.next() {
		begun := l.c.origin.Now()
		if s == nil || s.Err() != nil {
			fresh, err := l.c.target.Dial(ctx, server, seed)
			if err != nil {
				s = nil // it is tried again at the next probe
				continue
			}
			s = fresh
		}
		if err := s.Sync(ctx, l.c.target.Root); err != nil && ctx.Err() == nil {
			sleep.For(ctx, probeEvery)
		}
		// If the server is gone, no session is left on it after a session timeout.
		took := min(l.c.origin.Now()-begun, l.c.Profile.SessionTimeout)
		l.everybody(begun, begun+took)
	}
}

// next returns the time until the next probe: all servers have theirs at the same time, so that it takes one wake-up.
func (l *lookout) next() time.Duration { return probeEvery - l.c.origin.Now()%probeEvery }

// stop ends the watch. Everything that was seen is in the history when it returns.
func (l *lookout) stop() {
	l.end()
	l.work.Wait()
	each, all := l.c.clients.links.outages(l.c.seats(), l.c.origin.Now())
	for _, o := range each {
		l.record(metrics.Sample{Op: metrics.Down, Session: o.seat, Due: o.from, Start: o.from, End: o.to})
	}
	for _, o := range all {
		l.everybody(o.from, o.to)
	}
	quick := max(LeastQuick, 2*l.roundTrip(0.99))
	bound := metrics.Sample{Op: metrics.Bound, End: quick}
	if l.c.driver != nil { // its requests are not seen: how many round trips a wake-up of its locks takes is unknown
		bound.Outcome, bound.End = metrics.InDoubt, max(leastDriverWake, quick)
	}
	l.record(bound)
	// A wake-up is an event and two or three requests: none that used up most of the bound may go unrecorded.
	for t := range l.c.trips.All() {
		if t.End-t.Start >= quick/4 {
			l.record(metrics.Sample{Op: metrics.Late, Session: t.Session, Due: t.Start, Start: t.Start, End: t.End})
		}
	}
}

// roundTrip returns a quantile of the durations of all requests that were answered; if it is less than [metrics.LongTrip], something less.
func (l *lookout) roundTrip(q float64) time.Duration {
	answered := int64(0)
	for _, of := range l.c.calls {
		answered += of.answered()
	}
	took := metrics.NewHistogram()
	for t := range l.c.trips.All() {
		if t.Session != metrics.Everybody && !t.Unanswered {
			took.Record(t.End - t.Start)
		}
	}
	took.AddSlot([2]time.Duration{}, max(answered-took.Count(), 0))
	return took.Quantile(q)
}

func (l *lookout) record(s metrics.Sample) { l.c.history.Shard(0).Record(s) }
