package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// sessionPool holds the sessions of one cell.
type sessionPool struct {
	dial     func(ctx context.Context, id int) (zk.Session, error)
	dialFor  func(ctx context.Context, id int, timeout time.Duration) (zk.Session, error)
	number   func(place int) int // returns the number of the session at a place
	sessions []zk.Session        // by place in the share; only its seat replaces a session, when it is lost
	lost     atomic.Int64        // sessions that expired
	redials  atomic.Int64        // failed attempts to replace one
	links    links

	mu       sync.Mutex         // guards what follows, and sessions against access by others than the seat
	losses   []outcome.Loss     // by time
	retired  zk.Traffic         // traffic of sessions that have been replaced
	connects *metrics.Histogram // how long the first sessions took to open; nil until one has
}

// session returns the current session of a seat.
func (c *sessionPool) session(seat int) zk.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[seat]
}

// all returns the current sessions of all seats.
func (c *sessionPool) all() []zk.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sessions)
}

// places returns where all sessions are, by seat.
func (c *sessionPool) places() []faults.Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]faults.Place, len(c.sessions))
	for i, s := range c.sessions {
		all[i] = faults.Place{ID: s.ID(), Server: zk.ServerOf(s)}
	}
	return all
}

// atOnce limits how many sessions are opened or closed at the same time: enough to keep the ensemble busy, few enough not to overrun its listen queue.
const atOnce = 64

