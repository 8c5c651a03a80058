package broken

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// lockSteps contains the parts of the predecessor lock that can be replaced.
type lockSteps struct {
	*altered
	turn    *znode.Turn
	dir     string
	lock    recipes.Lock // the real one
	granted func(ctx context.Context, g recipes.Grant) (recipes.Grant, error)
	release func(ctx context.Context) error
}

// Acquire calls the lock's Acquire, and lets the defect replace the grant.
func (l *lockSteps) Acquire(ctx context.Context) (recipes.Grant, error) {
	defer l.during(acquiring)()
	g, err := l.lock.Acquire(ctx)
	if err == nil && l.granted != nil {
		return l.granted(ctx, g)
	}
	return g, err
}

// Release calls the lock's Release, or its replacement.
func (l *lockSteps) Release(ctx context.Context) error {
	defer l.during(releasing)()
	if l.release != nil {
		return l.release(ctx)
	}
	return l.lock.Release(ctx)
}

// but returns the constructor of the predecessor lock with one defect.
func but(fault func(*lockSteps)) func(zk.Session, string, recipes.Options) recipes.Lock {
	return func(s zk.Session, dir string, o recipes.Options) recipes.Lock {
		l := &lockSteps{altered: over(s), dir: dir}
		l.lock = lock.NewPredecessorWith(l.altered, dir, o, func(turn *znode.Turn) {
			l.turn = turn
			fault(l)
		})
		return l
	}
}

// queued makes an entry from the predecessor lock with one step replaced.
func queued(caught, name, doc string, fault func(*lockSteps)) Defect[recipes.Lock] {
	d := defective[recipes.Lock](caught, name, doc)
	d.FIFO, d.Tokens, d.Wakes, d.New = caught != exclusion, caught != exclusion, recipes.WakesOne, but(fault)
	d.Znodes = recipes.Znodes{Ephemeral: []string{`OBJECT/(leak-GUID|` + holder + `)`}}
	return d
}

type aheadOf = func(children []string, self string, foreign func(string)) (string, error)

