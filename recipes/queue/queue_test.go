package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// queues returns all queues with each way of listing, by name.
func queues() map[string]queueKind {
	all := map[string]queueKind{}
	for _, v := range slices.Concat(queue.Variants(), queue.PriorityVariants(), queue.DelayVariants()) {
		for _, list := range append([]string{""}, v.Lists...) {
			all[v.Name+" "+list] = queueKind{v, recipes.Options{List: list}}
		}
	}
	exact, bounded := all["fifo "], all["fifo "]
	exact.o.Exact, bounded.o.MaxItems = true, 1000
	all["fifo exact"], all["fifo bounded"] = exact, bounded
	return all
}

type queueKind struct {
	v recipes.Variant[recipes.Queue]
	o recipes.Options
}

func (k queueKind) on(s zk.Session, path string) recipes.Queue { return k.v.New(s, path, k.o) }

func TestQueuesInMemory(t *testing.T) {
	for name, k := range queues() {
		t.Run(name, func(t *testing.T) { recipestest.Queue(t, k.v, k.o) })
	}
}

// eachQueue runs a test for each queue in a bubble.
func eachQueue(t *testing.T, test func(*testing.T, queueKind, *zktest.Ensemble)) {
	for name, k := range queues() {
		bubble.Run(t, name, func(t *testing.T, ens *zktest.Ensemble) { test(t, k, ens) })
	}
}

// pending is a running call on a queue.
type pending struct {
	it   recipes.Item
	err  error
	done chan struct{}
}

func start(call func() (recipes.Item, error)) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.it, p.err = call()
	}()
	synctest.Wait()
	return p
}

func (p *pending) waits() bool {
	synctest.Wait()
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *pending) expect(t *testing.T, what, want string) {
	t.Helper()
	if p.waits() {
		t.Fatalf("%s waits, want %q", what, want)
	}
	bubble.Got(t, what, p.it, p.err, want)
}

func taking(t *testing.T, q recipes.Queue) *pending {
	return start(func() (recipes.Item, error) { return q.Take(t.Context()) })
}

// An item that is put between the plain list and the watch is in the list that arms the watch.
func TestAnItemBeforeTheWatchIsNotMissed(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		other, once := k.on(ens.Dial(), bubble.Dir), false
		lists := 0
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindChildren && op.Applied {
				lists++
			}
			if op.Kind == zk.KindChildren && op.Watch && !op.Applied && lists > 0 && !once {
				once = true
				if _, err := other.Put(t.Context(), bubble.Item(7)); err != nil {
					t.Errorf("Put() = %v", err)
				}
			}
			return zktest.Action{}
		})
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(6))))
		q := k.on(ens.Dial(), bubble.Dir)
		p := taking(t, q)
		p.expect(t, "Take()", "6")
		taking(t, q).expect(t, "Take() of the item in between", "7")
	})
}

// CURATOR-308: when somebody removes the directory while a consumer waits, the consumer creates and watches it again.
func TestATakerSurvivesTheRemovalOfTheDirectory(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		p := taking(t, k.on(ens.Dial(), bubble.Dir))
		admin := ens.Dial()
		for range 2 {
			var all []zk.Op // in one transaction, because the taker re-creates what is missing
			for path := range ens.Tree() {
				if strings.HasPrefix(path, bubble.Dir+"/") {
					all = append(all, zk.DeleteOp(path, zk.AnyVersion))
				}
			}
			bubble.OK(t, "Multi()", bubble.Second(admin.Multi(t.Context(), append(all, zk.DeleteOp(bubble.Dir, zk.AnyVersion))...)))
			if !p.waits() {
				t.Fatalf("Take() = %v after the directory was removed, want it to wait", p.err)
			}
		}
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(1))))
		p.expect(t, "Take()", "1")
	})
}

// A consumer whose session ends between its read and its delete leaves the item to another one.
func TestADeadConsumerLeavesTheItem(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(1))))
		dead := ens.Dial()
		k.o.Trace = &recipes.Trace{Pause: func(point string) {
			if point == recipes.PauseRead || point == recipes.PauseCreated {
				ens.Expire(dead)
			}
		}}
		p := taking(t, k.on(dead, bubble.Dir))
		if p.waits() || !errors.Is(p.err, zk.ErrSessionExpired) || errors.Is(p.err, recipes.ErrInDoubt) {
			t.Errorf("Take() = %v, want ErrSessionExpired and no doubt", p.err)
		}
		k.o.Trace = nil
		taking(t, k.on(ens.Dial(), bubble.Dir)).expect(t, "Take() of another", "1")
	})
}
