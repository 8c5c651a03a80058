package election

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// electionMarkers precede the number of a candidate; ZooKeeper's own LeaderElectionSupport uses the second, without a guid.
var electionMarkers = []string{"latch-", "n_"}

// candidate is what the elections have in common: a place among the children of dir, and the term that results from it.
type candidate struct {
	s    zk.Session
	dir  string
	o    recipes.Options
	own  zk.Created   // Path is "" while it neither leads nor is suspended
	term recipes.Term // of own
}

func newCandidate(s zk.Session, dir string, o recipes.Options) *candidate {
	if o.Layout == (recipes.Layout{}) {
		o.Layout = recipes.LayoutLatch
	}
	return &candidate{s: s, dir: dir, o: o}
}

// id returns the data of the znode, which identify the candidate to observers.
func (c *candidate) id() []byte {
	if c.o.ID != "" {
		return []byte(c.o.ID)
	}
	return fmt.Appendf(nil, "0x%x", c.s.ID())
}

// campaign waits until this client leads; wait returns when self is the first of the candidates.
func (c *candidate) campaign(ctx context.Context, wait func(ctx context.Context, self string) error) (recipes.Term, error) {
	if c.own.Path != "" && !znode.IsClosed(c.term.Suspended) && !znode.IsClosed(c.term.Lost) {
		return recipes.Term{}, recipes.ErrHeld
	}
	c.o.Stages(recipes.StageStart)
	t, err := c.stand(ctx, wait)
	if err != nil {
		c.o.Stages(recipes.StageFailed)
		return recipes.Term{}, fmt.Errorf("campaign %s: %w", c.dir, err)
	}
	return t, nil
}

// stand runs one candidacy to its end. If this candidate's znode is missing, the only remedy is to create a new one: not to assume leadership when
// the list lacks it, and not to adopt one that another session owns (CURATOR-696). And an existing znode stays whatever happens to those before it:
// elections that create another one when something looks odd chase each other forever (CURATOR-644, -645).
func (c *candidate) stand(ctx context.Context, wait func(ctx context.Context, self string) error) (recipes.Term, error) {
	if path := c.own.Path; path != "" && znode.IsClosed(c.term.Lost) {
		c.own = zk.Created{} // a term that was reported lost is not resumed
		if err := znode.Remove(ctx, c.s, path); znode.SessionOver(err) || ctx.Err() != nil {
			return recipes.Term{}, errors.Join(err, ctx.Err())
		}
	}
	var passes znode.Passes
	for {
		if c.own.Path == "" {
			c.o.Stages(recipes.StageOffer)
			own, err := znode.Enlist(ctx, c.s, c.dir, c.o.Layout, c.id())
			if err != nil {
				return recipes.Term{}, err
			}
			c.own = own
			c.o.Stages(recipes.StageOffered)
			c.o.Pause(recipes.PauseCreated)
		}
		err := c.lead(ctx, wait)
		if err == nil {
			c.o.Stages(recipes.StageElected, recipes.StageElectedDone)
			c.o.Pause(recipes.PauseGranted)
			return c.term, nil
		}
		path := c.own.Path
		c.own = zk.Created{}
		if !errors.Is(err, znode.ErrNotListed) && !errors.Is(err, zk.ErrNoNode) {
			return recipes.Term{}, znode.GiveUp(ctx, c.s, path, err)
		}
		if err := passes.Next(ctx, nil); err != nil {
			return recipes.Term{}, err
		}
	}
}

// lead waits for the first place and verifies that it is this candidate's. The znode's owner is read last, after the channels that report a loss have
// been obtained: whatever is lost from then on is reported. The same read arms the watch on the znode.
func (c *candidate) lead(ctx context.Context, wait func(ctx context.Context, self string) error) error {
	for {
		c.o.Stages(recipes.StageDetermine)
		if err := wait(ctx, znode.Base(c.own.Path)); err != nil {
			return err
		}
		c.o.Stages(recipes.StageDetermined)
		suspended, lease := zk.Disconnected(c.s), c.s.Lease()
		_, st, w, err := c.s.GetW(ctx, c.own.Path)
		if err != nil {
			return err
		}
		switch {
		case st.EphemeralOwner != c.s.ID():
			w.Stop()
			return znode.ErrNotListed
		case znode.IsClosed(suspended) || znode.Lapsed(c.s, lease): // the connection was lost and restored in the meantime
			w.Stop()
			continue
		}
		c.own.Czxid = st.Czxid
		c.term = recipes.Term{Path: c.own.Path, Token: st.Czxid, Suspended: suspended, Lost: c.oversee(ctx, c.own, lease, w)}
		return nil
	}
}

// oversee returns a channel that is closed with the lease, or when the own znode is gone. Any other event of its watch is a change of its data or a
// gap in the connection, and is ignored; so is the end of ctx, which is that of the campaign. Its goroutine ends with the znode at the latest.
func (c *candidate) oversee(ctx context.Context, own zk.Created, lease <-chan struct{}, w *zk.Watch) <-chan struct{} {
	ctx = context.WithoutCancel(ctx)
	lost := make(chan struct{})
	c.s.Go(func() {
		defer close(lost)
		for {
			select {
			case <-lease:
				w.Stop()
				return
			case e := <-w.C():
				if e.Err != nil || e.Type == zk.EventDeleted { // no other znode ever has that name
					return
				}
			}
			_, st, next, err := c.s.GetW(ctx, own.Path)
			if err != nil {
				return
			}
			w = next
			if st.Czxid != own.Czxid {
				w.Stop()
				return
			}
		}
	})
	return lost
}

// Resign ends the term.
func (c *candidate) Resign(ctx context.Context) error {
	if c.own.Path == "" {
		return recipes.ErrNotHeld
	}
	path := c.own.Path
	c.own = zk.Created{}
	c.o.Stages(recipes.StageStop)
	err := znode.Remove(ctx, c.s, path)
	c.o.Stages(recipes.StageStopped)
	return znode.EndError("resign", c.dir, recipes.ErrTermLost, err)
}