// Locks are the exclusive locks with a defect.
var Locks = []Defect[recipes.Lock]{
	queued(exclusion, "no-wait", "takes the lock as soon as it has a place in the queue", func(l *lockSteps) {
		l.turn.Ahead = func([]string, string, func(string)) (string, error) { return "", nil }
	}),
	queued(exclusion, "no-recheck", "holds when the znode before it has gone, though that may have been a waiter that gave up",
		func(l *lockSteps) { l.turn.Woken = holdsWhenWoken }),
	queued(exclusion, "gone-holds", "holds when the znode before it went between the list and the watch", func(l *lockSteps) {
		l.turn.Gone = func() bool { return true }
	}),
	queued(exclusion, "lost-watch", "takes the loss of its watch for the event that it waited for, and knows of no lost session", func(l *lockSteps) {
		l.turn.Woken = func(e zk.Event) (bool, error) { return e.Err != nil, nil }
		l.blind()
	}),
	queued(exclusion, "blind-holder", "does not tell the holder that its session is over", func(l *lockSteps) { l.blind() }),
	queued(exclusion, "string-order", "takes the smallest name for the first, whatever its number", func(l *lockSteps) {
		l.turn.Ahead = func(children []string, self string, _ func(string)) (string, error) {
			if first := slices.Min(children); first != self {
				return first, nil
			}
			return "", nil
		}
	}),
	queued(exclusion, "number-order", "compares numbers as if the server's counter never wrapped", func(l *lockSteps) {
		l.turn.Ahead = func(children []string, self string, _ func(string)) (ahead string, err error) {
			for _, c := range children {
				if number(c) < number(self) && (ahead == "" || number(c) > number(ahead)) {
					ahead = c
				}
			}
			return ahead, nil
		}
	}),
	queued(exclusion, "missing-first", "takes itself for the first when its own znode is not listed", func(l *lockSteps) {
		l.turn.Ahead = missingFirst(l.turn.Ahead)
	}),
	queued(exclusion, "two-permits", "lets in a session with at most one before it", func(l *lockSteps) {
		first := l.turn.Ahead
		l.turn.Ahead = func(children []string, self string, foreign func(string)) (string, error) {
			ahead, err := first(children, self, foreign)
			if err != nil || ahead == "" {
				return "", err
			}
			return first(children, ahead, foreign) // the contender before that one
		}
	}),
	queued(exclusion, "early-release", "deletes its znode when it has the lock, not when it gives it up", func(l *lockSteps) {
		l.granted = func(ctx context.Context, g recipes.Grant) (recipes.Grant, error) { return g, l.lock.Release(ctx) }
		l.release = func(context.Context) error { return nil }
	}),
	looksFirst(),
	queued(tokenOrder, "constant-token", "gives every holder the same token", func(l *lockSteps) {
		l.granted = func(_ context.Context, g recipes.Grant) (recipes.Grant, error) { g.Token = 1; return g, nil }
	}),
	queued(tokenOrder, "sequence-token", "gives the sequence number as the token, which begins again with the directory", func(l *lockSteps) {
		l.granted = func(_ context.Context, g recipes.Grant) (recipes.Grant, error) {
			g.Token = int64(number(base(g.Path))) + 1
			return g, nil
		}
	}),
	queued(fifo, "newest-first", "one holder at a time, but of those that wait the newest comes first", newestFirst),
	queued(fifo, "forgets-some", "never wakes three of the first ten that come, and lets the others pass them", forgetting),
	starving(),
	queued(nothingLeft, "persistent", "waits with a persistent znode, which it leaves behind when it gives up", func(l *lockSteps) {
		l.outliving()
		l.keeps(acquiring, all)
	}),
	queued(nothingLeft, "leaks", "makes a znode beside its place once in a hundred times, which is in nobody's way, and forgets it", func(l *lockSteps) {
		l.granted = func(ctx context.Context, g recipes.Grant) (recipes.Grant, error) {
			if number(base(g.Path))%100 != 50 {
				return g, nil
			}
			_, err := l.Session.Create(ctx, l.dir+"/leak-"+newGUID()[:16], nil, zk.Ephemeral)
			return g, err
		}
	}),
	queued(liveness, "watch-parent", "watches the directory with exists, which the coming and going of children does not fire", func(l *lockSteps) {
		l.getW = func(ctx context.Context, _ string) ([]byte, zk.Stat, *zk.Watch, error) {
			return existing(ctx, l.Session, l.dir)
		}
	}),
	queued(liveness, "waits-for-the-gone", "waits with exists for a znode that is already gone", func(l *lockSteps) {
		l.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
			return existing(ctx, l.Session, path)
		}
	}),
	queued(liveness, "dead", "grants the lock twenty times and then never again", func(l *lockSteps) {
		neverIn(l, func(name string) bool { return number(name) >= 20 })
	}),
	queued(liveness, "needs-a-word", "takes the znode before it for released only if a change of its data said so, and an expired session says nothing", needsAWord),
	queued(liveness, "forgets-delete", "says that it has released and does not delete its znode", func(l *lockSteps) { l.keeps(releasing, all) }),
	queued(liveness, "stale-path", "deletes the znode of its first grant at every release", func(l *lockSteps) {
		first := ""
		l.remove = func(ctx context.Context, path string, version int32) error {
			if !l.in(releasing) {
				return l.Session.Delete(ctx, path, version)
			}
			if first == "" {
				first = path
			}
			if err := l.Session.Delete(ctx, first, version); !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			return nil
		}
	}),
	queued(liveness, "keeps-place", "leaves its znode in the queue when it gives up, and queues behind it the next time", func(l *lockSteps) {
		l.keeps(acquiring, all)
	}),
	queued(liveness, "no-guid", "creates again after a lost reply and waits behind the znode that it has already", func(l *lockSteps) {
		l.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
			for {
				c, err := l.Session.Create(ctx, path, data, mode)
				if zk.Classify(err) != zk.ClassMaybeApplied || ctx.Err() != nil {
					return c, err
				}
			}
		}
	}),
}

// looksFirst makes the single-node lock look before it creates, and take a znode that another client creates in between for its own.
func looksFirst() Defect[recipes.Lock] {
	single, _ := recipes.Find(lock.Variants(), "single-node")
	d := defective[recipes.Lock](exclusion, "looks-first", "looks whether somebody holds, and takes a znode that was created since for its own")
	d.Wakes, d.Znodes = single.Wakes, single.Znodes
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.Lock {
		a := over(s)
		a.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
			_, held, err := s.Exists(ctx, path)
			switch {
			case err != nil:
				return zk.Created{}, err
			case held:
				return zk.Created{}, zk.ErrNodeExists
			}
			c, err := s.Create(ctx, path, data, mode)
			if errors.Is(err, zk.ErrNodeExists) {
				if st, there, err := s.Exists(ctx, path); there || err != nil {
					return zk.Created{Path: path, Czxid: st.Czxid}, err
				}
			}
			return c, err
		}
		return single.New(a, dir, o)
	}
	return d
}

