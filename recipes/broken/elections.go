package broken

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const leadership, terms, alternation = "leadership", "terms", "alternation"

// ballot is the predecessor election in its shortest right form: the queue of locks, whose steps a defect replaces, and what only an
// election has.
type ballot struct {
	*queue
	id    string
	first string // the own znode that was resigned last
	ballotSteps
}

type ballotSteps struct {
	// stand finds a znode to stand with before one is made; "" for none.
	stand func(ctx context.Context, b *ballot) (path string, czxid int64)
	// elected is the term of a leader.
	elected func(b *ballot, t recipes.Term) recipes.Term
	// resign ends a term.
	resign func(ctx context.Context, b *ballot, path string) error
}

func rightBallot() ballotSteps {
	return ballotSteps{
		stand:   func(context.Context, *ballot) (string, int64) { return "", 0 },
		elected: func(_ *ballot, t recipes.Term) recipes.Term { return t },
		resign:  func(ctx context.Context, b *ballot, path string) error { return b.remove(ctx, path) },
	}
}

// errReset: the candidate is to begin anew.
var errReset = errors.New("begin anew")

// Campaign is described at recipes.Election, less the defect. A suspended term is given up.
func (b *ballot) Campaign(ctx context.Context) (recipes.Term, error) {
	if b.held != "" {
		if err := b.Resign(ctx); zk.Classify(err) != zk.ClassOK && !errors.Is(err, zk.ErrNoNode) {
			return recipes.Term{}, err
		}
	}
	for {
		if path, czxid := b.stand(ctx, b); path != "" {
			return b.serve(path, czxid, b.s.Lease()), nil
		}
		g, err := b.Acquire(ctx)
		switch {
		case errors.Is(err, errReset):
			continue
		case err != nil:
			return recipes.Term{}, err
		}
		return b.serve(g.Path, g.Token, g.Lost), nil
	}
}

// serve is the term of a leader with that znode.
func (b *ballot) serve(path string, czxid int64, lost <-chan struct{}) recipes.Term {
	b.held = path
	return b.elected(b, recipes.Term{Path: path, Token: czxid, Suspended: zk.Disconnected(b.s), Lost: lost})
}

// Resign is described at recipes.Election, less the defect.
func (b *ballot) Resign(ctx context.Context) error {
	if b.held == "" {
		return recipes.ErrNotHeld
	}
	path := b.held
	b.held, b.first = "", path
	return b.resign(ctx, b, path)
}

// Leader is described at recipes.Election; no load asks.
func (b *ballot) Leader(context.Context) (recipes.Leader, error) {
	return recipes.Leader{}, fmt.Errorf("leader of %s: %w", b.dir, recipes.ErrNoLeader)
}

// voting makes an entry from the election with one step replaced.
func voting(caught, name, doc string, fault func(*steps, *ballotSteps)) Defect[recipes.Election] {
	return Defect[recipes.Election]{Caught: caught, Variant: recipes.Variant[recipes.Election]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Tokens: caught != leadership, Unsafe: true, Wakes: wakesOne,
		New: func(s zk.Session, path string, o recipes.Options) recipes.Election {
			b := &ballot{queue: &queue{s: s, dir: path, steps: right()}, id: o.ID, ballotSteps: rightBallot()}
			b.create = func(ctx context.Context, q *queue) (zk.Created, error) {
				return b.announce(ctx, zk.EphemeralSequential)
			}
			fault(&b.steps, &b.ballotSteps)
			return b
		}}}
}

// announce makes a candidate that says whose it is.
func (b *ballot) announce(ctx context.Context, mode zk.Mode) (zk.Created, error) {
	c, err := b.enlist(ctx, mode)
	if err == nil {
		_, err = b.s.Set(ctx, c.Path, []byte(b.id), zk.AnyVersion)
	}
	return c, err
}

