package drivers

import (
	"fmt"
	"sync/atomic"
)

// kitPermits is how many permits the kit's semaphores have.
const kitPermits = 2

var permit = Request{Permits: kitPermits}

// semaphore lets sessions ask for more permits than there are, in every way in which that may end.
func (k *kit) semaphore() string {
	all := k.clients(4)
	for i, s := range all[:kitPermits] {
		k.when("permit %d of %d", i+1, kitPermits).granted(s, permit, k.AnswerTimeout)
	}
	k.mayTry(all[2], permit, false, "a try of a semaphore whose permits are all held")
	k.inVain(all[2], permit, fmt.Sprintf("one more session was granted one of %d permits", kitPermits))
	k.release(all[0], permit)
	k.when("a permit that was given back").granted(all[3], permit, k.AnswerTimeout) // nothing remains of the attempts that could block it
	k.closes(all[1])
	k.when("the permit of a session that was closed").granted(all[2], permit, k.AnswerTimeout)
	if k.hello.Store == OwnMemory {
		return "no more permits are granted than exist, and none is lost with a session"
	}
	all[3].p.end(ErrEnded)
	k.when("the permit of a holder whose process was killed").granted(all[0], permit, 2*k.Timeout+k.AnswerTimeout)
	return "no more permits are granted than exist, and none is lost with a session or a process"
}

// semaphoreTurmoil lets all sessions ask for permits as fast as they can, and then checks that all permits are available.
func (k *kit) semaphoreTurmoil() string {
	var holders atomic.Int32
	k.storm(func(int) Request { return permit }, func(_ Request, in int32) error {
		if n := holders.Add(in); in > 0 && n > kitPermits {
			return fmt.Errorf("%w: %d of %d", ErrTooMany, n, kitPermits)
		}
		return nil
	})
	for i := range kitPermits {
		k := k.when("permit %d of %d, when nobody else holds one", i+1, kitPermits)
		k.granted(k.open(k.own[0]), permit, k.AnswerTimeout)
	}
	return fmt.Sprintf("%d grants to %d sessions, %d at a time", turmoilClients*turmoilRounds, turmoilClients, kitPermits)
}
