package drivers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// errGone ends the sessions of a process that is gone: they are over at once, like those of a client that crashed.
var errGone = zk.ErrSessionExpired

// errTaken is the result of a try of something that is not free.
var errTaken = errors.New("somebody else holds it")

// Session is a session that a driver holds: a zk.Session that has an end and a lease. Its requests are the driver's
// business, so it refuses requests of the caller. NewLock, NewReadWrite, NewSemaphore and NewQueue make handles on it.
type Session struct {
	requests
	p       *Process
	number  int64 // by which the driver identifies it
	id      int64
	timeout time.Duration

	mu     sync.Mutex
	done   chan struct{}
	lease  chan struct{} // closed while what it holds is unreliable
	err    error
	asked  bool // the driver was told to close it
	notify func(zk.Link, time.Time)
	work   sync.WaitGroup
}

// Open opens a session to servers. It assumes that the driver gets the session timeout that it asks for.
func (p *Process) Open(ctx context.Context, servers []string, timeout time.Duration) (*Session, error) {
	p.mu.Lock()
	p.next++
	s := &Session{p: p, number: p.next, timeout: timeout, done: make(chan struct{}), lease: make(chan struct{})}
	if p.sessions != nil {
		p.sessions[s.number] = s
	}
	p.mu.Unlock()
	c, err := p.send(Request{Op: OpOpen, Session: s.number, Servers: strings.Join(servers, ","), TimeoutMS: timeout.Milliseconds()})
	if err != nil {
		return nil, err
	}
	r, err := p.await(ctx, c)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("driver %s: open a session: %s: %s", p, r.Error, r.Message)
	}
	if err != nil {
		p.abandon(c)
		p.forget(s)
		return nil, err
	}
	if s.id = r.ZK; s.id == 0 {
		s.id = -s.number
	}
	return s, nil
}

// forget removes a session from those that are notified when the process ends.
func (p *Process) forget(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s.number)
}

// ID returns the number of the ZooKeeper session if the driver reports it, otherwise a negative number unique within its process.
func (s *Session) ID() int64 { return s.id }

// Timeout returns the timeout that was asked for.
func (s *Session) Timeout() time.Duration { return s.timeout }

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns nil while the session lives.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Lease returns a channel that is closed while the driver says that what the session holds is unreliable: it says what the library tells its users, when it does.
func (s *Session) Lease() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease
}

// Work starts something that an application with a session of NewLock does in the driver's process; the caller must call end soon. zkbench stands in for the
// applications: nothing starts while the process is stopped. alive is false if the process is gone or ctx has ended.
func Work(ctx context.Context, s zk.Session) (end func(), alive bool) {
	of := sessionOf(s)
	for of != nil && !closed(of.p.ended) {
		of.p.work.RLock()
		stopped := of.p.stopped
		if stopped == nil {
			return of.p.work.RUnlock, true
		}
		of.p.work.RUnlock()
		select {
		case <-stopped:
		case <-of.p.ended:
		case <-ctx.Done():
			return nil, false
		}
	}
	return nil, false
}

// Died returns when the driver process that holds a session was killed, or was seen to have ended. If dead is false, it lives, and a later call returns a
// later time.
func Died(s zk.Session) (at time.Time, dead bool) {
	of := sessionOf(s)
	if of == nil {
		return time.Time{}, false
	}
	of.p.mu.Lock()
	defer of.p.mu.Unlock()
	return of.p.died, !of.p.died.IsZero()
}

// Go runs f in a goroutine; Close waits for it.
func (s *Session) Go(f func()) { s.work.Go(f) }

// Close asks the driver to end the session, and waits for its reply for a bounded time.
func (s *Session) Close() error {
	s.mu.Lock()
	asked := s.asked // the driver keeps a lost session until it is closed
	s.asked = true
	s.mu.Unlock()
	if asked || closed(s.p.ended) {
		s.finish(zk.ErrClosed)
		s.work.Wait()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	c, err := s.p.send(Request{Op: OpClose, Session: s.number})
	if err == nil {
		if _, err = s.p.await(ctx, c); err != nil {
			s.p.abandon(c)
		}
	}
	s.p.forget(s)
	s.finish(zk.ErrClosed)
	s.work.Wait()
	return err
}

// finish ends the session on this side.
func (s *Session) finish(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = why
	close(s.done)
	s.distrust()
}

// gaveUp counts a grant or a claim that is about to be given up; lost is closed if the driver has announced it as unreliable.
func (s *Session) gaveUp(lost <-chan struct{}) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.holds++
	if closed(lost) && s.p.died.IsZero() {
		s.p.suspended++
	}
}

// Suspended returns how many grants and claims were given up so far, and for how many of them the driver had suspended the session or called it lost before.
// For the checks, nobody held these any more.
func (p *Process) Suspended() (suspended, of int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.suspended, p.holds
}

