package drivers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// hellos looks who the driver is.
func (k *kit) hellos(ctx context.Context) (string, error) {
	ctx, cancel := k.within(ctx, helloWithin, "hello was not answered")
	defer cancel()
	p, err := k.start(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s, store %s, can %s; clocks agree within %v", p.Hello.Name, p.Hello.Version, p.Hello.Store,
		strings.Join(p.Hello.Can, ", "), p.ClockBound().Round(time.Microsecond)), nil
}

// requests looks whether the driver refuses what it cannot do.
func (k *kit) requests(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, 1)
	if err != nil {
		return "", err
	}
	for _, c := range []struct{ op, why string }{{"no-such-operation", "an operation that does not exist"}, {OpRelease, "the release of a lock that is not held"}} {
		r, err := k.ask(ctx, all[0], k.alone().of(c.op), k.Patience)
		if err != nil {
			return "", err
		}
		if r.Error == "" {
			return "", fmt.Errorf("%s is answered without an error", c.why)
		}
	}
	return "invalid requests are answered with an error", nil
}

// exclusion has one hold and two wait.
func (k *kit) exclusion(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, 3)
	if err != nil {
		return "", err
	}
	if err := k.granted(ctx, all[0], k.Patience); err != nil {
		return "", err
	}
	waiting := make([]*call, len(all))
	for i, s := range all[1:] {
		if waiting[i+1], err = k.begin(s, k.alone().of(OpAcquire)); err != nil {
			return "", err
		}
	}
	time.Sleep(settle)
	for holder := 0; ; {
		for i, c := range waiting {
			if c != nil && len(c.reply) > 0 {
				r := <-c.reply
				if r.Error != "" {
					return "", fmt.Errorf("an acquire that waits is answered with %s: %s", r.Error, r.Message)
				}
				return "", fmt.Errorf("%w: session %d was granted it while session %d held it", ErrTwoHolders, i+1, holder+1)
			}
		}
		if err := k.release(ctx, all[holder]); err != nil {
			return "", err
		}
		if holder, err = k.next(ctx, waiting); err != nil || holder < 0 {
			return "only one of three sessions held the lock at any time", err
		}
	}
}

// next waits until one of those who wait is granted the lock; -1 when nobody waits.
func (k *kit) next(ctx context.Context, waiting []*call) (int, error) {
	left := false
	for deadline := time.Now().Add(k.Patience); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		left = false
		for i, c := range waiting {
			if c == nil {
				continue
			}
			if left = true; len(c.reply) == 0 {
				continue
			}
			if r := <-c.reply; r.Error != "" {
				return 0, fmt.Errorf("acquire of a free lock is refused: %s: %s", r.Error, r.Message)
			}
			waiting[i] = nil
			return i, nil
		}
		if !left {
			return -1, nil
		}
	}
	return 0, fmt.Errorf("nobody was granted the lock within %v of its release, though somebody waits", k.Patience)
}

const (
	turmoilClients = 4
	turmoilRounds  = 20
)

// turmoil has all acquire and release as fast as they can.
func (k *kit) turmoil(ctx context.Context) (string, error) {
	var holders atomic.Int32
	err := k.storm(ctx, func(int) Request { return k.alone() }, func(_ Request, in int32) error {
		if holders.Add(in) > 1 && in > 0 {
			return fmt.Errorf("%w: a session was granted it while another one held it", ErrTwoHolders)
		}
		return nil
	})
	return fmt.Sprintf("%d grants to %d sessions, one at a time", turmoilClients*turmoilRounds, turmoilClients), err
}

// storm has sessions acquire and release, over and over, what each wants in a round. seen is told of each grant, with 1, and before its release, with -1.
func (k *kit) storm(ctx context.Context, wants func(round int) Request, seen func(what Request, in int32) error) error {
	all, err := k.clients(ctx, turmoilClients)
	if err != nil {
		return err
	}
	failed := make([]error, len(all))
	var suspended atomic.Int32
	var wait sync.WaitGroup
	for i, s := range all {
		wait.Go(func() {
			for round := 0; round < turmoilRounds && failed[i] == nil; round++ {
				what := wants(i + round)
				if failed[i] = k.grantedAs(ctx, s, what, turmoilClients*turmoilRounds*k.Patience/10); failed[i] != nil {
					return
				}
				if err := seen(what, 1); err != nil {
					failed[i] = fmt.Errorf("session %d in round %d: %w", i+1, round+1, err)
				}
				time.Sleep(time.Millisecond)
				seen(what, -1)
				if closed(s.Lease()) {
					suspended.Add(1)
				}
				failed[i] = errors.Join(failed[i], k.releaseAs(ctx, s, what))
			}
		})
	}
	wait.Wait()
	if n := int(suspended.Load()); 2*n > len(all)*turmoilRounds {
		failed = append(failed, fmt.Errorf("%d of %d grants were suspended while they were held, though nothing was wrong: nobody can rely on them", n, len(all)*turmoilRounds))
	}
	return errors.Join(failed...)
}

