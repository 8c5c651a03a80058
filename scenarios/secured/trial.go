package secured

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// trial is one scenario with one variant while it is played. Its methods, except leave, end the script when something fails.
type trial struct {
	*scenarios.Stage
	of             subject
	admin          zk.Session
	holder, waiter zk.Session
	line           *Line // of the holder
	held           recipes.Lock
	grant          recipes.Grant
	waits          *scenarios.Attempt // the waiter's acquisition
}

// play plays one trial, and leaves no session behind.
func play(ctx context.Context, servers Servers, of scenarios.Trial, dir string) (seen Violation, witness string, err error) {
	var left error
	seen, witness, err = scenarios.Play(ctx, 4*scenarios.StepTimeout, func(stage *scenarios.Stage) {
		t := &trial{Stage: stage, of: subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.name == of.Variant })]}
		defer func() { left = t.leave(ctx, dir) }()
		t.open(servers, of.Scenario == creatorOnly)
		t.script(of.Scenario, dir)
	})
	return seen, witness, cmp.Or(err, left)
}

// open opens the sessions: the clients have two identities, or the same one.
func (t *trial) open(servers Servers, two bool) {
	own := credential("holder")
	others := own
	if two {
		others = credential("waiter")
	}
	t.line = &Line{Fault: t.of.fault, Credential: own}
	var err error
	t.admin, err = servers.Dial(t.Context())
	t.Check(err)
	t.holder, err = servers.DialAs(t.Context(), own, t.line.Wrap)
	t.Check(err)
	t.waiter, err = servers.DialAs(t.Context(), others, nil)
	t.Check(err)
}

// script plays the steps, most of which the scenarios share.
func (t *trial) script(scenario, dir string) {
	of, ok := recipes.Find(lock.Variants(), t.of.lock)
	if !ok {
		t.Check(fmt.Errorf("no lock is called %s", t.of.lock))
	}
	t.directories(scenario, dir)
	for _, s := range []zk.Session{t.holder, t.waiter} {
		t.Check(catchUp(t.Context(), s))
	}
	options := recipes.Options{Watch: t.of.watch}
	t.held = of.New(t.holder, dir+"/lock", options)
	var err error
	if t.grant, err = t.held.Acquire(t.Context()); err != nil {
		t.Check(scenarios.NotStaged("nobody else is there, and the lock is not granted: %w", err))
	}
	waiting := of.New(zk.Observe(t.waiter, t.Trace(func(*zk.Call) {})), dir+"/lock", options)
	t.waits = t.Begin(func(ctx context.Context) error {
		_, err := waiting.Acquire(ctx)
		return err
	})
	defer t.waits.Abandon()
	if t.settle() {
		t.refused("while another one holds")
		return
	}
	if scenario != creatorOnly {
		t.comeBack()
	}
	t.release()
}

// settle returns when the waiter's acquisition is over, which it reports, or nothing moves any more.
func (t *trial) settle() (over bool) {
	over = t.Settle(t.waits, func() error { return t.waiter.Sync(t.Context(), "/") }, nil)
	if t.Over() {
		t.End()
	}
	return over
}

// refused judges a premature end of the waiter's acquisition.
func (t *trial) refused(when string) {
	if !errors.Is(t.waits.Err, zk.ErrNoAuth) {
		t.Check(scenarios.NotStaged("the waiter's acquisition ends %s: %w", when, t.waits.Err))
	}
	t.Found(Liveness, "the waiter is refused %s: %v", when, t.waits.Err)
}

// refusals is the number of refusals that convict a client: each costs it a connection.
const refusals = 3

// comeBack cuts the holder's connection, and waits until it has reconnected.
func (t *trial) comeBack() {
	ctx, cancel := context.WithTimeout(t.Context(), scenarios.StepTimeout)
	defer cancel()
	cut := time.Now()
	t.line.Cut()
	back := t.Begin(func(context.Context) (err error) {
		for again := true; again; again = err != nil && ctx.Err() == nil && t.holder.Err() == nil {
			err = t.holder.Sync(ctx, t.grant.Path)
			sleep.For(ctx, 10*time.Millisecond)
		}
		return err
	})
	for t.line.Refused() < refusals {
		select {
		case <-back.Done:
			if back.Err == nil {
				return
			}
			if took := time.Since(cut); t.holder.Err() == nil || took > t.holder.Timeout()/2 {
				t.Check(scenarios.NotStaged("the holder does not come back within %v, of a session timeout of %v: %w", took, t.holder.Timeout(), back.Err))
			}
			t.Found(Session, "the holder only lost its connection, and %v later is told: %v", time.Since(cut).Round(time.Millisecond), t.holder.Err())
			t.End()
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	<-back.Done
	t.Found(Session, "the holder only lost its connection, and %d new ones are refused within %v (error -124); it keeps the lock, which it cannot release",
		refusals, time.Since(cut).Round(time.Millisecond))
	t.End()
}

// release releases the holder's lock, and judges what happens to the waiter.
func (t *trial) release() {
	released := t.held.Release(t.Context())
	over := t.settle()
	switch {
	case over && t.waits.Err == nil:
		t.Found(None, "the waiter holds after the release")
	case over:
		t.refused("after the release")
	case released != nil:
		t.Found(Liveness, "the waiter waits; the holder cannot release, and its session goes on: %v", released)
	default:
		t.Found(Liveness, "the waiter waits, and is told nothing after the release; %d requests and events until then", t.Moves())
	}
}

// directories creates the directory of a lock, whose ACL says who may delete in it: the run's identity if the clients have two, otherwise theirs.
func (t *trial) directories(scenario, dir string) {
	_, err := t.admin.Create(t.Context(), dir, nil, zk.Persistent)
	t.Check(err)
	t.Check(catchUp(t.Context(), t.holder))
	maker := t.admin
	if scenario != creatorOnly {
		maker = t.holder
	}
	_, err = maker.Create(t.Context(), dir+"/lock", nil, zk.Persistent)
	t.Check(err)
}

// leave closes the sessions, and removes the directory, which the run may not be allowed to list.
func (t *trial) leave(ctx context.Context, dir string) error {
	if t.line != nil {
		t.line.Mend() // a session that cannot connect cannot be closed
	}
	if t.waiter != nil && t.holder.Err() != nil && t.grant.Path != "" { // a session that ended without its servers leaves its znode, which only its identity may delete
		t.waiter.Delete(ctx, t.grant.Path, zk.AnyVersion)
	}
	for _, s := range []zk.Session{t.holder, t.waiter} {
		if s != nil {
			s.Close()
		}
	}
	if t.admin == nil {
		return nil
	}
	defer t.admin.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scenarios.StepTimeout)
	defer cancel()
	if err := t.admin.Delete(ctx, dir+"/lock", zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("remove %s/lock: %w", dir, err)
	}
	return nil
}
