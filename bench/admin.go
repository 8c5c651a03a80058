package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// bounded is ctx until the run has failed, or stop is closed; a nil stop lets it go on after an interrupt. The caller calls end.
func (r *runner) bounded(ctx context.Context, stop <-chan struct{}) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-stop:
		case <-r.failed:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, func() {
		cancel()
		<-over
	}
}

// fail ends the run: it cannot go on. The first reason counts.
func (r *runner) fail(why error) {
	r.failing.Do(func() {
		r.why = why
		close(r.failed)
	})
}

// adminTries is how often something that can be done again is tried before its failure ends the run.
const adminTries = 3

// adminPause is waited after the first of them, twice as long after the second.
const adminPause = 100 * time.Millisecond

// admin lends the administrative session, which is opened again when it was lost. What is done with it may be done twice: it is tried
// again when it failed with the session or the connection.
func (r *runner) admin(ctx context.Context, do func(zk.Session) error) error {
	for try := 1; ; try++ {
		s, err := r.administrator(ctx)
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

// setUp is admin for what has to be there before a load. Servers that answer none of its requests for a long time end it, and the error says so.
func (r *runner) setUp(ctx context.Context, do func(zk.Session) error) error {
	return access.Explain(r.admin(ctx, func(s zk.Session) error { return do(r.prompt(s)) }))
}

// prompt bounds how long servers may take for each request of a set-up: before a load, none is as slow as to take three session timeouts.
func (r *runner) prompt(s zk.Session) zk.Session {
	return zk.Prompt(s, 3*max(r.profile.SessionTimeout, leastPrompt))
}

// administrator is the administrative session.
func (r *runner) administrator(ctx context.Context) (zk.Session, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.session != nil && r.session.Err() == nil {
		return r.session, nil
	}
	r.closeAdmin()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	s, err := r.dial(ctx, r.Ensemble.Addresses(), r.profile.Seed)
	if err != nil {
		return nil, fmt.Errorf("open a session at %v: %w", r.Ensemble.Addresses(), err)
	}
	r.session = s
	if r.stands { // the mark of the living went with the session before
		err := r.home.Renew(ctx, s)
		r.noteLoss(err)
		r.stands = !isLoss(err)
		if err != nil && r.stands {
			return nil, err
		}
	}
	return s, nil
}

// dialTimeout bounds the opening of one session: an ensemble that takes longer does not serve.
const dialTimeout = 20 * time.Second

// dial opens a session of the run. Its seed spreads the sessions over the servers, in every run the same way.
func (r *runner) dial(ctx context.Context, addresses []string, seed uint64) (zk.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	s, err := r.engine.Dial(ctx, addresses, r.profile.SessionTimeout, seed)
	if err != nil {
		return nil, err
	}
	r.dialed.Store(s.ID(), true)
	return s, nil
}

func (r *runner) closeAdmin() {
	if r.session != nil {
		r.session.Close() // its error says that the servers did not answer: the session then expires there
		r.session = nil
	}
}

func (r *runner) tell(message string) { r.report(Update{Message: message}) }

// tellOf tells of an event.
func (r *runner) tellOf(e Event, message string) { r.report(Update{Message: message, Event: &e}) }

// tellViolations tells of a cell's violations at once: the run may go on for long.
func (r *runner) tellViolations(c *cell, result results.Cell) {
	for _, k := range result.Checks {
		if k.Verdict == "violated" {
			r.tellOf(Event{Kind: EventViolation, Name: k.Name}, fmt.Sprintf("VIOLATED %s in %s, %s: %s", k.Name, c.variant, phrase.Count(c.sessions, "session"), k.Detail))
		}
	}
}

func (r *runner) report(u Update) {
	if r.Progress != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Progress(u)
	}
}

// watch asks the servers for their figures once a second, and notices when the ensemble is no longer the one that is to be measured.
// The caller calls stop.
func (r *runner) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		answered := time.Now()
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-second.C:
			}
			all := r.Ensemble.Stats(ctx)
			if ctx.Err() != nil {
				return
			}
			now := time.Now()
			r.roll.call(all)
			c := r.loaded.Load()
			if serves(all) || c != nil && c.faults.ServersHurt(c.origin.At(now)) {
				answered = now
			}
			if c != nil {
				c.told(all, polled)
			}
			if err := r.broken(now.Sub(answered)); err != nil {
				if c != nil {
					err = fmt.Errorf("in %s with %s, %s after its start: %w", c.variant, phrase.Count(c.spec.sessions, "session"), phrase.Duration(c.origin.Now()), err)
				}
				r.fail(err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// broken says why the ensemble, of which no server has answered for some time, is of no use any more; nil if it is.
func (r *runner) broken(silent time.Duration) error {
	if e, ok := r.Ensemble.(interface{ Ended() error }); ok {
		if err := e.Ended(); err != nil {
			return err
		}
	}
	if silent > r.profile.SessionTimeout+5*time.Second {
		return fmt.Errorf("no server has answered for %v", silent.Round(time.Second))
	}
	return nil
}
