package broken

import (
	"context"
	"errors"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// ballot contains the parts of the predecessor election that can be replaced.
type ballot struct {
	*altered
	recipes.Election // the real one
	turn             *znode.Turn
	dir, id          string
	elected          func(t recipes.Term) recipes.Term
	// stand finds a znode to lead with before there is a campaign; "" if there is none.
	stand    func(ctx context.Context) (path string, czxid int64)
	standing string // what stand has found
	last     string // the znode of the last term
}

// errReset: the candidate must start again.
var errReset = errors.New("begin again")

// Campaign calls the election's Campaign, and lets the defect replace the term.
func (b *ballot) Campaign(ctx context.Context) (recipes.Term, error) {
	defer b.during(acquiring)()
	if b.stand != nil {
		if path, czxid := b.stand(ctx); path != "" {
			b.standing, b.last = path, path
			return recipes.Term{Path: path, Token: czxid, Suspended: zk.Disconnected(b.Session), Lost: b.Session.Lease()}, nil
		}
	}
	t, err := b.Election.Campaign(ctx)
	for errors.Is(err, errReset) {
		t, err = b.Election.Campaign(ctx)
	}
	if err == nil && b.elected != nil {
		t = b.elected(t)
	}
	b.last = t.Path
	return t, err
}

// Resign calls the election's Resign; it also ends a term that the election does not know of.
func (b *ballot) Resign(ctx context.Context) error {
	defer b.during(releasing)()
	if path := b.standing; path != "" {
		b.standing = ""
		return b.Delete(ctx, path, zk.AnyVersion)
	}
	return b.Election.Resign(ctx)
}

// voting makes an entry from the election with one step replaced.
func voting(caught, name, doc string, fault func(*ballot)) Defect[recipes.Election] {
	d := defective[recipes.Election](caught, name, doc)
	d.Tokens, d.Wakes = caught != leadership, recipes.WakesOne
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.Election {
		b := &ballot{altered: over(s), dir: dir, id: o.ID}
		b.Election = election.NewPredecessorWith(b.altered, dir, o, func(turn *znode.Turn) {
			b.turn = turn
			fault(b)
		})
		return b
	}
	return d
}

// Elections are the elections with a defect.
var Elections = []Defect[recipes.Election]{
	voting(leadership, "missing-leads", "leads when its own znode is not listed, nor to be found", func(b *ballot) {
		b.turn.Ahead = missingFirst(b.turn.Ahead)
		var own zk.Created
		b.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (c zk.Created, err error) {
			c, err = b.Session.Create(ctx, path, data, mode)
			own = c
			return c, err
		}
		b.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
			data, st, w, err := b.Session.GetW(ctx, path)
			if path == own.Path && errors.Is(err, zk.ErrNoNode) {
				return nil, zk.Stat{Czxid: own.Czxid, EphemeralOwner: b.ID()}, zk.NewWatch(func() {}), nil
			}
			return data, st, w, err
		}
	}),
	voting(leadership, "blind-leader", "keeps leading when its session is over", func(b *ballot) {
		b.elected = func(t recipes.Term) recipes.Term { t.Suspended, t.Lost = nil, nil; return t }
	}),
	voting(leadership, "adopts-old", "takes up the znode of its client's former session, which goes when that session expires",
		func(b *ballot) { b.stand = b.oldCandidate }),
	voting(liveness, "deleted-only", "looks again at a deletion alone, though a change of data has consumed its watch", func(b *ballot) {
		b.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
			data, st, w, err := b.Session.GetW(ctx, path)
			if err == nil && st.EphemeralOwner != b.ID() {
				w = b.only(w, deletion)
			}
			return data, st, w, err
		}
	}),
	voting(liveness, "resigns-another", "deletes the candidate behind it when it resigns", func(b *ballot) {
		b.remove = func(ctx context.Context, path string, version int32) error {
			if b.in(releasing) {
				children, _, err := b.Session.Children(ctx, b.dir)
				slices.SortFunc(children, byNumber)
				if i := slices.Index(children, base(path)); err == nil && i >= 0 && i+1 < len(children) {
					path = b.dir + "/" + children[i+1]
				}
			}
			return b.Session.Delete(ctx, path, version)
		}
	}),
	voting(liveness, "resets", "makes another candidature when the one before it has gone, and so does the one behind it: they chase each other",
		func(b *ballot) {
			b.turn.Woken = func(e zk.Event) (bool, error) {
				if e.Err != nil {
					return false, e.Err
				}
				return false, errReset
			}
		}),
	voting(liveness, "stands-on", "leaves its znode behind when it gives up, and stands behind it the next time",
		func(b *ballot) { b.keeps(acquiring, all) }),
	voting(nothingLeft, "persistent-candidate", "stands with a persistent znode, which it leaves behind when it gives up", func(b *ballot) {
		b.outliving()
		b.keeps(acquiring, all)
		b.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
			data, st, w, err := b.Session.GetW(ctx, path)
			st.EphemeralOwner = b.ID() // as far as the session knows
			return data, st, w, err
		}
	}),
	voting(terms, "sequence-term", "numbers its terms like the znodes, whose numbers begin again with the directory", func(b *ballot) {
		b.elected = func(t recipes.Term) recipes.Term { t.Token = int64(number(base(t.Path))) + 1; return t }
	}),
	voting(alternation, "lingers", "says that it has resigned, and leads on with the same znode when it campaigns again", func(b *ballot) {
		b.keeps(releasing, all)
		b.stand = func(ctx context.Context) (string, int64) {
			if b.last == "" {
				return "", 0
			}
			_, st, err := b.Session.Get(ctx, b.last)
			if err != nil {
				return "", 0
			}
			return b.last, st.Czxid
		}
	}),
}

func deletion(e zk.Event) bool { return e.Type == zk.EventDeleted }

// oldCandidate returns the first candidate if it belongs to this client, in whatever session.
func (b *ballot) oldCandidate(ctx context.Context) (string, int64) {
	children, _, err := b.Session.Children(ctx, b.dir)
	if err != nil || len(children) == 0 {
		return "", 0
	}
	first := b.dir + "/" + slices.MinFunc(children, byNumber)
	data, st, err := b.Session.Get(ctx, first)
	if err != nil || string(data) != b.id {
		return "", 0
	}
	return first, st.Czxid
}
