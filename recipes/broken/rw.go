package broken

import (
	"context"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// sharedSteps contains the parts of the read/write lock that can be replaced.
type sharedSteps struct {
	*altered
	recipes.RWLock // the real one
	turn           *znode.Turn
	granted        func(g recipes.Grant) recipes.Grant
}

// AcquireRead calls the lock's AcquireRead, and lets the defect replace the grant.
func (l *sharedSteps) AcquireRead(ctx context.Context) (recipes.Grant, error) {
	return l.acquire(ctx, l.RWLock.AcquireRead)
}

// AcquireWrite calls the lock's AcquireWrite, and lets the defect replace the grant.
func (l *sharedSteps) AcquireWrite(ctx context.Context) (recipes.Grant, error) {
	return l.acquire(ctx, l.RWLock.AcquireWrite)
}

func (l *sharedSteps) acquire(ctx context.Context, call func(context.Context) (recipes.Grant, error)) (recipes.Grant, error) {
	defer l.during(acquiring)()
	g, err := call(ctx)
	if err == nil && l.granted != nil {
		g = l.granted(g)
	}
	return g, err
}

// sharing makes an entry from the read/write lock with one step replaced.
func sharing(caught, name, doc string, fault func(*sharedSteps)) Defect[recipes.RWLock] {
	d := defective[recipes.RWLock](caught, name, doc)
	d.FIFO, d.Tokens = caught != sharedExclusion && caught != tokenOrder, caught != sharedExclusion
	d.WakesUnder = func(recipes.Load) (float64, float64) { return 0, 0 }
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.RWLock {
		l := &sharedSteps{altered: over(s)}
		if name == firstWriter {
			o.ReaderWatch = "first"
		}
		l.RWLock = lock.NewReadWriteWith(l.altered, dir, o, func(turn *znode.Turn) {
			l.turn = turn
			fault(l)
		})
		return l
	}
	return d
}

const firstWriter = "reader-follows-the-first"

func reads(name string) bool { return strings.Contains(name, recipes.LayoutReadWriteCurator.Shared) }

// walkIn makes some readers see nobody before them.
func walkIn(who func(children []string, self string) bool) func(*sharedSteps) {
	return func(l *sharedSteps) {
		ahead := l.turn.Ahead
		l.turn.Ahead = func(children []string, self string, foreign func(string)) (string, error) {
			if reads(self) && who(children, self) {
				return "", nil
			}
			return ahead(children, self, foreign)
		}
	}
}

// RWLocks are the read/write locks with a defect.
var RWLocks = []Defect[recipes.RWLock]{
	sharing(sharedExclusion, "readers-walk-in", "lets every reader in at once", walkIn(func([]string, string) bool { return true })),
	sharing(sharedExclusion, "writers-see-writers", "has writers wait for writers alone", func(l *sharedSteps) {
		ahead := l.turn.Ahead
		l.turn.Ahead = func(children []string, self string, foreign func(string)) (string, error) {
			return ahead(slices.DeleteFunc(slices.Clone(children), func(c string) bool { return reads(c) && c != self }), self, foreign)
		}
	}),
	sharing(sharedExclusion, "writer-follows-one-reader", "lets a writer in when the last reader before it has gone, even if others still read",
		func(l *sharedSteps) { l.turn.Woken = holdsWhenWoken }),
	sharing(sharedExclusion, firstWriter, "has a reader watch the writer at the head, and lets it in when that has gone",
		func(l *sharedSteps) { l.turn.Woken = holdsWhenWoken }),
	sharing(sharedExclusion, "few-readers-walk-in", "lets a few readers in a thousand in at once", walkIn(func(_ []string, self string) bool {
		n := number(self) % 1000
		return n >= 490 && n < 500
	})),
	sharing(sharedExclusion, "barging-readers", "lets a reader in whenever somebody reads, past the writers that wait",
		walkIn(func(children []string, _ string) bool { return reads(slices.MinFunc(children, byNumber)) })),
	sharing(liveness, "readers-wait-for-all-writers", "has a reader wait for the writers behind it too, which wait for it (kazoo #649)",
		func(l *sharedSteps) {
			ahead := l.turn.Ahead
			l.turn.Ahead = func(children []string, self string, foreign func(string)) (string, error) {
				if i := slices.IndexFunc(children, func(c string) bool { return !reads(c) }); i >= 0 && reads(self) {
					return children[i], nil
				}
				return ahead(children, self, foreign)
			}
		}),
	sharing(tokenOrder, "own-tokens", "counts the grants of each client for itself, and calls that the token", func(l *sharedSteps) {
		n := int64(0)
		l.granted = func(g recipes.Grant) recipes.Grant { n++; g.Token = n; return g }
	}),
	sharing(liveness, "shared-keeps-place", "leaves its znode behind when it gives up", func(l *sharedSteps) { l.keeps(acquiring, all) }),
	sharing(nothingLeft, "shared-persistent", "makes znodes that outlive their sessions", func(l *sharedSteps) {
		l.outliving()
		l.keeps(acquiring, all)
	}),
}
