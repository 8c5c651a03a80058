package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/zk"
)

// existsParent is the lock of article 001, section 4, read literally: make a sequential ephemeral znode, list the directory, hold if
// the own one is the lowest; if not, watch with exists() until it is. The only thing named that could be watched is the directory, and
// an exists watch tells of its creation, deletion and data, never of its children: who has to wait once waits for ever. Errors are
// not spoken of; here they end the acquisition and leave the znode.
type existsParent struct {
	s    zk.Session
	dir  string
	o    Options
	path string
}

// Acquire is described at Lock, less the fault above.
func (l *existsParent) Acquire(ctx context.Context) (Grant, error) {
	if l.path != "" {
		return Grant{}, ErrHeld
	}
	g, err := l.acquire(ctx)
	if err != nil {
		return Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	return g, nil
}

func (l *existsParent) acquire(ctx context.Context) (Grant, error) {
	c, err := l.s.Create(ctx, l.dir+"/lock-", nil, zk.EphemeralSequential)
	if errors.Is(err, zk.ErrNoNode) { // the article begins with a directory that is there
		if err = makeDirs(ctx, l.s, l.dir); err == nil {
			c, err = l.s.Create(ctx, l.dir+"/lock-", nil, zk.EphemeralSequential)
		}
	}
	if err != nil {
		return Grant{}, err
	}
	lease := l.s.Lease()
	l.o.pause(PauseCreated)
	for {
		names, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return Grant{}, err
		}
		if len(names) > 0 && slices.Min(names) == base(c.Path) {
			break
		}
		l.o.pause(PauseListed)
		_, _, w, err := l.s.ExistsW(ctx, l.dir)
		if err != nil {
			return Grant{}, err
		}
		if err := await(ctx, w); err != nil {
			return Grant{}, err
		}
		l.o.pause(PauseWoken)
	}
	l.path = c.Path
	l.o.pause(PauseGranted)
	return Grant{Path: c.Path, Token: c.Czxid, Lost: lease}, nil
}

// Release deletes the znode once.
func (l *existsParent) Release(ctx context.Context) error {
	if l.path == "" {
		return ErrNotHeld
	}
	err := l.s.Delete(ctx, l.path, zk.AnyVersion)
	l.path = ""
	return releaseError(l.dir, err)
}
