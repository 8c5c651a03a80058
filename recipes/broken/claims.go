package broken

import (
	"context"
	"errors"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// claimed is the queue with claims in its shortest right form, cut into steps: a defect is one step replaced.
type claimed struct {
	*items // the entries
	taken  string
	claimSteps
}

type claimSteps struct {
	mode zk.Mode // of a claim
	// claim creates the claim; ErrNodeExists when it is another's.
	claim func(ctx context.Context, q *claimed, name string) (zk.Created, error)
	early bool // the item is read before it is claimed, and not again
	// finish removes the item and the claim.
	finish func(ctx context.Context, q *claimed, c recipes.Claim) error
	lost   func(lease <-chan struct{}) <-chan struct{}
}

func rightClaims() claimSteps {
	return claimSteps{
		mode: zk.Ephemeral,
		claim: func(ctx context.Context, q *claimed, name string) (zk.Created, error) {
			return q.s.Create(ctx, q.taken+"/"+name, nil, q.claimSteps.mode)
		},
		finish: func(ctx context.Context, q *claimed, c recipes.Claim) error {
			_, err := q.s.Multi(ctx, zk.DeleteOp(c.Path, zk.AnyVersion), zk.DeleteOp(c.Znode, zk.AnyVersion))
			return finished(c, err)
		},
		lost: func(lease <-chan struct{}) <-chan struct{} { return lease },
	}
}

func finished(c recipes.Claim, err error) error {
	switch {
	case errors.Is(err, zk.ErrMaybeApplied):
		return &recipes.InDoubtError{Item: c.Item, Cause: err}
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired):
		return errors.Join(recipes.ErrClaimLost, err)
	}
	return err
}

// Claim is described at recipes.Claimer, less the defect.
func (q *claimed) Claim(ctx context.Context) (recipes.Claim, error) {
	for {
		names, asOf, err := q.list(ctx, q.items)
		if err != nil {
			return recipes.Claim{}, err
		}
		taken, _, gone, err := q.s.ChildrenW(ctx, q.taken)
		if err != nil {
			return recipes.Claim{}, err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(taken, name) })
		for _, name := range names {
			c, err := q.try(ctx, name, asOf)
			if err == nil {
				gone.Stop()
				return c, nil
			}
			if !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
				return recipes.Claim{}, err
			}
		}
		if err := q.waitForBoth(ctx, gone, len(names) > 0); err != nil {
			return recipes.Claim{}, err
		}
	}
}

// waitForBoth waits for an item or for the end of a claim.
func (q *claimed) waitForBoth(ctx context.Context, gone *zk.Watch, again bool) error {
	defer gone.Stop()
	entries, _, put, err := q.s.ChildrenW(ctx, q.dir)
	if err != nil || again {
		return err
	}
	defer put.Stop()
	taken, _, err := q.s.Children(ctx, q.taken)
	if err != nil || len(entries) > len(taken) {
		return err
	}
	select {
	case e := <-gone.C():
		return e.Err
	case e := <-put.C():
		return e.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *claimed) try(ctx context.Context, name string, asOf int64) (recipes.Claim, error) {
	path, lease := q.dir+"/"+name, q.s.Lease()
	var data []byte
	var st zk.Stat
	var err error
	if q.early {
		if data, st, err = q.s.Get(ctx, path); err != nil {
			return recipes.Claim{}, err
		}
	}
	c, err := q.claim(ctx, q, name)
	if err != nil {
		return recipes.Claim{}, err
	}
	if !q.early {
		data, st, err = q.s.Get(ctx, path)
	}
	if err == nil && c.Czxid == 0 {
		c.Czxid, err = zk.Token(ctx, q.s, c)
	}
	if err != nil {
		(&queue{s: q.s}).remove(ctx, c.Path)
		return recipes.Claim{}, err
	}
	it := recipes.Item{Data: data, Path: path, Czxid: st.Czxid, AsOf: asOf}
	return recipes.Claim{Item: it, Znode: c.Path, Token: c.Czxid, Lost: q.lost(lease)}, nil
}

// Finish is described at recipes.Claimer, less the defect.
func (q *claimed) Finish(ctx context.Context, c recipes.Claim) error { return q.finish(ctx, q, c) }

// Release is described at recipes.Claimer.
func (q *claimed) Release(ctx context.Context, c recipes.Claim) error {
	return (&queue{s: q.s}).remove(ctx, c.Znode)
}

// claiming makes an entry from the queue with claims with some steps replaced.
func claiming(caught, name, doc string, fault func(*claimSteps)) Defect[recipes.Queue] {
	return Defect[recipes.Queue]{Caught: caught, Variant: recipes.Variant[recipes.Queue]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Tokens: true, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Queue {
			q := &claimed{&items{s: s, dir: path + "/entries", itemSteps: rightItems()}, path + "/taken", rightClaims()}
			fault(&q.claimSteps)
			return q
		}}}
}

// ClaimQueues is the queues with claims with a defect.
var ClaimQueues = []Defect[recipes.Queue]{
	claiming(claims, "finishes-in-two", "removes the claim and then the item, and not both at once", func(s *claimSteps) {
		s.finish = func(ctx context.Context, q *claimed, c recipes.Claim) error {
			if err := q.s.Delete(ctx, c.Znode, zk.AnyVersion); err != nil {
				return finished(c, err)
			}
			return finished(c, q.s.Delete(ctx, c.Path, zk.AnyVersion))
		}
	}),
	claiming(claims, "reads-first", "reads the item before it claims it, and delivers one that was finished in between", func(s *claimSteps) { s.early = true }),
	claiming(claims, "shares-claims", "takes a claim that is there for its own", func(s *claimSteps) {
		s.claim = func(ctx context.Context, q *claimed, name string) (zk.Created, error) {
			c, err := q.s.Create(ctx, q.taken+"/"+name, nil, q.claimSteps.mode)
			if errors.Is(err, zk.ErrNodeExists) {
				_, st, err := q.s.Get(ctx, q.taken+"/"+name)
				return zk.Created{Path: q.taken + "/" + name, Czxid: st.Czxid}, err
			}
			return c, err
		}
	}),
	claiming(claims, "blind-claim", "does not tell the consumer that its session is over", func(s *claimSteps) {
		s.lost = func(<-chan struct{}) <-chan struct{} { return nil }
	}),
	claiming(liveness, "persistent-claim", "makes claims that outlive their consumers", func(s *claimSteps) { s.mode = zk.Persistent }),
	claiming(conservation, "loses-the-lost", "removes the item of a claim that it has lost, and says that it is lost", func(s *claimSteps) {
		right := s.finish
		s.finish = func(ctx context.Context, q *claimed, c recipes.Claim) error {
			err := right(ctx, q, c)
			if err == nil && c.Token%7 == 0 { // what a consumer makes of a reply that it does not wait for
				return recipes.ErrClaimLost
			}
			return err
		}
	}),
}