// try asks for a lock without waiting.
func (k *kit) try(ctx context.Context) (string, error) {
	if !k.hello.Knows(CanTry) {
		return "", errSkipped("its hello does not list " + CanTry)
	}
	all, err := k.clients(ctx, 2)
	if err != nil {
		return "", err
	}
	if err := k.granted(ctx, all[0], k.Patience); err != nil {
		return "", err
	}
	if err := k.mayTry(ctx, all[1], k.alone(), false, "a try of a lock that is held"); err != nil {
		return "", err
	}
	if err := k.release(ctx, all[0]); err != nil {
		return "", err
	}
	return "refused while the lock is held, granted when it is free", k.mayTry(ctx, all[1], k.alone(), true, "a try of a free lock")
}

// giveUp has somebody wait for a lock in vain, up to a deadline or without one until canceled, and looks that nothing of the attempt stays.
func (k *kit) giveUp(ctx context.Context, deadline time.Duration, want string) error {
	all, err := k.clients(ctx, 3)
	if err != nil {
		return err
	}
	if err := k.granted(ctx, all[0], k.Patience); err != nil {
		return err
	}
	what := k.alone().of(OpAcquire)
	what.DeadlineMS = deadline.Milliseconds()
	c, err := k.begin(all[1], what)
	if err != nil {
		return err
	}
	if deadline == 0 {
		time.Sleep(settle)
		if _, err := all[1].p.send(Request{Op: OpCancel, Of: c.id}); err != nil {
			return err
		}
	}
	if err := k.endsWith(ctx, all[1], c, want); err != nil {
		return err
	}
	if err := k.release(ctx, all[0]); err != nil {
		return err
	}
	if err := k.granted(ctx, all[2], k.Patience); err != nil {
		return fmt.Errorf("after an attempt that was given up nobody else gets the lock: %w", err)
	}
	return nil
}

func (k *kit) deadline(ctx context.Context) (string, error) {
	return "a deadline ends a wait and leaves nothing behind", k.giveUp(ctx, settle, ErrorTimeout)
}

func (k *kit) cancellation(ctx context.Context) (string, error) {
	return "a cancellation ends a wait and leaves nothing behind", k.giveUp(ctx, 0, ErrorCanceled)
}

// closing closes the session of a holder.
func (k *kit) closing(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, 2)
	if err != nil {
		return "", err
	}
	if err := k.granted(ctx, all[0], k.Patience); err != nil {
		return "", err
	}
	if err := all[0].Close(); err != nil {
		return "", fmt.Errorf("close: %w", err)
	}
	if err := k.granted(ctx, all[1], k.Patience); err != nil {
		return "", fmt.Errorf("after the session of the holder was closed nobody else gets the lock: %w", err)
	}
	return "the lock of a session that was closed is free", nil
}

// death kills the process of a holder.
func (k *kit) death(ctx context.Context) (string, error) {
	if k.hello.Store == OwnMemory {
		return "", errSkipped("its locks die with their process")
	}
	all, err := k.clients(ctx, 2)
	if err != nil {
		return "", err
	}
	if err := k.granted(ctx, all[0], k.Patience); err != nil {
		return "", err
	}
	all[0].p.end(ErrEnded)
	died := time.Now()
	if err := k.granted(ctx, all[1], 2*k.Timeout+k.Patience); err != nil {
		return "", fmt.Errorf("after the holder's process was killed nobody else gets the lock: %w", err)
	}
	return fmt.Sprintf("the lock was granted again %v after its holder was killed", time.Since(died).Round(100*time.Millisecond)), nil
}

// ending closes the standard input.
func (k *kit) ending(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, 1)
	if err != nil {
		return "", err
	}
	return "it ends with its standard input", all[0].p.Close()
}
