package published

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// NewDZone creates dzone-lock with its own name: several locks can share a base path, as the article claims.
func NewDZone(s zk.Session, base, name string, o recipes.Options) recipes.Lock {
	return &dzone{s: s, base: base, name: name, o: o}
}

// dzone is the DistributedLock of DZone's 'Distributed Lock using Zookeeper'. A lock has a base path, which contains the znodes, and a name, with which
// theirs begin. Its defects:
//
//   - the list of the base path is not filtered: locks of different names wait for each other, and for any child that sorts first;
//   - a znode holds when its path ends with the name of the first child, and a child such as '2' makes that true of many;
//   - names are compared as text, so that after the wrap of the counter the newest holds;
//   - an error or an interrupt after the create leaves the znode behind; a create whose reply was lost is an error too;
//   - it never notices that its own znode is missing while others are listed;
//   - a second Acquire forgets the znode of the first and waits for it.
type dzone struct {
	s          zk.Session
	base, name string
	o          recipes.Options
	path       string // of the last create, granted or not
}

var errNothingListed = errors.New("nothing is listed where the own znode should be") // an index error in the article's code

// Acquire waits for the lock, with the defects above.
func (l *dzone) Acquire(ctx context.Context) (recipes.Grant, error) {
	g, err := l.acquire(ctx)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s/%s: %w", l.base, l.name, err)
	}
	return g, nil
}

func (l *dzone) acquire(ctx context.Context) (recipes.Grant, error) {
	c, err := l.s.Create(ctx, l.base+"/"+l.name, nil, zk.EphemeralSequential)
	if errors.Is(err, zk.ErrNoNode) { // the article starts with an existing base path
		if err = znode.MakeDirs(ctx, l.s, l.base); err == nil {
			c, err = l.s.Create(ctx, l.base+"/"+l.name, nil, zk.EphemeralSequential)
		}
	}
	if err != nil {
		return recipes.Grant{}, err
	}
	l.path = c.Path
	lease := l.s.Lease()
	l.o.Pause(recipes.PauseCreated)
	for {
		names, _, w, err := l.s.ChildrenW(ctx, l.base)
		if err != nil {
			return recipes.Grant{}, err
		}
		if len(names) == 0 {
			return recipes.Grant{}, errNothingListed
		}
		slices.Sort(names)
		if strings.HasSuffix(l.path, names[0]) {
			break // the watch stays armed
		}
		l.o.Pause(recipes.PauseListed)
		if err := znode.Await(ctx, w); err != nil {
			return recipes.Grant{}, err
		}
		l.o.Pause(recipes.PauseWoken)
	}
	l.o.Pause(recipes.PauseGranted)
	return recipes.Grant{Path: c.Path, Token: c.Czxid, Lost: lease}, nil
}

// Release deletes the znode once; if that fails the handle keeps its path, and Release may be called again.
func (l *dzone) Release(ctx context.Context) error {
	if l.path == "" {
		return recipes.ErrNotHeld
	}
	if err := l.s.Delete(ctx, l.path, zk.AnyVersion); err != nil {
		return znode.ReleaseError(l.base+"/"+l.name, err)
	}
	l.path = ""
	return nil
}
