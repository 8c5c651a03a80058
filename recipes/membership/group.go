package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// group is a directory of ephemeral znodes. It is not a container: it must exist for its observers even while it is empty.
type group struct {
	znode.Place
	read  bool          // a view includes data
	busy  chan struct{} // closed when no earlier membership is being ended in the background; nil if none is
	seen  recipes.View  // the last view listed
	armed *zk.Watch     // fires at the next change; nil if there is none
}

// View reads the group.
func (g *group) View(ctx context.Context) (recipes.View, error) {
	names, st, err := g.Session.Children(ctx, g.Dir)
	if errors.Is(err, zk.ErrNoNode) {
		return recipes.View{}, nil
	}
	v, err := g.describe(ctx, names, st, err)
	if err != nil {
		return recipes.View{}, fmt.Errorf("view %s: %w", g.Dir, err)
	}
	return v, nil
}

// Watch waits for a later view.
func (g *group) Watch(ctx context.Context, token int64) (recipes.View, error) {
	var passes znode.Passes
	for caughtUp := false; ; {
		err := g.look(ctx)
		switch {
		case err != nil:
		case g.seen.Token > token:
			return g.seen, nil
		case g.seen.Token == token:
			armed := g.armed
			g.armed = nil
			g.Options.Pause(recipes.PauseArmed)
			err = znode.Await(ctx, armed)
			g.Options.Pause(recipes.PauseWoken)
		case caughtUp:
			err = recipes.ErrTokenUnknown
		default: // this session's server is behind what another one has shown
			g.Stop()
			caughtUp, err = true, znode.CatchUp(ctx, g.Session, g.Dir)
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrWatchLost) {
			return recipes.View{}, fmt.Errorf("watch %s: %w", g.Dir, err)
		}
		if errors.Is(err, zk.ErrNoNode) {
			if err := passes.Next(ctx, nil); err != nil {
				return recipes.View{}, fmt.Errorf("watch %s: %w", g.Dir, err)
			}
		}
	}
}

// look lists the group and arms the watch on it, unless the armed one shows that the last list is still current. The event that it takes may stand
// for several changes; the list shows them all.
func (g *group) look(ctx context.Context) error {
	if g.armed != nil {
		select {
		case <-g.armed.C():
		default:
			return nil
		}
	}
	g.armed = nil
	names, st, w, err := g.Session.ChildrenW(ctx, g.Dir)
	if errors.Is(err, zk.ErrNoNode) {
		return cmp.Or(znode.MakeParents(ctx, g.Session, g.Dir), err) // the next look finds it
	}
	v, err := g.describe(ctx, names, st, err)
	if err != nil {
		if w != nil {
			w.Stop()
		}
		return err
	}
	g.seen, g.armed = v, w
	return nil
}

// describe makes a view from a list. Its members are those of the list whatever has happened to them since: leaving one out because its znode was
// deleted before it was read would make a view that the group never had.
func (g *group) describe(ctx context.Context, names []string, st zk.Stat, err error) (recipes.View, error) {
	if err != nil {
		return recipes.View{}, err
	}
	v := recipes.View{Token: st.Pzxid}
	for _, name := range names {
		id, err := url.QueryUnescape(name)
		if err != nil {
			g.Options.Foreign(name)
			continue
		}
		m := recipes.Member{ID: id}
		if g.read {
			data, own, err := g.Session.Get(ctx, g.Dir+"/"+name)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return recipes.View{}, err
			}
			if err == nil && own.Czxid <= st.Pzxid {
				m.Data, m.Token = data, own.Czxid
			}
		}
		v.Members = append(v.Members, m)
	}
	slices.SortFunc(v.Members, func(a, b recipes.Member) int { return strings.Compare(a.ID, b.ID) })
	return v, nil
}

// Stop takes the watch off the servers.
func (g *group) Stop() {
	if g.armed != nil {
		g.armed.Stop()
	}
	g.armed = nil
}
