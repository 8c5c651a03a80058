package published

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// existsParent is the lock of 'Understanding ZooKeeper, continued', section 4, read literally: create a sequential ephemeral znode, list the directory, hold if
// the own one is the lowest; if not, watch with exists() until it is. The only znode mentioned that could be watched is the directory, and an exists watch
// reports its creation, deletion and data, never its children: a session that has to wait once waits forever. Errors are not mentioned; here they end the
// acquisition and leave the znode behind.
type existsParent struct {
	s    zk.Session
	dir  string
	o    recipes.Options
	path string
}

// Acquire waits for the lock, with the defect above.
func (l *existsParent) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.path != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	g, err := l.acquire(ctx)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	return g, nil
}

func (l *existsParent) acquire(ctx context.Context) (recipes.Grant, error) {
	c, err := l.s.Create(ctx, l.dir+"/lock-", nil, zk.EphemeralSequential)
	if errors.Is(err, zk.ErrNoNode) { // the article starts with an existing directory
		if err = znode.MakeDirs(ctx, l.s, l.dir); err == nil {
			c, err = l.s.Create(ctx, l.dir+"/lock-", nil, zk.EphemeralSequential)
		}
	}
	if err != nil {
		return recipes.Grant{}, err
	}
	lease := l.s.Lease()
	l.o.Pause(recipes.PauseCreated)
	for {
		names, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return recipes.Grant{}, err
		}
		if len(names) > 0 && slices.Min(names) == znode.Base(c.Path) {
			break
		}
		l.o.Pause(recipes.PauseListed)
		_, _, w, err := l.s.ExistsW(ctx, l.dir)
		if err != nil {
			return recipes.Grant{}, err
		}
		if err := znode.Await(ctx, w); err != nil {
			return recipes.Grant{}, err
		}
		l.o.Pause(recipes.PauseWoken)
	}
	l.path = c.Path
	l.o.Pause(recipes.PauseGranted)
	return recipes.Grant{Path: c.Path, Token: c.Czxid, Lost: lease}, nil
}

// Release deletes the znode once.
func (l *existsParent) Release(ctx context.Context) error {
	if l.path == "" {
		return recipes.ErrNotHeld
	}
	err := l.s.Delete(ctx, l.path, zk.AnyVersion)
	l.path = ""
	return znode.ReleaseError(l.dir, err)
}
