package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// Target is the ensemble that a run measures. A run whose profile names several ensembles uses one target after the other.
type Target struct {
	Profile  profiles.Profile // with this ensemble only
	Ensemble ensemble.Ensemble
	Engine   Engine         // its sessions use Access
	Access   *access.Access // the identities of the sessions; nil for plain ones
	Proxy    *proxy.Proxy   // in front of the servers for the sessions of the cells; nil when no fault needs it
	Root     string         // znode of the run
	Home     *root.Root     // the same znode
	*Failure

	turn    chan struct{} // holds a value while a goroutine opens the administrative session
	session zk.Session    // the administrative one; guarded by turn
	kept    bool          // the root has been made and is not known to be lost; guarded by turn
	opened  sync.Map      // IDs of all sessions of the run, with value true
}

// New returns a target that shares its Failure with the other targets of the run.
func New(f *Failure) *Target { return &Target{Failure: f, turn: make(chan struct{}, 1)} }

// Failure records why a run cannot continue: the ensemble no longer serves, its root is gone, or the result cannot be written.
type Failure struct {
	failed chan struct{}
	why    error
	once   sync.Once
}

// NewFailure returns the Failure of a run that has not failed.
func NewFailure() *Failure { return &Failure{failed: make(chan struct{})} }

// Fail ends the run. Only the first reason is kept.
func (f *Failure) Fail(why error) {
	f.once.Do(func() {
		f.why = why
		close(f.failed)
	})
}

// Failed returns a channel that closes when the run has failed.
func (f *Failure) Failed() <-chan struct{} { return f.failed }

// Why returns the reason, or nil while the run has not failed.
func (f *Failure) Why() error {
	select {
	case <-f.failed:
		return f.why
	default:
		return nil
	}
}

// Bounded returns a context that ends with ctx, when the run fails, or when stop is closed; a nil stop lets it continue after an interrupt. The caller calls
// end.
func (f *Failure) Bounded(ctx context.Context, stop <-chan struct{}) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-stop:
		case <-f.failed:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, func() {
		cancel()
		<-over
	}
}

// adminTries is how often a repeatable action is tried before its failure ends the run.
const adminTries = 3

// adminPause is the wait after the first attempt; it is twice as long after the second.
const adminPause = 100 * time.Millisecond

// Admin lends the administrative session, and reopens it if it was lost. do must be repeatable: Admin calls it again if it failed because of the session or
// the connection.
func (t *Target) Admin(ctx context.Context, do func(zk.Session) error) error {
	for try := 1; ; try++ {
		s, err := t.administrator(ctx)
		if err != nil {
			return err
		}
		err = do(s)
		if err == nil || ctx.Err() != nil || try == adminTries {
			return err
		}
		switch zk.Classify(err) {
		case zk.ClassSessionGone, zk.ClassMaybeApplied, zk.ClassNotSent, zk.ClassThrottled:
		default:
			return err
		}
		if sleep.For(ctx, time.Duration(try)*adminPause) != nil {
			return err
		}
	}
}

// SetUp is Admin for what must exist before a load. It fails if the servers do not answer one of its requests for a long time, and the error says so.
func (t *Target) SetUp(ctx context.Context, do func(zk.Session) error) error {
	return access.Explain(t.Admin(ctx, func(s zk.Session) error { return do(t.Prompt(s)) }))
}

// LeastPrompt is the minimum time that servers get for an answer before they count as not answering.
const LeastPrompt = 10 * time.Second

// Prompt limits how long servers may take for each request of a set-up: before a load, no server is slow enough to need three session timeouts.
func (t *Target) Prompt(s zk.Session) zk.Session {
	return zk.Prompt(s, 3*max(t.Profile.SessionTimeout, LeastPrompt))
}