// Elections is the elections with a defect.
var Elections = []Defect[recipes.Election]{
	voting(leadership, "missing-leads", "leads when its own znode is not listed", func(s *steps, _ *ballotSteps) {
		ahead := s.ahead
		s.ahead = func(children []string, self string) (string, error) {
			a, err := ahead(children, self)
			if errors.Is(err, errNotListed) {
				return "", nil
			}
			return a, err
		}
	}),
	voting(leadership, "blind-leader", "keeps leading when its session is over", func(_ *steps, b *ballotSteps) {
		b.elected = func(_ *ballot, t recipes.Term) recipes.Term {
			t.Suspended, t.Lost = nil, nil
			return t
		}
	}),
	voting(leadership, "adopts-old", "takes up the znode of its client's former session, which goes when that session expires",
		func(_ *steps, b *ballotSteps) { b.stand = oldCandidate }),
	voting(liveness, "deleted-only",
		"looks again at a deletion alone, though a change of data has consumed its watch", func(s *steps, _ *ballotSteps) {
			watch := s.watch
			s.watch = func(ctx context.Context, q *queue, ahead string) (*zk.Watch, error) {
				w, err := watch(ctx, q, ahead)
				if err != nil {
					return nil, err
				}
				return deletionOf(q.s, w), nil
			}
		}),
	voting(liveness, "resigns-another", "deletes the candidate behind it when it resigns", func(_ *steps, b *ballotSteps) {
		b.resign = func(ctx context.Context, b *ballot, path string) error {
			children, _, err := b.s.Children(ctx, b.dir)
			slices.SortFunc(children, byNumber)
			if i := slices.Index(children, base(path)); err == nil && i+1 < len(children) {
				return b.remove(ctx, b.dir+"/"+children[i+1])
			}
			return b.remove(ctx, path)
		}
	}),
	voting(liveness, "resets",
		"makes its candidature anew when the one before it has gone, and so does the one behind it: they chase each other",
		func(s *steps, _ *ballotSteps) {
			s.woken = func(e zk.Event) (bool, error) { return false, cmp.Or(e.Err, errReset) }
		}),
	voting(liveness, "stands-on",
		"leaves its znode behind when it gives up, and stands behind it the next time", func(s *steps, _ *ballotSteps) {
			s.leave = func(context.Context, *queue, string) {}
		}),
	voting(nothing, "persistent-candidate",
		"stands with a persistent znode, which it leaves behind when it gives up", func(s *steps, _ *ballotSteps) {
			s.create = func(ctx context.Context, q *queue) (zk.Created, error) { return q.enlist(ctx, zk.PersistentSequential) }
			s.leave = func(context.Context, *queue, string) {}
		}),
	voting(terms, "sequence-term",
		"numbers its terms like the znodes, whose numbers begin anew with the directory", func(_ *steps, b *ballotSteps) {
			b.elected = func(_ *ballot, t recipes.Term) recipes.Term {
				n, _ := number(base(t.Path))
				t.Token = int64(n) + 1
				return t
			}
		}),
	voting(alternation, "lingers",
		"says that it has resigned, and leads on with the same znode when it campaigns again", func(_ *steps, b *ballotSteps) {
			b.resign = func(context.Context, *ballot, string) error { return nil }
			b.stand = func(ctx context.Context, b *ballot) (string, int64) {
				if b.first == "" {
					return "", 0
				}
				_, st, err := b.s.Get(ctx, b.first)
				if err != nil {
					return "", 0
				}
				return b.first, st.Czxid
			}
		}),
}

// oldCandidate is the first candidate when it is of this client, of whatever session.
func oldCandidate(ctx context.Context, b *ballot) (string, int64) {
	children, _, err := b.s.Children(ctx, b.dir)
	if err != nil || len(children) == 0 {
		return "", 0
	}
	first := slices.MinFunc(children, byNumber)
	data, st, err := b.s.Get(ctx, b.dir+"/"+first)
	if err != nil || string(data) != b.id {
		return "", 0
	}
	return b.dir + "/" + first, st.Czxid
}

// deletionOf is a watch that tells of a deletion alone.
func deletionOf(s zk.Session, w *zk.Watch) *zk.Watch {
	only := zk.NewWatch(w.Stop)
	go func() {
		select {
		case e := <-w.C():
			if e.Err != nil || e.Type == zk.EventDeleted {
				only.Fire(e)
			}
		case <-s.Done():
			only.Fire(zk.Event{Type: zk.EventLost, Err: s.Err()})
		}
	}()
	return only
}
