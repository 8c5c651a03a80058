package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// crowd is the sessions of one cell.
type crowd struct {
	dial     func(ctx context.Context, id int) (zk.Session, error)
	sessions []zk.Session // by seat; replaced by its seat alone when a session is lost
	lost     atomic.Int64 // sessions that expired
	redials  atomic.Int64 // failed attempts to replace one

	mu     sync.Mutex // guards what follows, and sessions against those who are not the seat
	losses []loss     // by time
}

// loss is a session that was lost, and when its seat noticed.
type loss struct {
	id int64
	at time.Duration // offset from the origin
}

// session is the one that a seat has now.
func (c *crowd) session(seat int) zk.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[seat]
}

// place is where a session is connected: "" while it is not, or where the engine does not tell.
type place struct {
	id     int64
	server string
}

// places are where all sessions are, by seat.
func (c *crowd) places() []place {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]place, len(c.sessions))
	for i, s := range c.sessions {
		all[i].id = s.ID()
		if told, ok := s.(interface{ Server() string }); ok {
			all[i].server = told.Server()
		}
	}
	return all
}

// lossesBetween are the sessions whose loss was noticed from an offset on and before another.
func (c *crowd) lossesBetween(from, to time.Duration) []loss {
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
func (c *crowd) connect(ctx context.Context, n int, opened func(int)) error {
	c.sessions = make([]zk.Session, n)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	inParallel(n, atOnce, func(i int) {
		if ctx.Err() != nil {
			return
		}
		s, err := c.dial(ctx, i)
		if err != nil {
			cancel(fmt.Errorf("open session %d of %d: %w", i+1, n, err))
			return
		}
		c.sessions[i] = s
		opened(int(done.Add(1)))
	})
	if err := context.Cause(ctx); err != nil {
		c.close(n) // of a few servers that may not answer
		return err
	}
	return nil
}

// close ends all sessions, so many of them at a time.
func (c *crowd) close(atOnce int) {
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

// seat is one session's life in a cell.
type seat struct {
	workloads.Seat
	crowd    *crowd
	work     workloads.Workload
	arrivals arrivals
	loopOpen bool
	first    *countdown // to count this seat's first turn
}

// run does the seat's work until stop closes (nothing new is offered from then on) or ctx ends (what is under way is cut). In an
// open loop work that was due before the end is still done, or recorded as unfinished when ctx ends first: nothing offered is
// forgotten. until is the end of what is offered.
func (s *seat) run(ctx context.Context, stop <-chan struct{}, until func() time.Duration) {
	if s.finished() {
		return
	}
	step := s.work.Join(s.Seat)
	for due := s.arrivals.next(0); ; due = s.arrivals.next(s.Origin.Now()) {
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
		err := step(ctx, due)
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
	now, op := s.Origin.Now(), s.work.Op()
	if w, some := s.work.(workloads.Driven); some {
		op = w.Offered()
	}
	s.Recorder.Record(metrics.Sample{Op: op, Outcome: metrics.Unfinished, Session: s.ID, Due: due, Start: now, End: now})
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
	s.crowd.lost.Add(1)
	s.crowd.mu.Lock()
	defer s.crowd.mu.Unlock()
	s.crowd.losses = append(s.crowd.losses, loss{s.Session.ID(), s.Origin.Now()})
}

// replace opens a new session for the seat, for as long as it takes, and joins with it; nil when the cell ends before.
func (s *seat) replace(ctx context.Context, stop <-chan struct{}) workloads.Step {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		fresh, err := s.crowd.dial(ctx, int(s.ID))
		if err == nil {
			s.Session = fresh
			s.crowd.mu.Lock()
			s.crowd.sessions[s.ID] = fresh
			s.crowd.mu.Unlock()
			return s.work.Join(s.Seat)
		}
		s.crowd.redials.Add(1)
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
