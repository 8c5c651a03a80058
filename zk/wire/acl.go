package wire

import (
	"context"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// GetACL reads the ACL of a znode.
func (c *Client) GetACL(ctx context.Context, path string) ([]ACL, zk.Stat, error) {
	k := newCall(jute.OpGetACL, zk.KindOther, path, shapeBody)
	k.req = putPath(k.req, c.root, path)
	k.again = true
	if err := c.do(ctx, k); err != nil {
		return nil, zk.Stat{}, err
	}
	d := jute.Decoder{B: []byte(k.body)}
	k.free()
	var acl []ACL
	for range d.Count(12) {
		acl = append(acl, ACL{Perm(d.Int32()), d.String(), d.String()})
	}
	var st zk.Stat
	takeStat(&d, &st)
	if d.Bad {
		return nil, zk.Stat{}, &zk.Error{Op: zk.KindOther, Path: path, Err: jute.ErrProtocol}
	}
	return acl, st, nil
}

// SetACL replaces the ACL of a znode whose ACL version (Stat.Aversion) matches; AnyVersion matches every version.
func (c *Client) SetACL(ctx context.Context, path string, acl []ACL, version int32) (zk.Stat, error) {
	k := newCall(jute.OpSetACL, zk.KindOther, path, shapeStat)
	k.req = jute.AppendInt32(putACL(putPath(k.req, c.root, path), acl), version)
	return c.stat(ctx, k)
}
