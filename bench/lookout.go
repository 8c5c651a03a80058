package bench

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// lookout watches the circumstances of a cell under load, so that a session that waits for a slow server, for a machine that is busy with
// something else, or without a connection is not taken for one that the recipe has forgotten. What it sees becomes samples of the
// history: how long a wake-up may take, and when what was late, or away.
type lookout struct {
	c    *cell
	work sync.WaitGroup
	end  context.CancelFunc
}

const (
	// leastQuick is what a wake-up may take however fast the servers are: one retransmission by TCP is 200 ms.
	leastQuick = 250 * time.Millisecond
	// leastDriven is what a wake-up of a driver's lock rarely takes: some poll, a few times a second.
	leastDriven = time.Second
	// probeEvery is how often a server is asked for its round trip: a stall of twice as long cannot hide.
	probeEvery = 50 * time.Millisecond
	// connectedEvery is how often it is looked whether the sessions are connected.
	connectedEvery = 100 * time.Millisecond
)

// newLookout watches from now on; the origin of the cell is known.
func (c *cell) newLookout(ctx context.Context) *lookout {
	ctx, end := context.WithCancel(ctx)
	l := &lookout{c: c, end: end}
	addresses := c.addresses()
	for i := range addresses {
		l.work.Go(func() { l.probe(ctx, addresses[i:i+1], c.profile.Seed-1-uint64(i)) })
	}
	l.work.Go(func() { l.connections(ctx) })
	return l
}

// observed is a session whose requests count.
func (c *cell) observed(seat uint32, s zk.Session) zk.Session {
	c.clients.links.follow(seat, s, c.origin)
	return zk.Observe(s, &zk.Trace{Pending: &c.calls.pending, Call: func(call zk.Call) {
		end := c.origin.At(call.End)
		c.calls.ended.Store(int64(end))
		answered := call.Err == nil || zk.Classify(call.Err) == zk.ClassDefiniteNo
		trip := metrics.Trip{Session: seat, Start: c.origin.At(call.Start), End: end, Unanswered: !answered}
		c.refusals.see(call, trip)
		c.trips.Record(trip)
	}})
}

// lag is told that a timer of this process was late.
func (l *lookout) lag(due, woken time.Time) {
	l.everybody(l.c.origin.At(due), l.c.origin.At(woken))
}

// everybody notes that everybody was late between two offsets.
func (l *lookout) everybody(from, to time.Duration) {
	l.c.trips.Keep(metrics.Trip{Session: metrics.Everybody, Start: from, End: to})
}

// probe asks one server over and over whether it has caught up with the leader, with a session of its own.
func (l *lookout) probe(ctx context.Context, server []string, seed uint64) {
	var s zk.Session
	defer func() {
		if s != nil {
			s.Close()
		}
	}()
	for wait := probeEvery; sleep.For(ctx, wait) == nil; wait = probeEvery {
		begun := l.c.origin.Now()
		if s == nil || s.Err() != nil {
			fresh, err := l.c.dial(ctx, server, seed)
			if err != nil {
				s, wait = nil, time.Second
				continue
			}
			s = fresh
		}
		if err := s.Sync(ctx, l.c.Root); err != nil && ctx.Err() == nil {
			sleep.For(ctx, probeEvery)
		}
		// Where the server is gone, nobody is there any more after a session timeout.
		took := min(l.c.origin.Now()-begun, l.c.profile.SessionTimeout)
		l.everybody(begun, begun+took)
	}
}

// connections notes which sessions have no connection, and when; and when none has.
func (l *lookout) connections(ctx context.Context) {
	type state struct {
		of   zk.Session
		cut  <-chan struct{}
		away bool
		from time.Duration
	}
	states := make([]state, l.c.seats())
	last, without := l.c.origin.Now(), time.Duration(-1) // the last look, and since when none has one
	see := func(ended bool) {
		now, connected := l.c.origin.Now(), false
		for i, s := range l.c.clients.all() {
			st := &states[i]
			replaced := st.of != nil && st.of != s && isClosed(st.cut)
			if st.of != s {
				st.of, st.cut = s, zk.Disconnected(s)
			}
			away := isClosed(st.cut)
			if replaced && !st.away {
				st.away, st.from = true, last
			}
			if away { // once, or still
				st.cut = zk.Disconnected(s)
				away = isClosed(st.cut)
				if !st.away {
					st.away, st.from = true, last
				}
			}
			if st.away && (!away || ended) {
				st.away = false
				l.record(metrics.Sample{Op: metrics.Down, Session: uint32(l.c.session(i)), Due: st.from, Start: st.from, End: now})
			}
			connected = connected || !away
		}
		switch {
		case without < 0 && !connected:
			without = now
		case without >= 0 && (connected || ended):
			l.everybody(without, now)
			without = -1
		}
		last = now
	}
	for sleep.For(ctx, connectedEvery) == nil {
		see(false)
	}
	see(true)
}

// stop ends the watch. All that was seen is in the history then.
func (l *lookout) stop() {
	l.end()
	l.work.Wait()
	quick := max(leastQuick, 2*l.c.trips.Took().Quantile(0.99))
	bound := metrics.Sample{Op: metrics.Bound, End: quick}
	if l.c.driver != nil { // whose requests are not seen: how many round trips a wake-up of its locks takes nobody knows
		bound.Outcome, bound.End = metrics.InDoubt, max(leastDriven, quick)
	}
	l.record(bound)
	// A wake-up is an event and two requests or three: none of them may have taken up most of the bound and not be known.
	for t := range l.c.trips.Long() {
		if t.End-t.Start >= quick/4 {
			l.record(metrics.Sample{Op: metrics.Late, Session: t.Session, Due: t.Start, Start: t.Start, End: t.End})
		}
	}
}

func (l *lookout) record(s metrics.Sample) { l.c.history.Shard(0).Record(s) }