// administrator returns the administrative session, and opens it if necessary.
func (t *Target) administrator(ctx context.Context) (zk.Session, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t.session != nil && t.session.Err() == nil {
		return t.session, nil
	}
	t.CloseAdmin()
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	s, err := t.Dial(ctx, t.Ensemble.Addresses(), t.Profile.Seed)
	if err != nil {
		return nil, fmt.Errorf("open a session at %v: %w", t.Ensemble.Addresses(), err)
	}
	t.session = s
	if t.kept { // the znode that marks the run as active disappeared with the previous session
		err := t.Home.Renew(ctx, s)
		t.noteLoss(err)
		t.kept = !IsLoss(err)
		if err != nil && t.kept {
			return nil, err
		}
	}
	return s, nil
}

// DialTimeout limits the opening of one session: an ensemble that takes longer does not serve.
const DialTimeout = 20 * time.Second

// Dial opens a session of the run. Its seed spreads the sessions over the servers, the same way in every run.
func (t *Target) Dial(ctx context.Context, addresses []string, seed uint64) (zk.Session, error) {
	return t.dial(ctx, addresses, t.Profile.SessionTimeout, seed)
}

func (t *Target) dial(ctx context.Context, addresses []string, timeout time.Duration, seed uint64) (zk.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	s, err := t.Engine.Dial(ctx, addresses, timeout, seed)
	if err != nil {
		return nil, err
	}
	t.Opened(s)
	return s, nil
}

// DialSeat opens session number id of the load, which writes only below the root.
func (t *Target) DialSeat(ctx context.Context, id int) (zk.Session, error) {
	return t.DialSeatFor(ctx, id, t.Profile.SessionTimeout)
}

// DialSeatFor is DialSeat with another session timeout than the profile's.
func (t *Target) DialSeatFor(ctx context.Context, id int, timeout time.Duration) (zk.Session, error) {
	s, err := t.dial(ctx, t.Addresses(), timeout, t.Profile.Seed+uint64(id)+1)
	if err != nil {
		return nil, err
	}
	return zk.Within(s, t.Root), nil
}

// Addresses returns the addresses that the sessions of the cells connect to.
func (t *Target) Addresses() []string {
	if t.Proxy != nil {
		return t.Proxy.Addresses()
	}
	return t.Ensemble.Addresses()
}

// Opened records that a session belongs to the run.
func (t *Target) Opened(s zk.Session) { t.opened.Store(s.ID(), true) }

// Owns reports whether the run has opened the session.
func (t *Target) Owns(id int64) bool {
	_, ours := t.opened.Load(id)
	return ours
}

// CloseAdmin closes the administrative session.
func (t *Target) CloseAdmin() {
	if t.session != nil {
		t.session.Close() // an error means that the servers did not answer: the session then expires there
		t.session = nil
	}
}

// KeepRoot marks the root as in use for the rest of the run, and ends the run if somebody else removes or takes it. The caller calls stop before it removes
// the root itself.
func (t *Target) KeepRoot(ctx context.Context) (stop func()) {
	t.turn <- struct{}{}
	t.kept = true
	<-t.turn
	ctx, end := t.Bounded(ctx, nil)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			s, err := t.administrator(ctx)
			if err != nil {
				sleep.For(ctx, time.Second)
				continue
			}
			t.noteLoss(t.Home.Watch(ctx, s))
			sleep.For(ctx, time.Second) // the session has ended: do not ask servers that end every new session all the time
		}
	}()
	return func() {
		end()
		<-over
	}
}

// noteLoss ends the run if err says that its root is lost.
func (t *Target) noteLoss(err error) {
	if IsLoss(err) {
		t.Fail(err)
	}
}

// IsLoss reports whether err says that the root is lost to somebody else.
func IsLoss(err error) bool { return errors.Is(err, root.ErrGone) || errors.Is(err, root.ErrTaken) }

// RootLost reports whether the run has lost its root to somebody else.
func (f *Failure) RootLost() bool { return IsLoss(f.Why()) }

// CheckRoot verifies that the root still exists, so that its loss is known before anything is judged.
func (t *Target) CheckRoot(ctx context.Context) {
	ctx, end := t.Bounded(ctx, nil)
	defer end()
	t.noteLoss(t.Admin(ctx, func(s zk.Session) error { return t.Home.Verify(ctx, s) }))
}
