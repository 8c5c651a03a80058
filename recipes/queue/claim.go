package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// The directories of a queue whose items are claimed: the items, and the claims, each named like its item.
const (
	entriesDir = "/entries"
	takenDir   = "/taken"
)

// claims is the queue that delivers at least once: kazoo's LockingQueue, with its names.
type claims struct {
	producer // into entries
	taken    string
	held     map[string]zk.Created // claims by path
}

func newClaims(s zk.Session, path string, o recipes.Options) *claims {
	return &claims{producer{s: s, dir: path + entriesDir, names: claimNames, o: o}, path + takenDir, map[string]zk.Created{}}
}

// Claim waits for an item that nobody has claimed, and claims it. The steps: find the first item without a claim, create the claim, which only one
// consumer can, and read the item, which is gone if the previous consumer finished it in between.
func (q *claims) Claim(ctx context.Context) (recipes.Claim, error) {
	var passes znode.Passes
	for {
		c, err := q.tryClaim(ctx)
		if errors.Is(err, recipes.ErrEmpty) {
			var state claimState
			if state, err = q.waitForItem(ctx); err == nil {
				err = passes.Next(ctx, state)
			}
			if err == nil {
				continue
			}
		}
		return c, queueError("claim from", znode.Parent(q.dir), err)
	}
}

// Take waits for an item and takes it. It claims and finishes in one step: for an item to survive its consumer, use Claim.
func (q *claims) Take(ctx context.Context) (recipes.Item, error) { return q.takeBy(ctx, q.Claim) }

// Remove takes the item at the head, if there is one.
func (q *claims) Remove(ctx context.Context) (recipes.Item, error) {
	it, err := q.takeBy(ctx, q.tryClaim)
	return it, queueError("remove from", znode.Parent(q.dir), err)
}

func (q *claims) takeBy(ctx context.Context, claim func(context.Context) (recipes.Claim, error)) (recipes.Item, error) {
	var passes znode.Passes
	for {
		c, err := claim(ctx)
		if err != nil {
			return recipes.Item{}, err
		}
		switch err := q.Finish(ctx, c); {
		case err == nil:
			return c.Item, nil
		case errors.Is(err, recipes.ErrClaimLost) && ctx.Err() == nil && q.s.Err() == nil:
			if err := passes.Next(ctx, nil); err != nil { // somebody deleted it
				return recipes.Item{}, err
			}
		default:
			return recipes.Item{}, err
		}
	}
}

// Element reads the item at the head: the first item that nobody has claimed.
func (q *claims) Element(ctx context.Context) (recipes.Item, error) {
	var passes znode.Passes
	for {
		free, st, err := q.free(ctx)
		if err == nil && len(free) == 0 {
			err = recipes.ErrEmpty
		}
		if err != nil {
			return recipes.Item{}, queueError("element of", znode.Parent(q.dir), err)
		}
		for _, name := range free {
			it, err := q.read(ctx, name, st.Pzxid)
			if !errors.Is(err, zk.ErrNoNode) {
				return it, queueError("element of", znode.Parent(q.dir), err)
			}
		}
		if err := passes.Next(ctx, st.Pzxid); err != nil {
			return recipes.Item{}, queueError("element of", znode.Parent(q.dir), err)
		}
	}
}

// free returns the items without a claim in order, and the state of the directory when it was listed.
func (q *claims) free(ctx context.Context) ([]string, zk.Stat, error) {
	entries, st, err := q.s.Children(ctx, q.dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, st, err
	}
	if len(entries) == 0 {
		return nil, st, nil
	}
	taken, _, err := q.s.Children(ctx, q.taken)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, st, err
	}
	return unclaimed(entries, taken, q.names, q.o.Foreign), st, nil
}

// unclaimed returns the entries that have no claim, in the order of taking.
func unclaimed(entries, taken []string, names seam.Names, foreign func(string)) []string {
	claimed := make(map[string]bool, len(taken))
	for _, name := range taken {
		claimed[name] = true
	}
	var free []string
	for _, name := range inOrder(entries, names, foreign) {
		if !claimed[name] {
			free = append(free, name)
		}
	}
	return free
}

