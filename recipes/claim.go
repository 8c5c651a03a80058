package recipes

import (
	"context"
	"errors"
	"fmt"

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
	held     map[string]bool // claims by path
}

func newClaims(s zk.Session, path string, o Options) *claims {
	return &claims{producer{s: s, dir: path + entriesDir, names: claimNames, o: o}, path + takenDir, map[string]bool{}}
}

// Claim is described at Claimer. The steps: find the first item without a claim, create the claim, which one consumer can, and
// read the item, which is gone if the consumer before finished it in between.
func (q *claims) Claim(ctx context.Context) (Claim, error) {
	for {
		c, err := q.tryClaim(ctx)
		if errors.Is(err, ErrEmpty) {
			if err = q.waitForItem(ctx); err == nil {
				continue
			}
		}
		return c, queueError("claim from", parent(q.dir), err)
	}
}

// Take is described at Queue. It claims and finishes at once: who wants an item to survive its consumer uses Claim.
func (q *claims) Take(ctx context.Context) (Item, error) { return q.takeBy(ctx, q.Claim) }

// Remove is described at Queue.
func (q *claims) Remove(ctx context.Context) (Item, error) {
	it, err := q.takeBy(ctx, q.tryClaim)
	return it, queueError("remove from", parent(q.dir), err)
}

func (q *claims) takeBy(ctx context.Context, claim func(context.Context) (Claim, error)) (Item, error) {
	for {
		c, err := claim(ctx)
		if err != nil {
			return Item{}, err
		}
		switch err := q.Finish(ctx, c); {
		case err == nil:
			return c.Item, nil
		case errors.Is(err, ErrClaimLost) && ctx.Err() == nil && q.s.Err() == nil:
			continue // somebody deleted it
		default:
			return Item{}, err
		}
	}
}

// Element is described at Queue: the first item that nobody has claimed.
func (q *claims) Element(ctx context.Context) (Item, error) {
	for {
		free, st, err := q.free(ctx)
		if err == nil && len(free) == 0 {
			err = ErrEmpty
		}
		if err != nil {
			return Item{}, queueError("element of", parent(q.dir), err)
		}
		for _, name := range free {
			it, err := q.read(ctx, name, st.Pzxid)
			if !errors.Is(err, zk.ErrNoNode) {
				return it, queueError("element of", parent(q.dir), err)
			}
		}
	}
}

// free is the items without a claim in their order, and the state of the directory at their list.
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
	return unclaimed(entries, taken, q.names, q.o.foreign), st, nil
}

