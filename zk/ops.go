package zk

import (
	"context"
	"slices"
)

// Create makes a znode with Config.ACL.
func (c *Client) Create(ctx context.Context, path string, data []byte, mode Mode) (Created, error) {
	op := opCreate2
	if mode == Container {
		op = opCreateContainer
	}
	k := newCall(op, KindCreate, path, shapePathStat)
	k.err = checkCreate(path, mode)
	k.req = append(putBuffer(putPath(k.req, c.root, path), data), c.acl...)
	k.req = putInt32(k.req, int32(mode))
	return c.created(ctx, k)
}

func (c *Client) created(ctx context.Context, k *call) (Created, error) {
	if err := c.do(ctx, k); err != nil {
		return Created{}, err
	}
	made := Created{Path: c.outside(k.name), Czxid: k.stat.Czxid}
	k.free()
	return made, nil
}

// outside turns the path of a reply into one of the application.
func (c *Client) outside(path string) string {
	if len(path) < len(c.root) {
		return path
	}
	return path[len(c.root):]
}

// Delete removes a znode.
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	k := newCall(opDelete, KindDelete, path, shapeNone)
	k.req = putInt32(putPath(k.req, c.root, path), version)
	return c.plain(ctx, k)
}

// plain is do for a request whose reply says nothing.
func (c *Client) plain(ctx context.Context, k *call) error {
	if err := c.do(ctx, k); err != nil {
		return err
	}
	k.free()
	return nil
}

// Set replaces the data of a znode.
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	k := newCall(opSetData, KindSet, path, shapeStat)
	k.req = putInt32(putBuffer(putPath(k.req, c.root, path), data), version)
	return c.stat(ctx, k)
}

func (c *Client) stat(ctx context.Context, k *call) (Stat, error) {
	if err := c.do(ctx, k); err != nil {
		return Stat{}, err
	}
	st := k.stat
	k.free()
	return st, nil
}

// Sync waits until the session's server has caught up with the leader.
func (c *Client) Sync(ctx context.Context, path string) error {
	k := newCall(opSync, KindSync, path, shapeNone)
	k.req = putPath(k.req, c.root, path)
	k.again = true
	return c.plain(ctx, k)
}

// read prepares a request that reads, with the flag that asks for a watch.
func (c *Client) read(op opcode, kind Kind, path string, s shape, watch bool) *call {
	k := newCall(op, kind, path, s)
	k.req = putBool(putPath(k.req, c.root, path), watch)
	k.again = true
	return k
}

// Get reads data and Stat.
func (c *Client) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	k := c.read(opGetData, KindGet, path, shapeDataStat, false)
	if err := c.do(ctx, k); err != nil {
		return nil, Stat{}, err
	}
	data, st := k.data, k.stat
	k.free()
	return data, st, nil
}

// GetW is Get with a data watch.
func (c *Client) GetW(ctx context.Context, path string) ([]byte, Stat, *Watch, error) {
	k := c.read(opGetData, KindGet, path, shapeDataStat, true)
	w := c.arming(k, armData)
	if err := c.do(ctx, k); err != nil {
		return nil, Stat{}, nil, err
	}
	data, st := k.data, k.stat
	k.free()
	return data, st, w, nil
}

// Exists reads the Stat.
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) {
	return c.exists(ctx, c.read(opExists, KindExists, path, shapeStat, false))
}

// ExistsW is Exists with a watch, also on a znode that is missing.
func (c *Client) ExistsW(ctx context.Context, path string) (Stat, bool, *Watch, error) {
	k := c.read(opExists, KindExists, path, shapeStat, true)
	w := c.arming(k, armExist)
	st, ok, err := c.exists(ctx, k)
	if err != nil {
		return Stat{}, false, nil, err
	}
	return st, ok, w, nil
}

func (c *Client) exists(ctx context.Context, k *call) (Stat, bool, error) {
	st, err := c.stat(ctx, k)
	if e, ok := err.(*Error); ok && e.Err == ErrNoNode {
		return Stat{}, false, nil
	}
	return st, err == nil, err
}

// Children lists the names of the children with the Stat of the parent. The slice is the caller's; the names in it share one
// piece of memory, so that one that is kept keeps them all, and strings.Clone parts with the rest.
func (c *Client) Children(ctx context.Context, path string) ([]string, Stat, error) {
	return c.children(ctx, c.read(opGetChildren2, KindChildren, path, shapeNamesStat, false))
}

// ChildrenW is Children with a child watch.
func (c *Client) ChildrenW(ctx context.Context, path string) ([]string, Stat, *Watch, error) {
	k := c.read(opGetChildren2, KindChildren, path, shapeNamesStat, true)
	w := c.arming(k, armChild)
	list, st, err := c.children(ctx, k)
	if err != nil {
		return nil, Stat{}, nil, err
	}
	return list, st, w, nil
}

func (c *Client) children(ctx context.Context, k *call) ([]string, Stat, error) {
	if err := c.do(ctx, k); err != nil {
		return nil, Stat{}, err
	}
	all, same, st := k.names, k.same, k.stat
	k.free()
	if same != nil {
		all = slices.Clone(same)
	}
	return all, st, nil
}
