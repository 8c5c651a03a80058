package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// eachDelayQueue runs a test for each way in which the delay queue lists.
func eachDelayQueue(t *testing.T, test func(*testing.T, queueKind, *zktest.Ensemble)) {
	v := queue.DelayVariants()[0]
	for _, list := range v.Lists {
		bubble.Run(t, list, func(t *testing.T, ens *zktest.Ensemble) { test(t, queueKind{v, recipes.Options{List: list}}, ens) })
	}
}

func in(d time.Duration, name string) recipes.Item {
	return recipes.Item{Data: []byte(name), Due: time.Now().Add(d)}
}

// takenAfter waits for a Take and checks which item it got, and when.
func takenAfter(t *testing.T, p *pending, want string, since time.Time, d time.Duration) {
	t.Helper()
	<-p.done
	bubble.Got(t, "Take()", p.it, p.err, want)
	if took := time.Since(since); took != d || time.Now().Before(p.it.Due) {
		t.Errorf("%s was taken after %v, due at %v, want after %v", want, took, p.it.Due.Sub(since), d)
	}
}

func TestAnItemIsTakenWhenItIsDue(t *testing.T) {
	eachDelayQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		began, q := time.Now(), k.on(ens.Dial(), bubble.Dir)
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), in(time.Minute, "due"))))
		for range 2 {
			if it, err := q.Element(t.Context()); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Element() before it is due = %v, %v, want ErrEmpty", it, err)
			}
			if it, err := q.Remove(t.Context()); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Remove() before it is due = %v, %v, want ErrEmpty", it, err)
			}
		}
		if it, err := bubble.Poll(t.Context(), q, time.Second); !errors.Is(err, recipes.ErrEmpty) || time.Since(began) != time.Second {
			t.Errorf("Poll(1s) = %v, %v after %v, want ErrEmpty after 1s", it, err, time.Since(began))
		}
		takenAfter(t, taking(t, q), "due", began, time.Minute)
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

// Curator's testLateAddition: an item that is put later but due earlier comes first.
func TestALaterItemThatIsDueEarlierComesFirst(t *testing.T) {
	eachDelayQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		began, producer, q := time.Now(), k.on(ens.Dial(), bubble.Dir), k.on(ens.Dial(), bubble.Dir)
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), in(time.Minute, "late"))))
		p := taking(t, q)
		time.Sleep(10 * time.Second)
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), in(10*time.Second, "early"))))
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), in(2*time.Minute, "last"))))
		takenAfter(t, p, "early", began, 20*time.Second)
		takenAfter(t, taking(t, q), "late", began, time.Minute)
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), recipes.Item{Data: []byte("at once")})))
		takenAfter(t, taking(t, q), "at once", began, time.Minute)
		takenAfter(t, taking(t, q), "last", began, 130*time.Second)
	})
}

// Items that are due come in order of their due times, and with equal times in order of their puts.
func TestDueItemsComeInOrder(t *testing.T) {
	eachDelayQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		producer, q := k.on(ens.Dial(), bubble.Dir), k.on(ens.Dial(), bubble.Dir)
		for _, it := range []recipes.Item{in(3*time.Second, "3"), in(time.Second, "1"), in(2*time.Second, "2"), in(time.Second, "1 again")} {
			bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), it)))
		}
		time.Sleep(time.Minute)
		for _, want := range []string{"1", "1 again", "2", "3"} {
			taking(t, q).expect(t, "Take()", want)
		}
	})
}

// Two consumers' timers fire at the same time: one gets the item, the other keeps waiting.
func TestTwoWaitForOneItem(t *testing.T) {
	eachDelayQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		producer := k.on(ens.Dial(), bubble.Dir)
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), in(time.Minute, "one"))))
		a, b := taking(t, k.on(ens.Dial(), bubble.Dir)), taking(t, k.on(ens.Dial(), bubble.Dir))
		time.Sleep(time.Minute)
		if a.waits() == b.waits() {
			t.Fatalf("the first waits: %v, the second: %v", a.waits(), b.waits())
		}
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), recipes.Item{Data: []byte("two")})))
		synctest.Wait()
		if a.waits() || b.waits() || a.err != nil || b.err != nil || string(a.it.Data) == string(b.it.Data) {
			t.Errorf("two takers have %v and %v", a, b)
		}
	})
}

// A consumer that waits for an item to be due leaves no watch when it is cancelled, and fails when its session ends.
func TestTheEndOfATakeOfAnItemThatIsNotDue(t *testing.T) {
	eachDelayQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), in(time.Minute, "due"))))
		ctx, cancel := context.WithCancel(t.Context())
		p := start(func() (recipes.Item, error) { return k.on(ens.Dial(), bubble.Dir).Take(ctx) })
		cancel()
		if p.waits() || !errors.Is(p.err, context.Canceled) {
			t.Errorf("cancelled Take() = %v, want the context's error", p.err)
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
		dead := ens.Dial()
		p = taking(t, k.on(dead, bubble.Dir))
		ens.Expire(dead)
		if p.waits() || !errors.Is(p.err, zk.ErrSessionExpired) {
			t.Errorf("Take() = %v, want ErrSessionExpired", p.err)
		}
	})
}

// A consumer goes by its own clock: if that is ahead, it takes items early by as much.
func TestAConsumersClockDecides(t *testing.T) {
	eachDelayQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		began := time.Now()
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), in(time.Minute, "due"))))
		k.o.Clock = func() time.Time { return time.Now().Add(20 * time.Second) }
		p := taking(t, k.on(ens.Dial(), bubble.Dir))
		<-p.done
		bubble.Got(t, "Take()", p.it, p.err, "due")
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("taken after %v, want 40s", took)
		}
	})
}
