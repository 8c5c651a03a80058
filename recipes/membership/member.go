package membership

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Join makes this client a member.
func (g *group) Join(ctx context.Context, id string, data []byte) (recipes.Grant, error) {
	if g.Held.Path != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	grant, err := g.join(ctx, g.Dir+"/"+url.QueryEscape(id), data)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("join %s as %s: %w", g.Dir, id, err)
	}
	return grant, nil
}

func (g *group) join(ctx context.Context, path string, data []byte) (recipes.Grant, error) {
	if g.busy != nil {
		select {
		case <-g.busy:
		case <-ctx.Done():
			return recipes.Grant{}, ctx.Err()
		}
	}
	if !g.read {
		data = nil
	}
	c, made, err := g.create(ctx, path, data)
	if err == nil {
		g.Options.Pause(recipes.PauseCreated)
		var grant recipes.Grant
		if grant, err = g.Settle(ctx, c, func(context.Context, string) error { return nil }); err == nil {
			return grant, nil
		}
	}
	if made && !znode.SessionOver(err) {
		g.background(ctx, func(ctx context.Context) error { return g.withdraw(ctx, path) })
	}
	return recipes.Grant{}, znode.Revoked(err)
}

// create creates the znode of the id. An existing one may be ours only if a create of this very call was carried out and its reply lost; otherwise
// an existing znode never means that we have joined, not even if the data are ours: the znode of an earlier session is removed with that session
// (CURATOR-498, -604, -696). made says that a znode of ours may exist, even together with an error.
func (g *group) create(ctx context.Context, path string, data []byte) (own zk.Created, made bool, err error) {
	var passes znode.Passes
	for try := 1; ; try++ {
		c, err := g.Session.Create(ctx, path, data, zk.Ephemeral)
		class := zk.Classify(err)
		made = made || class == zk.ClassMaybeApplied
		switch {
		case err == nil:
			return c, true, nil
		case errors.Is(err, zk.ErrNodeExists):
			if c, err = g.outlast(ctx, path, made); c.Path != "" {
				return c, true, nil
			}
			if err == nil {
				err = passes.Next(ctx, c.Czxid)
			}
			try = 0
		case errors.Is(err, zk.ErrNoNode):
			if err = znode.MakeParents(ctx, g.Session, g.Dir); err == nil {
				err = passes.Next(ctx, nil)
			}
		case ctx.Err() == nil && (class == zk.ClassMaybeApplied || class == zk.ClassThrottled || class == zk.ClassNotSent):
			err = znode.Sleep(ctx, znode.Backoff(try))
		}
		if err != nil {
			return zk.Created{}, made, err
		}
	}
}

// outlast waits for the end of the session that has the id, or finds that the znode is this very call's. It removes nobody: no request deletes the
// znode of one owner and spares that of the next. The znode may be gone before the watch is armed. If the returned Path is empty, Czxid is that of
// the znode that it waited for.
func (g *group) outlast(ctx context.Context, path string, made bool) (zk.Created, error) {
	st, there, w, err := g.Session.ExistsW(ctx, path)
	switch {
	case err != nil:
		return zk.Created{}, err
	case there && made && st.EphemeralOwner == g.Session.ID():
		w.Stop()
		return zk.Created{Path: path, Czxid: st.Czxid}, nil
	case !there:
		w.Stop()
		return zk.Created{}, nil
	}
	g.Options.Pause(recipes.PauseArmed)
	err = znode.Await(ctx, w)
	g.Options.Pause(recipes.PauseWoken)
	switch {
	case err == nil:
		g.Options.Vacated()
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: 0x%x: %w", recipes.ErrIDTaken, st.EphemeralOwner, err)
	}
	return zk.Created{Czxid: st.Czxid}, err
}

// withdraw removes the znode of an abandoned attempt, if it exists and is ours.
func (g *group) withdraw(ctx context.Context, path string) error {
	if err := znode.CatchUp(ctx, g.Session, path); err != nil {
		return err
	}
	var st zk.Stat
	err := znode.Insist(ctx, func() (err error) { st, _, err = g.Session.Exists(ctx, path); return })
	if err != nil || st.EphemeralOwner != g.Session.ID() {
		return err
	}
	return znode.RemoveOwn(ctx, g.Session, zk.Created{Path: path, Czxid: st.Czxid})
}

// background runs do to its end even if ctx ends. The channel yields its error.
func (g *group) background(ctx context.Context, do func(context.Context) error) <-chan error {
	done, busy := make(chan error, 1), make(chan struct{})
	g.busy = busy
	g.Session.Go(func() {
		defer close(busy)
		done <- do(context.WithoutCancel(ctx))
	})
	return done
}

// Leave ends the membership.
func (g *group) Leave(ctx context.Context) error {
	if g.Held.Path == "" {
		return recipes.ErrNotHeld
	}
	own := g.Held
	g.Held, g.Own = zk.Created{}, nil
	var err error
	select {
	case err = <-g.background(ctx, func(ctx context.Context) error { return znode.RemoveOwn(ctx, g.Session, own) }):
	case <-ctx.Done():
		err = ctx.Err()
	}
	return znode.EndError("leave", g.Dir, recipes.ErrMemberLost, err)
}
