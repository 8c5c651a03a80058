package recipes_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// beside counts what a recipe carries out beside its callers.
type beside struct {
	zk.Session
	begun, ended atomic.Int32
}

func (b *beside) AddWatch(ctx context.Context, path string, recursive bool) (*zk.Stream, error) {
	return b.Session.(zk.PersistentWatcher).AddWatch(ctx, path, recursive)
}

func (b *beside) Go(f func()) {
	b.begun.Add(1)
	b.Session.Go(func() {
		defer b.ended.Add(1)
		f()
	})
}

// What a recipe begins beside its callers, for the time of a grant or to remove what it gave up in doubt, has ended when its session is
// closed.
func TestClosingASessionEndsWhatRecipesDoBesideTheirCallers(t *testing.T) {
	given := func(ctx context.Context) context.Context { // up, before the first answer
		ctx, end := context.WithCancel(ctx)
		time.AfterFunc(time.Millisecond, end)
		return ctx
	}
	refuse := func(kinds ...zk.Kind) zktest.Hook { // for as long as the session lives
		return func(op zktest.Op) zktest.Action {
			if slices.Contains(kinds, op.Kind) {
				time.Sleep(10 * time.Millisecond)
				return zktest.Action{Lose: true}
			}
			return zktest.Action{}
		}
	}
	locked := func(v recipes.Variant[recipes.Lock], o recipes.Options) func(*testing.T, context.Context, *beside) error {
		return func(t *testing.T, ctx context.Context, s *beside) error {
			return bubble.Second(v.New(s, bubble.Dir, o).Acquire(ctx))
		}
	}
	type kind struct {
		name  string
		hook  zktest.Hook
		fails bool
		do    func(t *testing.T, ctx context.Context, s *beside) error
	}
	kinds := []kind{
		{name: "a place given up in doubt", hook: refuse(zk.KindCreate), fails: true, do: func(t *testing.T, ctx context.Context, s *beside) error {
			return bubble.Second(bubble.Find(t, lock.Variants(), "predecessor").New(s, bubble.Dir, recipes.Options{}).Acquire(given(ctx)))
		}},
		{name: "a fixed name given up in doubt", hook: refuse(zk.KindCreate), fails: true, do: func(t *testing.T, ctx context.Context, s *beside) error {
			return bubble.Second(bubble.Find(t, lock.Variants(), "single-node").New(s, bubble.Dir, recipes.Options{}).Acquire(given(ctx)))
		}},
		{name: "a release whose context ends", hook: refuse(zk.KindDelete), fails: true, do: func(t *testing.T, ctx context.Context, s *beside) error {
			l := bubble.Find(t, lock.Variants(), "predecessor").New(s, bubble.Dir, recipes.Options{})
			bubble.OK(t, "Acquire", bubble.Second(l.Acquire(ctx)))
			return l.Release(given(ctx))
		}},
		{name: "a membership that ends", hook: refuse(zk.KindDelete), fails: true, do: func(t *testing.T, ctx context.Context, s *beside) error {
			g := membership.Variants()[0].New(s, bubble.Dir, recipes.Options{})
			bubble.OK(t, "Join", bubble.Second(g.Join(ctx, "a", nil)))
			return g.Leave(given(ctx))
		}},
		{name: "a barrier given up", hook: refuse(zk.KindMulti), fails: true, do: func(t *testing.T, ctx context.Context, s *beside) error {
			return barrier.DoubleVariants()[0].New(s, bubble.Dir, recipes.Options{Members: 2}).Enter(given(ctx))
		}},
		{name: "an exact put in doubt", hook: refuse(zk.KindMulti), fails: true, do: func(t *testing.T, ctx context.Context, s *beside) error {
			return bubble.Second(queue.Variants()[0].New(s, bubble.Dir, recipes.Options{Exact: true}).Put(given(ctx), bubble.Item(1)))
		}},
		{name: "a watch over the own znode", do: locked(bubble.Find(t, lock.Variants(), "predecessor"), recipes.Options{WatchOwn: true})},
		{name: "persistent watches", do: locked(bubble.Find(t, lock.Variants(), "persistent"), recipes.Options{})},
		{name: "several losses", do: func(t *testing.T, ctx context.Context, s *beside) error {
			return bubble.Second(lock.MultiVariants()[0].New(s, bubble.Dir, recipes.Options{WatchOwn: true}).Acquire(ctx, "a", "b"))
		}},
		{name: "a revocable grant", do: func(t *testing.T, ctx context.Context, s *beside) error {
			return bubble.Second(lock.RevocableVariants()[0].New(s, bubble.Dir, recipes.Options{}).AcquireWrite(ctx))
		}},
	}
	for _, v := range election.Variants() {
		kinds = append(kinds, kind{name: "a term of " + v.Name, do: func(t *testing.T, ctx context.Context, s *beside) error {
			return bubble.Second(v.New(s, bubble.Dir, recipes.Options{}).Campaign(ctx))
		}})
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{})
				first := ens.Dial() // makes the directories
				bubble.OK(t, "Acquire", bubble.Second(bubble.Find(t, lock.Variants(), "predecessor").New(first, bubble.Dir, recipes.Options{}).Acquire(t.Context())))
				first.Close()
				defer time.Sleep(time.Second) // what the hook still sleeps
				s := &beside{Session: ens.Dial()}
				ens.Hook(k.hook)
				if err := k.do(t, t.Context(), s); (err != nil) != k.fails {
					t.Fatalf("%v, want an error: %v", err, k.fails)
				}
				if s.begun.Load() == 0 {
					t.Fatal("nothing goes on beside the caller")
				}
				s.Close()
				if begun, ended := s.begun.Load(), s.ended.Load(); begun != ended {
					t.Errorf("Close has returned, and of %d only %d have ended", begun, ended)
				}
			})
		})
	}
}
