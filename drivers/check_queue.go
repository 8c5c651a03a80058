package drivers

import (
	"fmt"
	"sync"
	"time"
)

// ledger records the items of one of the kit's queues.
type ledger struct {
	mu    sync.Mutex
	put   map[string]int // numbered from 1, in put order where one put followed another
	taken map[string]bool
	nodes map[string]string // by item, for those that have one
}

func newLedger() *ledger {
	return &ledger{put: map[string]int{}, taken: map[string]bool{}, nodes: map[string]string{}}
}

// item makes the next item: its number, followed by all byte values.
func (l *ledger) item() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	it := fmt.Appendf(nil, "item %d ", len(l.put)+1)
	for b := range 256 {
		it = append(it, byte(b))
	}
	l.put[string(it)] = len(l.put) + 1
	return it
}

// came records the reply to a take, and says what is wrong with it. again says that the item may have been taken before.
func (l *ledger) came(r Reply, again bool) (number int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number, known := l.put[string(r.Item)]
	switch node, asked := l.nodes[string(r.Item)]; {
	case !known:
		return 0, fmt.Errorf("%w: %.40q", ErrStranger, r.Item)
	case l.taken[string(r.Item)] && !again:
		return 0, fmt.Errorf("%w: item %d", ErrTakenTwice, number)
	case asked && r.Node != "" && r.Node != node:
		return 0, fmt.Errorf("item %d was put as %s, and is taken as %s", number, node, r.Node)
	}
	l.taken[string(r.Item)] = true
	return number, nil
}

// puts puts the next item.
func (k *kit) puts(s *Session, l *ledger) {
	it := l.item()
	r := k.ask(s, Request{Op: OpPut, Item: it}, k.AnswerTimeout)
	if r.Error != "" {
		k.failf("put is refused: %s: %s", r.Error, r.Message)
	}
	if r.Node != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.nodes[string(it)] = r.Node
	}
}

// takes takes an item that is available, or soon will be, within a time, and finishes it if takes claim.
func (k *kit) takes(s *Session, l *ledger, d time.Duration) (number int) {
	number = k.gets(s, k.begin(s, Request{Op: OpTake}), l, false, d)
	k.finish(s)
	return number
}

// gets waits for the item of a take.
func (k *kit) gets(s *Session, c *call, l *ledger, again bool, d time.Duration) (number int) {
	var r Reply
	err := k.attempt(func(k *kit) { r = k.answer(s, c, d) })
	switch {
	case err != nil && k.ctx.Err() == nil && !closed(s.p.ended):
		k.failf("%w: %w", ErrLostItem, err)
	case r.Error != "":
		k.failf("take of an item that is there is refused: %s: %s", r.Error, r.Message)
	}
	k.check(err)
	number, err = l.came(r, again)
	k.check(err)
	return number
}

// finish finishes what a session has claimed, if takes claim.
func (k *kit) finish(s *Session) {
	if !k.hello.Claims {
		return
	}
	if r := k.ask(s, Request{Op: OpFinish}, k.AnswerTimeout); r.Error != "" {
		k.failf("finish of an item that was taken is refused: %s: %s", r.Error, r.Message)
	}
}

// nothing lets a session take from an empty queue: once until it is canceled and once until a deadline.
func (k *kit) nothing(s *Session, l *ledger) {
	c := k.begin(s, Request{Op: OpTake})
	time.Sleep(settle)
	if len(c.reply) == 0 {
		k.cancel(s, c)
	}
	k.emptyHanded(s, c, l, ErrorCanceled)
	k.emptyHanded(s, k.begin(s, Request{Op: OpTake, DeadlineMS: settle.Milliseconds()}), l, ErrorTimeout)
}

// emptyHanded checks that a take from an empty queue ends as it should.
func (k *kit) emptyHanded(s *Session, c *call, l *ledger, want string) {
	r := k.answer(s, c, settle+k.AnswerTimeout)
	switch {
	case r.Error == want:
		return
	case r.Error != "":
		k.failf("a take from an empty queue is answered with %s: %s (expected %s)", r.Error, r.Message, want)
	}
	_, err := l.came(r, false)
	k.check(err)
	k.failf("%w: from an empty queue", ErrStranger)
}

