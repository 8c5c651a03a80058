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

// errGone ends the sessions of a process that is gone: as those of a client that has crashed, they are over for it at once.
var errGone = zk.ErrSessionExpired

// errTaken answers a try of what is not free.
var errTaken = errors.New("somebody else holds it")

// Session is a session that a driver holds: a zk.Session that can be ended, and relied on or not. What goes over its wire is the driver's
// matter, so it refuses requests of its own. Handles on it are made with NewLock, NewReadWrite, NewSemaphore and NewQueue.
type Session struct {
	requests
	p       *Process
	number  int64 // by which the driver knows it
	id      int64
	timeout time.Duration

	mu    sync.Mutex
	done  chan struct{}
	lease chan struct{} // closed while what it holds cannot be relied on
	err   error
	told  bool // the driver has been told to close it
	work  sync.WaitGroup
}

// Open opens a session to servers. The driver asks for the session timeout, and is taken to get it.
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

// forget takes a session off the list of those that are told of the end of the process.
func (p *Process) forget(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s.number)
}

// ID is the number of the ZooKeeper session, where the driver tells it; otherwise a negative number of no other session of its process.
func (s *Session) ID() int64 { return s.id }

// Timeout is the one that was asked for.
func (s *Session) Timeout() time.Duration { return s.timeout }

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is nil while the session lives.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Lease is closed while the driver says that what the session holds cannot be relied on: it tells what the library tells its users, when it does.
func (s *Session) Lease() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease
}

// Work begins something that an application with a session of NewLock does in the process of the driver; end ends it, and has to be called soon. zkbench stands in for the
// applications: while the process is stopped nothing begins. False: the process is gone, or ctx has ended.
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

// Died returns when the process of the driver that holds a session was killed, or was seen to have ended. False: it lives, and a later call returns a
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

// Go runs f beside the caller; Close waits for it.
func (s *Session) Go(f func()) { s.work.Go(f) }

// Close has the driver end the session, and waits for its answer for a bounded time.
func (s *Session) Close() error {
	s.mu.Lock()
	told := s.told // the driver keeps what is lost until it is closed
	s.told = true
	s.mu.Unlock()
	if told || closed(s.p.ended) {
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

// gaveUp counts a grant or a claim that is about to be given up; lost is closed if the driver has said before that it cannot be relied on.
func (s *Session) gaveUp(lost <-chan struct{}) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.holds++
	if closed(lost) && s.p.died.IsZero() {
		s.p.suspended++
	}
}

// Suspended is how many grants and claims were given up so far, and how many of them the driver had said before that they cannot be relied on: it had suspended
// the session, or called it lost. For the checks nobody had these any more.
func (p *Process) Suspended() (suspended, of int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.suspended, p.holds
}

// distrust closes the lease; the lock is held.
func (s *Session) distrust() {
	select {
	case <-s.lease:
	default:
		close(s.lease)
	}
}

// event takes an event of the driver, of a session that may be closed already.
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

// ask carries a request out that may wait. When the context ends it is canceled; a driver that does not answer that within a session timeout
// has lost the session. What is granted all the same is released, and what is put, taken or finished all the same is.
func (s *Session) ask(ctx context.Context, r Request) (Reply, error) {
	reply, _, err := s.carry(ctx, r)
	return reply, err
}

// carry is ask. doubt says, beside an error, that nothing tells whether what was asked for was done.
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
	patience, end := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer end()
	switch late, err := s.p.await(patience, c); {
	case err != nil:
		s.p.abandon(c)
		s.Close() // what it holds, if anything, is free then
		doubt = true
	case late.Error == "" && r.Op != OpAcquire && r.Op != OpTry:
		return late, false, nil
	case late.Error == "":
		r.Op, r.DeadlineMS = OpRelease, 0
		if _, err := s.ask(patience, r); err != nil {
			s.Close()
		}
	case late.Error != ErrorTimeout && late.Error != ErrorCanceled && late.Error != ErrorHeld:
		return late, late.doubtful(), s.failure(late)
	}
	return Reply{}, doubt, ctx.Err()
}

// doubtful tells whether what a reply refuses may have been done.
func (r Reply) doubtful() bool { return r.Error == ErrorLost || r.Error == ErrorFailed }

// over is the error of a session whose process is gone.
func (s *Session) over(err error) error {
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrProtocol) {
		return fmt.Errorf("%w: %w", err, errGone)
	}
	return err
}

// failure is the error of a reply.
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
