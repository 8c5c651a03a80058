package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// inside converts a path on the server into one relative to the chroot, nil for one outside of it.
func (c *Client) inside(path []byte) []byte {
	if c.root == "" {
		return path
	}
	rest, ok := strings.CutPrefix(string(path), c.root)
	switch {
	case !ok || (rest != "" && rest[0] != '/'):
		return nil
	case rest == "":
		return []byte("/")
	}
	return path[len(c.root):]
}

// own creates a request of the client itself.
func own(op jute.Op, kind zk.Kind, answered func(error)) *call {
	return &call{op: op, kind: kind, req: jute.BeginRequest(nil, op), answered: answered}
}

// arming prepares a call whose reply arms a one-shot watch.
func (c *Client) arming(k *call, cl class) *zk.Watch {
	path := k.path
	var w *zk.Watch
	w = zk.NewWatch(func() { c.unwatch(w, path) })
	k.arm, k.watch = cl, w
	return w
}

// unwatch drops a watch that was given up and takes it off the server, if it was the last one there.
func (c *Client) unwatch(w *zk.Watch, path string) {
	c.mu.Lock()
	s := c.sites.at[path]
	if s != nil {
		s.unlist(w)
	}
	c.mu.Unlock()
	if s != nil {
		c.prune(path)
	}
}

