package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// queues is every queue, with a name for each choice of list.
func queues() map[string]queueKind {
	all := map[string]queueKind{}
	for _, v := range slices.Concat(recipes.Queues, recipes.PriorityQueues, recipes.DelayQueues) {
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

func number(n int) recipes.Item { return recipes.Item{Data: []byte(strconv.Itoa(n))} }

func got(t *testing.T, what string, it recipes.Item, err error, want string) {
	t.Helper()
	if err != nil || string(it.Data) != want {
		t.Fatalf("%s = %q, %v, want %q", what, it.Data, err, want)
	}
}

// queueSuite is what every queue must do; scale is how many items it moves.
func queueSuite(t *testing.T, k queueKind, dial func(*testing.T) zk.Session, dir string, scale int) {
	ctx := t.Context()
	t.Run("an empty queue, whether its directory is there or not", func(t *testing.T) {
		q := k.on(dial(t), dir+"-empty")
		for range 2 {
			if it, err := q.Element(ctx); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Element() = %v, %v, want ErrEmpty", it, err)
			}
			if it, err := q.Remove(ctx); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Remove() = %v, %v, want ErrEmpty", it, err)
			}
			if it, err := recipes.Poll(ctx, q, 20*time.Millisecond); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Poll() = %v, %v, want ErrEmpty", it, err)
			}
		}
	})
	t.Run("what goes in comes out, in order", func(t *testing.T) {
		in, out := k.on(dial(t), dir), k.on(dial(t), dir)
		for i := range scale {
			it, err := in.Put(ctx, number(i))
			ok(t, "Put()", err)
			if it.Path == "" {
				t.Errorf("Put() does not tell the znode")
			}
		}
		var last int64
		for i := range scale {
			it, err := out.Element(ctx)
			got(t, "Element()", it, err, strconv.Itoa(i))
			it, err = out.Remove(ctx)
			got(t, "Remove()", it, err, strconv.Itoa(i))
			if it.Czxid <= last || it.AsOf < it.Czxid {
				t.Errorf("item %d has czxid %d after %d, from a list as of %d", i, it.Czxid, last, it.AsOf)
			}
			last = it.Czxid
		}
		if _, err := out.Remove(ctx); !errors.Is(err, recipes.ErrEmpty) {
			t.Errorf("Remove() = %v, want ErrEmpty", err)
		}
	})
	t.Run("several producers and consumers move each item once", func(t *testing.T) {
		const producers, consumers = 2, 3
		var moving sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]int{}
		for p := range producers {
			q := k.on(dial(t), dir+"-many")
			moving.Go(func() {
				for i := range scale {
					if _, err := q.Put(ctx, recipes.Item{Data: fmt.Appendf(nil, "%d-%d", p, i), Priority: int32(i % 3)}); err != nil {
						t.Errorf("Put() = %v", err)
					}
				}
			})
		}
		for c := range consumers {
			q := k.on(dial(t), dir+"-many")
			moving.Go(func() {
				for n := producers * scale / consumers; n > 0; n-- {
					take := q.Take
					if c == 0 {
						take = func(ctx context.Context) (recipes.Item, error) { return recipes.Poll(ctx, q, time.Minute) }
					}
					it, err := take(ctx)
					if err != nil {
						t.Errorf("Take() = %v", err)
						return
					}
					mu.Lock()
					seen[string(it.Data)]++
					mu.Unlock()
				}
			})
		}
		moving.Wait()
		for item, n := range seen {
			if n != 1 {
				t.Errorf("item %s came %d times", item, n)
			}
		}
		if len(seen) != producers*scale/consumers*consumers {
			t.Errorf("%d items came", len(seen))
		}
	})
}

func TestQueuesInMemory(t *testing.T) {
	for name, k := range queues() {
		t.Run(name, func(t *testing.T) { queueSuite(t, k, dialIn(zktest.New(zktest.Config{})), dir, 120) })
	}
}

// each runs a test for each queue in a bubble.
func eachQueue(t *testing.T, test func(*testing.T, queueKind, *zktest.Ensemble)) {
	for name, k := range queues() {
		bubble(t, name, func(t *testing.T, ens *zktest.Ensemble) { test(t, k, ens) })
	}
}

