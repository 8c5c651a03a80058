package scenarios

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/zk"
)

const (
	// Silence is how long nothing must move for a state to count as final.
	Silence = time.Second
	// StepTimeout bounds one step: servers that take longer are considered broken.
	StepTimeout = 30 * time.Second
	// restless is the number of requests, some of them in each of at least three silences, from which on clients count as never resting. It is a
	// count because the rate depends on the machine.
	restless = 300
)

var errNotStaged = errors.New("the situation could not be staged")

// NotStaged returns the error for a trial whose situation did not come about.
func NotStaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errNotStaged, fmt.Errorf(format, args...))
}

// Stage is the environment of one trial. The first violation or error ends the trial: later ones are ignored. Its methods may be called
// concurrently, except for Check and End.
type Stage struct {
	ctx    context.Context
	cancel func()
	moves  atomic.Int64

	mu      sync.Mutex
	seen    Violation
	witness string
	err     error
}

// Play plays one trial, which fails if it lasts longer than limit. A failure ends the context of the stage, because a recipe may try forever.
func Play(ctx context.Context, limit time.Duration, script func(*Stage)) (seen Violation, witness string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not come to its end within %v", limit))
	defer cancel()
	s := &Stage{ctx: ctx, cancel: cancel}
	ended := make(chan struct{})
	go func() { // End may end this goroutine
		defer close(ended)
		script(s)
	}()
	<-ended
	if ctx.Err() != nil {
		s.Fail(ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen, s.witness, s.err
}

// Context returns the context of the trial.
func (s *Stage) Context() context.Context { return s.ctx }

// Over reports whether the trial has ended.
func (s *Stage) Over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.seen != None || s.ctx.Err() != nil
}

// Fail ends the trial without a verdict, unless err is nil.
func (s *Stage) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || s.err != nil || s.seen != None {
		return
	}
	if cause := context.Cause(s.ctx); cause != nil && err != s.ctx.Err() {
		err = fmt.Errorf("%w: %w", cause, err)
	} else if cause != nil {
		err = cause
	}
	s.err = err
	s.cancel()
}

// Check fails the trial and ends the script, unless err is nil.
func (s *Stage) Check(err error) {
	if err != nil {
		s.Fail(err)
		s.End()
	}
}

// End ends the script; it must be called from the script's goroutine.
func (s *Stage) End() { runtime.Goexit() }

// Found ends the trial with a violation. None does not end it: the text then shows that the recipe passes, unless a violation is found later.
func (s *Stage) Found(v Violation, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.seen == None && s.ctx.Err() == nil {
		s.seen, s.witness = v, fmt.Sprintf(format, args...)
	}
}

// Trace records the requests and the events of a client, for Settle, and passes the requests to call.
func (s *Stage) Trace(call func(*zk.Call)) *zk.Trace {
	return &zk.Trace{
		Call:  func(c *zk.Call) { s.moves.Add(1); call(c) },
		Event: func(zk.Event) { s.moves.Add(1) },
	}
}

// Moves returns how many requests and events Trace has recorded.
func (s *Stage) Moves() int64 { return s.moves.Load() }

// Settle returns when the attempt is over, which it reports, or nothing moves any more. With a nil attempt it only waits for the latter.
//
// Nothing moves any more when no request of a client and no event has come for a silence, and sync has then completed on each live client's own
// connection. Replies and events of a connection arrive in the order in which its server sent them, so everything the servers had to say to the client
// until then has arrived, and the client did nothing about it. If clients never rest, Settle calls rest, unless rest is nil.
func (s *Stage) Settle(a *Attempt, sync func() error, rest func(requests int64, in time.Duration)) (over bool) {
	made := int64(0)
	for begun, silences := time.Now(), 1; !s.Over(); silences++ {
		moved := s.moves.Load()
		if s.listen(a) {
			return true
		}
		s.Fail(sync())
		n := s.moves.Load() - moved
		made += n
		switch {
		case n == 0:
			return false
		case silences >= 3 && made >= restless && rest != nil:
			rest(made, time.Since(begun).Round(Silence))
			return false
		case time.Since(begun) > StepTimeout:
			s.Fail(NotStaged("still moving after %v", StepTimeout))
		}
	}
	return false
}

// listen waits for a silence, or until the attempt is over, which it reports.
func (s *Stage) listen(a *Attempt) (over bool) {
	var done <-chan struct{}
	if a != nil {
		done = a.Done
	}
	timer := time.NewTimer(Silence)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-s.ctx.Done():
		s.Fail(s.ctx.Err())
	case <-timer.C:
	}
	return false
}

// Attempt is a call that may have to wait.
type Attempt struct {
	Done chan struct{} // closed when it is over
	Err  error         // set then

	cancel context.CancelFunc
}

// Begin starts a call that may have to wait.
func (s *Stage) Begin(do func(context.Context) error) *Attempt {
	ctx, cancel := context.WithCancel(s.ctx)
	a := &Attempt{Done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(a.Done)
		a.Err = do(ctx)
	}()
	return a
}

// Over reports whether the call has returned.
func (a *Attempt) Over() bool {
	select {
	case <-a.Done:
		return true
	default:
		return false
	}
}

// Abandon cancels the call and waits for its end.
func (a *Attempt) Abandon() {
	a.cancel()
	<-a.Done
}

// Refused reports whether the servers refused a request for a reason outside the recipe, as zk.Refused does. Servers before ZooKeeper 3.5.1 have no containers; recipes
// create a persistent znode there instead.
func Refused(c *zk.Call) bool {
	return zk.Refused(c.Err) && !(c.Mode == zk.Container && errors.Is(c.Err, zk.ErrUnimplemented))
}
