package election

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// contended is the election of ZooKeeper's recipe page, with what Apache Curator's LeaderLatch has learnt since: a guid in the name, a check of the
// znode's owner before it leads, and no reset. Unlike LeaderLatch it checks again after every event, of whatever type: there a change of the
// predecessor's data consumes the watch, and the deletion that follows is missed.
type contended struct {
	*candidate
	turn znode.Turn
}

// newPredecessorElection creates an election in which each candidate watches the one before it.
func newPredecessorElection(s zk.Session, dir string, o recipes.Options) *contended {
	return newContended(s, dir, o, func(_ []string, ahead string) string { return ahead })
}

// newNaiveElection differs from newPredecessorElection only in its watch, so that a comparison of the two shows the herd effect alone.
func newNaiveElection(s zk.Session, dir string, o recipes.Options) *contended {
	return newContended(s, dir, o, func(names []string, _ string) string { return head(names, o.Foreign) })
}

// newContended creates an election in which a candidate that is not the first watches the znode that watched chooses, given the names and the nearest
// one before it.
func newContended(s zk.Session, dir string, o recipes.Options, watched func(names []string, ahead string) string) *contended {
	turn := znode.InTurn(func(names []string, self string, foreign func(string)) (string, error) {
		ahead, err := znode.Position(names, self, electionMarkers, foreign)
		if err != nil || ahead == "" {
			return "", err
		}
		return watched(names, ahead), nil
	})
	turn.Armed = func() { o.Stages(recipes.StageReady, recipes.StageReadyComplete) }
	return &contended{newCandidate(s, dir, o), turn}
}

// NewPredecessorWith creates the variant predecessor with a step replaced, for tests: only package recipes and its subpackages can construct a Turn.
func NewPredecessorWith(s zk.Session, dir string, o recipes.Options, replace func(*znode.Turn)) recipes.Election {
	e := newPredecessorElection(s, dir, o)
	replace(&e.turn)
	return e
}

// Campaign waits until this client leads.
func (e *contended) Campaign(ctx context.Context) (recipes.Term, error) {
	return e.campaign(ctx, func(ctx context.Context, self string) error {
		return e.turn.Wait(ctx, e.s, e.dir, self, &e.o, nil)
	})
}

// head returns the first of the candidates, "" if there are none.
func head(names []string, foreign func(string)) (first string) {
	var lowest int32
	for _, name := range names {
		seq, ours := znode.Parse(name, electionMarkers)
		switch {
		case !ours:
			foreign(name)
		case first == "" || znode.Before(seq, lowest):
			first, lowest = name, seq
		}
	}
	return first
}

// Leader returns the current leader.
func (c *candidate) Leader(ctx context.Context) (recipes.Leader, error) {
	var passes znode.Passes
	for {
		names, _, err := c.s.Children(ctx, c.dir)
		first := head(names, c.o.Foreign)
		if errors.Is(err, zk.ErrNoNode) || err == nil && first == "" {
			return recipes.Leader{}, fmt.Errorf("leader of %s: %w", c.dir, recipes.ErrNoLeader)
		}
		var data []byte
		var st zk.Stat
		if err == nil {
			data, st, err = c.s.Get(ctx, c.dir+"/"+first)
			if errors.Is(err, zk.ErrNoNode) { // the next one leads
				if err = passes.Next(ctx, first); err == nil {
					continue
				}
			}
		}
		if err != nil {
			return recipes.Leader{}, fmt.Errorf("leader of %s: %w", c.dir, err)
		}
		return recipes.Leader{ID: string(data), Path: c.dir + "/" + first, Token: st.Czxid}, nil
	}
}

// Follow waits for another leader. While somebody leads it watches only the leader's znode, so that it is not woken by other candidates.
func (c *candidate) Follow(ctx context.Context, token int64) (recipes.Leader, error) {
	for {
		l, w, err := c.look(ctx)
		if err == nil && l.Token == token {
			err = znode.Await(ctx, w)
		} else if err == nil {
			w.Stop()
			return l, nil
		}
		if err != nil {
			return recipes.Leader{}, fmt.Errorf("follow %s: %w", c.dir, err)
		}
	}
}

// look returns the current leader, and the watch that fires when that may change: on the leader, or on the arrival of the first candidate.
func (c *candidate) look(ctx context.Context) (recipes.Leader, *zk.Watch, error) {
	var passes znode.Passes
	for {
		names, st, err := c.s.Children(ctx, c.dir)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return recipes.Leader{}, nil, err
		}
		var w *zk.Watch
		if first := head(names, c.o.Foreign); first != "" {
			var data []byte
			var st zk.Stat // of the first
			data, st, w, err = c.s.GetW(ctx, c.dir+"/"+first)
			if err == nil {
				return recipes.Leader{ID: string(data), Path: c.dir + "/" + first, Token: st.Czxid}, w, nil
			}
		} else if w, err = c.vacancy(ctx); err == nil && w != nil {
			return recipes.Leader{}, w, nil
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return recipes.Leader{}, nil, err
		}
		if err := passes.Next(ctx, st.Pzxid); err != nil {
			return recipes.Leader{}, nil, err
		}
	}
}

// vacancy returns a watch on the arrival of a candidate; nil if there is one by now.
func (c *candidate) vacancy(ctx context.Context) (*zk.Watch, error) {
	names, _, w, err := c.s.ChildrenW(ctx, c.dir)
	there := head(names, c.o.Foreign) != ""
	if errors.Is(err, zk.ErrNoNode) {
		_, there, w, err = c.s.ExistsW(ctx, c.dir)
	}
	if err == nil && there {
		w.Stop()
		return nil, nil
	}
	return w, err
}
