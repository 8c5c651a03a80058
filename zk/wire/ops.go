package wire

import (
	"context"
	"errors"
	"slices"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// Create creates a znode with Config.ACL.
func (c *Client) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	old := c.near.old.Load()
	op, reply := createOp(mode, old)
	k := newCall(op, zk.KindCreate, path, reply)
	if k.err = zk.CheckCreate(path, mode); k.err == nil && old && mode == zk.Container {
		k.err = zk.ErrUnimplemented // sent, it would cost the connection
	}
	k.req = append(jute.AppendBuffer(putPath(k.req, c.root, path), data), c.acl...)
	k.req = jute.AppendInt32(k.req, int32(mode))
	made, err := c.created(ctx, k)
	if err != nil && op == jute.OpCreate2 && errors.Is(err, zk.ErrUnimplemented) {
		c.near.old.Store(true)
		return c.Create(ctx, path, data, mode)
	}
	return made, err
}

// createOp returns the request that creates a znode of a mode, and the shape of its reply. The plain create, the only one of old servers, does not return the
// Stat; the czxid is the zxid of the reply, because a server answers a write with the last transaction that it has applied, which is this one.
func createOp(mode zk.Mode, old bool) (jute.Op, shape) {
	switch {
	case mode == zk.Container:
		return jute.OpCreateContainer, shapePathStat
	case old:
		return jute.OpCreate, shapePath
	}
	return jute.OpCreate2, shapePathStat
}

func (c *Client) created(ctx context.Context, k *call) (zk.Created, error) {
	if err := c.do(ctx, k); err != nil {
		return zk.Created{}, err
	}
	made := zk.Created{Path: c.outside(k.name), Czxid: k.stat.Czxid}
	k.free()
	return made, nil
}

// outside converts a path in a reply into one relative to the chroot.
func (c *Client) outside(path string) string {
	if len(path) < len(c.root) {
		return path
	}
	return path[len(c.root):]
}

// Delete deletes a znode.
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	k := newCall(jute.OpDelete, zk.KindDelete, path, shapeNone)
	k.req = jute.AppendInt32(putPath(k.req, c.root, path), version)
	return c.plain(ctx, k)
}

// plain is like do, for a request whose reply has no body.
func (c *Client) plain(ctx context.Context, k *call) error {
	if err := c.do(ctx, k); err != nil {
		return err
	}
	k.free()
	return nil
}

// Set replaces the data of a znode.
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	k := newCall(jute.OpSetData, zk.KindSet, path, shapeStat)
	k.req = jute.AppendInt32(jute.AppendBuffer(putPath(k.req, c.root, path), data), version)
	return c.stat(ctx, k)
}

func (c *Client) stat(ctx context.Context, k *call) (zk.Stat, error) {
	if err := c.do(ctx, k); err != nil {
		return zk.Stat{}, err
	}
	st := k.stat
	k.free()
	return st, nil
}

// Sync waits until the session's server has caught up with the leader.
func (c *Client) Sync(ctx context.Context, path string) error {
	k := newCall(jute.OpSync, zk.KindSync, path, shapeNone)
	k.req = putPath(k.req, c.root, path)
	k.again = true
	return c.plain(ctx, k)
}

// read prepares a read request, with the flag that asks for a watch.
func (c *Client) read(op jute.Op, kind zk.Kind, path string, s shape, watch bool) *call {
	k := newCall(op, kind, path, s)
	k.req = jute.AppendBool(putPath(k.req, c.root, path), watch)
	k.again = true
	return k
}

// Get reads data and Stat.
func (c *Client) Get(ctx context.Context, path string) ([]byte, zk.Stat, error) {
	k := c.read(jute.OpGetData, zk.KindGet, path, shapeDataStat, false)
	if err := c.do(ctx, k); err != nil {
		return nil, zk.Stat{}, err
	}
	data, st := k.data, k.stat
	k.free()
	return data, st, nil
}

// GetW is like Get, and arms a data watch.
func (c *Client) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	k := c.read(jute.OpGetData, zk.KindGet, path, shapeDataStat, true)
	w := c.arming(k, armData)
	if err := c.do(ctx, k); err != nil {
		return nil, zk.Stat{}, nil, err
	}
	data, st := k.data, k.stat
	k.free()
	return data, st, w, nil
}

// Exists reads the Stat.
func (c *Client) Exists(ctx context.Context, path string) (zk.Stat, bool, error) {
	return c.exists(ctx, c.read(jute.OpExists, zk.KindExists, path, shapeStat, false))
}

// ExistsW is like Exists, and arms a watch even if the znode is missing.
func (c *Client) ExistsW(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
	k := c.read(jute.OpExists, zk.KindExists, path, shapeStat, true)
	w := c.arming(k, armExist)
	st, ok, err := c.exists(ctx, k)
	if err != nil {
		return zk.Stat{}, false, nil, err
	}
	return st, ok, w, nil
}

func (c *Client) exists(ctx context.Context, k *call) (zk.Stat, bool, error) {
	st, err := c.stat(ctx, k)
	if e, ok := err.(*zk.Error); ok && e.Err == zk.ErrNoNode {
		return zk.Stat{}, false, nil
	}
	return st, err == nil, err
}

// Children lists the names of the children, with the Stat of the parent. The caller owns the slice, but the names in it share one block of memory:
// keeping one keeps them all, unless it is copied with strings.Clone.
func (c *Client) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	return c.children(ctx, c.read(jute.OpGetChildren2, zk.KindChildren, path, shapeNamesStat, false))
}

// ChildrenW is like Children, and arms a child watch.
func (c *Client) ChildrenW(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	k := c.read(jute.OpGetChildren2, zk.KindChildren, path, shapeNamesStat, true)
	w := c.arming(k, armChild)
	list, st, err := c.children(ctx, k)
	if err != nil {
		return nil, zk.Stat{}, nil, err
	}
	return list, st, w, nil
}

func (c *Client) children(ctx context.Context, k *call) ([]string, zk.Stat, error) {
	if err := c.do(ctx, k); err != nil {
		return nil, zk.Stat{}, err
	}
	all, same, st := k.names, k.same, k.stat
	k.free()
	if same != nil {
		all = slices.Clone(same)
	}
	return all, st, nil
}
