package broken

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const sharedExclusion = "reader-writer-exclusion"

// The names of the children begin with the side that made them.
const (
	reader = "r"
	writer = "w"
)

// shared is the read/write lock in its shortest right form: the queue of exclusive locks, in which readers see writers alone.
type shared struct{ *queue }

// AcquireRead is described at recipes.RWLock, less the defect.
func (l shared) AcquireRead(ctx context.Context) (recipes.Grant, error) {
	l.side = reader
	return l.Acquire(ctx)
}

// AcquireWrite is described at recipes.RWLock, less the defect.
func (l shared) AcquireWrite(ctx context.Context) (recipes.Grant, error) {
	l.side = writer
	return l.Acquire(ctx)
}

// Downgrade is not part of the short form.
func (l shared) Downgrade(context.Context) (recipes.Grant, error) {
	return recipes.Grant{}, errors.ErrUnsupported
}

// writersBefore is the last of the children that self has to wait for: of all, or of the writers for a reader.
func writersBefore(children []string, self string) (string, error) {
	if strings.HasPrefix(self, reader) {
		children = slices.DeleteFunc(slices.Clone(children), func(c string) bool { return strings.HasPrefix(c, reader) && c != self })
	}
	return nearest(children, self, func(a, b int32) bool { return a-b < 0 })
}

// sharing makes an entry from the read/write lock with one step replaced.
func sharing(caught, name, doc string, fault func(*steps)) Defect[recipes.RWLock] {
	return Defect[recipes.RWLock]{Caught: caught, Variant: recipes.Variant[recipes.RWLock]{
		Name: "broken-" + name, Source: "a test", Doc: doc, FIFO: caught != sharedExclusion && caught != tokenOrder, Tokens: caught != sharedExclusion,
		Unsafe: true, WakesUnder: func(recipes.Load) (float64, float64) { return 0, 0 },
		New: func(s zk.Session, path string, _ recipes.Options) recipes.RWLock {
			q := &queue{s: s, dir: path, steps: right()}
			q.ahead = writersBefore
			fault(&q.steps)
			return shared{q}
		}}}
}

// RWLocks is the read/write locks with a defect.
var RWLocks = []Defect[recipes.RWLock]{
	sharing(sharedExclusion, "readers-walk-in", "lets every reader in at once", func(s *steps) {
		s.ahead = func(children []string, self string) (string, error) {
			if strings.HasPrefix(self, reader) {
				return "", nil
			}
			return writersBefore(children, self)
		}
	}),
	sharing(sharedExclusion, "writers-see-writers", "has writers wait for writers alone", func(s *steps) {
		s.ahead = func(children []string, self string) (string, error) {
			children = slices.DeleteFunc(slices.Clone(children), func(c string) bool { return strings.HasPrefix(c, reader) && c != self })
			return nearest(children, self, func(a, b int32) bool { return a-b < 0 })
		}
	}),
	sharing(sharedExclusion, "writer-follows-one-reader", "lets a writer in when the last reader before it has gone, whoever else reads", func(s *steps) {
		s.woken = func(e zk.Event) (bool, error) { return e.Err == nil, e.Err }
	}),
	sharing(sharedExclusion, "reader-follows-the-first", "has a reader watch the writer at the head, and lets it in when that has gone", func(s *steps) {
		s.ahead = func(children []string, self string) (string, error) {
			ahead, err := writersBefore(children, self)
			for first := ahead; err == nil && first != "" && strings.HasPrefix(self, reader); {
				children = slices.DeleteFunc(slices.Clone(children), func(c string) bool { return c == first })
				ahead = first
				first, err = writersBefore(children, self)
			}
			return ahead, err
		}
		s.woken = func(e zk.Event) (bool, error) { return e.Err == nil, e.Err }
	}),
	sharing(sharedExclusion, "barging-readers", "lets a reader in whenever somebody reads, past the writers that wait", func(s *steps) {
		s.ahead = func(children []string, self string) (string, error) {
			first := slices.MinFunc(children, func(a, b string) int {
				m, _ := number(a)
				n, _ := number(b)
				return int(m) - int(n)
			})
			if strings.HasPrefix(self, reader) && strings.HasPrefix(first, reader) {
				return "", nil
			}
			return writersBefore(children, self)
		}
	}),
	sharing(liveness, "readers-wait-for-all-writers", "has a reader wait for the writers behind it too, which wait for it (kazoo #649)", func(s *steps) {
		s.ahead = func(children []string, self string) (string, error) {
			if strings.HasPrefix(self, reader) {
				for _, c := range children {
					if strings.HasPrefix(c, writer) {
						return c, nil
					}
				}
			}
			return writersBefore(children, self)
		}
	}),
	sharing(tokenOrder, "own-tokens", "counts the grants of each client for itself, and calls that the token", func(s *steps) {
		n := int64(0)
		s.grant = func(_ *queue, c zk.Created, _ int64, lease <-chan struct{}) recipes.Grant {
			n++
			return recipes.Grant{Path: c.Path, Token: n, Lost: lease}
		}
	}),
	sharing(liveness, "shared-keeps-place", "leaves its znode behind when it gives up", func(s *steps) {
		s.leave = func(context.Context, *queue, string) {}
	}),
	sharing(nothing, "shared-persistent", "makes znodes that outlive their sessions", func(s *steps) {
		s.create = func(ctx context.Context, q *queue) (zk.Created, error) { return q.enlist(ctx, zk.PersistentSequential) }
		s.leave = func(context.Context, *queue, string) {}
	}),
}