func (q *claims) read(ctx context.Context, name string, asOf int64) (recipes.Item, error) {
	data, st, err := q.s.Get(ctx, q.dir+"/"+name)
	at, _ := q.names.Parse(name)
	return recipes.Item{Data: data, Priority: at.Priority, Path: q.dir + "/" + name, Czxid: st.Czxid, AsOf: asOf}, err
}

// tryClaim claims the first available item; ErrEmpty if there is none.
func (q *claims) tryClaim(ctx context.Context) (recipes.Claim, error) {
	var passes znode.Passes
	for {
		free, st, err := q.free(ctx)
		if err != nil {
			return recipes.Claim{}, err
		}
		q.o.Pause(recipes.PauseListed)
		c, err := q.claimOne(ctx, free, st.Pzxid)
		if !errors.Is(err, zk.ErrNoNode) {
			return c, err
		}
		// The item was finished since the list, and probably so were those after it: claiming each would cost two writes.
		if err := passes.Next(ctx, st.Pzxid); err != nil {
			return recipes.Claim{}, err
		}
	}
}

// claimOne claims the first of the items that is free. ErrEmpty if none is, ErrNoNode if one was finished before the claim.
func (q *claims) claimOne(ctx context.Context, free []string, asOf int64) (recipes.Claim, error) {
	lease := q.s.Lease() // before the claim, so that no loss after it is missed
	for _, name := range free {
		guid := znode.NewGUID()
		c, err := q.claim(ctx, name, guid)
		if errors.Is(err, zk.ErrNodeExists) {
			continue // another consumer was faster
		}
		if err != nil {
			return recipes.Claim{}, err
		}
		q.o.Pause(recipes.PauseCreated)
		it, err := q.read(ctx, name, asOf)
		if err == nil && c.Czxid == 0 {
			c.Czxid, err = zk.Token(ctx, q.s, c)
		}
		if err == nil {
			lease, err = znode.Confirm(ctx, q.s, lease, c)
		}
		if err != nil {
			q.disclaim(ctx, c, guid, err)
			return recipes.Claim{}, err
		}
		q.held[c.Path] = c
		return recipes.Claim{Item: it, Znode: c.Path, Token: c.Czxid, Lost: lease}, nil
	}
	return recipes.Claim{}, recipes.ErrEmpty
}

// disclaim removes a claim that failed because of cause.
func (q *claims) disclaim(ctx context.Context, own zk.Created, guid string, cause error) {
	switch {
	case znode.SessionOver(cause): // it was removed with the session
	case own.Czxid != 0:
		znode.RemoveOwn(ctx, q.s, own)
	default:
		znode.SweepMarked(ctx, q.s, own.Path, guid)
	}
}

// claim creates the claim of an item. Its name does not show whose it is, so its data do: after a lost reply the claim is recognized as ours by the
// guid and by its owner, because two consumers may share a session. ErrNodeExists if it is another consumer's.
func (q *claims) claim(ctx context.Context, name, guid string) (zk.Created, error) {
	path := q.taken + "/" + name
	giveBack := func(cause error) (zk.Created, error) {
		znode.SweepMarked(ctx, q.s, path, guid)
		return zk.Created{}, cause
	}
	doubt := false
	var passes znode.Passes
	for try := 1; ; try++ {
		c, err := q.s.Create(ctx, path, []byte(guid), zk.Ephemeral)
		switch class := zk.Classify(err); {
		case err == nil:
			return c, nil
		case errors.Is(err, zk.ErrNodeExists) && doubt:
			own, found, ferr := znode.FindMarked(ctx, q.s, path, guid)
			if ferr != nil {
				return giveBack(ferr)
			}
			if !found {
				return zk.Created{}, err
			}
			return own, nil
		case errors.Is(err, zk.ErrNoNode):
			if err := znode.MakeParents(ctx, q.s, q.taken); err != nil {
				return zk.Created{}, err
			}
			if err := passes.Next(ctx, nil); err != nil {
				return zk.Created{}, err
			}
		case class == zk.ClassMaybeApplied && ctx.Err() != nil:
			return giveBack(err)
		case class == zk.ClassMaybeApplied, class == zk.ClassThrottled, class == zk.ClassNotSent:
			doubt = doubt || class == zk.ClassMaybeApplied
			if err := znode.Sleep(ctx, znode.Backoff(try)); err != nil {
				return giveBack(err)
			}
		case doubt && !znode.SessionOver(err):
			return giveBack(err)
		default:
			return zk.Created{}, err
		}
	}
}

