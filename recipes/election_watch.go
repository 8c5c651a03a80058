package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// predecessorElection is the election of ZooKeeper's recipe page, with what Apache Curator's LeaderLatch has learnt since: a guid in the
// name, the owner of the znode checked before it leads, and no reset. Unlike LeaderLatch it looks again at every event, of whatever
// type: there a change of the predecessor's data consumes the watch, and the deletion that follows is never heard of.
type predecessorElection struct{ *candidate }

func newPredecessorElection(s zk.Session, dir string, o Options) *predecessorElection {
	return &predecessorElection{newCandidate(s, dir, o)}
}

// Campaign is described at Election.
func (e *predecessorElection) Campaign(ctx context.Context) (Term, error) {
	return e.campaign(ctx, func(ctx context.Context, self string) error {
		return e.turn(ctx, self, func(_ []string, ahead string) string { return ahead })
	})
}

// naiveElection differs from predecessorElection in its watch alone, so that what is compared is the herd.
type naiveElection struct{ *candidate }

// Campaign is described at Election.
func (e *naiveElection) Campaign(ctx context.Context) (Term, error) {
	return e.campaign(ctx, func(ctx context.Context, self string) error {
		return e.turn(ctx, self, func(names []string, _ string) string { return head(names, e.o.foreign) })
	})
}

// turn returns when self is the first. Until then it watches the candidate that watched chooses, given the names and the nearest
// before self, and looks again at each event.
func (c *candidate) turn(ctx context.Context, self string, watched func(names []string, ahead string) string) error {
	for {
		names, _, err := c.s.Children(ctx, c.dir)
		if err != nil {
			return err
		}
		ahead, err := position(names, self, electionMarkers, c.o.foreign)
		if err != nil || ahead == "" {
			return err
		}
		c.o.pause(PauseListed)
		w, err := c.watch(ctx, c.dir+"/"+watched(names, ahead))
		if errors.Is(err, zk.ErrNoNode) {
			continue // it went between the list and the watch
		}
		if err != nil {
			return err
		}
		c.o.stages(StageReady, StageReadyComplete)
		if err := await(ctx, w); err != nil {
			return err
		}
		c.o.pause(PauseWoken)
	}
}

func (c *candidate) watch(ctx context.Context, path string) (*zk.Watch, error) {
	q := queue{s: c.s, o: c.o}
	return q.watch(ctx, path)
}

// head is the first of the candidates, "" for none.
func head(names []string, foreign func(string)) (first string) {
	var lowest int32
	for _, name := range names {
		seq, ours := parse(name, electionMarkers)
		switch {
		case !ours:
			foreign(name)
		case first == "" || before(seq, lowest):
			first, lowest = name, seq
		}
	}
	return first
}

// Leader is described at Election.
func (c *candidate) Leader(ctx context.Context) (Leader, error) {
	for {
		names, _, err := c.s.Children(ctx, c.dir)
		first := head(names, c.o.foreign)
		if errors.Is(err, zk.ErrNoNode) || err == nil && first == "" {
			return Leader{}, fmt.Errorf("leader of %s: %w", c.dir, ErrNoLeader)
		}
		var data []byte
		var st zk.Stat
		if err == nil {
			data, st, err = c.s.Get(ctx, c.dir+"/"+first)
			if errors.Is(err, zk.ErrNoNode) {
				continue // the next one leads
			}
		}
		if err != nil {
			return Leader{}, fmt.Errorf("leader of %s: %w", c.dir, err)
		}
		return Leader{ID: string(data), Path: c.dir + "/" + first, Token: st.Czxid}, nil
	}
}

// Follow is described at Follower. While somebody leads it watches that znode alone, so that candidates come and go without a word.
func (c *candidate) Follow(ctx context.Context, token int64) (Leader, error) {
	for {
		l, w, err := c.look(ctx)
		if err == nil && l.Token == token {
			err = await(ctx, w)
		} else if err == nil {
			w.Stop()
			return l, nil
		}
		if err != nil {
			return Leader{}, fmt.Errorf("follow %s: %w", c.dir, err)
		}
	}
}

// look is who leads now, and the watch that tells when that may be over: on the leader, or on whatever is to come first.
func (c *candidate) look(ctx context.Context) (Leader, *zk.Watch, error) {
	for {
		names, _, err := c.s.Children(ctx, c.dir)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return Leader{}, nil, err
		}
		var w *zk.Watch
		if first := head(names, c.o.foreign); first != "" {
			var data []byte
			var st zk.Stat
			data, st, w, err = c.s.GetW(ctx, c.dir+"/"+first)
			if err == nil {
				return Leader{ID: string(data), Path: c.dir + "/" + first, Token: st.Czxid}, w, nil
			}
		} else if w, err = c.vacancy(ctx); err == nil && w != nil {
			return Leader{}, w, nil
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return Leader{}, nil, err
		}
	}
}

// vacancy is a watch on the arrival of a candidate; nil when there is one by now.
func (c *candidate) vacancy(ctx context.Context) (*zk.Watch, error) {
	names, _, w, err := c.s.ChildrenW(ctx, c.dir)
	there := head(names, c.o.foreign) != ""
	if errors.Is(err, zk.ErrNoNode) {
		_, there, w, err = c.s.ExistsW(ctx, c.dir)
	}
	if err == nil && there {
		w.Stop()
		return nil, nil
	}
	return w, err
}