// pending is a call on a queue in a goroutine of its own.
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
	got(t, what, p.it, p.err, want)
}

func taking(t *testing.T, q recipes.Queue) *pending {
	return start(func() (recipes.Item, error) { return q.Take(t.Context()) })
}

func TestATakerThatWasThereFirstGetsTheItem(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		first, second := taking(t, k.on(ens.Dial(), dir)), taking(t, k.on(ens.Dial(), dir))
		if !first.waits() || !second.waits() {
			t.Fatal("Take() of an empty queue returns")
		}
		q := k.on(ens.Dial(), dir)
		for i := range 2 {
			_, err := q.Put(t.Context(), number(i))
			ok(t, "Put()", err)
		}
		synctest.Wait()
		if first.waits() || second.waits() || first.err != nil || second.err != nil || string(first.it.Data) == string(second.it.Data) {
			t.Errorf("two takers of two items have %v and %v", first, second)
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

func TestATakerThatGivesUpLeavesNothingBehind(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		q, began := k.on(ens.Dial(), dir), time.Now()
		if _, err := recipes.Poll(t.Context(), q, time.Second); !errors.Is(err, recipes.ErrEmpty) || time.Since(began) != time.Second {
			t.Errorf("Poll(1s) = %v after %v, want ErrEmpty after 1s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := start(func() (recipes.Item, error) { return q.Take(ctx) })
		cancel()
		if p.waits() || !errors.Is(p.err, context.Canceled) {
			t.Errorf("Take() that is cancelled = %v, want the context's error", p.err)
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

// An item that is put between the plain list and the watch is seen by the list that comes with the watch.
func TestAnItemThatComesBeforeTheWatchIsNotMissed(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		other, once := k.on(ens.Dial(), dir), false
		lists := 0
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindChildren && op.Applied {
				lists++
			}
			if op.Kind == zk.KindChildren && op.Watch && !op.Applied && lists > 0 && !once {
				once = true
				if _, err := other.Put(t.Context(), number(7)); err != nil {
					t.Errorf("Put() = %v", err)
				}
			}
			return zktest.Action{}
		})
		ok(t, "Put()", second(k.on(ens.Dial(), dir).Put(t.Context(), number(6))))
		q := k.on(ens.Dial(), dir)
		p := taking(t, q)
		p.expect(t, "Take()", "6")
		taking(t, q).expect(t, "Take() of what came in between", "7")
	})
}

func second[T any](_ T, err error) error { return err }

// Somebody removes the directory under a blocked consumer: it is made again and watched (CURATOR-308).
func TestATakerSurvivesTheRemovalOfTheDirectory(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		p := taking(t, k.on(ens.Dial(), dir))
		admin := ens.Dial()
		for range 2 {
			for path := range ens.Tree() {
				if len(path) > len(dir) && path[:len(dir)+1] == dir+"/" {
					ok(t, "Delete()", admin.Delete(t.Context(), path, zk.AnyVersion))
				}
			}
			ok(t, "Delete()", admin.Delete(t.Context(), dir, zk.AnyVersion))
			if !p.waits() {
				t.Fatalf("Take() = %v after the directory is gone", p.err)
			}
		}
		ok(t, "Put()", second(k.on(ens.Dial(), dir).Put(t.Context(), number(1))))
		p.expect(t, "Take()", "1")
	})
}

// A consumer whose session ends between reading and taking leaves the item to another.
func TestADeadConsumerLeavesTheItem(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		ok(t, "Put()", second(k.on(ens.Dial(), dir).Put(t.Context(), number(1))))
		dead := ens.Dial()
		k.o.Trace = &recipes.Trace{Pause: func(point string) {
			if point == recipes.PauseRead || point == recipes.PauseCreated {
				ens.Expire(dead)
			}
		}}
		p := taking(t, k.on(dead, dir))
		if p.waits() || !errors.Is(p.err, zk.ErrSessionExpired) || errors.Is(p.err, recipes.ErrInDoubt) {
			t.Errorf("Take() of the dead = %v, want the session's end and no doubt", p.err)
		}
		k.o.Trace = nil
		taking(t, k.on(ens.Dial(), dir)).expect(t, "Take() of another", "1")
	})
}