// prune takes off the server what is no longer wanted at path. Old servers cannot remove watches: the site then remembers what is armed there, until its event,
// which finds no receiver, or a new connection, which does not arm it again.
func (c *Client) prune(path string) {
	c.post(func() (out []*call) {
		if c.near.old.Load() {
			return nil
		}
		for _, typ := range c.sites.prune(path) {
			k := own(jute.OpRemoveWatches, zk.KindRemoveWatches, c.unwatched)
			k.req = jute.AppendInt32(putPath(k.req, c.root, path), typ)
			out = append(out, k)
		}
		return out
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sites.at[path]; s != nil { // disconnected: no server holds anything
		c.sites.drop(s)
	}
}

// unwatched processes the reply to a removeWatches request. A server that does not know it closes the connection, so that its watches are gone.
func (c *Client) unwatched(err error) {
	if errors.Is(err, zk.ErrUnimplemented) {
		c.near.old.Store(true)
	}
}

// rearmStreams arms the persistent watches of a path again after a one-shot watch was armed there: servers without ZOOKEEPER-4466 keep one mode per
// path and connection, the last one requested. Changes in between may be missed, and the streams are told so. The one-shot watch is served by the
// events of the persistent one (see sites.fire).
func (c *Client) rearmStreams(path string) {
	c.post(func() []*call {
		s := c.sites.at[path]
		if s == nil || len(s.streams) == 0 {
			return nil
		}
		f := fired{path: path, streams: append([]*zk.Stream(nil), s.streams...)}
		k := own(jute.OpAddWatch, zk.KindAddWatch, func(err error) { c.rearmed(err, []fired{f}) })
		k.req = jute.AppendInt32(putPath(k.req, c.root, path), watchMode(s.recursive))
		return []*call{k}
	})
}

func watchMode(recursive bool) int32 {
	if recursive {
		return 1
	}
	return 0
}

// AddWatch arms a persistent watch; see PersistentWatcher. A session has one mode per path: requesting the other one while the first is in use is ErrBadArguments.
func (c *Client) AddWatch(ctx context.Context, path string, recursive bool) (*zk.Stream, error) {
	c.mu.Lock()
	s := c.sites.at[path]
	mixed := s != nil && len(s.streams) > 0 && s.recursive != recursive
	c.mu.Unlock()
	if mixed {
		return nil, &zk.Error{Op: zk.KindAddWatch, Path: path, Err: fmt.Errorf("recursive and not at once: %w", zk.ErrBadArguments)}
	}
	k := newCall(jute.OpAddWatch, zk.KindAddWatch, path, shapeNone)
	k.req = jute.AppendInt32(putPath(k.req, c.root, path), watchMode(recursive))
	k.again = true
	var st *zk.Stream
	st = zk.NewStream(func() { c.unstream(st, path) })
	k.arm, k.tape, k.recursive = armStream, st, recursive
	if err := c.do(ctx, k); err != nil {
		return nil, err
	}
	k.free()
	return st, nil
}

func (c *Client) unstream(st *zk.Stream, path string) {
	c.mu.Lock()
	s := c.sites.at[path]
	if s != nil {
		s.unlistStream(st)
	}
	c.mu.Unlock()
	if s != nil {
		c.prune(path)
	}
}

// maxRearm limits the size of one setWatches request, so that a session with many watches does not exceed the server's jute.maxbuffer.
const maxRearm = 128 << 10

// The lists of a setWatches request, in the order of the wire. The last two are known to servers from 3.6 on.
const (
	listData = iota
	listExist
	listChild
	listPersistent
	listRecursive
	lists
)

// rearm creates the requests that arm all watches again on a new connection, and marks them as armed. Changes since the last reply fire immediately. Called with mu held.
func (c *Client) rearm() (out []*call) {
	b := rearming{c: c}
	for path, s := range c.sites.at {
		if len(s.data) > 0 {
			b.add(listData, path)
		}
		if len(s.exist) > 0 {
			b.add(listExist, path)
		}
		if len(s.child) > 0 {
			b.add(listChild, path)
		}
		if len(s.streams) > 0 {
			list := listPersistent
			if s.recursive {
				list = listRecursive
			}
			b.add(list, path)
			b.tapes = append(b.tapes, fired{path: path, streams: slices.Clone(s.streams)})
		}
		s.armed = s.wanted()
	}
	b.flush()
	return b.out
}

// rearming collects paths until they fill a request.
type rearming struct {
	c     *Client
	size  int
	paths [lists][]string
	tapes []fired
	out   []*call
}

func (b *rearming) add(list int, path string) {
	size := 4 + len(b.c.root) + len(path)
	if b.size+size > maxRearm {
		b.flush()
	}
	b.paths[list] = append(b.paths[list], path)
	b.size += size
}

func (b *rearming) flush() {
	if b.size == 0 {
		return
	}
	op, n := jute.OpSetWatches, listPersistent
	if len(b.paths[listPersistent])+len(b.paths[listRecursive]) > 0 {
		op, n = jute.OpSetWatches2, lists
	}
	c, tapes := b.c, b.tapes
	k := own(op, zk.KindSetWatches, func(err error) { c.rearmed(err, tapes) })
	k.req = jute.AppendInt64(k.req, c.zxid)
	for _, l := range b.paths[:n] {
		k.req = jute.AppendInt32(k.req, int32(len(l)))
		for _, path := range l {
			k.req = putPath(k.req, c.root, path)
		}
	}
	b.out = append(b.out, k)
	b.size, b.paths, b.tapes = 0, [lists][]string{}, nil
}

// rearmed handles the server's reply. Only now that persistent watches are armed again do their streams learn of the gap, so that a list after that misses nothing.
func (c *Client) rearmed(err error, tapes []fired) {
	if err != nil {
		c.loseWatches(fmt.Errorf("the server does not arm the watch again: %w", err))
		return
	}
	for _, f := range tapes {
		f.tell(zk.Event{Type: zk.EventLost, At: time.Now(), Err: zk.ErrWatchLost})
	}
}

// loseWatches tells all watches that they are lost and all streams that they have ended, because the server refused to arm them again. A watch that a
// request in flight arms stays: its reply comes after the refusal.
func (c *Client) loseWatches(cause error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	all := c.sites.lose()
	c.mu.Unlock()
	for _, f := range all {
		fired{path: f.path, watches: f.watches}.tell(zk.Event{Type: zk.EventLost, At: time.Now(), Err: zk.ErrWatchLost})
		fired{path: f.path, streams: f.streams}.tell(zk.Event{Type: zk.EventLost, At: time.Now(), Err: cause})
	}
}
