package znode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// Doubtful reports whether the write that failed with err may have been carried out; the session may nevertheless have ended.
func Doubtful(err error) bool {
	return errors.Is(err, zk.ErrMaybeApplied) || zk.Classify(err) == zk.ClassMaybeApplied
}

// A delete by name removes whatever has the name when it is carried out, and no request can be conditional on a czxid: a recreated znode starts with
// version 0 like the one before it. So there are two ways to delete a znode of ours until the servers say that it is gone.
//
// Remove is for names that are never reused, because a guid is part of them. A repeated delete can hit nothing else.
//
// RemoveOwn is for names that the next owner uses too: the lock of single-node, a claim, a member's id. Its first delete can only hit ours, because
// while the session is alive nobody but an administrator removes it, and a request of a session that has ended is refused. After a lost reply that is
// no longer so. The delete is repeated only after a read that shows the czxid of ours, made once the session's server has applied everything sent
// before: then no earlier delete was carried out, none ever will be, and ours stays until the next one.

// Remove deletes a znode of ours whose name is never reused: a delete that is tried only once is how locks leak. It returns ErrNoNode if the znode
// was gone before any of our deletes can have removed it. If the context ends first, the delete continues in the background, at most as long as the
// session is alive.
func Remove(ctx context.Context, s zk.Session, path string) error {
	r := removal{s: s, own: zk.Created{Path: path}}
	return r.run(ctx)
}

// RemoveOwn is like Remove, for a znode whose name somebody else may take as soon as it is gone. If its czxid is not known (0), it counts as ours while it
// is this session's, which suffices if nothing else in this session uses the name.
func RemoveOwn(ctx context.Context, s zk.Session, own zk.Created) error {
	r := removal{s: s, own: own, reused: true}
	return r.run(ctx)
}

// RemoveInDoubt is like RemoveOwn, after a request that may already have removed the znode.
func RemoveInDoubt(ctx context.Context, s zk.Session, own zk.Created) error {
	r := removal{s: s, own: own, reused: true, doubt: true}
	return r.run(ctx)
}

// removal is one deletion, from its first request to the servers' answer.
type removal struct {
	s      zk.Session
	own    zk.Created
	reused bool // others may use the name after us
	doubt  bool // a delete may have been carried out
}

// run continues in the background when ctx ends; closing the session waits for that.
func (r *removal) run(ctx context.Context) error {
	for try := 1; ; try++ {
		err := r.try(ctx)
		if err == nil || SessionOver(err) || zk.Classify(err) == zk.ClassDefiniteNo {
			return err
		}
		if ctx.Err() == nil && try > 1 {
			select {
			case <-time.After(Backoff(try)):
			case <-ctx.Done():
			case <-r.s.Done():
			}
		}
		if end := ctx.Err(); end != nil {
			r.s.Go(func() { r.run(context.WithoutCancel(ctx)) })
			if !errors.Is(err, end) {
				err = fmt.Errorf("%w: %w", end, err)
			}
			return err
		}
	}
}

func (r *removal) try(ctx context.Context) error {
	if r.doubt && r.reused {
		gone, err := IsGone(ctx, r.s, r.own)
		if gone || err != nil {
			return err
		}
		r.doubt = false
	}
	err := r.s.Delete(ctx, r.own.Path, zk.AnyVersion)
	if r.doubt && errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	r.doubt = r.doubt || Doubtful(err)
	return err
}

// IsGone reports whether a znode no longer exists: it is missing, or a different one according to its czxid or its owner.
func IsGone(ctx context.Context, s zk.Session, own zk.Created) (bool, error) {
	_, st, there, err := Settled(ctx, s, own.Path)
	same := there && st.Czxid == own.Czxid
	if own.Czxid == 0 {
		same = there && st.EphemeralOwner == s.ID()
	}
	return err == nil && !same, err
}

// Settled reads a znode after the session's server has applied what this session has sent before, or has dropped it for good.
func Settled(ctx context.Context, s zk.Session, path string) (data []byte, st zk.Stat, there bool, err error) {
	if err = CatchUp(ctx, s, path); err == nil {
		err = Insist(ctx, func() (err error) { data, st, err = s.Get(ctx, path); return })
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil, st, false, nil
	}
	return data, st, err == nil, err
}

// reclaim deletes, in the background, the znode of an attempt that was abandoned in doubt. It ends when the servers have said that there is none, when
// they refuse, or with the session, which removes the znode. find checks whether there is one of ours.
func reclaim(ctx context.Context, s zk.Session, find func(context.Context) (own zk.Created, found bool, err error)) {
	ctx = context.WithoutCancel(ctx)
	for try := 5; s.Err() == nil; try++ {
		own, found, err := find(ctx)
		if err == nil && found {
			err = RemoveOwn(ctx, s, own)
		}
		if err == nil || zk.Classify(err) == zk.ClassDefiniteNo || SessionOver(err) || sessionPause(s, Backoff(try)) != nil {
			return
		}
	}
}

// Sweep runs reclaim in the background, for a child whose name contains the guid; for several, one after the other.
func Sweep(ctx context.Context, s zk.Session, dir string, guids ...string) {
	s.Go(func() {
		for _, guid := range guids {
			reclaim(ctx, s, func(ctx context.Context) (zk.Created, bool, error) { return findOwn(ctx, s, dir, guid) })
		}
	})
}

// SweepMarked runs reclaim in the background, for a znode of a fixed name whose data are the guid.
func SweepMarked(ctx context.Context, s zk.Session, path, guid string) {
	s.Go(func() {
		reclaim(ctx, s, func(ctx context.Context) (zk.Created, bool, error) { return FindMarked(ctx, s, path, guid) })
	})
}

// FindMarked looks for the znode of a fixed name that the attempt with this guid may have created. The session alone does not prove that it is ours,
// because two handles may share one.
func FindMarked(ctx context.Context, s zk.Session, path, guid string) (own zk.Created, found bool, err error) {
	data, st, there, err := Settled(ctx, s, path)
	return zk.Created{Path: path, Czxid: st.Czxid}, there && st.EphemeralOwner == s.ID() && string(data) == guid, err
}

// GiveUp removes the place of an acquisition that failed with cause, and returns cause.
func GiveUp(ctx context.Context, s zk.Session, path string, cause error) error {
	if SessionOver(cause) {
		return cause // the znode was removed with the session
	}
	Remove(ctx, s, path) // its error adds nothing: if the context has ended it continues in the background
	return cause
}
