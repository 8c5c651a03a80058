package stores

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/drivers/stores"
)

func holderDies(ctx context.Context, t *trial) (Violation, string, error) {
	first, second, err := t.pair(ctx, short, "")
	if err == nil {
		err = first.acquire(ctx)
	}
	if err != nil {
		return None, "", err
	}
	first.process.Kill()
	return t.afterDeath(ctx, second)
}

// afterDeath looks whether the lock of a holder that is gone is free again.
func (t *trial) afterDeath(ctx context.Context, second *client) (Violation, string, error) {
	died := time.Now()
	if t.variant.store == stores.Redis {
		_, forever, there, err := t.expires(0)
		if err != nil {
			return None, "", err
		}
		if there && forever { // nobody is left that would delete it
			if granted, err := second.try(ctx); granted || err != nil {
				return None, "", fmt.Errorf("%w: a key without an end, and a try says %v, %v", errNotStaged, granted, err)
			}
			return Liveness, "the holder is gone, and its key has no end: nobody is ever granted the lock", nil
		}
	}
	if err := second.acquire(ctx); err != nil {
		return None, "", err
	}
	return None, fmt.Sprintf("the next client was granted the lock %v after its holder died", time.Since(died).Round(10*time.Millisecond)), nil
}

func diesAcquiring(ctx context.Context, t *trial) (Violation, string, error) {
	first, second, err := t.pair(ctx, short, "")
	if err != nil {
		return None, "", err
	}
	for _, k := range first.links {
		k.holdReplies()
	}
	acquired := later(func() error { return first.acquire(ctx) })
	if err := until(ctx, func() (bool, error) { _, _, there, err := t.expires(0); return there, err }); err != nil {
		return None, "", err
	}
	first.process.Kill()
	if err := <-acquired; err == nil {
		return None, "", fmt.Errorf("%w: it was granted before it died", errNotStaged)
	}
	return t.afterDeath(ctx, second)
}

func holdsTooLong(ctx context.Context, t *trial) (Violation, string, error) {
	ttl := short
	if t.variant.renews {
		ttl = slow
	}
	first, second, err := t.pair(ctx, ttl, "")
	if err == nil {
		err = first.acquire(ctx)
	}
	if err != nil {
		return None, "", err
	}
	endless := false
	if t.variant.store == stores.Redis {
		if _, endless, _, err = t.expires(0); err != nil {
			return None, "", err
		}
	}
	granted, since := later(func() error { return second.acquire(ctx) }), time.Now()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-granted:
			if err != nil {
				return None, "", err
			}
			if t.variant.renews && first.told(ctx) {
				return None, "", fmt.Errorf("%w: the holder could not renew its lock in time, and was told", errNotStaged)
			}
			return overlap(first, fmt.Sprintf("a second client was granted the lock %v after the first, who works on", time.Since(since).Round(10*time.Millisecond)))
		case <-look.C:
		}
		ours := true // as far as the server tells: a key of the second client would last longer
		if t.variant.store == stores.Redis {
			left, forever, there, err := t.expires(0)
			if err != nil {
				return None, "", err
			}
			ours = there && (endless || !forever && left <= ttl)
		}
		if ours && time.Since(since) > ttl*3/2 && first.holds() {
			return None, fmt.Sprintf("the holder still has it, and alone, %v after its grant of %v", time.Since(since).Round(100*time.Millisecond), ttl), nil
		}
	}
}

func lateRelease(ctx context.Context, t *trial) (Violation, string, error) {
	return t.lateRelease(ctx, "")
}

func sameID(ctx context.Context, t *trial) (Violation, string, error) {
	return t.lateRelease(ctx, "thread-1")
}

func (t *trial) lateRelease(ctx context.Context, id string) (Violation, string, error) {
	first, second, err := t.pair(ctx, short, id)
	if err != nil {
		return None, "", err
	}
	third, err := t.client(ctx, long, id)
	if err == nil {
		err = t.expired(ctx, first, second)
	}
	if err != nil {
		return None, "", err
	}
	first.lock.Release(ctx) // says that it is not held, or not
	granted, err := third.try(ctx)
	switch {
	case err != nil:
		return None, "", err
	case !granted:
		return None, "the late release freed nothing: the second client still holds", nil
	}
	witness := "the first client's late release freed the second one's lock, a third was granted it"
	if err := second.lock.Release(ctx); err == nil {
		if again, err := first.try(ctx); err == nil && again {
			witness += "; the second one's release freed that of the third, and so on"
		}
	}
	if !third.holds() {
		return None, "", fmt.Errorf("%w: the third client was told of a loss", errNotStaged)
	}
	return Exclusion, witness, nil
}

// expired has the first client take the lock, and the second when the first one's time is over. A holder that renews is stopped meanwhile.
func (t *trial) expired(ctx context.Context, first, second *client) error {
	err := first.acquire(ctx)
	if err == nil && t.variant.renews {
		err = first.process.Pause()
	}
	if err == nil {
		err = second.acquire(ctx)
	}
	if err == nil && t.variant.renews {
		err = first.process.Resume()
	}
	return err
}

