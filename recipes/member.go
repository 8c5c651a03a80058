package recipes

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/zkbench/zkbench/zk"
)

// Join is described at Group.
func (g *group) Join(ctx context.Context, id string, data []byte) (Grant, error) {
	if g.held.Path != "" {
		return Grant{}, ErrHeld
	}
	grant, err := g.join(ctx, g.dir+"/"+url.QueryEscape(id), data)
	if err != nil {
		return Grant{}, fmt.Errorf("join %s as %s: %w", g.dir, id, err)
	}
	return grant, nil
}

func (g *group) join(ctx context.Context, path string, data []byte) (Grant, error) {
	if g.busy != nil {
		select {
		case <-g.busy:
		case <-ctx.Done():
			return Grant{}, ctx.Err()
		}
	}
	if !g.read {
		data = nil
	}
	lease := g.s.Lease()
	c, made, err := g.create(ctx, path, data)
	if err == nil {
		g.o.pause(PauseCreated)
		var grant Grant
		if grant, err = g.grant(ctx, c, lease); err == nil {
			return grant, nil
		}
	}
	if made && !over(err) {
		g.o.janitor(path)
		g.background(ctx, func(ctx context.Context) error { return g.withdraw(ctx, path) })
	}
	return Grant{}, revoked(err)
}

// create makes the znode of the id. It may be ours only if a create of this very call was carried out and its reply lost; that somebody
// has the id never means that we have joined, not even when the data are ours: the znode of an earlier session goes with that session
// (CURATOR-498, -604, -696). made tells that a znode of ours may be there, also beside an error.
func (g *group) create(ctx context.Context, path string, data []byte) (own zk.Created, made bool, err error) {
	for try := 1; ; try++ {
		c, err := g.s.Create(ctx, path, data, zk.Ephemeral)
		class := zk.Classify(err)
		made = made || class == zk.ClassMaybeApplied
		switch {
		case err == nil:
			return c, true, nil
		case errors.Is(err, zk.ErrNodeExists):
			if c, err = g.outlast(ctx, path, made); c.Path != "" {
				return c, true, nil
			}
			try = 0
		case errors.Is(err, zk.ErrNoNode):
			err = makeParents(ctx, g.s, g.dir)
		case ctx.Err() == nil && (class == zk.ClassMaybeApplied || class == zk.ClassThrottled || class == zk.ClassNotSent):
			g.o.retry("create", class)
			err = pause(ctx, backoff(try))
		}
		if err != nil {
			return zk.Created{}, made, err
		}
	}
}

// outlast waits for the end of whoever has the id, or finds that it is this very call. Nobody is removed: no request deletes the znode of
// one owner and spares that of the next. What it waits for may have gone before the watch is armed.
func (g *group) outlast(ctx context.Context, path string, made bool) (zk.Created, error) {
	st, there, w, err := g.s.ExistsW(ctx, path)
	switch {
	case err != nil:
		return zk.Created{}, err
	case there && made && st.EphemeralOwner == g.s.ID():
		w.Stop()
		return zk.Created{Path: path, Czxid: st.Czxid}, nil
	case !there:
		w.Stop()
		return zk.Created{}, nil
	}
	g.o.pause(PauseArmed)
	err = await(ctx, w)
	g.o.pause(PauseWoken)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: 0x%x: %w", ErrIDTaken, st.EphemeralOwner, err)
	}
	return zk.Created{}, err
}

// withdraw removes the znode of an attempt that was given up, if it is there and ours.
func (g *group) withdraw(ctx context.Context, path string) error {
	if err := catchUp(ctx, g.s, path); err != nil {
		return err
	}
	var st zk.Stat
	err := insist(ctx, func() (err error) { st, _, err = g.s.Exists(ctx, path); return })
	if err != nil || st.EphemeralOwner != g.s.ID() {
		return err
	}
	return removeOwn(ctx, g.s, zk.Created{Path: path, Czxid: st.Czxid}, g.o)
}

// background carries something out to its end, whatever becomes of ctx. The channel gives its error.
func (g *group) background(ctx context.Context, do func(context.Context) error) <-chan error {
	done, busy := make(chan error, 1), make(chan struct{})
	g.busy = busy
	go func() {
		defer close(busy)
		done <- do(context.WithoutCancel(ctx))
	}()
	return done
}

// Leave is described at Group.
func (g *group) Leave(ctx context.Context) error {
	if g.held.Path == "" {
		return ErrNotHeld
	}
	own := g.held
	g.held, g.own = zk.Created{}, nil
	var err error
	select {
	case err = <-g.background(ctx, func(ctx context.Context) error { return removeOwn(ctx, g.s, own, g.o) }):
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), zk.Classify(err) == zk.ClassSessionGone:
		err = fmt.Errorf("%w: %w", ErrMemberLost, err)
	}
	return fmt.Errorf("leave %s: %w", g.dir, err)
}
