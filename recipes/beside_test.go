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

// counting counts the background work of a recipe.
type counting struct {
	zk.Session
	started, ended atomic.Int32
}

func (b *counting) AddWatch(ctx context.Context, path string, recursive bool) (*zk.Stream, error) {
	return b.Session.(zk.PersistentWatcher).AddWatch(ctx, path, recursive)
}

func (b *counting) Go(f func()) {
	b.started.Add(1)
	b.Session.Go(func() {
		defer b.ended.Add(1)
		f()
	})
}

// When Close of a session returns, all background work of its recipes has ended: the work that runs during a grant, and the removal of znodes in doubt.
func TestCloseEndsTheBackgroundWorkOfRecipes(t *testing.T) {
	brief := func(ctx context.Context) context.Context { // ends before the first reply
		ctx, end := context.WithCancel(ctx)
		time.AfterFunc(time.Millisecond, end)
		return ctx
	}
	refuse := func(kinds ...zk.Kind) zktest.Hook { // as long as the session is open
		return func(op zktest.Op) zktest.Action {
			if slices.Contains(kinds, op.Kind) {
				time.Sleep(10 * time.Millisecond)
				return zktest.Action{Lose: true}
			}
			return zktest.Action{}
		}
	}
	locked := func(v recipes.Variant[recipes.Lock], o recipes.Options) func(*testing.T, context.Context, *counting) error {
		return func(t *testing.T, ctx context.Context, s *counting) error {
			return bubble.Second(v.New(s, bubble.Dir, o).Acquire(ctx))
		}
	}
	type kind struct {
		name  string
		hook  zktest.Hook
		fails bool
		do    func(t *testing.T, ctx context.Context, s *counting) error
	}
	kinds := []kind{
		{name: "a cancelled acquisition, its znode in doubt", hook: refuse(zk.KindCreate), fails: true, do: func(t *testing.T, ctx context.Context, s *counting) error {
			return bubble.Second(bubble.Find(t, lock.Variants(), "predecessor").New(s, bubble.Dir, recipes.Options{}).Acquire(brief(ctx)))
		}},
		{name: "a cancelled acquisition, its fixed znode in doubt", hook: refuse(zk.KindCreate), fails: true, do: func(t *testing.T, ctx context.Context, s *counting) error {
			return bubble.Second(bubble.Find(t, lock.Variants(), "single-node").New(s, bubble.Dir, recipes.Options{}).Acquire(brief(ctx)))
		}},
		{name: "a release whose context ends", hook: refuse(zk.KindDelete), fails: true, do: func(t *testing.T, ctx context.Context, s *counting) error {
			l := bubble.Find(t, lock.Variants(), "predecessor").New(s, bubble.Dir, recipes.Options{})
			bubble.OK(t, "Acquire", bubble.Second(l.Acquire(ctx)))
			return l.Release(brief(ctx))
		}},
		{name: "a membership that ends", hook: refuse(zk.KindDelete), fails: true, do: func(t *testing.T, ctx context.Context, s *counting) error {
			g := membership.Variants()[0].New(s, bubble.Dir, recipes.Options{})
			bubble.OK(t, "Join", bubble.Second(g.Join(ctx, "a", nil)))
			return g.Leave(brief(ctx))
		}},
		{name: "a cancelled barrier", hook: refuse(zk.KindMulti), fails: true, do: func(t *testing.T, ctx context.Context, s *counting) error {
			return barrier.DoubleVariants()[0].New(s, bubble.Dir, recipes.Options{Members: 2}).Enter(brief(ctx))
		}},
		{name: "an exact put in doubt", hook: refuse(zk.KindMulti), fails: true, do: func(t *testing.T, ctx context.Context, s *counting) error {
			return bubble.Second(queue.Variants()[0].New(s, bubble.Dir, recipes.Options{Exact: true}).Put(brief(ctx), bubble.Item(1)))
		}},
		{name: "a watch over the own znode", do: locked(bubble.Find(t, lock.Variants(), "predecessor"), recipes.Options{WatchOwn: true})},
		{name: "persistent watches", do: locked(bubble.Find(t, lock.Variants(), "persistent"), recipes.Options{})},
		{name: "several losses", do: func(t *testing.T, ctx context.Context, s *counting) error {
			return bubble.Second(lock.MultiVariants()[0].New(s, bubble.Dir, recipes.Options{WatchOwn: true}).Acquire(ctx, "a", "b"))
		}},
		{name: "a revocable grant", do: func(t *testing.T, ctx context.Context, s *counting) error {
			return bubble.Second(lock.RevocableVariants()[0].New(s, bubble.Dir, recipes.Options{}).AcquireWrite(ctx))
		}},
	}
	for _, v := range election.Variants() {
		kinds = append(kinds, kind{name: "a term of " + v.Name, do: func(t *testing.T, ctx context.Context, s *counting) error {
			return bubble.Second(v.New(s, bubble.Dir, recipes.Options{}).Campaign(ctx))
		}})
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{})
				first := ens.Dial() // creates the directories
				bubble.OK(t, "Acquire", bubble.Second(bubble.Find(t, lock.Variants(), "predecessor").New(first, bubble.Dir, recipes.Options{}).Acquire(t.Context())))
				first.Close()
				defer time.Sleep(time.Second) // for hooks that still sleep
				s := &counting{Session: ens.Dial()}
				ens.Hook(k.hook)
				if err := k.do(t, t.Context(), s); (err != nil) != k.fails {
					t.Fatalf("%v, want an error: %v", err, k.fails)
				}
				if s.started.Load() == 0 {
					t.Fatal("no background work was started")
				}
				s.Close()
				if started, ended := s.started.Load(), s.ended.Load(); started != ended {
					t.Errorf("of %d background functions only %d ended before Close returned", started, ended)
				}
			})
		})
	}
}
