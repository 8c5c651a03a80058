package zk

import (
	"context"
	"fmt"
)

// Multi carries out all ops or none.
func (c *Client) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	k := newBare(opMulti, KindMulti, shapeBody)
	if len(ops) > 0 {
		k.path = ops[0].Path
	}
	for _, op := range ops {
		if err := checkOp(op); err != nil {
			k.path = op.Path
			return nil, discard(k, err)
		}
		k.req = c.putOp(k.req, op)
	}
	k.req = putMultiHeader(k.req, opError, true)
	return c.results(ctx, k, ops)
}

func putMultiHeader(b []byte, op opcode, done bool) []byte {
	return putInt32(putBool(putInt32(b, int32(op)), done), -1)
}

func checkOp(op Op) error {
	switch op.Kind {
	case KindCreate:
		return checkCreate(op.Path, op.Mode)
	case KindCheck, KindDelete, KindSet:
		return checkPath(op.Path)
	}
	return fmt.Errorf("a multi cannot %v: %w", op.Kind, ErrBadArguments)
}

func (c *Client) putOp(b []byte, op Op) []byte {
	switch op.Kind {
	case KindCheck:
		b = putPath(putMultiHeader(b, opCheck, false), c.root, op.Path)
		return putInt32(b, op.Version)
	case KindDelete:
		b = putPath(putMultiHeader(b, opDelete, false), c.root, op.Path)
		return putInt32(b, op.Version)
	case KindSet:
		b = putPath(putMultiHeader(b, opSetData, false), c.root, op.Path)
		return putInt32(putBuffer(b, op.Data), op.Version)
	}
	code := opCreate2
	if op.Mode == Container {
		code = opCreateContainer
	}
	b = putPath(putMultiHeader(b, code, false), c.root, op.Path)
	return putInt32(append(putBuffer(b, op.Data), c.acl...), int32(op.Mode))
}

// results sends a multi. The czxid of what it created is the zxid of its reply, because servers leave the Stat out. A refused one comes as a reply whose header is 0 and whose results are errors, or (from some
// servers) as one with an error in the header.
func (c *Client) results(ctx context.Context, k *call, ops []Op) ([]OpResult, error) {
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
		return nil, &Error{KindMulti, path, lost{err}}
	case failed >= 0:
		return res, &Error{KindMulti, ops[failed].Path, res[failed].Err}
	case code != 0:
		return res, &Error{KindMulti, path, FromCode(code)}
	}
	for i := range res {
		if r := &res[i]; ops[i].Kind == KindCreate {
			r.Path = c.outside(r.Path)
			r.Stat.Czxid = zxid
		}
	}
	return res, nil
}

// parseMulti reads the results of n operations and finds the one that failed, -1 for none. The others of a failed multi carry
// ErrRolledBack, or nil for the ones before the failure.
func parseMulti(body []byte, n int) (res []OpResult, failed int, err error) {
	d := decoder{b: body}
	failed = -1
	for {
		op, done := opcode(d.int32()), d.bool()
		d.int32() // the error, which the body of an error repeats
		if d.bad {
			return nil, failed, errProtocol
		}
		if done {
			break
		}
		var r OpResult
		switch op {
		case opError:
			if code := d.int32(); code != 0 {
				r.Err = FromCode(code)
			}
			if r.Err != nil && r.Err != ErrRolledBack && failed < 0 {
				failed = len(res)
			}
		case opCreate: // what servers make of a create2 in a multi
			r.Path = d.string()
		case opCreate2, opCreateContainer, opCreateTTL:
			r.Path = d.string()
			d.stat(&r.Stat)
		case opSetData:
			d.stat(&r.Stat)
		case opDelete, opCheck:
		default:
			return nil, failed, errProtocol
		}
		if res = append(res, r); d.bad || len(res) > n {
			return nil, failed, errProtocol
		}
	}
	if len(res) != n {
		return nil, failed, errProtocol
	}
	return res, failed, nil
}
