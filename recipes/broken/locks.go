package broken

import (
	"context"
	"errors"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// The names of the checks, as package check gives them. They are repeated here because recipes know nothing of checks.
const (
	exclusion  = "mutual-exclusion"
	tokenOrder = "token-order"
	fifo       = "fifo"
	nothing    = "nothing-left"
	liveness   = "liveness"
)

// queued makes an entry from the lock of queue.go with one step replaced.
func queued(caught, name, doc string, fault func(*steps)) Defect[recipes.Lock] {
	ordered := caught != exclusion
	return Defect[recipes.Lock]{Caught: caught, Variant: recipes.Variant[recipes.Lock]{
		Name: "broken-" + name, Source: "a test", Doc: doc, FIFO: ordered, Tokens: ordered, Unsafe: true, Wakes: wakesOne, New: but(fault)}}
}

func wakesOne(n int) (release, arrival float64) { return min(float64(n-1), 1), 0 }

// Locks is the exclusive locks with a defect.
var Locks = []Defect[recipes.Lock]{
	queued(exclusion, "no-wait", "takes the lock as soon as it has a place in the queue", func(s *steps) {
		s.ahead = func([]string, string) (string, error) { return "", nil }
	}),
	queued(exclusion, "no-recheck", "holds when the znode before it has gone, though that may have been a waiter that gave up", func(s *steps) {
		s.woken = func(e zk.Event) (bool, error) { return e.Err == nil, e.Err }
	}),
	queued(exclusion, "gone-holds", "holds when the znode before it went between the list and the watch", func(s *steps) {
		s.gone = true
	}),
	queued(exclusion, "lost-watch", "takes the loss of its watch for the event that it waited for, and knows of no lost session", func(s *steps) {
		s.woken = func(e zk.Event) (bool, error) { return e.Err != nil, nil }
		s.grant = blind
	}),
	queued(exclusion, "blind-holder", "does not tell the holder that its session is over", func(s *steps) {
		s.grant = blind
	}),
	queued(exclusion, "string-order", "takes the smallest name for the first, whatever its number", func(s *steps) {
		s.ahead = func(children []string, self string) (string, error) {
			if first := slices.Min(children); first != self {
				return first, nil
			}
			return "", nil
		}
	}),
	queued(exclusion, "number-order", "compares numbers as if the server's counter never wrapped", func(s *steps) {
		s.ahead = func(children []string, self string) (string, error) {
			return nearest(children, self, func(a, b int32) bool { return a < b })
		}
	}),
	queued(exclusion, "missing-first", "takes itself for the first when its own znode is not listed", func(s *steps) {
		ahead := s.ahead
		s.ahead = func(children []string, self string) (string, error) {
			a, err := ahead(children, self)
			if errors.Is(err, errNotListed) {
				return "", nil
			}
			return a, err
		}
	}),
	queued(exclusion, "two-permits", "lets in whoever has at most one before it", func(s *steps) {
		first := s.ahead
		s.ahead = func(children []string, self string) (string, error) {
			ahead, err := first(children, self)
			if err != nil || ahead == "" {
				return "", err
			}
			return first(children, ahead) // who is before that one
		}
	}),
	queued(exclusion, "early-release", "deletes its znode when it has the lock, not when it gives it up", func(s *steps) {
		s.granted = func(ctx context.Context, q *queue) error { return q.remove(ctx, q.held) }
		s.release = func(context.Context, *queue) error { return nil }
	}),
	{Caught: exclusion, Variant: recipes.Variant[recipes.Lock]{
		Name: "broken-no-version", Source: "a test", Doc: "one word in one znode, read as 'free' and overwritten with 'held' without its version",
		Unsafe: true, Wakes: func(n int) (float64, float64) { return float64(n - 1), 0 },
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Lock { return &word{s: s, path: path} },
	}},

	queued(tokenOrder, "constant-token", "gives every holder the same token", func(s *steps) {
		s.grant = func(_ *queue, c zk.Created, _ int64, lease <-chan struct{}) recipes.Grant {
			return recipes.Grant{Path: c.Path, Token: 1, Lost: lease}
		}
	}),
	queued(tokenOrder, "sequence-token", "gives the sequence number as the token, which begins anew with the directory", func(s *steps) {
		s.grant = func(_ *queue, c zk.Created, _ int64, lease <-chan struct{}) recipes.Grant {
			n, _ := number(base(c.Path))
			return recipes.Grant{Path: c.Path, Token: int64(n) + 1, Lost: lease}
		}
	}),
	{Caught: fifo, Variant: recipes.Variant[recipes.Lock]{
		Name: "broken-newest-first", Source: "a test", Doc: "one holder at a time, but of those that wait the newest comes first",
		FIFO: true, Tokens: true, Unsafe: true, Wakes: func(n int) (float64, float64) { return float64(n - 1), float64(n - 1) },
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Lock { return newNewestFirst(s, path) },
	}},
	queued(nothing, "persistent", "waits with a persistent znode, which it leaves behind when it gives up", func(s *steps) {
		s.create = func(ctx context.Context, q *queue) (zk.Created, error) { return q.enlist(ctx, zk.PersistentSequential) }
		s.leave = func(context.Context, *queue, string) {}
	}),

	queued(liveness, "watch-parent", "watches the directory with exists, which the coming and going of children does not fire", func(s *steps) {
		s.watch = func(ctx context.Context, q *queue, _ string) (*zk.Watch, error) {
			_, _, w, err := q.s.ExistsW(ctx, q.dir)
			return w, err
		}
	}),
	queued(liveness, "waits-for-the-gone", "waits with exists for a znode that is already gone", func(s *steps) {
		s.watch = func(ctx context.Context, q *queue, ahead string) (*zk.Watch, error) {
			_, _, w, err := q.s.ExistsW(ctx, q.dir+"/"+ahead)
			return w, err
		}
	}),
	queued(liveness, "forgets-delete", "says that it has released and does not delete its znode", func(s *steps) {
		s.release = func(context.Context, *queue) error { return nil }
	}),
	queued(liveness, "stale-path", "deletes the znode of its first grant at every release", func(s *steps) {
		s.release = func(ctx context.Context, q *queue) error {
			if err := q.remove(ctx, q.once); !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			return nil
		}
	}),
	queued(liveness, "keeps-place", "leaves its znode in the queue when it gives up, and queues behind it the next time", func(s *steps) {
		s.leave = func(context.Context, *queue, string) {}
	}),
	queued(liveness, "no-guid", "creates again after a lost reply and waits behind the znode that it has already", func(s *steps) {
		s.create = func(ctx context.Context, q *queue) (zk.Created, error) {
			for {
				c, err := q.s.Create(ctx, q.dir+"/"+marker, nil, zk.EphemeralSequential)
				if zk.Classify(err) != zk.ClassMaybeApplied || ctx.Err() != nil {
					return c, err
				}
			}
		}
	}),
}

// blind is a grant that never tells of its loss.
func blind(_ *queue, c zk.Created, token int64, _ <-chan struct{}) recipes.Grant {
	return recipes.Grant{Path: c.Path, Token: token}
}
