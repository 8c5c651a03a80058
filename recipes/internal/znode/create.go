package znode

import (
	"context"
	"errors"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Enlist creates the sequential ephemeral child that is our place in the queue dir: the protected create of Apache Curator (CURATOR-45, -79, -264).
// The guid in the name is chosen once, before the first send, so that after a lost reply the child can be recognized as ours instead of being created
// twice and blocking everybody as a ghost.
//
// If the error is not nil, no child of this call is left, or a background goroutine is removing it.
func Enlist(ctx context.Context, s zk.Session, dir string, layout recipes.Layout, data []byte) (zk.Created, error) {
	guid := NewGUID()
	var lost, missing Passes
	for try := 1; ; try++ {
		c, err := s.Create(ctx, dir+"/"+Prefix(layout, guid), data, zk.EphemeralSequential)
		switch class := zk.Classify(err); {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			if class == zk.ClassMaybeApplied {
				Sweep(ctx, s, dir, guid)
			}
			return zk.Created{}, err
		case class == zk.ClassMaybeApplied:
			c, found, err := findOwn(ctx, s, dir, guid)
			if err != nil {
				Sweep(ctx, s, dir, guid)
				return zk.Created{}, err
			}
			if found {
				return c, nil
			}
			if err := lost.Next(ctx, nil); err != nil {
				return zk.Created{}, err
			}
		case errors.Is(err, zk.ErrNoNode):
			if err := MakeDirs(ctx, s, dir); err != nil {
				return zk.Created{}, err
			}
			if err := missing.Next(ctx, nil); err != nil {
				return zk.Created{}, err
			}
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			if err := Sleep(ctx, Backoff(try)); err != nil {
				return zk.Created{}, err
			}
		default:
			return zk.Created{}, err
		}
	}
}

// findOwn looks for the child whose create is in doubt. The Sync is needed: after a reconnect, a read at a server that lags behind misses an existing
// child (CURATOR-264). After it the child is either seen or will never appear, because the servers reject what a session had sent over an earlier
// connection. At the leader the sync waits for nothing, but there a read waits for the writes that the same session has sent before it, over whichever server
// (CommitProcessor, pendingRequests).
func findOwn(ctx context.Context, s zk.Session, dir, guid string) (zk.Created, bool, error) {
	if err := Insist(ctx, func() error { return s.Sync(ctx, dir) }); err != nil {
		return zk.Created{}, false, err
	}
	var names []string
	err := Insist(ctx, func() (err error) { names, _, err = s.Children(ctx, dir); return })
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
			return zk.Created{}, false, nil // gone, or not this session's: never adopt it
		}
		return zk.Created{Path: path, Czxid: token}, err == nil, err
	}
	return zk.Created{}, false, nil
}

// MakeDirs creates dir as a container, which the servers remove some time after its last child is gone, and its ancestors as persistent znodes. Servers without
// containers get a persistent dir.
func MakeDirs(ctx context.Context, s zk.Session, dir string) error {
	return makeDir(ctx, s, dir, zk.Container)
}

// MakeParents creates path and its ancestors as persistent znodes.
func MakeParents(ctx context.Context, s zk.Session, path string) error {
	return makeDir(ctx, s, path, zk.Persistent)
}

// makeDir retries: a create whose request was lost would leave later ones without a parent.
func makeDir(ctx context.Context, s zk.Session, path string, mode zk.Mode) error {
	var passes Passes
	for path != "/" {
		err := Insist(ctx, func() error { return ErrorOf(s.Create(ctx, path, nil, mode)) })
		if mode == zk.Container && errors.Is(err, zk.ErrUnimplemented) { // servers before ZooKeeper 3.5.1, as Curator does (ZKPaths.mkdirs)
			mode = zk.Persistent
			continue
		}
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		if !errors.Is(err, zk.ErrNoNode) || Parent(path) == "/" { // nobody can create the parent: the root of the session is missing
			return err
		}
		if err := MakeParents(ctx, s, Parent(path)); err != nil {
			return err
		}
		if err := passes.Next(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
