package recipes

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// enlist makes the sequential ephemeral child that is our place in the queue dir: the protected create of Apache Curator
// (CURATOR-45, -79, -264). The guid in the name is made once, before the first send, so that after a lost reply the child can be
// recognised as ours instead of being made twice and blocking everybody as a ghost.
//
// When the error is not nil, no child of this call is left, or the janitor is removing it.
func enlist(ctx context.Context, s zk.Session, dir string, layout Layout, data []byte, o Options) (zk.Created, error) {
	guid := newGUID()
	for try := 1; ; try++ {
		c, err := s.Create(ctx, dir+"/"+layout.prefix(guid), data, zk.EphemeralSequential)
		switch class := zk.Classify(err); {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			if class == zk.ClassMaybeApplied {
				o.janitor(guid)
				go sweep(context.WithoutCancel(ctx), s, dir, guid)
			}
			return zk.Created{}, err
		case class == zk.ClassMaybeApplied:
			o.retry("create", class)
			c, found, err := findOwn(ctx, s, dir, guid)
			if err != nil {
				o.janitor(guid)
				go sweep(context.WithoutCancel(ctx), s, dir, guid)
				return zk.Created{}, err
			}
			if found {
				return c, nil
			}
		case errors.Is(err, zk.ErrNoNode):
			if err := makeDirs(ctx, s, dir); err != nil {
				return zk.Created{}, err
			}
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			o.retry("create", class)
			if err := pause(ctx, backoff(try)); err != nil {
				return zk.Created{}, err
			}
		default:
			return zk.Created{}, err
		}
	}
}

// findOwn looks for the child whose create is in doubt. The Sync is needed: after a reconnect, a read at a server that lags
// behind misses a child that is there (CURATOR-264). After it the child is either seen or will never come, because the servers
// reject what a session had sent over an earlier connection.
func findOwn(ctx context.Context, s zk.Session, dir, guid string) (zk.Created, bool, error) {
	if err := insist(ctx, func() error { return s.Sync(ctx, dir) }); err != nil {
		return zk.Created{}, false, err
	}
	var names []string
	err := insist(ctx, func() (err error) { names, _, err = s.Children(ctx, dir); return })
	if errors.Is(err, zk.ErrNoNode) {
		return zk.Created{}, false, nil
	}
	if err != nil {
		return zk.Created{}, false, err
	}
	for _, name := range names {
		if !strings.Contains(strings.ReplaceAll(name, "-", ""), guid) { // a UUID has dashes
			continue
		}
		path := dir + "/" + name
		token, err := zk.Token(ctx, s, zk.Created{Path: path})
		if errors.Is(err, zk.ErrNoNode) {
			return zk.Created{}, false, nil // gone, or not of this session: never adopt it
		}
		return zk.Created{Path: path, Czxid: token}, err == nil, err
	}
	return zk.Created{}, false, nil
}

// sweep is the janitor: it deletes the child of an attempt that was given up in doubt, and ends when the servers have said that
// there is none, or with the session, which takes the child along.
func sweep(ctx context.Context, s zk.Session, dir, guid string) {
	for s.Err() == nil {
		c, found, err := findOwn(ctx, s, dir, guid)
		if err == nil && found {
			err = remove(ctx, s, c.Path, Options{})
		}
		if err == nil || errors.Is(err, zk.ErrNoNode) || over(err) {
			return
		}
		if sessionPause(s, backoff(5)) != nil {
			return
		}
	}
}

// remove deletes a znode of ours until the servers say that it is gone: a delete that is tried once is how locks leak. It gives
// ErrNoNode when the znode was gone before any delete of ours can have removed it. When the context ends first, the delete goes
// on in the background, at most as long as the session lives.
func remove(ctx context.Context, s zk.Session, path string, o Options) error {
	doubt := false
	for try := 1; ; try++ {
		err := s.Delete(ctx, path, zk.AnyVersion)
		switch class := zk.Classify(err); {
		case err == nil, doubt && errors.Is(err, zk.ErrNoNode):
			return nil
		case over(err), class == zk.ClassDefiniteNo:
			return err
		case ctx.Err() != nil:
			go remove(context.WithoutCancel(ctx), s, path, o)
			return err
		default:
			doubt = doubt || class == zk.ClassMaybeApplied
			o.retry("delete", class)
		}
		if try > 1 {
			if sessionPause(s, backoff(try)) != nil {
				return s.Err()
			}
		}
	}
}