// OnLink makes the session call its argument when what it holds becomes unreliable, and when it is reliable again; see [zk.OnLink].
func (s *Session) OnLink(notify func(zk.Link, time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = notify
}

func (s *Session) tell(what zk.Link) {
	if s.notify != nil {
		s.notify(what, time.Now())
	}
}

// distrust closes the lease. The lock must be held.
func (s *Session) distrust() {
	if !closed(s.lease) {
		close(s.lease)
		s.tell(zk.LinkLost)
	}
}

// event handles an event from the driver, for a session that may already be closed.
func (s *Session) event(name string) error {
	switch {
	case name != EventSuspended && name != EventConnected && name != EventLost:
		return fmt.Errorf("%w: it sends the event %.40q (expected %s, %s or %s)", ErrProtocol, name, EventSuspended, EventConnected, EventLost)
	case s == nil:
		return nil
	case name == EventLost:
		s.finish(zk.ErrSessionExpired)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == EventSuspended {
		s.distrust()
		return nil
	}
	if s.err == nil && closed(s.lease) {
		s.lease = make(chan struct{})
		s.tell(zk.LinkMade)
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ask sends a request that may wait. When the context ends, it cancels the request; a driver that does not reply to that within a session timeout
// has lost the session. A late grant is released; a late put, take or finish counts as a success.
func (s *Session) ask(ctx context.Context, r Request) (Reply, error) {
	reply, _, err := s.carry(ctx, r)
	return reply, err
}

// carry is ask; doubt says, along with an error, that it is unknown whether the request was executed.
func (s *Session) carry(ctx context.Context, r Request) (_ Reply, doubt bool, _ error) {
	if err := s.Err(); err != nil {
		return Reply{}, false, err
	}
	r.Session = s.number
	c, err := s.p.send(r)
	if err != nil {
		return Reply{}, false, s.over(err)
	}
	reply, err := s.p.await(ctx, c)
	switch {
	case err == nil:
		return reply, reply.doubtful(), s.failure(reply)
	case ctx.Err() == nil:
		return reply, true, s.over(err)
	}
	s.p.send(Request{Op: OpCancel, Of: c.id})
	waiting, end := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer end()
	switch late, err := s.p.await(waiting, c); {
	case err != nil:
		s.p.abandon(c)
		s.Close() // this frees whatever it holds
		doubt = true
	case late.Error == "" && r.Op != OpAcquire && r.Op != OpTry:
		return late, false, nil
	case late.Error == "":
		r.Op, r.DeadlineMS = OpRelease, 0
		if _, err := s.ask(waiting, r); err != nil {
			s.Close()
		}
	case late.Error != ErrorTimeout && late.Error != ErrorCanceled && late.Error != ErrorHeld:
		return late, late.doubtful(), s.failure(late)
	}
	return Reply{}, doubt, ctx.Err()
}

// doubtful reports whether a request may have been executed although its reply is an error.
func (r Reply) doubtful() bool { return r.Error == ErrorLost || r.Error == ErrorFailed }

// over returns the error of a session whose process is gone.
func (s *Session) over(err error) error {
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrProtocol) {
		return fmt.Errorf("%w: %w", err, errGone)
	}
	return err
}

// failure returns the error of a reply.
func (s *Session) failure(r Reply) error {
	switch r.Error {
	case "":
		return nil
	case ErrorTimeout:
		return context.DeadlineExceeded
	case ErrorCanceled:
		return context.Canceled
	case ErrorHeld:
		return errTaken
	case ErrorNotHeld:
		return recipes.ErrLockLost
	case ErrorLost:
		s.finish(zk.ErrSessionExpired)
		return zk.ErrSessionExpired
	}
	return fmt.Errorf("driver %s: %s: %s", s.p, r.Error, r.Message)
}

// requests refuses what a driver's session cannot do.
type requests struct{}

func (requests) Create(context.Context, string, []byte, zk.Mode) (zk.Created, error) {
	return zk.Created{}, zk.ErrUnimplemented
}
func (requests) Delete(context.Context, string, int32) error { return zk.ErrUnimplemented }
func (requests) Set(context.Context, string, []byte, int32) (zk.Stat, error) {
	return zk.Stat{}, zk.ErrUnimplemented
}
func (requests) Get(context.Context, string) ([]byte, zk.Stat, error) {
	return nil, zk.Stat{}, zk.ErrUnimplemented
}
func (requests) Exists(context.Context, string) (zk.Stat, bool, error) {
	return zk.Stat{}, false, zk.ErrUnimplemented
}
func (requests) Children(context.Context, string) ([]string, zk.Stat, error) {
	return nil, zk.Stat{}, zk.ErrUnimplemented
}
func (requests) GetW(context.Context, string) ([]byte, zk.Stat, *zk.Watch, error) {
	return nil, zk.Stat{}, nil, zk.ErrUnimplemented
}
func (requests) ExistsW(context.Context, string) (zk.Stat, bool, *zk.Watch, error) {
	return zk.Stat{}, false, nil, zk.ErrUnimplemented
}
func (requests) ChildrenW(context.Context, string) ([]string, zk.Stat, *zk.Watch, error) {
	return nil, zk.Stat{}, nil, zk.ErrUnimplemented
}
func (requests) Multi(context.Context, ...zk.Op) ([]zk.OpResult, error) {
	return nil, zk.ErrUnimplemented
}
func (requests) Sync(context.Context, string) error { return zk.ErrUnimplemented }
