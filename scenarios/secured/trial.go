package secured

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// silence is how long nothing must have moved before the state counts as final.
const silence = time.Second

// errNotStaged: the situation did not come about.
var errNotStaged = errors.New("the situation could not be staged")

// trial is one scenario with one variant while it is played.
type trial struct {
	of             subject
	admin          zk.Session
	holder, waiter zk.Session
	line           *Line // of the holder
	held           recipes.Lock
	grant          recipes.Grant
	moves          atomic.Int64 // requests and events of the waiter
	asked          chan error   // the end of its acquisition
}

// play plays one trial, and leaves no session.
func play(ctx context.Context, servers Servers, of scenarios.Trial, dir string) (seen Violation, witness string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	t := &trial{of: subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.name == of.Variant })], asked: make(chan error, 1)}
	if err = t.open(ctx, servers, of.Scenario == creatorOnly); err == nil {
		seen, witness, err = t.script(ctx, of.Scenario, dir)
	}
	return seen, witness, cmp.Or(err, t.leave(ctx, dir))
}

// open opens the sessions: the clients are two identities, or one.
func (t *trial) open(ctx context.Context, servers Servers, two bool) (err error) {
	own := credential("holder")
	others := own
	if two {
		others = credential("waiter")
	}
	t.line = &Line{Fault: t.of.fault, Credential: own}
	if t.admin, err = servers.Dial(ctx); err != nil {
		return err
	}
	if t.holder, err = servers.DialAs(ctx, own, t.line.Wrap); err != nil {
		return err
	}
	t.waiter, err = servers.DialAs(ctx, others, nil)
	return err
}

// script plays the steps, of which the scenarios have most in common.
func (t *trial) script(ctx context.Context, scenario, dir string) (Violation, string, error) {
	of, ok := recipes.Find(lock.Variants(), t.of.lock)
	if !ok {
		return None, "", fmt.Errorf("no lock is called %s", t.of.lock)
	}
	if err := t.directories(ctx, scenario, dir); err != nil {
		return None, "", err
	}
	for _, s := range []zk.Session{t.holder, t.waiter} {
		if err := catchUp(ctx, s); err != nil {
			return None, "", err
		}
	}
	options := recipes.Options{Watch: t.of.watch}
	t.held = of.New(t.holder, dir+"/lock", options)
	var err error
	if t.grant, err = t.held.Acquire(ctx); err != nil {
		return None, "", fmt.Errorf("%w: nobody else is there, and the lock is not granted: %w", errNotStaged, err)
	}
	moved := func() { t.moves.Add(1) }
	waits := of.New(zk.Observe(t.waiter, &zk.Trace{Call: func(zk.Call) { moved() }, Event: func(zk.Event) { moved() }}), dir+"/lock", options)
	waiting, stop := context.WithCancel(ctx)
	defer func() { stop(); <-t.asked }()
	go func() {
		defer close(t.asked)
		_, err := waits.Acquire(waiting)
		t.asked <- err
	}()
	if over, err := t.settle(ctx); over {
		return t.refused("while another one holds", err)
	} else if err != nil {
		return None, "", err
	}
	if scenario != creatorOnly {
		if seen, witness, err := t.comeBack(ctx); seen != None || err != nil {
			return seen, witness, err
		}
	}
	return t.release(ctx)
}

// refused judges the end of the waiter's acquisition before its time.
func (t *trial) refused(when string, err error) (Violation, string, error) {
	if errors.Is(err, zk.ErrNoAuth) {
		return Liveness, fmt.Sprintf("the waiter is refused %s: %v", when, err), nil
	}
	return None, "", fmt.Errorf("%w: the waiter's acquisition ends %s: %w", errNotStaged, when, err)
}

// refusals are as many as convict a client: each costs it a connection.
const refusals = 3

// comeBack cuts the holder's connection, and waits until it has another one.
func (t *trial) comeBack(ctx context.Context) (Violation, string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cut := time.Now()
	t.line.Cut()
	back := make(chan error, 1)
	go func() {
		var err error
		for again := true; again; again = err != nil && ctx.Err() == nil && t.holder.Err() == nil {
			err = t.holder.Sync(ctx, t.grant.Path)
			sleep.For(ctx, 10*time.Millisecond)
		}
		back <- err
	}()
	for t.line.Refused() < refusals {
		select {
		case err := <-back:
			if err == nil {
				return None, "", nil
			}
			if took := time.Since(cut); t.holder.Err() == nil || took > t.holder.Timeout()/2 {
				return None, "", fmt.Errorf("%w: the holder does not come back within %v, of a session timeout of %v: %w", errNotStaged, took, t.holder.Timeout(), err)
			}
			return Session, fmt.Sprintf("the holder only lost its connection, and %v later is told: %v", time.Since(cut).Round(time.Millisecond), t.holder.Err()), nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	<-back
	return Session, fmt.Sprintf("the holder only lost its connection, and %d new ones are refused within %v (error -124); it keeps the lock, which it cannot release",
		refusals, time.Since(cut).Round(time.Millisecond)), nil
}

// release has the holder let go, and judges what becomes of the waiter.
func (t *trial) release(ctx context.Context) (Violation, string, error) {
	released := t.held.Release(ctx)
	over, err := t.settle(ctx)
	switch {
	case over && err == nil:
		return None, "the waiter holds after the release", nil
	case over:
		return t.refused("after the release", err)
	case err != nil:
		return None, "", err
	}
	if released != nil {
		return Liveness, fmt.Sprintf("the waiter waits; the holder cannot release, and its session goes on: %v", released), nil
	}
	return Liveness, fmt.Sprintf("the waiter waits, and is told nothing after the release; %d requests and events until then", t.moves.Load()), nil
}

// settle returns when the waiter's acquisition is over, with its error, or when neither a request nor an event of its has come for a silence and its own
// connection has then answered a sync: whatever the servers had to say to it until then has come.
func (t *trial) settle(ctx context.Context) (over bool, err error) {
	for limit := time.Now().Add(patience); ; {
		moved := t.moves.Load()
		timer := time.NewTimer(silence)
		select {
		case err := <-t.asked:
			timer.Stop()
			return true, err
		case <-ctx.Done():
			timer.Stop()
			return false, ctx.Err()
		case <-timer.C:
		}
		if err := t.waiter.Sync(ctx, "/"); err != nil {
			return false, err
		}
		if t.moves.Load() == moved {
			return false, nil
		}
		if time.Now().After(limit) {
			return false, fmt.Errorf("%w: still moving after %v", errNotStaged, patience)
		}
	}
}

// directories makes the directory of a lock, whose ACL says who may delete in it: the run's identity where the clients are two, or else theirs.
func (t *trial) directories(ctx context.Context, scenario, dir string) error {
	if _, err := t.admin.Create(ctx, dir, nil, zk.Persistent); err != nil {
		return err
	}
	if err := catchUp(ctx, t.holder); err != nil {
		return err
	}
	maker := t.admin
	if scenario != creatorOnly {
		maker = t.holder
	}
	_, err := maker.Create(ctx, dir+"/lock", nil, zk.Persistent)
	return err
}

// leave closes the sessions, and removes the directory, which the run may not list.
func (t *trial) leave(ctx context.Context, dir string) error {
	if t.line != nil {
		t.line.Mend() // a session that cannot connect cannot be closed
	}
	if t.waiter != nil && t.holder.Err() != nil && t.grant.Path != "" { // who has ended without its servers leaves its znode to its identity
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := t.admin.Delete(ctx, dir+"/lock", zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("remove %s/lock: %w", dir, err)
	}
	return nil
}
