package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// lookout watches the circumstances of a cell under load, so that a session that waits for a slow server, for a machine busy with something else, or for a
// connection is not mistaken for one that the recipe has forgotten. What it sees becomes samples of the history: how long a wake-up may take, and when
// something was late or disconnected.
type lookout struct {
	c       *Cell
	timers  *metrics.TimerProbe
	servers []*probed
	work    sync.WaitGroup
	end     context.CancelFunc
}

// probed is a server that the lookout asks, on a dedicated session, whether it has caught up with the leader.
type probed struct {
	server  []string
	seed    uint64
	asking  atomic.Bool // a goroutine does, and uses session
	session zk.Session  // nil until there is one
}

const (
	// LeastQuick is what a wake-up may take however fast the servers are: one TCP retransmission takes 200 ms.
	LeastQuick = 250 * time.Millisecond
	// leastDriverWake is a bound that a wake-up of a driver's lock rarely exceeds: some drivers poll, a few times a second.
	leastDriverWake = time.Second
	// probeEvery is how often a server is asked for its round trip, and a timer is set: it detects any stall of twice this length.
	probeEvery = 50 * time.Millisecond
	// justNow is how recent a write must be for its answer to be as good as that of a probe.
	justNow = probeEvery / 2
)

func (c *Cell) newLookout() *lookout {
	l := &lookout{c: c}
	addresses := c.target.Addresses()
	for i := range addresses {
		l.servers = append(l.servers, &probed{server: addresses[i : i+1], seed: c.Profile.Seed - 1 - uint64(i)})
	}
	return l
}

// start starts watching. The origin of the cell must be known.
func (l *lookout) start(ctx context.Context) {
	ctx, l.end = context.WithCancel(ctx)
	l.timers = metrics.StartTimerProbe(probeEvery, l.c.origin, func(due, woken time.Duration) {
		l.c.self.late(woken - due)
		l.everybody(due, woken)
		l.look(ctx, woken)
	})
}

// look asks each server that has not just shown by its answer to a write, whichever session made it, that it has caught up with the leader. One goroutine
// does this for all servers at the same time: to wake up may cost more than to ask.
func (l *lookout) look(ctx context.Context, now time.Duration) {
	for _, p := range l.servers {
		if p.asking.Load() {
			continue
		}
		quiet, wrote := time.Duration(0), false
		if p.session != nil {
			quiet, wrote = zk.SinceWrite(p.session)
		}
		switch {
		case wrote && quiet < justNow:
			continue
		case !wrote || quiet >= probeEvery+justNow: // it was asked at the last look
			quiet = 0
		}
		p.asking.Store(true)
		l.work.Go(func() {
			defer p.asking.Store(false)
			l.ask(ctx, p, now, quiet)
		})
	}
}

// everybody records that all sessions were late between two offsets.
func (l *lookout) everybody(from, to time.Duration) {
	l.c.trips.Keep(metrics.Trip{Session: metrics.Everybody, Start: from, End: to})
}

// ask asks a server, and records how long it takes to answer from begun on. If it is late, it has been since its last write, which was quiet ago.
func (l *lookout) ask(ctx context.Context, p *probed, begun, quiet time.Duration) {
	if p.session == nil || p.session.Err() != nil {
		fresh, err := l.c.target.Dial(ctx, p.server, p.seed)
		if err != nil {
			p.session = nil // it is tried again at the next look
			return
		}
		p.session = fresh
	}
	if err := p.session.Sync(ctx, l.c.target.Root); err != nil && ctx.Err() == nil {
		sleep.For(ctx, probeEvery)
	}
	// If the server is gone, no session is left on it after a session timeout.
	end := begun + min(l.c.origin.Now()-begun, l.c.Profile.SessionTimeout)
	if end-begun >= justNow {
		begun -= quiet
	}
	l.everybody(begun, end)
}

// stop ends the watch. Everything that was seen is in the history when it returns.
func (l *lookout) stop() {
	l.timers.Stop()
	l.end()
	l.work.Wait()
	InParallel(len(l.servers), atOnce, func(i int) {
		if s := l.servers[i].session; s != nil {
			s.Close()
		}
	})
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