// removeOwn is remove for a znode whose name somebody else may take as soon as it is gone: after a lost reply the delete is made again
// only if the czxid is still that of ours.
func removeOwn(ctx context.Context, s zk.Session, own zk.Created, o Options) error {
	for {
		err := s.Delete(ctx, own.Path, zk.AnyVersion)
		if err == nil || over(err) || zk.Classify(err) == zk.ClassDefiniteNo {
			return err
		}
		if ctx.Err() != nil {
			go func(ctx context.Context) {
				if gone, err := isGone(ctx, s, own); !gone && err == nil {
					removeOwn(ctx, s, own, o)
				}
			}(context.WithoutCancel(ctx))
			return err
		}
		o.retry("delete", zk.Classify(err))
		if gone, err := isGone(ctx, s, own); gone || err != nil {
			return err
		}
	}
}

// isGone reports whether a znode of ours is no more: missing, or somebody else's by its czxid.
func isGone(ctx context.Context, s zk.Session, own zk.Created) (bool, error) {
	var st zk.Stat
	var there bool
	err := insist(ctx, func() (err error) {
		if err = s.Sync(ctx, own.Path); err == nil {
			st, there, err = s.Exists(ctx, own.Path)
		}
		return
	})
	return !there || st.Czxid != own.Czxid, err
}

// giveUp removes the place of an acquisition that failed with cause, and returns cause.
func giveUp(ctx context.Context, s zk.Session, path string, o Options, cause error) error {
	if over(cause) {
		return cause // the znode went with the session
	}
	remove(ctx, s, path, o) // its error says nothing new: with the context's end it goes on in the background
	return cause
}

// makeDirs creates dir as a container, which the servers remove some time after its last child is gone, and what is above it as
// persistent znodes.
func makeDirs(ctx context.Context, s zk.Session, dir string) error {
	_, err := s.Create(ctx, dir, nil, zk.Container)
	if errors.Is(err, zk.ErrNoNode) && dir != "/" {
		if err := makeParents(ctx, s, parent(dir)); err != nil {
			return err
		}
		_, err = s.Create(ctx, dir, nil, zk.Container)
	}
	if errors.Is(err, zk.ErrNodeExists) || zk.Classify(err) == zk.ClassMaybeApplied && ctx.Err() == nil {
		return nil // the create that follows finds out
	}
	return err
}

func makeParents(ctx context.Context, s zk.Session, path string) error {
	if path == "/" {
		return nil
	}
	_, err := s.Create(ctx, path, nil, zk.Persistent)
	if errors.Is(err, zk.ErrNoNode) {
		if err := makeParents(ctx, s, parent(path)); err != nil {
			return err
		}
		_, err = s.Create(ctx, path, nil, zk.Persistent)
	}
	if errors.Is(err, zk.ErrNodeExists) || zk.Classify(err) == zk.ClassMaybeApplied && ctx.Err() == nil {
		return nil
	}
	return err
}

// insist repeats a read until it is answered.
func insist(ctx context.Context, read func() error) error {
	for try := 1; ; try++ {
		err := read()
		switch zk.Classify(err) {
		case zk.ClassMaybeApplied, zk.ClassNotSent, zk.ClassThrottled:
		default:
			return err
		}
		if err := pause(ctx, backoff(try)); err != nil {
			return err
		}
	}
}

// catchUp makes the session's server know all that was acknowledged before the call, by a transaction that checks the znode: its reply
// comes when the server has applied all before it. A sync would not do, which the leader answers without waiting for what it has not
// applied itself. ErrNoNode says that there is no such znode.
func catchUp(ctx context.Context, s zk.Session, path string) error {
	return insist(ctx, func() error { return second(s.Multi(ctx, zk.CheckOp(path, zk.AnyVersion))) })
}

// over reports whether err means that the session is no more.
func over(err error) bool {
	c := zk.Classify(err)
	return c == zk.ClassSessionGone || c == zk.ClassTerminal
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func sessionPause(s zk.Session, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.Done():
		return s.Err()
	}
}
