package stores

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/drivers/stores"
	"github.com/zkbench/zkbench/scenarios"
)

func (t *trial) holderDies() {
	first, second := t.pair(short, "")
	first.acquire()
	first.process.Kill()
	t.afterDeath(second)
}

// afterDeath checks that the lock of a dead holder becomes free again.
func (t *trial) afterDeath(second *client) {
	died := time.Now()
	if t.variant.store == stores.Redis {
		if _, forever, there := t.expires(0); there && forever { // nobody is left to delete it
			if second.try() {
				t.Check(scenarios.NotStaged("a key without an end, and a try is granted"))
			}
			t.Found(Liveness, "the holder is gone, and its key has no end: nobody is ever granted the lock")
			return
		}
	}
	second.acquire()
	t.Found(None, "the next client was granted the lock %v after its holder died", time.Since(died).Round(10*time.Millisecond))
}

func (t *trial) diesAcquiring() {
	first, second := t.pair(short, "")
	for _, k := range first.links {
		k.holdReplies()
	}
	acquired := t.Begin(first.tryAcquire)
	t.until(func() bool { _, _, there := t.expires(0); return there })
	first.process.Kill()
	if <-acquired.Done; acquired.Err == nil {
		t.Check(scenarios.NotStaged("it was granted before it died"))
	}
	t.afterDeath(second)
}

func (t *trial) holdsTooLong() {
	ttl := short
	if t.variant.renews {
		ttl = slow
	}
	first, second := t.pair(ttl, "")
	first.acquire()
	endless := false
	if t.variant.store == stores.Redis {
		_, endless, _ = t.expires(0)
	}
	granted, since := t.Begin(second.tryAcquire), time.Now()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-granted.Done:
			t.Check(granted.Err)
			if t.variant.renews && first.losesGrant() {
				t.Check(scenarios.NotStaged("the holder could not renew its lock in time, and was told"))
			}
			t.overlap(first, fmt.Sprintf("a second client was granted the lock %v after the first, who works on", time.Since(since).Round(10*time.Millisecond)))
			return
		case <-look.C:
		}
		ours := true // as far as the server shows: a key of the second client would last longer
		if t.variant.store == stores.Redis {
			left, forever, there := t.expires(0)
			ours = there && (endless || !forever && left <= ttl)
		}
		if ours && time.Since(since) > ttl*3/2 && first.holds() {
			t.Found(None, "the holder still has it, and alone, %v after its grant of %v", time.Since(since).Round(100*time.Millisecond), ttl)
			return
		}
	}
}

func (t *trial) lateRelease(id string) {
	first, second := t.pair(short, id)
	third := t.client(long, id)
	first.acquire()
	if t.variant.renews { // it is stopped until its time has run out
		t.Check(first.process.Pause())
	}
	second.acquire()
	if t.variant.renews {
		t.Check(first.process.Resume())
	}
	first.lock.Release(t.Context()) // the lock may or may not be held
	if !third.try() {
		t.Found(None, "the late release freed nothing: the second client still holds")
		return
	}
	witness := "the first client's late release freed the second one's lock, a third was granted it"
	if err := second.lock.Release(t.Context()); err == nil {
		if again, err := first.tryOnce(); err == nil && again {
			witness += "; the second one's release freed that of the third, and so on"
		}
	}
	if !third.holds() {
		t.Check(scenarios.NotStaged("the third client was told of a loss"))
	}
	t.Found(Exclusion, "%s", witness)
}

func (t *trial) releaseDelayed() {
	first, second := t.pair(short, "")
	third := t.client(long, "")
	first.acquire()
	gate := first.links[0].hold("DEL", "EVAL", "EVALSHA")
	released := t.Begin(func(ctx context.Context) error { return first.lock.Release(ctx) })
	select {
	case <-gate.reached:
	case <-released.Done:
		t.Check(scenarios.NotStaged("the release was over before its last command: %v", released.Err))
	}
	second.acquire()
	close(gate.open)
	<-released.Done
	if !third.try() {
		t.Found(None, "the last command of the release found that the lock is another one's")
		return
	}
	t.overlap(second, "the first client's release, on its way since before the second one's grant, freed that, and a third was granted the lock")
}

func (t *trial) paused(fenced bool) {
	first, second := t.pair(short, "")
	first.acquire()
	t.Check(first.process.Pause())
	second.acquire()
	if !first.holds() {
		t.Check(scenarios.NotStaged("the holder was told of a loss before it was stopped"))
	}
	// When the stopped application resumes, its write is the first thing it does.
	t.lateWrite(first, second, fenced)
}

func (t *trial) restarted(written bool) {
	first, second := t.pair(long, "")
	first.acquire()
	t.restart(0)
	t.tryBeside(first, second, written, "the server was started again without the lock, a second client was granted it")
}

// restart kills server i and restarts it.
func (t *trial) restart(i int) {
	t.servers.Kill(i)
	t.Check(t.servers.Restart(t.Context(), i))
}

// tryBeside lets the second client try while the first one holds. A request that fails with its connection is repeated. If the lock is granted and the scenario
// asks for it, both write, and the resource compares tokens.
func (t *trial) tryBeside(first, second *client, written bool, how string) {
	granted := false
	t.until(func() bool {
		var err error
		granted, err = second.tryOnce()
		return err == nil
	})
	switch {
	case granted && written:
		t.checkHolds(first)
		t.lateWrite(first, second, true)
	case granted:
		t.overlap(first, how)
	case !first.holds():
		t.Check(scenarios.NotStaged("the holder was told of a loss"))
	default:
		t.Found(None, "the first client still holds, and a second one is refused")
	}
}

func (t *trial) outage() {
	first, second := t.pair(long, "")
	down := []int{3, 4}
	for _, i := range down {
		t.servers.Kill(i)
	}
	first.acquire()
	for _, i := range down {
		t.Check(t.servers.Restart(t.Context(), i))
	}
	t.restart(2)
	t.tryBeside(first, second, false, "one of the three servers that had granted the lock forgot it, and with two that had been down a second client was granted it")
}

func (t *trial) failOver(written bool) {
	t.start(1)
	replication := t.link(t.servers.Addresses()[0])
	t.ask(1, "REPLICAOF "+strings.Replace(replication.address(), ":", " ", 1))
	first, second := t.pair(long, "")
	t.ask(0, "SET until-here 1")
	t.until(func() bool { return t.ask(1, "EXISTS until-here") == ":1" })
	replication.holdReplies()
	first.acquire()
	t.servers.Kill(0)
	t.ask(1, "REPLICAOF NO ONE")
	for _, c := range t.clients {
		c.links[0].lead(t.servers.Addresses()[1])
	}
	t.tryBeside(first, second, written, "the replica that took over has not got the key, a second client was granted the lock")
}
