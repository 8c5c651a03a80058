package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Finish notes that this site has carried out the decision. Each acknowledgement is one transaction that also rewrites the data of the transaction's
// znode unchanged, so that its version counts acknowledgements: the one that makes it the number of sites is the last, even if several arrive
// simultaneously, and removes everything, without anybody waiting for it. A site in doubt has not acknowledged, so what it asks for still exists.
func (c *site) Finish(ctx context.Context) error {
	c.unwatch()
	if c.o.Site == 0 {
		return nil
	}
	if err := c.finish(ctx); err != nil {
		return fmt.Errorf("finish %s: %w", c.path, err)
	}
	return nil
}

func (c *site) finish(ctx context.Context) (err error) {
	if c.data == nil {
		if c.data, err = c.read(ctx, c.path); err != nil {
			return gone(err)
		}
	}
	acknowledged, err := c.acknowledge(ctx)
	if errors.Is(err, errRemoved) {
		return nil
	}
	if err != nil {
		return gone(err)
	}
	if c.o.Alive {
		if err := znode.RemoveOwn(ctx, c.s, zk.Created{Path: c.alive(c.o.Site)}); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	c.o.Pause(recipes.PauseFinished)
	if acknowledged < c.members {
		return nil
	}
	return c.clear(ctx)
}

// errRemoved: the acknowledgement whose reply was lost was not the last one, and the last one has removed everything.
var errRemoved = errors.New("removed meanwhile")

// acknowledge notes that this site has carried out the decision, and returns how many sites have: a lower bound if the reply was lost.
func (c *site) acknowledge(ctx context.Context) (acknowledged int, err error) {
	var results []zk.OpResult
	doubt := false
	err = c.write(ctx, &doubt, func() (err error) {
		results, err = c.s.Multi(ctx, zk.CreateOp(c.ack(c.o.Site), nil, zk.Persistent), zk.SetOp(c.path, c.data, zk.AnyVersion))
		return err
	})
	switch {
	case err == nil:
		return int(results[1].Stat.Version), nil
	case errors.Is(err, zk.ErrNoNode) && doubt:
		return 0, errRemoved
	case !errors.Is(err, zk.ErrNodeExists):
		return 0, err
	}
	var st zk.Stat
	err = znode.Insist(ctx, func() (err error) { _, st, err = c.s.Get(ctx, c.path); return })
	return int(st.Version), err
}

// clear removes the transaction, if all sites have acknowledged.
func (c *site) clear(ctx context.Context) error {
	var passes znode.Passes
	for {
		var names []string
		var st zk.Stat
		err := znode.Insist(ctx, func() (err error) { names, st, err = c.s.Children(ctx, c.path); return })
		if errors.Is(err, zk.ErrNoNode) {
			return nil // by an earlier request whose reply was lost, or by another site whose acknowledgement's reply was
		}
		if err != nil || acks(names) < c.members { // somebody who does not follow this recipe has written to the data
			return err
		}
		var ops []zk.Op
		for _, name := range names {
			ops = append(ops, zk.DeleteOp(c.path+"/"+name, zk.AnyVersion))
		}
		err = znode.Insist(ctx, func() error { return znode.ErrorOf(c.s.Multi(ctx, append(ops, zk.DeleteOp(c.path, zk.AnyVersion))...)) })
		switch {
		case errors.Is(err, zk.ErrNoNode) && !c.o.Alive:
			return nil // removed: nothing else deletes it
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotEmpty): // a site's alive znode has come or gone: list again
			if err := passes.Next(ctx, st.Pzxid); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func acks(names []string) (n int) {
	for _, name := range names {
		if strings.HasPrefix(name, "ack_") {
			n++
		}
	}
	return n
}
