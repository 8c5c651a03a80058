package recipestest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Queue tests what a queue with these options promises: what QueueOn tests, that takers that were waiting first get the items that are put, and that a
// taker that gives up leaves no watch. It runs on ensembles in memory.
func Queue(t *testing.T, v recipes.Variant[recipes.Queue], o recipes.Options) {
	t.Run("while nothing breaks", func(t *testing.T) {
		QueueOn(t, v, o, bubble.DialIn(zktest.New(zktest.Config{})), bubble.Dir, 120)
	})
	bubble.Run(t, "takers who were there first get the items", func(t *testing.T, ens *zktest.Ensemble) {
		first, second := take(t.Context(), v.New(ens.Dial(), bubble.Dir, o)), take(t.Context(), v.New(ens.Dial(), bubble.Dir, o))
		bubble.Expect(t, "the first taker of an empty queue", first, "waits")
		bubble.Expect(t, "the second taker of an empty queue", second, "waits")
		q := v.New(ens.Dial(), bubble.Dir, o)
		for i := range 2 {
			bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(i))))
		}
		bubble.Expect(t, "the first taker", first, "holds")
		bubble.Expect(t, "the second taker", second, "holds")
		if string(first.item.Data) == string(second.item.Data) {
			t.Errorf("both takers have %q", first.item.Data)
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
	bubble.Run(t, "a taker that gives up leaves nothing behind", func(t *testing.T, ens *zktest.Ensemble) {
		q, began := v.New(ens.Dial(), bubble.Dir, o), time.Now()
		if _, err := bubble.Poll(t.Context(), q, time.Second); !errors.Is(err, recipes.ErrEmpty) || time.Since(began) != time.Second {
			t.Errorf("Take() for a second = %v after %v, want its end", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		taker := take(ctx, q)
		cancel()
		bubble.Expect(t, "a taker that is cancelled", taker, "failed")
		if !errors.Is(taker.Err, context.Canceled) {
			t.Errorf("Take() that is cancelled = %v, want the context's error", taker.Err)
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left: %v", left)
		}
	})
}

// taker is a Take in its own goroutine; its state is 'holds' when it has an item.
type taker struct {
	*bubble.Attempt
	item recipes.Item
}

func take(ctx context.Context, q recipes.Queue) *taker {
	k := &taker{}
	k.Attempt = bubble.Begin(func() (_ recipes.Grant, err error) { k.item, err = q.Take(ctx); return })
	return k
}

// QueueOn tests that a queue with these options delivers every item once, and to a single consumer in the order of the puts. It moves scale
// items, a multiple of three, in directories that begin with dir.
func QueueOn(t *testing.T, v recipes.Variant[recipes.Queue], o recipes.Options, dial Dial, dir string, scale int) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	t.Run("an empty queue, whether its directory is there or not", func(t *testing.T) {
		q := v.New(dial(t), dir+"-empty", o)
		for range 2 {
			if it, err := q.Element(ctx); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Element() = %v, %v, want ErrEmpty", it, err)
			}
			if it, err := q.Remove(ctx); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Remove() = %v, %v, want ErrEmpty", it, err)
			}
			if it, err := bubble.Poll(ctx, q, 20*time.Millisecond); !errors.Is(err, recipes.ErrEmpty) {
				t.Errorf("Poll() = %v, %v, want ErrEmpty", it, err)
			}
		}
	})
	t.Run("what goes in comes out, in order", func(t *testing.T) {
		in, out := v.New(dial(t), dir, o), v.New(dial(t), dir, o)
		for i := range scale {
			it, err := in.Put(ctx, bubble.Item(i))
			bubble.OK(t, "Put()", err)
			if it.Path == "" {
				t.Errorf("Put() does not tell the znode")
			}
		}
		var last int64
		for i := range scale {
			it, err := out.Element(ctx)
			bubble.Got(t, "Element()", it, err, strconv.Itoa(i))
			it, err = out.Remove(ctx)
			bubble.Got(t, "Remove()", it, err, strconv.Itoa(i))
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
			q := v.New(dial(t), dir+"-many", o)
			moving.Go(func() {
				for i := range scale {
					if _, err := q.Put(ctx, recipes.Item{Data: fmt.Appendf(nil, "%d-%d", p, i), Priority: int32(i % 3)}); err != nil {
						t.Errorf("Put() = %v", err)
					}
				}
			})
		}
		for c := range consumers {
			q := v.New(dial(t), dir+"-many", o)
			moving.Go(func() {
				for n := producers * scale / consumers; n > 0; n-- {
					take := q.Take
					if c == 0 {
						take = func(ctx context.Context) (recipes.Item, error) { return bubble.Poll(ctx, q, time.Minute) }
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