func holdsWhenWoken(e zk.Event) (bool, error) { return e.Err == nil, e.Err }

// missingFirst treats a contender that is not listed as the first.
func missingFirst(ahead aheadOf) aheadOf {
	return func(children []string, self string, foreign func(string)) (string, error) {
		a, err := ahead(children, self, foreign)
		if errors.Is(err, znode.ErrNotListed) {
			return "", nil
		}
		return a, err
	}
}

// existing watches a znode whether or not it exists.
func existing(ctx context.Context, s zk.Session, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	st, _, w, err := s.ExistsW(ctx, path)
	return nil, st, w, err
}

// needsAWord makes a release change the holder's znode and then delete it, and makes the next in line wait for the change.
func needsAWord(l *lockSteps) {
	const released = "released"
	l.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
		data, st, w, err := l.Session.GetW(ctx, path)
		if err == nil && string(data) != released {
			w = l.only(w, func(e zk.Event) bool { return e.Type == zk.EventDataChanged })
		}
		return data, st, w, err
	}
	l.remove = func(ctx context.Context, path string, version int32) error {
		if l.in(releasing) {
			if _, err := l.Session.Set(ctx, path, []byte(released), zk.AnyVersion); err != nil {
				return err
			}
			version = zk.AnyVersion
		}
		return l.Session.Delete(ctx, path, version)
	}
}

// neverIn never grants the lock to the contenders that who selects.
func neverIn(l *lockSteps, who func(name string) bool) {
	const never = "never" // a znode that nobody creates
	ahead := l.turn.Ahead
	l.turn.Ahead = func(children []string, self string, foreign func(string)) (string, error) {
		if who(self) {
			return never, nil
		}
		return ahead(children, self, foreign)
	}
	l.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
		if base(path) == never {
			return existing(ctx, l.Session, path)
		}
		return l.Session.GetW(ctx, path)
	}
}

// forgetting makes the third, sixth and ninth contender be passed by all others and wait forever.
func forgetting(l *lockSteps) {
	forgotten := func(name string) bool { n := number(name); return n < 10 && n%3 == 2 }
	ahead := l.turn.Ahead
	l.turn.Ahead = func(children []string, self string, foreign func(string)) (string, error) {
		if !forgotten(self) {
			children = slices.DeleteFunc(slices.Clone(children), forgotten)
		}
		return ahead(children, self, foreign)
	}
	neverIn(l, forgotten)
}

func starving() Defect[recipes.Lock] {
	d := queued(starvation, "starves", "promises no order, never wakes three of the first ten that come, and lets the others pass them", forgetting)
	d.FIFO, d.Tokens = false, false
	return d
}

// newestFirst makes each waiter watch the whole queue. Only the newest waiter tries to create a znode 'holder', which only one can: exclusion rests
// on that znode, and the order is reversed. The place is removed first: a holder is no longer in the queue when the next may come.
func newestFirst(l *lockSteps) {
	var changes *zk.Watch
	var held atomic.Bool
	var token int64
	l.children = func(ctx context.Context, path string) ([]string, zk.Stat, error) {
		names, st, w, err := l.Session.ChildrenW(ctx, path)
		changes = w
		return names, st, err
	}
	l.turn.Ahead = func(children []string, self string, _ func(string)) (string, error) {
		if held.Load() {
			changes.Stop()
			return "", nil
		}
		newest := slices.MaxFunc(slices.DeleteFunc(children, func(c string) bool { return c == holder }), byNumber)
		if newest == self {
			return holder, nil // if there is one
		}
		return newest, nil
	}
	l.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
		if base(path) != holder {
			return nil, zk.Stat{}, changes, nil
		}
		c, err := l.Session.Create(ctx, path, nil, zk.Ephemeral)
		switch {
		case err == nil:
			held.Store(true)
			token = c.Czxid
			return nil, zk.Stat{}, nil, zk.ErrNoNode // checks again
		case errors.Is(err, zk.ErrNodeExists):
			return nil, zk.Stat{}, changes, nil
		}
		return nil, zk.Stat{}, nil, err
	}
	l.granted = func(_ context.Context, g recipes.Grant) (recipes.Grant, error) { g.Token = token; return g, nil }
	l.remove = func(ctx context.Context, path string, version int32) error {
		err := l.Session.Delete(ctx, path, version)
		if held.CompareAndSwap(true, false) {
			err = errors.Join(err, l.Session.Delete(ctx, l.dir+"/"+holder, zk.AnyVersion))
		}
		return err
	}
}

const holder = "holder"