// kitItems is how many items the kit puts before it takes them.
const kitItems = 6

// queue lets two sessions put and one take.
func (k *kit) queue() string {
	all := k.clients(3)
	l, consumer := newLedger(), all[1]
	k.nothing(consumer, l)
	waiting := k.begin(consumer, Request{Op: OpTake})
	time.Sleep(settle)
	k.puts(all[0], l)
	k.when("an item was put while a take waited").gets(consumer, waiting, l, false, k.AnswerTimeout)
	k.finish(consumer)
	for i := range kitItems {
		k.puts(all[i%2*2], l)
	}
	var early error
	for i := range kitItems {
		number := k.when("take %d of %d items", i+1, kitItems).takes(consumer, l, k.AnswerTimeout) // a missing item was not overtaken
		if want := i + 2; k.hello.FIFO && number > want && early == nil {
			early = fmt.Errorf("%w: item %d is taken before item %d", ErrOutOfOrder, number, want)
		}
	}
	k.check(early)
	k.when("after all items were taken").nothing(consumer, l)
	order := ""
	if k.hello.FIFO {
		order = ", in their order"
	}
	return "what was put is taken once" + order + "; a deadline and a cancellation end a take of nothing"
}

// queueTurmoil lets two sessions put and two take as fast as they can.
func (k *kit) queueTurmoil() string {
	all, l := k.clients(turmoilClients), newLedger()
	k.check(k.atOnce(all, func(k *kit, i, _ int) {
		if i < 2 { // one in each process
			k.puts(all[i], l)
		} else {
			k.takes(all[i], l, turmoilRounds*k.AnswerTimeout/2)
		}
	}))
	k.when("after all items were taken").nothing(all[2], l)
	return fmt.Sprintf("%d items of 2 sessions were taken once by 2 others", 2*turmoilRounds)
}

// claims checks that an item belongs to one session until that session finishes it or is closed.
func (k *kit) claims() string {
	if !k.hello.Claims {
		k.check(errSkipped("its hello does not say that its takes claim"))
	}
	all, l := k.clients(3), newLedger()
	if r := k.ask(all[0], Request{Op: OpFinish}, k.AnswerTimeout); r.Error == "" {
		k.failf("a finish of nothing is answered without an error")
	}
	k.puts(all[0], l)
	k.gets(all[1], k.begin(all[1], Request{Op: OpTake}), l, false, k.AnswerTimeout)
	waiting := k.begin(all[2], Request{Op: OpTake})
	time.Sleep(settle)
	if len(waiting.reply) > 0 {
		k := k.when("while a session has the only item, another take is answered")
		k.gets(all[2], waiting, l, false, 0)
		k.failf("with that item")
	}
	k.closes(all[1])
	k.when("the item of a session that was closed").gets(all[2], waiting, l, true, k.AnswerTimeout)
	k.finish(all[2])
	k.when("after the only item was finished").nothing(all[0], l)
	return "a claimed item goes to nobody else, and returns when its session is closed"
}

// queueDeath kills the process of a consumer that has claimed an item, or that waits for one.
func (k *kit) queueDeath() string {
	if k.hello.Store == OwnMemory {
		k.check(errSkipped("its items die with their process"))
	}
	all, l, seen := k.clients(2), newLedger(), "an item that is put after a consumer was killed is taken by another one"
	if k.hello.Claims {
		seen = "the item of a consumer that was killed returns"
		k.puts(all[0], l)
	}
	c := k.begin(all[1], Request{Op: OpTake})
	if k.hello.Claims {
		k.gets(all[1], c, l, false, k.AnswerTimeout)
	} else {
		time.Sleep(settle)
	}
	all[1].p.end(ErrEnded)
	<-all[1].p.ended
	died := time.Now()
	if !k.hello.Claims {
		k.puts(all[0], l)
	}
	after := k.when("after a consumer's process was killed")
	after.gets(all[0], after.begin(all[0], Request{Op: OpTake}), l, k.hello.Claims, 2*k.Timeout+k.AnswerTimeout)
	after.finish(all[0])
	return fmt.Sprintf("%s, %v later", seen, time.Since(died).Round(100*time.Millisecond))
}