func releaseDelayed(ctx context.Context, t *trial) (Violation, string, error) {
	first, second, err := t.pair(ctx, short, "")
	if err != nil {
		return None, "", err
	}
	third, err := t.client(ctx, long, "")
	if err == nil {
		err = first.acquire(ctx)
	}
	if err != nil {
		return None, "", err
	}
	gate := first.links[0].hold("DEL", "EVAL", "EVALSHA")
	released := later(func() error { return first.lock.Release(ctx) })
	select {
	case <-gate.reached:
	case err := <-released:
		return None, "", fmt.Errorf("%w: the release was over before its last command: %v", errNotStaged, err)
	}
	if err := second.acquire(ctx); err != nil {
		return None, "", err
	}
	close(gate.open)
	<-released
	granted, err := third.try(ctx)
	switch {
	case err != nil:
		return None, "", err
	case !granted:
		return None, "the last command of the release found that the lock is another one's", nil
	}
	return overlap(second, "the first client's release, on its way since before the second one's grant, freed that, and a third was granted the lock")
}

func paused(ctx context.Context, t *trial) (Violation, string, error) { return t.paused(ctx, false) }

func pausedFenced(ctx context.Context, t *trial) (Violation, string, error) {
	return t.paused(ctx, true)
}

func (t *trial) paused(ctx context.Context, fenced bool) (Violation, string, error) {
	first, second, err := t.pair(ctx, short, "")
	if err == nil {
		err = first.acquire(ctx)
	}
	if err == nil {
		err = first.process.Pause()
	}
	if err == nil {
		err = second.acquire(ctx)
	}
	if err != nil {
		return None, "", err
	}
	if !first.holds() {
		return None, "", fmt.Errorf("%w: the holder was told of a loss before it was stopped", errNotStaged)
	}
	// What the stopped application does first when it goes on is its write.
	return lateWrite(first, second, fenced)
}

func restarted(ctx context.Context, t *trial) (Violation, string, error) {
	first, second, err := t.pair(ctx, long, "")
	if err == nil {
		err = first.acquire(ctx)
	}
	if err == nil {
		err = t.restart(ctx, 0)
	}
	if err != nil {
		return None, "", err
	}
	return t.tryBeside(ctx, first, second, "the server was started again without the lock, a second client was granted it")
}

// restart kills server i, and starts it again.
func (t *trial) restart(ctx context.Context, i int) error {
	t.servers.Kill(i)
	return t.servers.Restart(ctx, i)
}

// tryBeside has the second client try while the first one holds. A request that fails with its connection is made again.
func (t *trial) tryBeside(ctx context.Context, first, second *client, how string) (Violation, string, error) {
	granted := false
	err := until(ctx, func() (answered bool, err error) {
		granted, err = second.try(ctx)
		return err == nil, ctx.Err()
	})
	switch {
	case err != nil:
		return None, "", err
	case granted:
		return overlap(first, how)
	case !first.holds():
		return None, "", fmt.Errorf("%w: the holder was told of a loss", errNotStaged)
	}
	return None, "the first client still holds, and a second one is refused", nil
}

func restartedFenced(ctx context.Context, t *trial) (Violation, string, error) {
	return afterwards(ctx, t, restarted)
}

// afterwards has both write that a script has left holding.
func afterwards(ctx context.Context, t *trial, s script) (Violation, string, error) {
	if seen, witness, err := s(ctx, t); err != nil || seen != Exclusion {
		return seen, witness, err
	}
	return lateWrite(t.clients[1], t.clients[0], true) // pair starts the second one first
}

func outage(ctx context.Context, t *trial) (Violation, string, error) {
	first, second, err := t.pair(ctx, long, "")
	if err != nil {
		return None, "", err
	}
	down := []int{3, 4}
	for _, i := range down {
		t.servers.Kill(i)
	}
	if err := first.acquire(ctx); err != nil {
		return None, "", err
	}
	for _, i := range down {
		if err := t.servers.Restart(ctx, i); err != nil {
			return None, "", err
		}
	}
	if err := t.restart(ctx, 2); err != nil {
		return None, "", err
	}
	return t.tryBeside(ctx, first, second, "one of the three servers that had granted the lock forgot it, and with two that had been down a second client was granted it")
}

func failOver(ctx context.Context, t *trial) (Violation, string, error) {
	if err := t.start(ctx, 1); err != nil {
		return None, "", err
	}
	replication, err := newLink(t.servers.Addresses()[0])
	if err != nil {
		return None, "", err
	}
	t.links = append(t.links, replication)
	if _, err := t.ask(1, "REPLICAOF "+strings.Replace(replication.address(), ":", " ", 1)); err != nil {
		return None, "", err
	}
	first, second, err := t.pair(ctx, long, "")
	if err != nil {
		return None, "", err
	}
	if _, err := t.ask(0, "SET until-here 1"); err != nil {
		return None, "", err
	}
	if err := until(ctx, func() (bool, error) { there, err := t.ask(1, "EXISTS until-here"); return there == ":1", err }); err != nil {
		return None, "", err
	}
	replication.holdReplies()
	if err := first.acquire(ctx); err != nil {
		return None, "", err
	}
	t.servers.Kill(0)
	if _, err := t.ask(1, "REPLICAOF NO ONE"); err != nil {
		return None, "", err
	}
	for _, c := range t.clients {
		c.links[0].lead(t.servers.Addresses()[1])
	}
	return t.tryBeside(ctx, first, second, "the replica that took over has not got the key, a second client was granted the lock")
}

func failOverFenced(ctx context.Context, t *trial) (Violation, string, error) {
	return afterwards(ctx, t, failOver)
}
