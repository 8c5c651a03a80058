package zk

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The requests of this file are beyond Session: recipes do not need them.

const (
	modeTTL           Mode = 5
	modeTTLSequential Mode = 6
	maxTTL                 = 1<<40 - 1 // milliseconds
)

// CreateTTL makes a persistent znode, sequential if asked for, that the servers remove when it has had no child and no change
// for ttl. Servers refuse it with ErrUnimplemented unless zookeeper.extendedTypesEnabled is set.
func (c *Client) CreateTTL(ctx context.Context, path string, data []byte, sequential bool, ttl time.Duration) (Created, error) {
	mode := modeTTL
	if sequential {
		mode = modeTTLSequential
	}
	k := newCall(opCreateTTL, KindCreate, path, shapePathStat)
	if ms := ttl.Milliseconds(); ms <= 0 || ms > maxTTL {
		return Created{}, discard(k, fmt.Errorf("a time to live of %v: %w", ttl, ErrBadArguments))
	}
	k.req = append(putBuffer(putPath(k.req, c.root, path), data), c.acl...)
	k.req = putInt64(putInt32(k.req, int32(mode)), ttl.Milliseconds())
	return c.created(ctx, k)
}

// AllChildrenNumber counts the znodes below path, at every depth (servers from 3.6 on).
func (c *Client) AllChildrenNumber(ctx context.Context, path string) (int, error) {
	k := newCall(opAllChildren, KindOther, path, shapeBody)
	k.req = putPath(k.req, c.root, path)
	k.again = true
	if err := c.do(ctx, k); err != nil {
		return 0, err
	}
	d := decoder{b: []byte(k.body)}
	k.free()
	n := int(d.int32())
	if d.bad {
		return 0, &Error{KindOther, path, errProtocol}
	}
	return n, nil
}

// GetACL reads the ACL of a znode.
func (c *Client) GetACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	k := newCall(opGetACL, KindOther, path, shapeBody)
	k.req = putPath(k.req, c.root, path)
	k.again = true
	if err := c.do(ctx, k); err != nil {
		return nil, Stat{}, err
	}
	d := decoder{b: []byte(k.body)}
	k.free()
	var acl []ACL
	for range d.count(12) {
		acl = append(acl, ACL{Perm(d.int32()), d.string(), d.string()})
	}
	var st Stat
	d.stat(&st)
	if d.bad {
		return nil, Stat{}, &Error{KindOther, path, errProtocol}
	}
	return acl, st, nil
}

// SetACL replaces the ACL of a znode whose ACL version (Stat.Aversion) is the given one; AnyVersion for any.
func (c *Client) SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error) {
	k := newCall(opSetACL, KindOther, path, shapeStat)
	k.req = putInt32(putACL(putPath(k.req, c.root, path), acl), version)
	return c.stat(ctx, k)
}

// Watched says which watches CheckWatches asks for.
type Watched int32

// The kinds of watch that a server tells apart.
const (
	WatchedChildren Watched = 1
	WatchedData     Watched = 2
	WatchedAny      Watched = 3
)

// CheckWatches reports whether the server holds a watch of this session on path (servers from 3.6 on).
func (c *Client) CheckWatches(ctx context.Context, path string, which Watched) (bool, error) {
	k := newCall(opCheckWatches, KindOther, path, shapeNone)
	k.req = putInt32(putPath(k.req, c.root, path), int32(which))
	k.again = true
	err := c.plain(ctx, k)
	if errors.Is(err, ErrNoWatcher) {
		return false, nil
	}
	return err == nil, err
}

// ReadOp is one operation of a MultiRead.
type ReadOp struct {
	Kind Kind // KindGet or KindChildren
	Path string
}

// ReadResult is the outcome of one ReadOp.
type ReadResult struct {
	Data  []byte   // of a get
	Stat  Stat     // of a get
	Names []string // of a list
	Err   error
}

// MultiRead makes several reads in one request (servers from 3.6 on). Unlike the operations of a Multi they succeed and fail
// each for itself, and writes of others may come between them.
func (c *Client) MultiRead(ctx context.Context, ops ...ReadOp) ([]ReadResult, error) {
	k := newBare(opMultiRead, KindOther, shapeBody)
	k.again = true
	for _, op := range ops {
		err := checkPath(op.Path)
		code := opGetData
		switch op.Kind {
		case KindGet:
		case KindChildren:
			code = opGetChildren
		default:
			err = fmt.Errorf("a multi-read cannot %v: %w", op.Kind, ErrBadArguments)
		}
		if err != nil {
			k.path = op.Path
			return nil, discard(k, err)
		}
		k.req = putBool(putPath(putMultiHeader(k.req, code, false), c.root, op.Path), false)
	}
	k.req = putMultiHeader(k.req, opError, true)
	if err := c.do(ctx, k); err != nil {
		return nil, err
	}
	body := []byte(k.body)
	k.free()
	res, err := parseMultiRead(body, len(ops))
	if err != nil {
		return nil, &Error{Op: KindOther, Err: err}
	}
	return res, nil
}

func parseMultiRead(body []byte, n int) (res []ReadResult, err error) {
	d := decoder{b: body}
	for {
		op, done := opcode(d.int32()), d.bool()
		d.int32()
		if done || d.bad || len(res) == n {
			break
		}
		var r ReadResult
		switch op {
		case opError:
			r.Err = FromCode(d.int32())
		case opGetData:
			r.Data = d.buffer()
			d.stat(&r.Stat)
		case opGetChildren:
			for range d.count(4) {
				r.Names = append(r.Names, d.string())
			}
		default:
			return nil, errProtocol
		}
		res = append(res, r)
	}
	if d.bad || len(res) != n {
		return nil, errProtocol
	}
	return res, nil
}
