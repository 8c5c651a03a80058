package counter

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// lastID is the last that is given of numbers with 32 bits. Those that are left let every client find out before they begin again.
const lastID = math.MaxUint32 - 1<<20

// versionIDs takes the version that a write without a condition gives a znode. A write whose reply was lost is made again: its number
// may be lost, and nothing else. The version goes from 2^31-1 to -2^31 and is read without its sign.
type versionIDs struct {
	s     zk.Session
	path  string
	o     recipes.Options
	czxid int64 // of the znode as it was first seen
	over  error // that no more numbers are given, and why
}

// Next gives a number that nobody else gets.
func (v *versionIDs) Next(ctx context.Context) (int64, error) {
	if v.over != nil {
		return 0, v.over
	}
	st, err := v.write(ctx)
	id := int64(uint32(st.Version))
	switch {
	case errors.Is(err, zk.ErrNoNode) && v.czxid != 0, err == nil && v.czxid != 0 && v.czxid != st.Czxid:
		err = recipes.ErrIDsRestarted
	case err == nil && (id > lastID || id == 0): // 0 is what follows the last version
		err = recipes.ErrIDsExhausted
	case err == nil:
		v.czxid = st.Czxid
		return id, nil
	}
	err = fmt.Errorf("next id of %s: %w", v.path, err)
	if errors.Is(err, recipes.ErrIDsRestarted) || errors.Is(err, recipes.ErrIDsExhausted) {
		v.over = err
	}
	return 0, err
}

// write is a write that was carried out. The znode is made if this handle has never seen it.
func (v *versionIDs) write(ctx context.Context) (st zk.Stat, err error) {
	for {
		err = znode.Insist(ctx, func() (err error) { st, err = v.s.Set(ctx, v.path, nil, zk.AnyVersion); return })
		if !errors.Is(err, zk.ErrNoNode) || v.czxid != 0 {
			return st, err
		}
		if err = znode.MakeParents(ctx, v.s, v.path); err != nil {
			return st, err
		}
	}
}

// createdIDs takes a number of a znode that it makes. The znode is ephemeral, so that it goes with the session at the latest;
// the directory is no container, because a directory that is recreated counts from 0 again.
type createdIDs struct {
	s      zk.Session
	dir    string
	o      recipes.Options
	number func(ctx context.Context, g *createdIDs, c zk.Created) (int64, error)
	last   int64 // that was given
	over   error // that no more numbers are given, and why
}

const idPrefix = "id-"

// Next gives a number that nobody else gets.
func (g *createdIDs) Next(ctx context.Context) (int64, error) {
	if g.over != nil {
		return 0, g.over
	}
	var id int64
	c, err := g.create(ctx)
	if err == nil {
		id, err = g.number(ctx, g, c)
		znode.Remove(ctx, g.s, c.Path)
	}
	if err == nil {
		return id, nil
	}
	err = fmt.Errorf("next id of %s: %w", g.dir, err)
	if errors.Is(err, recipes.ErrIDsRestarted) || errors.Is(err, recipes.ErrIDsExhausted) {
		g.over = err
	}
	return 0, err
}

// create makes a znode. Each try has a guid of its own: what a reply that was lost tells of is never used, and goes in the background.
func (g *createdIDs) create(ctx context.Context) (c zk.Created, err error) {
	for {
		guid := znode.NewGUID()
		err = znode.Insist(ctx, func() (err error) {
			c, err = g.s.Create(ctx, g.dir+"/"+guid+"-"+idPrefix, nil, zk.EphemeralSequential)
			if znode.Doubtful(err) && !znode.SessionOver(err) {
				znode.Sweep(ctx, g.s, g.dir, guid)
				guid = znode.NewGUID()
			}
			return err
		})
		if !errors.Is(err, zk.ErrNoNode) {
			return c, err
		}
		if err = znode.MakeParents(ctx, g.s, g.dir); err != nil {
			return c, err
		}
	}
}

// numberOfName is the number that the server has put to the name, read without its sign, from 1 on. One that is not
// above this handle's last tells that the directory was recreated. It cannot know what another handle was given before: whoever
// deletes the directory has to know that nobody uses its numbers any more.
func numberOfName(_ context.Context, g *createdIDs, c zk.Created) (int64, error) {
	seq, ok := znode.Parse(znode.Base(c.Path), []string{idPrefix})
	id := int64(uint32(seq)) + 1
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: %w", c.Path, znode.ErrNotListed)
	case id <= g.last:
		return 0, recipes.ErrIDsRestarted
	case id > lastID:
		return 0, recipes.ErrIDsExhausted
	}
	g.last = id
	return id, nil
}

// czxidOf is the transaction that made the znode.
func czxidOf(ctx context.Context, g *createdIDs, c zk.Created) (int64, error) {
	return zk.Token(ctx, g.s, c)
}
