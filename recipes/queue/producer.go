package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// producer puts items into a directory: the side of a queue that all variants share.
type producer struct {
	s     zk.Session
	dir   string
	names seam.Names
	o     recipes.Options

	marker  string // of exact puts; "" if there is none
	version int32  // of the marker, as this handle left it
}

// Put puts an item, and waits for room in a bounded queue.
func (p *producer) Put(ctx context.Context, it recipes.Item) (recipes.Item, error) {
	return p.offer(ctx, "put into", it, true)
}

// Offer puts an item if there is room.
func (p *producer) Offer(ctx context.Context, it recipes.Item) (recipes.Item, error) {
	return p.offer(ctx, "offer to", it, false)
}

func (p *producer) offer(ctx context.Context, verb string, it recipes.Item, wait bool) (recipes.Item, error) {
	err := p.room(ctx, wait)
	if err == nil {
		var c zk.Created
		if p.o.Exact {
			c, err = p.once(ctx, it)
		} else {
			c, err = p.atLeastOnce(ctx, it)
		}
		it.Path, it.Czxid = c.Path, c.Czxid
	}
	if err != nil {
		return recipes.Item{}, fmt.Errorf("%s %s: %w", verb, p.dir, err)
	}
	return it, nil
}

// room returns when a bounded queue has room. The bound is soft: producers that check concurrently all find the last place, so there may be as many
// extra items as there are other producers. It costs one short read, and a list each time that a waiting producer is woken.
func (p *producer) room(ctx context.Context, wait bool) error {
	if p.o.MaxItems <= 0 {
		return nil
	}
	for {
		st, _, err := p.s.Exists(ctx, p.dir) // a missing directory contains nothing
		if err != nil || int(st.NumChildren) < p.o.MaxItems {
			return err
		}
		if !wait {
			return recipes.ErrFull
		}
		_, st, w, err := p.s.ChildrenW(ctx, p.dir)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil:
			return err
		case int(st.NumChildren) < p.o.MaxItems: // what the watch was armed with is newer than what was checked
			w.Stop()
			return nil
		}
		p.o.Pause(recipes.PauseListed)
		if err := znode.Await(ctx, w); err != nil {
			return err
		}
		p.o.Pause(recipes.PauseWoken)
	}
}

// mode says how long an item lives. The recipe page's items are ephemeral and are lost with their producer.
func (p *producer) mode() zk.Mode {
	if p.o.EphemeralItems {
		return zk.EphemeralSequential
	}
	return zk.PersistentSequential
}

// atLeastOnce puts the item again if the reply was lost: it may then be there twice.
//
// A name with a guid, by which ephemeral znodes are found again after a lost reply, does not help here: an item that is not found may have been put
// and taken already.
func (p *producer) atLeastOnce(ctx context.Context, it recipes.Item) (zk.Created, error) {
	var doubt error
	var passes znode.Passes
	for try := 1; ; try++ {
		c, err := p.s.Create(ctx, p.dir+"/"+p.names.Prefix(it), it.Data, p.mode())
		class := zk.Classify(err)
		if znode.Doubtful(err) {
			doubt = err
		}
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, zk.ErrNoNode):
			if err = znode.MakeParents(ctx, p.s, p.dir); err == nil {
				err = passes.Next(ctx, nil)
			}
		case class == zk.ClassMaybeApplied, class == zk.ClassThrottled, class == zk.ClassNotSent:
			if err = ctx.Err(); err == nil {
				err = znode.Sleep(ctx, znode.Backoff(try))
			}
		}
		switch {
		case err == nil:
			if class == zk.ClassMaybeApplied {
				p.o.PutAgain()
			}
		case doubt != nil:
			return zk.Created{}, &recipes.InDoubtError{Item: it, Cause: errors.Join(doubt, err)}
		default:
			return zk.Created{}, err
		}
	}
}

// once puts the item exactly once, in one transaction that increments the version of the producer's own marker: an attempt whose reply was lost has
// been carried out if and only if the version is no longer the expected one, whether or not the item has been taken since. The marker is ephemeral,
// so that after the loss of the session the put is in doubt.
func (p *producer) once(ctx context.Context, it recipes.Item) (zk.Created, error) {
	var doubt error
	var passes znode.Passes
	for try := 1; ; try++ {
		c, err := p.step(ctx, it)
		class := zk.Classify(err)
		if p.marker != "" && znode.Doubtful(err) {
			doubt = err
		}
		switch {
		case err == nil, errors.Is(err, zk.ErrBadVersion) && doubt != nil: // an earlier attempt was carried out
			p.version++
			return c, nil
		case doubt == nil && (errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion)): // queue or marker do not exist
			p.forget(ctx)
			if err = znode.MakeParents(ctx, p.s, p.dir); err == nil {
				err = passes.Next(ctx, nil)
			}
		case class == zk.ClassMaybeApplied, class == zk.ClassThrottled, class == zk.ClassNotSent:
			if err = ctx.Err(); err == nil {
				err = znode.Sleep(ctx, znode.Backoff(try))
			}
		}
		switch {
		case err == nil:
		case doubt != nil:
			p.forget(ctx)
			return zk.Created{}, &recipes.InDoubtError{Item: it, Cause: errors.Join(doubt, err)}
		default:
			return zk.Created{}, err
		}
	}
}

// step makes one attempt of once.
func (p *producer) step(ctx context.Context, it recipes.Item) (zk.Created, error) {
	if err := p.mark(ctx); err != nil {
		return zk.Created{}, err
	}
	results, err := p.s.Multi(ctx, zk.SetOp(p.marker, nil, p.version), zk.CreateOp(p.dir+"/"+p.names.Prefix(it), it.Data, p.mode()))
	if err != nil {
		return zk.Created{}, err
	}
	return zk.Created{Path: results[1].Path, Czxid: results[1].Stat.Czxid}, nil
}

// mark creates the producer's marker. It is next to the queue and not in it, where it would count as an item.
func (p *producer) mark(ctx context.Context) error {
	if p.marker != "" {
		return nil
	}
	path, doubt := p.dir+"-producers/"+znode.NewGUID(), false
	var passes znode.Passes
	for try := 1; ; try++ {
		_, err := p.s.Create(ctx, path, nil, zk.Ephemeral)
		class := zk.Classify(err)
		doubt = doubt || znode.Doubtful(err)
		switch {
		case err == nil, doubt && errors.Is(err, zk.ErrNodeExists):
			p.marker, p.version = path, 0
			return nil
		case ctx.Err() != nil:
		case errors.Is(err, zk.ErrNoNode):
			if err = znode.MakeDirs(ctx, p.s, znode.Parent(path)); err == nil {
				err = passes.Next(ctx, nil)
			}
		case class == zk.ClassMaybeApplied, class == zk.ClassThrottled, class == zk.ClassNotSent:
			err = znode.Sleep(ctx, znode.Backoff(try))
		}
		if err != nil {
			if doubt && !znode.SessionOver(err) {
				p.s.Go(func() { znode.Remove(context.WithoutCancel(ctx), p.s, path) })
			}
			return err
		}
	}
}

// forget removes a marker whose version is no longer known. Its deletion also stops an attempt that is still in flight.
func (p *producer) forget(ctx context.Context) {
	if p.marker != "" {
		marker := p.marker
		p.s.Go(func() { znode.Remove(context.WithoutCancel(ctx), p.s, marker) })
	}
	p.marker = ""
}
