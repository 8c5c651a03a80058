package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// Multi carries out all ops or none.
func (c *Client) Multi(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
	old := c.near.old.Load()
	res, err := c.multi(ctx, ops, old)
	if err == nil || old || !errors.Is(err, zk.ErrFailed) || !hasOlderForm(ops) {
		return res, err
	}
	plain, again := c.multi(ctx, ops, true) // the server cannot read the request: perhaps because of create2
	switch {
	case errors.Is(again, zk.ErrFailed):
		return res, err
	case zk.Classify(again) <= zk.ClassDefiniteNo:
		c.near.old.Store(true)
	}
	return plain, again
}

// hasOlderForm reports whether a transaction is written differently for old servers, which can read that.
func hasOlderForm(ops []zk.Op) bool {
	creates := func(op zk.Op) bool { return op.Kind == zk.KindCreate }
	return slices.ContainsFunc(ops, creates) && !slices.ContainsFunc(ops, func(op zk.Op) bool { return creates(op) && op.Mode == zk.Container })
}

// multi sends a transaction, for old servers or for newer ones.
func (c *Client) multi(ctx context.Context, ops []zk.Op, old bool) ([]zk.OpResult, error) {
	k := newBare(jute.OpMulti, zk.KindMulti, shapeBody)
	if len(ops) > 0 {
		k.path = ops[0].Path
	}
	for _, op := range ops {
		err := checkOp(op)
		if err == nil && old && op.Kind == zk.KindCreate && op.Mode == zk.Container {
			err = zk.ErrUnimplemented
		}
		if err != nil {
			k.path = op.Path
			return nil, discard(k, err)
		}
		k.req = c.putOp(k.req, op, old)
	}
	k.req = putMultiHeader(k.req, jute.OpError, true)
	return c.results(ctx, k, ops)
}

func putMultiHeader(b []byte, op jute.Op, done bool) []byte {
	return jute.AppendInt32(jute.AppendBool(jute.AppendInt32(b, int32(op)), done), -1)
}

func checkOp(op zk.Op) error {
	switch op.Kind {
	case zk.KindCreate:
		return zk.CheckCreate(op.Path, op.Mode)
	case zk.KindCheck, zk.KindDelete, zk.KindSet:
		return zk.CheckPath(op.Path)
	}
	return fmt.Errorf("a multi cannot %v: %w", op.Kind, zk.ErrBadArguments)
}

func (c *Client) putOp(b []byte, op zk.Op, old bool) []byte {
	switch op.Kind {
	case zk.KindCheck:
		b = putPath(putMultiHeader(b, jute.OpCheck, false), c.root, op.Path)
		return jute.AppendInt32(b, op.Version)
	case zk.KindDelete:
		b = putPath(putMultiHeader(b, jute.OpDelete, false), c.root, op.Path)
		return jute.AppendInt32(b, op.Version)
	case zk.KindSet:
		b = putPath(putMultiHeader(b, jute.OpSetData, false), c.root, op.Path)
		return jute.AppendInt32(jute.AppendBuffer(b, op.Data), op.Version)
	}
	code, _ := createOp(op.Mode, old)
	b = putPath(putMultiHeader(b, code, false), c.root, op.Path)
	return jute.AppendInt32(append(jute.AppendBuffer(b, op.Data), c.acl...), int32(op.Mode))
}

// results sends a multi. The czxid of the znodes that it created is the zxid of the reply, because servers leave the Stat out. A failed multi is
// answered either by a reply whose header has error 0 and whose results are errors, or (by some servers) by one with the error in the header.
func (c *Client) results(ctx context.Context, k *call, ops []zk.Op) ([]zk.OpResult, error) {
	err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	body, path := []byte(k.body), k.path
	code, zxid := k.code, k.zxid
	k.free()
	res, failed, err := parseMulti(body, len(ops))
	switch {
	case err != nil:
		return nil, &zk.Error{Op: zk.KindMulti, Path: path, Err: lost{err}}
	case failed >= 0:
		return res, &zk.Error{Op: zk.KindMulti, Path: ops[failed].Path, Err: res[failed].Err}
	case code != 0:
		return res, &zk.Error{Op: zk.KindMulti, Path: path, Err: zk.FromCode(code)}
	}
	for i := range res {
		if r := &res[i]; ops[i].Kind == zk.KindCreate {
			r.Path = c.outside(r.Path)
			r.Stat.Czxid = zxid
		}
	}
	return res, nil
}

// parseMulti decodes the results of n operations and finds the one that failed, -1 if none did. The other results of a failed multi carry
// ErrRolledBack, or nil if they precede the failure.
func parseMulti(body []byte, n int) (res []zk.OpResult, failed int, err error) {
	d := jute.Decoder{B: body}
	failed = -1
	for {
		op, done := jute.Op(d.Int32()), d.Bool()
		d.Int32() // the error, which the body of an error result repeats
		if d.Bad {
			return nil, failed, jute.ErrProtocol
		}
		if done {
			break
		}
		var r zk.OpResult
		switch op {
		case jute.OpError:
			if code := d.Int32(); code != 0 {
				r.Err = zk.FromCode(code)
			}
			if r.Err != nil && r.Err != zk.ErrRolledBack && failed < 0 {
				failed = len(res)
			}
		case jute.OpCreate: // servers answer a create2 in a multi like this
			r.Path = d.String()
		case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
			r.Path = d.String()
			takeStat(&d, &r.Stat)
		case jute.OpSetData:
			takeStat(&d, &r.Stat)
		case jute.OpDelete, jute.OpCheck:
		default:
			return nil, failed, jute.ErrProtocol
		}
		if res = append(res, r); len(res) > n {
			return nil, failed, jute.ErrProtocol
		}
	}
	if len(res) != n {
		return nil, failed, jute.ErrProtocol
	}
	return res, failed, nil
}