// unclaimed is the items among entries that have no claim, in the order of taking.
func unclaimed(entries, taken []string, names itemNames, foreign func(string)) []string {
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

func (q *claims) read(ctx context.Context, name string, asOf int64) (Item, error) {
	data, st, err := q.s.Get(ctx, q.dir+"/"+name)
	at, _ := q.names.parse(name)
	return Item{Data: data, Priority: at.priority, Path: q.dir + "/" + name, Czxid: st.Czxid, AsOf: asOf}, err
}

// tryClaim claims the first item that can be had; ErrEmpty when none can.
func (q *claims) tryClaim(ctx context.Context) (Claim, error) {
	for {
		free, st, err := q.free(ctx)
		if err != nil {
			return Claim{}, err
		}
		q.o.pause(PauseListed)
		c, err := q.claimOne(ctx, free, st.Pzxid)
		if !errors.Is(err, zk.ErrNoNode) {
			return c, err
		}
		// The item was finished since the list, and so probably were those after it: a claim of each would cost two writes.
	}
}

// claimOne claims the first of the items that is free. ErrEmpty when none is, ErrNoNode when one was finished before the claim.
func (q *claims) claimOne(ctx context.Context, free []string, asOf int64) (Claim, error) {
	lease := q.s.Lease() // before the claim: a loss after it is never missed
	for _, name := range free {
		c, err := q.claim(ctx, name)
		if errors.Is(err, zk.ErrNodeExists) {
			continue // another consumer was faster
		}
		if err != nil {
			return Claim{}, err
		}
		q.o.pause(PauseCreated)
		it, err := q.read(ctx, name, asOf)
		if err == nil && c.Czxid == 0 {
			c.Czxid, err = zk.Token(ctx, q.s, c)
		}
		if err != nil {
			return Claim{}, giveUp(ctx, q.s, c.Path, q.o, err)
		}
		q.held[c.Path] = true
		return Claim{Item: it, Znode: c.Path, Token: c.Czxid, Lost: lease}, nil
	}
	return Claim{}, ErrEmpty
}

// claim creates the claim of an item. Its name says nothing of whose it is, so its data do: after a lost reply the claim is known
// as ours by the guid and by its owner, because two consumers may share a session. ErrNodeExists when it is another consumer's.
func (q *claims) claim(ctx context.Context, name string) (zk.Created, error) {
	path, guid := q.taken+"/"+name, newGUID()
	giveBack := func(cause error) (zk.Created, error) {
		go q.disclaim(context.WithoutCancel(ctx), path, guid)
		return zk.Created{}, cause
	}
	doubt := false
	for try := 1; ; try++ {
		c, err := q.s.Create(ctx, path, []byte(guid), zk.Ephemeral)
		switch class := zk.Classify(err); {
		case err == nil:
			return c, nil
		case errors.Is(err, zk.ErrNodeExists) && doubt:
			czxid, rerr := q.ours(ctx, path, guid)
			if rerr != nil && !errors.Is(rerr, zk.ErrNoNode) {
				return giveBack(rerr)
			}
			if czxid == 0 {
				return zk.Created{}, err
			}
			return zk.Created{Path: path, Czxid: czxid}, nil
		case errors.Is(err, zk.ErrNoNode):
			if err := makeParents(ctx, q.s, q.taken); err != nil {
				return zk.Created{}, err
			}
		case class == zk.ClassMaybeApplied && ctx.Err() != nil:
			return giveBack(err)
		case class == zk.ClassMaybeApplied, class == zk.ClassThrottled, class == zk.ClassNotSent:
			doubt = doubt || class == zk.ClassMaybeApplied
			q.o.retry("create", class)
			if err := pause(ctx, backoff(try)); err != nil {
				return giveBack(err)
			}
		case doubt && !over(err):
			return giveBack(err)
		default:
			return zk.Created{}, err
		}
	}
}

// ours is the czxid of the claim if it is ours, 0 if it is not or gone.
func (q *claims) ours(ctx context.Context, path, guid string) (int64, error) {
	if err := insist(ctx, func() error { return q.s.Sync(ctx, path) }); err != nil {
		return 0, err
	}
	data, st, err := q.s.Get(ctx, path)
	if err != nil || string(data) != guid || st.EphemeralOwner != q.s.ID() {
		return 0, err
	}
	return st.Czxid, nil
}

// disclaim deletes a claim that was given up in doubt, and ends when the servers have said that it is not there, or with the session.
func (q *claims) disclaim(ctx context.Context, path, guid string) {
	q.o.janitor(guid)
	for q.s.Err() == nil {
		czxid, err := q.ours(ctx, path, guid)
		if err == nil && czxid != 0 {
			err = remove(ctx, q.s, path, Options{})
		}
		if err == nil || errors.Is(err, zk.ErrNoNode) || over(err) || sessionPause(q.s, backoff(5)) != nil {
			return
		}
	}
}

// waitForItem returns when there may be an item without a claim: one that is put, or one whose claim goes.
func (q *claims) waitForItem(ctx context.Context) error {
	taken, _, gone, err := q.s.ChildrenW(ctx, q.taken)
	if errors.Is(err, zk.ErrNoNode) {
		return makeParents(ctx, q.s, q.taken)
	}
	if err != nil {
		return err
	}
	entries, _, put, err := q.s.ChildrenW(ctx, q.dir)
	if err != nil {
		gone.Stop()
		if errors.Is(err, zk.ErrNoNode) {
			return makeParents(ctx, q.s, q.dir)
		}
		return err
	}
	defer gone.Stop()
	defer put.Stop()
	if len(unclaimed(entries, taken, q.names, q.o.foreign)) > 0 {
		return nil
	}
	q.o.pause(PauseArmed)
	err = awaitAny(ctx, put, gone)
	q.o.pause(PauseWoken)
	return err
}

// Finish is described at Claimer.
//
// The claim is known by its name: whoever deletes another's claim by hand while its consumer lives lets that consumer finish in the
// name of the next one.
func (q *claims) Finish(ctx context.Context, c Claim) error {
	if !q.held[c.Znode] {
		return ErrNotHeld
	}
	delete(q.held, c.Znode)
	doubt := false
	for try := 1; ; try++ {
		_, err := q.s.Multi(ctx, zk.DeleteOp(c.Path, zk.AnyVersion), zk.DeleteOp(c.Znode, zk.AnyVersion))
		switch class := zk.Classify(err); {
		case err == nil, doubt && errors.Is(err, zk.ErrNoNode): // the session lives, and none but us takes its claim away
			return nil
		case errors.Is(err, zk.ErrNoNode), over(err) && !doubt && !doubtful(err):
			giveUp(ctx, q.s, c.Znode, q.o, err)
			return fmt.Errorf("finish %s: %w: %w", c.Path, ErrClaimLost, err)
		case class == zk.ClassThrottled, class == zk.ClassNotSent, class == zk.ClassMaybeApplied && ctx.Err() == nil:
			doubt = doubt || class == zk.ClassMaybeApplied
			q.o.retry("multi", class)
			perr := pause(ctx, backoff(try))
			if perr == nil {
				continue
			}
			err = perr
		}
		giveUp(ctx, q.s, c.Znode, q.o, err)
		if doubt || doubtful(err) {
			err = &InDoubtError{c.Item, err}
		}
		return fmt.Errorf("finish %s: %w", c.Path, err)
	}
}

// Release is described at Claimer.
func (q *claims) Release(ctx context.Context, c Claim) error {
	if !q.held[c.Znode] {
		return ErrNotHeld
	}
	delete(q.held, c.Znode)
	err := remove(ctx, q.s, c.Znode, q.o)
	if errors.Is(err, zk.ErrNoNode) || over(err) {
		return fmt.Errorf("release %s: %w: %w", c.Path, ErrClaimLost, err)
	}
	return queueError("release", c.Path, err)
}
