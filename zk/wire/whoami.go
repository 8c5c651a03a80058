package wire

import (
	"context"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// WhoAmI asks the server for the identities that the session has proved on its current connection, including the client's address (scheme ip).
// Servers before ZooKeeper 3.7 do not know the request: ErrUnimplemented.
func (c *Client) WhoAmI(ctx context.Context) ([]zk.Identity, error) {
	k := newBare(jute.OpWhoAmI, zk.KindOther, shapeBody)
	k.again = true
	k.path = "whoAmI" // for errors
	if err := c.do(ctx, k); err != nil {
		return nil, err
	}
	all, err := parseIdentities([]byte(k.body))
	k.free()
	if err != nil {
		return nil, &zk.Error{Op: zk.KindOther, Err: err}
	}
	return all, nil
}

func parseIdentities(body []byte) (all []zk.Identity, err error) {
	d := jute.Decoder{B: body}
	for range d.Count(8) {
		all = append(all, zk.Identity{Scheme: d.String(), ID: d.String()})
	}
	return all, d.Err()
}
