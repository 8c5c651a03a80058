package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// The layouts of elections: Apache Curator's LeaderLatch, and the recipe page with a guid before its name.
var (
	LayoutLatch        = Layout{name: "curator", before: "_c_", after: "-", marker: "latch-", dashed: true}
	LayoutElectionPage = Layout{name: "recipe-page", after: "-", marker: "n_"}
)

// ElectionLayouts lists the layouts of elections, the default first.
var ElectionLayouts = []Layout{LayoutLatch, LayoutElectionPage}

// electionMarkers stand before the number of a candidate; article 000's LeaderElectionSupport has the second, without a guid.
var electionMarkers = []string{"latch-", "n_"}

// candidate is what the elections have in common: a place among the children of dir, and the term that comes of it.
type candidate struct {
	s    zk.Session
	dir  string
	o    Options
	own  zk.Created // Path is "" while it neither leads nor is suspended
	term Term       // of own
}

func newCandidate(s zk.Session, dir string, o Options) *candidate {
	if o.Layout == (Layout{}) {
		o.Layout = LayoutLatch
	}
	return &candidate{s: s, dir: dir, o: o}
}

// id is what the znode tells observers.
func (c *candidate) id() []byte {
	if c.o.ID != "" {
		return []byte(c.o.ID)
	}
	return fmt.Appendf(nil, "0x%x", c.s.ID())
}

// campaign is described at Election; wait returns when self is the first of the candidates.
func (c *candidate) campaign(ctx context.Context, wait func(ctx context.Context, self string) error) (Term, error) {
	if c.own.Path != "" && !isOver(c.term.Suspended) && !isOver(c.term.Lost) {
		return Term{}, ErrHeld
	}
	c.o.stages(StageStart)
	t, err := c.stand(ctx, wait)
	if err != nil {
		c.o.stages(StageFailed)
		return Term{}, fmt.Errorf("campaign %s: %w", c.dir, err)
	}
	return t, nil
}

// stand is a candidature to its end. A znode that is missing is never ours by another way than a new one: not when the list lacks it,
// and not when another session owns it (CURATOR-696). And the znode that is there stays whatever happens to those before it: elections
// that make theirs anew when something looks odd chase each other for ever (CURATOR-644, -645).
func (c *candidate) stand(ctx context.Context, wait func(ctx context.Context, self string) error) (Term, error) {
	if path := c.own.Path; path != "" && isOver(c.term.Lost) {
		c.own = zk.Created{} // a term that was said to be over is not taken up again
		if err := remove(ctx, c.s, path, c.o); over(err) || ctx.Err() != nil {
			return Term{}, errors.Join(err, ctx.Err())
		}
	}
	for {
		if c.own.Path == "" {
			c.o.stages(StageOffer)
			own, err := enlist(ctx, c.s, c.dir, c.o.Layout, c.id(), c.o)
			if err != nil {
				return Term{}, err
			}
			c.own = own
			c.o.stages(StageOffered)
			c.o.pause(PauseCreated)
		}
		err := c.lead(ctx, wait)
		if err == nil {
			c.o.stages(StageElected, StageElectedDone)
			c.o.pause(PauseGranted)
			return c.term, nil
		}
		path := c.own.Path
		c.own = zk.Created{}
		if !errors.Is(err, errNotListed) && !errors.Is(err, zk.ErrNoNode) {
			return Term{}, giveUp(ctx, c.s, path, c.o, err)
		}
		c.o.retry("campaign", zk.ClassDefiniteNo) // somebody deleted it, or the whole directory
	}
}

// lead waits for the first place and proves that it is ours. The znode's owner is read at last, after the channels that tell of a loss
// have been taken: whatever is lost from then on is told. The same read arms the watch on the own znode.
func (c *candidate) lead(ctx context.Context, wait func(ctx context.Context, self string) error) error {
	for {
		c.o.stages(StageDetermine)
		if err := wait(ctx, base(c.own.Path)); err != nil {
			return err
		}
		c.o.stages(StageDetermined)
		suspended, lease := zk.Disconnected(c.s), c.s.Lease()
		_, st, w, err := c.s.GetW(ctx, c.own.Path)
		if err != nil {
			return err
		}
		switch {
		case st.EphemeralOwner != c.s.ID():
			w.Stop()
			return errNotListed
		case isOver(suspended) || isOver(lease): // the connection went and came meanwhile
			w.Stop()
			continue
		}
		c.own.Czxid = st.Czxid
		c.term = Term{Path: c.own.Path, Token: st.Czxid, Suspended: suspended, Lost: c.oversee(ctx, c.own, lease, w)}
		return nil
	}
}

// oversee is closed with the lease, or when the own znode is gone. Another event of its watch is a change of its data, or a gap in the
// connection, and says nothing; so does the end of ctx, which is that of the campaign. Its goroutine ends with the znode at the latest.
func (c *candidate) oversee(ctx context.Context, own zk.Created, lease <-chan struct{}, w *zk.Watch) <-chan struct{} {
	ctx = context.WithoutCancel(ctx)
	lost := make(chan struct{})
	go func() {
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
	}()
	return lost
}

// Resign is described at Election.
func (c *candidate) Resign(ctx context.Context) error {
	if c.own.Path == "" {
		return ErrNotHeld
	}
	path := c.own.Path
	c.own = zk.Created{}
	c.o.stages(StageStop)
	err := remove(ctx, c.s, path, c.o)
	c.o.stages(StageStopped)
	return resignError(c.dir, err)
}

func resignError(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), zk.Classify(err) == zk.ClassSessionGone:
		err = fmt.Errorf("%w: %w", ErrTermLost, err)
	}
	return fmt.Errorf("resign %s: %w", dir, err)
}

// isOver reports whether a channel that tells of an end is closed.
func isOver(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}