// claimState is a state of the queue: the pzxids of its two directories.
type claimState struct{ entries, taken int64 }

// waitForItem returns when there may be an item without a claim: one that is put, or one whose claim is removed. The state is the one that it waited in.
func (q *claims) waitForItem(ctx context.Context) (state claimState, err error) {
	taken, st, gone, err := q.s.ChildrenW(ctx, q.taken)
	if errors.Is(err, zk.ErrNoNode) {
		return state, znode.MakeParents(ctx, q.s, q.taken)
	}
	if err != nil {
		return state, err
	}
	state.taken = st.Pzxid
	entries, st, put, err := q.s.ChildrenW(ctx, q.dir)
	if err != nil {
		gone.Stop()
		if errors.Is(err, zk.ErrNoNode) {
			return state, znode.MakeParents(ctx, q.s, q.dir)
		}
		return state, err
	}
	state.entries = st.Pzxid
	defer gone.Stop()
	defer put.Stop()
	if len(unclaimed(entries, taken, q.names, q.o.Foreign)) > 0 {
		return state, nil
	}
	q.o.Pause(recipes.PauseArmed)
	err = znode.AwaitAny(ctx, put, gone)
	q.o.Pause(recipes.PauseWoken)
	return state, err
}

// Finish removes the item permanently.
//
// The claim is identified by its name: deleting another consumer's claim by hand while that consumer is alive lets it finish in the name of the next
// one.
func (q *claims) Finish(ctx context.Context, c recipes.Claim) error {
	own, held := q.held[c.Znode]
	if !held {
		return recipes.ErrNotHeld
	}
	delete(q.held, c.Znode)
	doubt := false
	for try := 1; ; try++ {
		_, err := q.s.Multi(ctx, zk.DeleteOp(c.Path, zk.AnyVersion), zk.DeleteOp(c.Znode, zk.AnyVersion))
		switch class := zk.Classify(err); {
		case err == nil, doubt && errors.Is(err, zk.ErrNoNode): // the session is alive, and only we remove its claim
			return nil
		case errors.Is(err, zk.ErrNoNode), znode.SessionOver(err) && !doubt && !znode.Doubtful(err):
			q.giveBack(ctx, own, err)
			return fmt.Errorf("finish %s: %w: %w", c.Path, recipes.ErrClaimLost, err)
		case class == zk.ClassThrottled, class == zk.ClassNotSent, class == zk.ClassMaybeApplied && ctx.Err() == nil:
			doubt = doubt || class == zk.ClassMaybeApplied
			perr := znode.Sleep(ctx, znode.Backoff(try))
			if perr == nil {
				continue
			}
			err = perr
		}
		q.giveBack(ctx, own, err)
		if doubt || znode.Doubtful(err) {
			err = &recipes.InDoubtError{Item: c.Item, Cause: err}
		}
		return fmt.Errorf("finish %s: %w", c.Path, err)
	}
}

// giveBack removes a claim that was not finished, because of cause: the next claim has the same name.
func (q *claims) giveBack(ctx context.Context, own zk.Created, cause error) {
	if znode.SessionOver(cause) {
		return // it was removed with the session
	}
	znode.RemoveInDoubt(ctx, q.s, own) // the failed transaction may have removed it
}

// Release gives the item back.
func (q *claims) Release(ctx context.Context, c recipes.Claim) error {
	own, held := q.held[c.Znode]
	if !held {
		return recipes.ErrNotHeld
	}
	delete(q.held, c.Znode)
	err := znode.RemoveOwn(ctx, q.s, own)
	if errors.Is(err, zk.ErrNoNode) || znode.SessionOver(err) {
		return fmt.Errorf("release %s: %w: %w", c.Path, recipes.ErrClaimLost, err)
	}
	return queueError("release", c.Path, err)
}
