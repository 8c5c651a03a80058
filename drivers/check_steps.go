package drivers

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// hellos checks the driver's hello.
func (k *kit) hellos() string {
	ctx, cancel := k.within(helloWithin, "hello was not answered")
	defer cancel()
	p := k.start(ctx)
	return fmt.Sprintf("%s %s, store %s, can %s; clocks agree within %v", p.Hello.Name, p.Hello.Version, p.Hello.Store,
		strings.Join(p.Hello.Can, ", "), p.ClockBound().Round(time.Microsecond))
}

// requests checks that the driver refuses what it cannot do.
func (k *kit) requests() string {
	all := k.clients(1)
	for _, c := range []struct{ op, why string }{{"no-such-operation", "an operation that does not exist"}, {OpRelease, "the release of a lock that is not held"}} {
		if r := k.ask(all[0], k.alone().of(c.op), k.AnswerTimeout); r.Error == "" {
			k.failf("%s is answered without an error", c.why)
		}
	}
	return "invalid requests are answered with an error"
}

// exclusion lets one session hold and two wait.
func (k *kit) exclusion() string {
	all := k.clients(3)
	k.granted(all[0], k.alone(), k.AnswerTimeout)
	waiting := make([]*call, len(all))
	for i, s := range all[1:] {
		waiting[i+1] = k.begin(s, k.alone().of(OpAcquire))
	}
	time.Sleep(settle)
	for holder := 0; holder >= 0; holder = k.next(waiting) {
		for i, c := range waiting {
			if c != nil && len(c.reply) > 0 {
				r := <-c.reply
				if r.Error != "" {
					k.failf("an acquire that waits is answered with %s: %s", r.Error, r.Message)
				}
				k.failf("%w: session %d was granted it while session %d held it", ErrTwoHolders, i+1, holder+1)
			}
		}
		k.release(all[holder], k.alone())
	}
	return "only one of three sessions held the lock at any time"
}

// next waits until one of the waiters is granted the lock; it returns -1 if nobody waits.
func (k *kit) next(waiting []*call) int {
	left := false
	for deadline := time.Now().Add(k.AnswerTimeout); time.Now().Before(deadline) && k.ctx.Err() == nil; time.Sleep(time.Millisecond) {
		left = false
		for i, c := range waiting {
			if c == nil {
				continue
			}
			if left = true; len(c.reply) == 0 {
				continue
			}
			if r := <-c.reply; r.Error != "" {
				k.failf("acquire of a free lock is refused: %s: %s", r.Error, r.Message)
			}
			waiting[i] = nil
			return i
		}
		if !left {
			return -1
		}
	}
	k.failf("nobody was granted the lock within %v of its release, though somebody waits", k.AnswerTimeout)
	return -1
}

const (
	turmoilClients = 4
	turmoilRounds  = 20
)

// turmoil lets all sessions acquire and release as fast as they can.
func (k *kit) turmoil() string {
	var holders atomic.Int32
	k.storm(func(int) Request { return k.alone() }, func(_ Request, in int32) error {
		if holders.Add(in) > 1 && in > 0 {
			return fmt.Errorf("%w: a session was granted it while another one held it", ErrTwoHolders)
		}
		return nil
	})
	return fmt.Sprintf("%d grants to %d sessions, one at a time", turmoilClients*turmoilRounds, turmoilClients)
}

// storm lets sessions repeatedly acquire and release what each wants in a round. seen is called after each grant with 1 and before its release with -1.
func (k *kit) storm(wants func(round int) Request, seen func(what Request, in int32) error) {
	all := k.clients(turmoilClients)
	var suspended atomic.Int32
	err := k.atOnce(all, func(k *kit, i, round int) {
		s, what := all[i], wants(i+round)
		k.granted(s, what, turmoilClients*turmoilRounds*k.AnswerTimeout/10)
		err := seen(what, 1)
		time.Sleep(time.Millisecond)
		seen(what, -1)
		if closed(s.Lease()) {
			suspended.Add(1)
		}
		if err != nil {
			err = fmt.Errorf("session %d in round %d: %w", i+1, round+1, err)
		}
		k.check(errors.Join(err, k.attempt(func(k *kit) { k.release(s, what) })))
	})
	if n := int(suspended.Load()); 2*n > len(all)*turmoilRounds {
		err = errors.Join(err, fmt.Errorf("%d of %d grants were suspended while they were held, though nothing was wrong: nobody can rely on them",
			n, len(all)*turmoilRounds))
	}
	k.check(err)
}

// atOnce lets all sessions repeat something concurrently, each until it fails.
func (k *kit) atOnce(all []*Session, do func(k *kit, i, round int)) error {
	failed := make([]error, len(all))
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			failed[i] = k.attempt(func(k *kit) {
				for round := range turmoilRounds {
					do(k, i, round)
				}
			})
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

// try asks for a lock without waiting.
func (k *kit) try() string {
	if !k.hello.Knows(CanTry) {
		k.check(errSkipped("its hello does not list " + CanTry))
	}
	all := k.clients(2)
	k.granted(all[0], k.alone(), k.AnswerTimeout)
	k.mayTry(all[1], k.alone(), false, "a try of a lock that is held")
	k.release(all[0], k.alone())
	k.mayTry(all[1], k.alone(), true, "a try of a free lock")
	return "refused while the lock is held, granted when it is free"
}

// giveUp lets a session wait in vain for a lock, until a deadline or until canceled, and checks that nothing remains of the attempt.
func (k *kit) giveUp(deadline time.Duration, want string) {
	all := k.clients(3)
	k.granted(all[0], k.alone(), k.AnswerTimeout)
	what := k.alone().of(OpAcquire)
	what.DeadlineMS = deadline.Milliseconds()
	c := k.begin(all[1], what)
	if deadline == 0 {
		time.Sleep(settle)
		k.cancel(all[1], c)
	}
	k.endsWith(all[1], c, want)
	k.release(all[0], k.alone())
	k.when("after an attempt that was given up nobody else gets the lock").granted(all[2], k.alone(), k.AnswerTimeout)
}

func (k *kit) deadline() string {
	k.giveUp(settle, ErrorTimeout)
	return "a deadline ends a wait and leaves nothing behind"
}

func (k *kit) cancellation() string {
	k.giveUp(0, ErrorCanceled)
	return "a cancellation ends a wait and leaves nothing behind"
}

// closing closes the session of a holder.
func (k *kit) closing() string {
	all := k.clients(2)
	k.granted(all[0], k.alone(), k.AnswerTimeout)
	k.closes(all[0])
	k.when("after the session of the holder was closed nobody else gets the lock").granted(all[1], k.alone(), k.AnswerTimeout)
	return "the lock of a session that was closed is free"
}

// death kills the process of a holder.
func (k *kit) death() string {
	if k.hello.Store == OwnMemory {
		k.check(errSkipped("its locks die with their process"))
	}
	all := k.clients(2)
	k.granted(all[0], k.alone(), k.AnswerTimeout)
	all[0].p.end(ErrEnded)
	died := time.Now()
	k.when("after the holder's process was killed nobody else gets the lock").granted(all[1], k.alone(), 2*k.Timeout+k.AnswerTimeout)
	return fmt.Sprintf("the lock was granted again %v after its holder was killed", time.Since(died).Round(100*time.Millisecond))
}

// ending closes the standard input.
func (k *kit) ending() string {
	k.check(k.clients(1)[0].p.Close())
	return "it ends with its standard input"
}
