package recipestest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Lock tests what an exclusive lock promises: what LockOn tests; that the lock keeps its promises while holders die, waiters give up, connections break,
// requests and replies get lost, processes stop and somebody else deletes znodes; that a holder is notified in time when it no longer holds; and that a failed
// call leaves nothing behind. It runs on ensembles in memory, in well under a second, and needs no server. New gets the default options and a path of which
// nothing exists: the lock creates what it needs above its own znodes.
//
// The variant's fields are tested too: with FIFO grants must come in the order of arrival, with Tokens each grant needs a token greater than the one before,
// and with Reentrant a handle that holds can acquire again. A variant that is Persistent may keep a watch for as long as its session lives.
func Lock(t *testing.T, v recipes.Variant[recipes.Lock]) {
	excludes(t, v)
	trouble.Suffer(t, lockScenes(v)...)
}

func excludes(t *testing.T, v recipes.Variant[recipes.Lock]) {
	for _, p := range lockBasics {
		bubble.Run(t, p.name, func(t *testing.T, ens *zktest.Ensemble) { p.on(t, v, bubble.DialIn(ens), bubble.Dir) })
	}
	for _, p := range lockPromises {
		if !p.fifo || v.FIFO {
			bubble.Run(t, p.name, func(t *testing.T, ens *zktest.Ensemble) { p.test(t, v, ens) })
		}
	}
}

// lockScenes returns scenes in which every request of every call goes wrong. They are Whole, because a lock may choose how often it repeats a request,
// and after which pause.
func lockScenes(v recipes.Variant[recipes.Lock]) []trouble.Scene {
	acquire := func(ctx context.Context, l recipes.Lock) error { return bubble.Second(l.Acquire(ctx)) }
	release := func(ctx context.Context, l recipes.Lock) error { return l.Release(ctx) }
	acquires := trouble.Dialled(v.New, recipes.Options{}, nil, acquire)
	return []trouble.Scene{
		{Name: "every request of an acquisition goes wrong", Whole: true, Set: acquires},
		{Name: "every request of a waiter goes wrong", Whole: true, Set: trouble.After(v.New, recipes.Options{}, acquire, release, acquires)},
		{Name: "every request of a release goes wrong", Whole: true, Set: trouble.Dialled(v.New, recipes.Options{}, acquire, release)},
	}
}

// Dial opens a session on the ensemble under test and closes it with the test. It fails the test if it cannot.
type Dial = func(*testing.T) zk.Session

// LockOn tests what an exclusive lock promises while nothing breaks, and that the end of the session ends a hold, in the directory dir of the
// ensemble that dial dials. It opens 20 sessions, and leaves the directory behind.
func LockOn(t *testing.T, v recipes.Variant[recipes.Lock], dial Dial, dir string) {
	for _, p := range lockBasics {
		t.Run(p.name, func(t *testing.T) { p.on(t, v, dial, dir) })
	}
}

// basic is a promise that can be tested on any ensemble.
type basic struct {
	name string
	test func(t *testing.T, ctx context.Context, lock func() (recipes.Lock, zk.Session), v recipes.Variant[recipes.Lock])
}

func (b basic) on(t *testing.T, v recipes.Variant[recipes.Lock], dial Dial, dir string) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	b.test(t, ctx, func() (recipes.Lock, zk.Session) {
		s := dial(t)
		return v.New(s, dir, recipes.Options{}), s
	}, v)
}

// testTimeout is how long a lock may take before it is considered stuck.
const testTimeout = 5 * time.Minute

var lockBasics = []basic{
	{"acquire, release, acquire again", acquiresAgain},
	{"a handle holds at most one grant", holdsOnce},
	{"twenty contenders exclude each other", contendersExcludeEachOther},
	{"the end of the session ends the hold", theSessionEndsTheHold},
}

func acquiresAgain(t *testing.T, ctx context.Context, lock func() (recipes.Lock, zk.Session), v recipes.Variant[recipes.Lock]) {
	l, _ := lock()
	last := int64(0)
	for range 3 {
		g, err := l.Acquire(ctx)
		if err != nil {
			t.Fatalf("Acquire() = %v", err)
		}
		if v.Tokens && g.Token <= last {
			t.Errorf("token %d after %d, want it to grow", g.Token, last)
		}
		last = g.Token
		if err := l.Release(ctx); err != nil {
			t.Fatalf("Release() = %v", err)
		}
	}
}

func holdsOnce(t *testing.T, ctx context.Context, lock func() (recipes.Lock, zk.Session), v recipes.Variant[recipes.Lock]) {
	l, _ := lock()
	if err := l.Release(ctx); !errors.Is(err, recipes.ErrNotHeld) {
		t.Errorf("Release() of a free lock = %v, want ErrNotHeld", err)
	}
	if _, err := l.Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	if v.Reentrant {
		if _, err := l.Acquire(ctx); err != nil {
			t.Errorf("second Acquire() = %v, want a second acquisition", err)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	} else if _, err := l.Acquire(ctx); !errors.Is(err, recipes.ErrHeld) {
		t.Errorf("second Acquire() = %v, want ErrHeld", err)
	}
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
}

func contendersExcludeEachOther(t *testing.T, ctx context.Context, lock func() (recipes.Lock, zk.Session), _ recipes.Variant[recipes.Lock]) {
	const contenders, rounds = 20, 5
	var holders, grants atomic.Int64
	var all sync.WaitGroup
	for range contenders {
		l, _ := lock()
		all.Go(func() {
			for range rounds {
				if _, err := l.Acquire(ctx); err != nil {
					t.Errorf("Acquire() = %v", err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders at once", n)
				}
				grants.Add(1)
				holders.Add(-1)
				if err := l.Release(ctx); err != nil {
					t.Errorf("Release() = %v", err)
				}
			}
		})
	}
	all.Wait()
	if got := grants.Load(); got != contenders*rounds {
		t.Errorf("%d grants, want %d", got, contenders*rounds)
	}
}

func theSessionEndsTheHold(t *testing.T, ctx context.Context, lock func() (recipes.Lock, zk.Session), _ recipes.Variant[recipes.Lock]) {
	held, s := lock()
	g, err := held.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	select {
	case <-g.Lost:
	case <-ctx.Done():
		t.Fatal("Grant.Lost is not closed when the session is")
	}
	l, _ := lock()
	if _, err := l.Acquire(ctx); err != nil {
		t.Fatalf("Acquire() after the holder's session has ended = %v", err)
	}
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
}
