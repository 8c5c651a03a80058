package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// sessionPool is the sessions of one cell.
type sessionPool struct {
	dial     func(ctx context.Context, id int) (zk.Session, error)
	number   func(place int) int // of the session at a place
	sessions []zk.Session        // by their places in the share; replaced by its seat alone when a session is lost
	lost     atomic.Int64        // sessions that expired
	redials  atomic.Int64        // failed attempts to replace one
	links    links

	mu       sync.Mutex         // guards what follows, and sessions against those who are not the seat
	losses   []loss             // by time
	retired  zk.Traffic         // of sessions that others have replaced
	connects *metrics.Histogram // how long the first sessions took to open; nil before the first
}

// loss is a session that was lost, and when its seat noticed.
type loss struct {
	id int64
	at time.Duration // offset from the origin
}

// session is the one that a seat has now.
func (c *sessionPool) session(seat int) zk.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[seat]
}

// all is the sessions that the seats have now.
func (c *sessionPool) all() []zk.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sessions)
}

// places are where all sessions are, by seat.
func (c *sessionPool) places() []faults.Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]faults.Place, len(c.sessions))
	for i, s := range c.sessions {
		all[i] = faults.Place{ID: s.ID(), Server: zk.ServerOf(s)}
	}
	return all
}

// lossesBetween are the sessions whose loss was noticed from an offset on and before another.
func (c *sessionPool) lossesBetween(from, to time.Duration) []loss {
	c.mu.Lock()
	defer c.mu.Unlock()
	var some []loss
	for _, l := range c.losses {
		if l.at >= from && l.at < to {
			some = append(some, l)
		}
	}
	return some
}

// atOnce bounds how many sessions are opened or closed at the same time: enough to keep the ensemble busy, few enough not to
// overrun its listen queue.
const atOnce = 64

// connect opens all sessions, and closes them again when one cannot be opened.
func (c *sessionPool) connect(ctx context.Context, n int, opened func(int)) error {
	c.sessions = make([]zk.Session, n)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	inParallel(n, atOnce, func(i int) {
		if ctx.Err() != nil {
			return
		}
		begun := time.Now()
		s, err := c.dial(ctx, c.number(i))
		took := time.Since(begun)
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ensemble.ErrNoTLS) {
				err = fmt.Errorf("%w: no session after %v: the servers or this machine are too busy for so many at once, the more so with TLS (lower sessions)",
					err, took.Round(time.Second))
			}
			cancel(fmt.Errorf("open session %d of %d: %w", i+1, n, err))
			return
		}
		c.sessions[i] = s
		c.mu.Lock()
		if c.connects == nil {
			c.connects = metrics.NewHistogram()
		}
		c.connects.Record(took)
		c.mu.Unlock()
		opened(int(done.Add(1)))
	})
	if err := context.Cause(ctx); err != nil {
		c.close(n) // of a few servers that may not answer
		return err
	}
	return nil
}

// close ends all sessions, so many of them at a time.
func (c *sessionPool) close(atOnce int) {
	inParallel(len(c.sessions), atOnce, func(i int) {
		if c.sessions[i] != nil {
			c.sessions[i].Close() // its error says that the servers did not answer: the session then expires there
		}
	})
}

// inParallel calls do(0) to do(n-1), atOnce of them at a time, and waits for all.
func inParallel(n, atOnce int, do func(int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, atOnce) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wait.Wait()
}

// seat carries out what one simulated client does in a cell, with one session after the other.
type seat struct {
	workloads.Seat
	clients  *sessionPool
	place    int // of its session there
	observed func(seat uint32, s zk.Session) zk.Session
	work     workloads.Workload
	arrivals arrivals
	loopOpen bool
	pausing  *pausing   // of a closed loop; nil: it does not pause
	passes   bool       // what it puts others take
	stays    bool       // it works until the cell is cut: others, whom the rate drives, may still make work for it
	first    *countdown // to count this seat's first turn
}

