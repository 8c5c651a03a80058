package drivers

import (
	"fmt"
	"sync"
	"time"
)

// The two sides of a read/write lock.
var (
	reading = Request{Mode: ModeRead}
	writing = Request{Mode: ModeWrite}
)

// readWrite checks which readers and writers may hold together when they ask concurrently, and which may not.
func (k *kit) readWrite() string {
	all := k.clients(4)
	for _, s := range all[:2] {
		k.when("to read beside readers").granted(s, reading, k.AnswerTimeout)
	}
	k.mayTry(all[2], writing, false, "a try to write beside readers")
	k.mayTry(all[3], reading, true, "a try to read beside readers")
	writer := k.begin(all[2], writing.of(OpAcquire))
	for i, s := range all[:2] {
		k.stillWaits(writer, fmt.Sprintf("a writer was let in while session %d read", i+1))
		k.release(s, reading)
	}
	refused := k.when("a writer is not let in when nobody reads any more")
	if r := refused.answer(all[2], writer, k.AnswerTimeout); r.Error != "" {
		refused.failf("%s: %s", r.Error, r.Message)
	}
	for _, waits := range []Request{reading, writing} {
		k.inVain(all[3], waits, fmt.Sprintf("a session was let in to %s while another one wrote", waits.Mode))
	}
	waiting := make([]*call, len(all))
	for i, waits := range []Request{reading, writing} { // a reader, and a writer waiting behind it
		waiting[i] = k.begin(all[i], waits.of(OpAcquire))
		time.Sleep(settle)
	}
	k.release(all[2], writing)
	for range waiting[:2] {
		i := k.when("a reader waits behind a writer, and another writer behind it").next(waiting)
		k.release(all[i], []Request{reading, writing}[i])
	}
	for _, s := range all[:2] { // nothing remains of the attempts that could block them
		k.when("after a writer, and attempts that were given up, readers").granted(s, reading, k.AnswerTimeout)
	}
	return "readers hold together, and a writer alone"
}

// rwTurmoil lets all sessions read and write as fast as they can.
func (k *kit) rwTurmoil() string {
	var mu sync.Mutex
	var readers, writers int32
	k.storm(func(round int) Request {
		if round%3 == 0 {
			return writing
		}
		return reading
	}, func(what Request, in int32) error {
		mu.Lock()
		defer mu.Unlock()
		if what.Mode == ModeWrite {
			writers += in
		} else {
			readers += in
		}
		if in > 0 && (writers > 1 || writers > 0 && readers > 0) {
			return fmt.Errorf("%w: %d wrote and %d read", ErrTwoHolders, writers, readers)
		}
		return nil
	})
	return fmt.Sprintf("%d grants to %d sessions, no writer beside others", turmoilClients*turmoilRounds, turmoilClients)
}
