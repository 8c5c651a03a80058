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

// lastID is the last of the 32-bit numbers that is given out. The remaining ones let every client find out before the sequence starts again.
const lastID = math.MaxUint32 - 1<<20

// versionIDs uses the version that an unconditional write gives a znode. A write whose reply was lost is repeated: at worst its number is lost. The
// version goes from 2^31-1 to -2^31 and is read as unsigned.
type versionIDs struct {
	s     zk.Session
	path  string
	o     recipes.Options
	czxid int64 // of the znode as it was first seen
	over  error // why no more numbers are given
}

// Next returns a number that no other client gets.
func (v *versionIDs) Next(ctx context.Context) (int64, error) {
	if v.over != nil {
		return 0, v.over
	}
	st, err := v.write(ctx)
	id := int64(uint32(st.Version))
	switch {
	case errors.Is(err, zk.ErrNoNode) && v.czxid != 0, err == nil && v.czxid != 0 && v.czxid != st.Czxid:
		err = recipes.ErrIDsRestarted
	case err == nil && (id > lastID || id == 0): // 0 follows the last version
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

// write returns once a write has been carried out. The znode is created if this handle has never seen it.
func (v *versionIDs) write(ctx context.Context) (st zk.Stat, err error) {
	var passes znode.Passes
	for {
		err = znode.Insist(ctx, func() (err error) { st, err = v.s.Set(ctx, v.path, nil, zk.AnyVersion); return })
		if !errors.Is(err, zk.ErrNoNode) || v.czxid != 0 {
			return st, err
		}
		if err = znode.MakeParents(ctx, v.s, v.path); err == nil {
			err = passes.Next(ctx, nil)
		}
		if err != nil {
			return st, err
		}
	}
}

// createdIDs uses a number of a znode that it creates. The znode is ephemeral, so that it is removed with the session at the latest; the directory is
// not a container, because a recreated directory counts from 0 again.
type createdIDs struct {
	s      zk.Session
	dir    string
	o      recipes.Options
	number func(ctx context.Context, g *createdIDs, c zk.Created) (int64, error)
	last   int64 // that was given
	over   error // why no more numbers are given
}

const idPrefix = "id-"

// Next returns a number that no other client gets.
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

// create creates a znode. Each attempt has its own guid: the znode of an attempt whose reply was lost is never used, and is removed in the background.
func (g *createdIDs) create(ctx context.Context) (c zk.Created, err error) {
	var passes znode.Passes
	var lost []string // guids
	defer func() {
		if len(lost) > 0 && !znode.SessionOver(err) {
			znode.Sweep(ctx, g.s, g.dir, lost...)
		}
	}()
	for {
		guid := znode.NewGUID()
		err = znode.Insist(ctx, func() (err error) {
			c, err = g.s.Create(ctx, g.dir+"/"+guid+"-"+idPrefix, nil, zk.EphemeralSequential)
			if znode.Doubtful(err) {
				lost, guid = append(lost, guid), znode.NewGUID()
			}
			return err
		})
		if !errors.Is(err, zk.ErrNoNode) {
			return c, err
		}
		if err = znode.MakeParents(ctx, g.s, g.dir); err == nil {
			err = passes.Next(ctx, nil)
		}
		if err != nil {
			return c, err
		}
	}
}

// numberOfName returns the number that the server has appended to the name, read as unsigned, starting from 1. If it is not above this handle's last one,
// the directory was recreated. It cannot know what other handles were given: before deleting the directory, make sure that nobody uses its numbers
// any more.
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

// czxidOf returns the transaction that created the znode.
func czxidOf(ctx context.Context, g *createdIDs, c zk.Created) (int64, error) {
	return zk.Token(ctx, g.s, c)
}