// run does the seat's work until stop closes (nothing new is offered from then on) or ctx ends (what is under way is cut). In an
// open loop work that was due before the end is still done, or recorded as unfinished when ctx ends first: nothing offered is
// forgotten. until is the end of what is offered.
func (s *seat) run(ctx context.Context, stop <-chan struct{}, until func() time.Duration) {
	if s.finished() {
		return
	}
	if s.stays {
		stop = nil
	}
	if w, some := s.work.(workloads.Pipelined); some {
		defer w.Await(s.ID)
	}
	step := s.work.Join(s.Seat)
	for due := s.arrivals.next(0); ; due = s.next(ctx) {
		if offered := s.waitFor(ctx, stop, due); !offered && (!s.loopOpen || due >= until()) {
			return
		}
		if step == nil {
			step = s.replace(ctx, nil) // work that is due after the end waits for a session all the same
		}
		switch {
		case ctx.Err() == nil:
		case due > s.Origin.Now():
			return // cut before it was due
		default:
			s.giveUp(due)
			continue
		}
		if !s.loopOpen {
			due = s.Origin.Now() // a closed loop is never late
		}
		s.Standing.Waits() // unless the workload knows better
		err := step(ctx, due)
		s.Standing.Ends()
		s.turn()
		if s.finished() {
			return
		}
		if err != nil {
			s.lose(err)
			step = s.replace(ctx, stop)
		}
	}
}

// next is when the next unit of work is due. What has been cut short has not failed.
func (s *seat) next(ctx context.Context) time.Duration {
	now := s.Origin.Now()
	due := s.arrivals.next(now)
	if s.pausing != nil && ctx.Err() == nil {
		due = max(due, now+s.pausing.next())
	}
	return due
}

// finished tells whether the seat has done all that there is to do, where that has an end.
func (s *seat) finished() bool {
	w, finite := s.work.(workloads.Finite)
	return finite && w.Finished(s.ID)
}

// turn counts the seat's first turn.
func (s *seat) turn() {
	if s.first != nil {
		s.first.count()
		s.first = nil
	}
}

// giveUp records work that was offered and not begun when the cell was cut.
func (s *seat) giveUp(due time.Duration) {
	now, op := s.Origin.Now(), workloads.Offered(s.work)[0]
	if w, some := s.work.(workloads.Drawing); some {
		op = w.Draw(s.ID, s.Rand)
	}
	lost := metrics.Sample{Op: op, Outcome: metrics.Unfinished, Session: s.ID, Due: due, Start: now, End: now}
	s.Recorder.Record(lost)
	if op == metrics.Put && s.passes { // an item that is not put is not taken
		lost.Op = metrics.PutToTake
		s.Recorder.Record(lost)
	}
}

// waitFor waits until due; false when the offering stops before.
func (s *seat) waitFor(ctx context.Context, stop <-chan struct{}, due time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	default:
	}
	d := due - s.Origin.Now()
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	}
}

// lose ends a session that is over, and counts it unless that was meant to be.
func (s *seat) lose(err error) {
	s.Session.Close()
	if errors.Is(err, workloads.ErrEnded) {
		return
	}
	s.clients.lost.Add(1)
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	s.clients.losses = append(s.clients.losses, loss{s.Session.ID(), s.Origin.Now()})
}

// open opens a session that takes the place of the seat's.
func (s *seat) open(ctx context.Context) (zk.Session, error) {
	fresh, err := s.clients.dial(ctx, int(s.ID))
	if err != nil {
		return nil, err
	}
	s.Session = s.observed(s.ID, fresh)
	s.Fanout.Request(s.Origin.Now(), int(zk.KindConnect))
	s.clients.links.replaced(s.ID, s.Origin.Now())
	s.clients.retire(s.place, fresh)
	return s.Session, nil
}

// replace opens a new session for the seat, for as long as it takes, and joins with it; nil when the cell ends before.
func (s *seat) replace(ctx context.Context, stop <-chan struct{}) workloads.Step {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		if _, err := s.open(ctx); err == nil {
			return s.work.Join(s.Seat)
		}
		s.clients.redials.Add(1)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-stop:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil || isClosed(stop) {
			return nil
		}
	}
}