// connect opens all sessions. If one cannot be opened, it closes them again.
func (c *sessionPool) connect(ctx context.Context, n int, opened func(int)) error {
	c.sessions = make([]zk.Session, n)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	InParallel(n, atOnce, func(i int) {
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
		c.close(n) // all at once: some servers may not answer
		return err
	}
	return nil
}

// interrupt gives up all requests in flight, whose context has ended.
func (c *sessionPool) interrupt() {
	for _, s := range c.all() {
		zk.Interrupt(s)
	}
}

// close closes all sessions, atOnce of them at a time.
func (c *sessionPool) close(atOnce int) {
	InParallel(len(c.sessions), atOnce, func(i int) {
		if c.sessions[i] != nil {
			c.sessions[i].Close() // an error means that the servers did not answer: the session then expires there
		}
	})
}

// InParallel calls do(0) to do(n-1), atOnce of them at a time, and waits for all.
func InParallel(n, atOnce int, do func(int)) {
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

// seat carries out what one simulated client does in a cell, over one or more successive sessions.
type seat struct {
	// What every step uses is in the first cache line: with thousands of sessions, it is cold by the time of the next step.
	recorder
	standing metrics.Standing
	draws    plan.Source // of Rand
	begun    bool        // it has had its first turn
	eager    bool        // a closed loop without think time, and without an end of its own
	loopOpen bool
	stays    bool // it works until the cell is cut, because sessions driven by the rate may still make work for it

	workloads.Seat
	work     workloads.Workload
	arrivals plan.Arrivals
	passes   bool // others take what it puts
	clients  *sessionPool
	place    int        // of its session in the pool
	first    *countdown // of the first turns of all seats
}

// run does the seat's work until stop closes (nothing new is offered from then on) or ctx ends (in-flight work is cut). In an open loop, work that was due
// before the end is still done, or recorded as unfinished if ctx ends first: no offered work is lost from the count. until returns the end of the offered
// load.
func (s *seat) run(ctx context.Context, stop <-chan struct{}, until func() time.Duration) {
	if s.finished() {
		return
	}
	if s.stays {
		stop = nil
	}
	// A context of the seat's own: whatever waits selects on its Done, whose lock and queue all sessions would otherwise contend for.
	all := ctx
	ctx, cancel := context.WithCancel(all)
	defer cancel()
	ctx = zk.Patient(ctx) // the cell interrupts the sessions when it cuts their work
	if w, some := s.work.(workloads.Pipelined); some {
		defer w.Await(s.ID)
	}
	step, now := s.work.Join(s.Seat), s.Origin.Now()
	for due := s.arrivals.Next(0); ; due = s.next(now) {
		offered := false
		if now, offered = s.waitFor(ctx, stop, due, now); !offered && (!s.loopOpen || due >= until()) {
			return
		}
		if step == nil {
			step = s.replace(ctx, nil) // work that is due after the end still waits for a session
			now = s.Origin.Now()
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
			due = now // a closed loop is never late
		}
		err := s.steps(all, ctx, stop, step, due)
		s.Standing.Ends()
		s.turn()
		if s.finished() {
			return
		}
		if err != nil {
			s.lose(err)
			step = s.replace(ctx, stop)
		}
		now = s.Origin.Now()
	}
}

// steps carries out the step that is due, and further ones as long as each succeeds and the next is due at once. With thousands of sessions, the memory of each
// is cold after a step: so this needs little of the stack, and asks the context of all seats whether the cell is cut.
func (s *seat) steps(all, ctx context.Context, stop <-chan struct{}, step workloads.Step, due time.Duration) error {
	origin := s.Origin // in a cache line of s that nothing else here needs
	for {
		s.Standing.Waits() // unless the workload knows better
		err := step.Do(ctx, due)
		cut := all.Err() != nil
		if !cut && s.may { // work that was cut has not failed
			s.pausing.next(s.pauses)
		}
		if err != nil || cut || !s.eager || !s.begun || s.failed > 0 || IsClosed(stop) {
			return err
		}
		due = origin.Now()
	}
}

// next returns when the unit of work after the one that ended at now is due.
func (s *seat) next(now time.Duration) time.Duration {
	due := now
	if !s.eager {
		due = s.arrivals.Next(now)
	}
	if pause := s.pause(); pause > 0 {
		due = max(due, now+pause)
	}
	return due // in an open loop it may have passed
}

// finished reports whether the seat has done all its work. Only finite workloads have an end.
func (s *seat) finished() bool {
	w, finite := s.work.(workloads.Finite)
	return finite && w.Finished(s.ID)
}

// turn counts the seat's first turn.
func (s *seat) turn() {
	if !s.begun {
		s.begun = true
		s.first.count()
	}
}

// giveUp records work that was offered but had not started when the cell was cut.
func (s *seat) giveUp(due time.Duration) {
	now, op := s.Origin.Now(), workloads.Offered(s.work)[0]
	switch w := s.work.(type) {
	case workloads.Drawing:
		op = w.Draw(s.ID, s.Rand)
	case workloads.Scheduled:
		if op = w.Skip(s.ID); op == metrics.OpNone {
			return
		}
	}
	lost := metrics.Sample{Op: op, Outcome: metrics.Unfinished, Session: s.ID, Due: due, Start: now, End: now}
	s.Recorder.Record(lost)
	if op == metrics.Put && s.passes { // an item that is not put cannot be taken
		lost.Op = metrics.PutToTake
		s.Recorder.Record(lost)
	}
}

// waitFor waits until due, and returns the time; it returns false if the offering stops first.
func (s *seat) waitFor(ctx context.Context, stop <-chan struct{}, due, now time.Duration) (time.Duration, bool) {
	if IsClosed(stop) || ctx.Err() != nil { // in turn, because a select of both would take the lock of stop, which all sessions share
		return now, false
	}
	d := due - now
	if d <= 0 {
		return now, true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return s.Origin.Now(), true
	case <-stop:
	case <-ctx.Done():
	}
	return s.Origin.Now(), false
}

// lose closes a session that has ended, and counts it as lost unless its end was intended.
func (s *seat) lose(err error) {
	s.clients.links.ended(s.ID, s.Origin.Now())
	s.Session.Close()
	if errors.Is(err, workloads.ErrEnded) {
		return
	}
	s.clients.lost.Add(1)
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	s.clients.losses = append(s.clients.losses, outcome.Loss{ID: s.Session.ID(), At: s.Origin.Now()})
}

// open opens a session that replaces the seat's current one.
func (s *seat) open(ctx context.Context) (zk.Session, error) { return s.openFor(ctx, 0) }

// openFor is open with a session timeout of its own; 0: that of the profile.
func (s *seat) openFor(ctx context.Context, timeout time.Duration) (zk.Session, error) {
	dial := s.clients.dial
	if timeout > 0 {
		dial = func(ctx context.Context, id int) (zk.Session, error) { return s.clients.dialFor(ctx, id, timeout) }
	}
	fresh, err := dial(ctx, int(s.ID))
	if err != nil {
		return nil, err
	}
	s.Session = fresh
	s.clients.links.follow(s.ID, fresh, s.Origin)
	s.Fanout.Request(s.Origin.Now(), int(zk.KindConnect))
	s.clients.links.replaced(s.ID, s.Origin.Now())
	s.clients.retire(s.place, fresh)
	if ctx.Err() != nil { // the pool may have been interrupted before the session was part of it
		zk.Interrupt(fresh)
	}
	return s.Session, nil
}

// replace opens a new session for the seat, retrying until it succeeds, and joins with it; it returns nil if the cell ends first.
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
		if ctx.Err() != nil || IsClosed(stop) {
			return nil
		}
	}
}
