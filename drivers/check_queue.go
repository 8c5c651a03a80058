package drivers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ledger is the items of one of the kit's queues.
type ledger struct {
	mu    sync.Mutex
	put   map[string]int // from 1, in the order in which they were put where one was put after the other
	taken map[string]bool
	nodes map[string]string // by item, of those that have some
}

func newLedger() *ledger {
	return &ledger{put: map[string]int{}, taken: map[string]bool{}, nodes: map[string]string{}}
}

// item makes the next item: its number, and all values that a byte has.
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

// came notes what a take was answered with, and says what is wrong with it. again says that the item may have been taken before.
func (l *ledger) came(r Reply, again bool) (number int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number, known := l.put[string(r.Item)]
	switch node, told := l.nodes[string(r.Item)]; {
	case !known:
		return 0, fmt.Errorf("%w: %.40q", ErrStranger, r.Item)
	case l.taken[string(r.Item)] && !again:
		return 0, fmt.Errorf("%w: item %d", ErrTakenTwice, number)
	case told && r.Node != "" && r.Node != node:
		return 0, fmt.Errorf("item %d was put as %s, and is taken as %s", number, node, r.Node)
	}
	l.taken[string(r.Item)] = true
	return number, nil
}

// puts puts the next item.
func (k *kit) puts(ctx context.Context, s *Session, l *ledger) error {
	it := l.item()
	r, err := k.ask(ctx, s, Request{Op: OpPut, Item: it}, k.Patience)
	switch {
	case err != nil:
		return err
	case r.Error != "":
		return fmt.Errorf("put is refused: %s: %s", r.Error, r.Message)
	case r.Node != "":
		l.mu.Lock()
		defer l.mu.Unlock()
		l.nodes[string(it)] = r.Node
	}
	return nil
}

// takes takes an item that is there, or is about to be, within a time, and finishes it where takes claim.
func (k *kit) takes(ctx context.Context, s *Session, l *ledger, d time.Duration) (number int, err error) {
	c, err := k.begin(s, Request{Op: OpTake})
	if err != nil {
		return 0, err
	}
	if number, err = k.gets(ctx, s, c, l, false, d); err != nil {
		return 0, err
	}
	return number, k.finish(ctx, s)
}

// gets waits for the item of a take.
func (k *kit) gets(ctx context.Context, s *Session, c *call, l *ledger, again bool, d time.Duration) (number int, err error) {
	r, err := k.answer(ctx, s, c, d)
	switch {
	case err != nil && ctx.Err() == nil && !closed(s.p.ended):
		return 0, fmt.Errorf("%w: %w", ErrLostItem, err)
	case err != nil:
		return 0, err
	case r.Error != "":
		return 0, fmt.Errorf("take of an item that is there is refused: %s: %s", r.Error, r.Message)
	}
	return l.came(r, again)
}

// finish finishes what a session has claimed, where takes claim.
func (k *kit) finish(ctx context.Context, s *Session) error {
	if !k.hello.Claims {
		return nil
	}
	r, err := k.ask(ctx, s, Request{Op: OpFinish}, k.Patience)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("finish of an item that was taken is refused: %s: %s", r.Error, r.Message)
	}
	return err
}

// nothing has a session take from an empty queue: once until it is canceled and once up to a deadline.
func (k *kit) nothing(ctx context.Context, s *Session, l *ledger) error {
	c, err := k.begin(s, Request{Op: OpTake})
	if err != nil {
		return err
	}
	time.Sleep(settle)
	if len(c.reply) == 0 {
		if _, err := s.p.send(Request{Op: OpCancel, Of: c.id}); err != nil {
			return err
		}
	}
	if err := k.emptyHanded(ctx, s, c, l, ErrorCanceled); err != nil {
		return err
	}
	if c, err = k.begin(s, Request{Op: OpTake, DeadlineMS: settle.Milliseconds()}); err != nil {
		return err
	}
	return k.emptyHanded(ctx, s, c, l, ErrorTimeout)
}

// emptyHanded looks that a take of nothing ends as it should.
func (k *kit) emptyHanded(ctx context.Context, s *Session, c *call, l *ledger, want string) error {
	r, err := k.answer(ctx, s, c, settle+k.Patience)
	switch {
	case err != nil:
		return err
	case r.Error == want:
		return nil
	case r.Error != "":
		return fmt.Errorf("a take from an empty queue is answered with %s: %s (expected %s)", r.Error, r.Message, want)
	}
	if _, err := l.came(r, false); err != nil {
		return err
	}
	return fmt.Errorf("%w: from an empty queue", ErrStranger)
}

// kitItems is how many items the kit puts before it takes them.
const kitItems = 6

// queue has two put and one take.
func (k *kit) queue(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, 3)
	if err != nil {
		return "", err
	}
	l, consumer := newLedger(), all[1]
	if err := k.nothing(ctx, consumer, l); err != nil {
		return "", err
	}
	waiting, err := k.begin(consumer, Request{Op: OpTake})
	if err != nil {
		return "", err
	}
	time.Sleep(settle)
	if err := k.puts(ctx, all[0], l); err != nil {
		return "", err
	}
	if _, err := k.gets(ctx, consumer, waiting, l, false, k.Patience); err != nil {
		return "", fmt.Errorf("an item was put while a take waited: %w", err)
	}
	if err := k.finish(ctx, consumer); err != nil {
		return "", err
	}
	for i := range kitItems {
		if err := k.puts(ctx, all[i%2*2], l); err != nil {
			return "", err
		}
	}
	var early error
	for i := range kitItems {
		number, err := k.takes(ctx, consumer, l, k.Patience)
		if err != nil { // what is not there was not overtaken
			return "", fmt.Errorf("take %d of %d items: %w", i+1, kitItems, err)
		}
		if want := i + 2; k.hello.FIFO && number > want && early == nil {
			early = fmt.Errorf("%w: item %d is taken before item %d", ErrOutOfOrder, number, want)
		}
	}
	if early != nil {
		return "", early
	}
	if err := k.nothing(ctx, consumer, l); err != nil {
		return "", fmt.Errorf("after all items were taken: %w", err)
	}
	order := ""
	if k.hello.FIFO {
		order = ", in their order"
	}
	return "what was put is taken once" + order + "; a deadline and a cancellation end a take of nothing", nil
}

// queueTurmoil has two put and two take as fast as they can.
func (k *kit) queueTurmoil(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, turmoilClients)
	if err != nil {
		return "", err
	}
	l, failed := newLedger(), make([]error, len(all))
	var wait sync.WaitGroup
	for i, s := range all {
		wait.Go(func() {
			for round := 0; round < turmoilRounds && failed[i] == nil; round++ {
				if i < 2 { // one in each process
					failed[i] = k.puts(ctx, s, l)
					continue
				}
				_, failed[i] = k.takes(ctx, s, l, turmoilRounds*k.Patience/2)
			}
		})
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		return "", err
	}
	if err := k.nothing(ctx, all[2], l); err != nil {
		return "", fmt.Errorf("after all items were taken: %w", err)
	}
	return fmt.Sprintf("%d items of 2 sessions were taken once by 2 others", 2*turmoilRounds), nil
}

// claims looks that an item is one session's until that finishes it or is closed.
func (k *kit) claims(ctx context.Context) (string, error) {
	if !k.hello.Claims {
		return "", errSkipped("its hello does not say that its takes claim")
	}
	all, err := k.clients(ctx, 3)
	if err != nil {
		return "", err
	}
	l := newLedger()
	if r, err := k.ask(ctx, all[0], Request{Op: OpFinish}, k.Patience); err != nil || r.Error == "" {
		return "", errors.Join(err, errors.New("a finish of nothing is answered without an error"))
	}
	if err := k.puts(ctx, all[0], l); err != nil {
		return "", err
	}
	first, err := k.begin(all[1], Request{Op: OpTake})
	if err == nil {
		_, err = k.gets(ctx, all[1], first, l, false, k.Patience)
	}
	if err != nil {
		return "", err
	}
	waiting, err := k.begin(all[2], Request{Op: OpTake})
	if err != nil {
		return "", err
	}
	time.Sleep(settle)
	if len(waiting.reply) > 0 {
		_, err := k.gets(ctx, all[2], waiting, l, false, 0)
		return "", errors.Join(errors.New("while a session has the only item, another take is answered"), err)
	}
	if err := all[1].Close(); err != nil {
		return "", fmt.Errorf("close: %w", err)
	}
	if _, err := k.gets(ctx, all[2], waiting, l, true, k.Patience); err != nil {
		return "", fmt.Errorf("the item of a session that was closed: %w", err)
	}
	if err := k.finish(ctx, all[2]); err != nil {
		return "", err
	}
	if err := k.nothing(ctx, all[0], l); err != nil {
		return "", fmt.Errorf("after the only item was finished: %w", err)
	}
	return "a claimed item goes to nobody else, and returns when its session is closed", nil
}

// queueDeath kills the process of a consumer: with an item that it has claimed, or while it waits for one.
func (k *kit) queueDeath(ctx context.Context) (string, error) {
	if k.hello.Store == OwnMemory {
		return "", errSkipped("its items die with their process")
	}
	all, err := k.clients(ctx, 2)
	if err != nil {
		return "", err
	}
	l, seen := newLedger(), "an item that is put after a consumer was killed is taken by another one"
	if k.hello.Claims {
		seen = "the item of a consumer that was killed returns"
		if err := k.puts(ctx, all[0], l); err != nil {
			return "", err
		}
	}
	c, err := k.begin(all[1], Request{Op: OpTake})
	if err != nil {
		return "", err
	}
	if k.hello.Claims {
		if _, err := k.gets(ctx, all[1], c, l, false, k.Patience); err != nil {
			return "", err
		}
	} else {
		time.Sleep(settle)
	}
	all[1].p.end(ErrEnded)
	<-all[1].p.ended
	died := time.Now()
	if !k.hello.Claims {
		if err := k.puts(ctx, all[0], l); err != nil {
			return "", err
		}
	}
	again, err := k.begin(all[0], Request{Op: OpTake})
	if err == nil {
		_, err = k.gets(ctx, all[0], again, l, k.hello.Claims, 2*k.Timeout+k.Patience)
	}
	if err == nil {
		err = k.finish(ctx, all[0])
	}
	if err != nil {
		return "", fmt.Errorf("after a consumer's process was killed: %w", err)
	}
	return fmt.Sprintf("%s, %v later", seen, time.Since(died).Round(100*time.Millisecond)), nil
}
