package published

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// goZookeeper carries out the algorithm of Lock in github.com/go-zookeeper/zk v1.0.4 over any session, so that it is measured like the others. It
// behaves like the library's lock, including its defects:
//
//   - its own znode counts as the lowest if it is not listed, so a waiter whose znode was deleted holds together with the holder;
//   - every error after the create leaves the znode behind, where it blocks all others for as long as the session lives;
//   - a child whose name it cannot parse is an error, not ignored;
//   - numbers are compared as integers, so that after the wrap of the counter the newest holds;
//   - a lock whose release found no znode stays held forever (the library's ErrDeadlock).
//
// The library's calls have no context. Here the end of a context ends the wait, as when an application abandons it, and the znode stays as it
// does there. The tests run the lock of the library itself as well.
type goZookeeper struct {
	s    zk.Session
	dir  string
	o    recipes.Options
	path string
}

// libraryTries is how often the library attempts a create whose reply was lost, and a create whose parents are missing.
const libraryTries = 3

// Acquire waits for the lock, with the defects above.
func (l *goZookeeper) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.path != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	g, err := l.acquire(ctx)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	return g, nil
}

func (l *goZookeeper) acquire(ctx context.Context) (recipes.Grant, error) {
	c, err := l.createWithParents(ctx)
	if err != nil {
		return recipes.Grant{}, err
	}
	own, err := libraryNumber(c.Path)
	if err != nil {
		return recipes.Grant{}, err
	}
	lease := l.s.Lease()
	l.o.Pause(recipes.PauseCreated)
	var passes znode.Passes
	for {
		children, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return recipes.Grant{}, err
		}
		ahead, err := libraryPosition(children, own)
		if err != nil {
			return recipes.Grant{}, err
		}
		if ahead == "" {
			break
		}
		l.o.Pause(recipes.PauseListed)
		_, _, w, err := l.s.GetW(ctx, l.dir+"/"+ahead)
		if errors.Is(err, zk.ErrNoNode) {
			if err = passes.Next(ctx, ahead); err == nil {
				continue
			}
		}
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
	// The library has no token. The czxid is used if the create returned it, and is not requested otherwise: the read would be a request that the
	// library does not make, and would hide its first defect.
	return recipes.Grant{Path: c.Path, Token: c.Czxid, Lost: lease}, nil
}

func (l *goZookeeper) createWithParents(ctx context.Context) (c zk.Created, err error) {
	for range libraryTries {
		c, err = l.create(ctx)
		if !errors.Is(err, zk.ErrNoNode) {
			return c, err
		}
		path := ""
		for _, part := range strings.Split(l.dir, "/")[1:] {
			path += "/" + part
			_, there, err := l.s.Exists(ctx, path)
			if err == nil && !there {
				_, err = l.s.Create(ctx, path, nil, zk.Persistent)
			}
			if err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return c, err
			}
		}
	}
	return c, err
}

// create is the library's protected create: after a lost reply it searches by guid, without a sync and without checking the owner of what it finds.
func (l *goZookeeper) create(ctx context.Context) (c zk.Created, err error) {
	guid := znode.NewGUID()
	for range libraryTries {
		c, err = l.s.Create(ctx, l.dir+"/"+znode.Prefix(recipes.LayoutGoZookeeper, guid), nil, zk.EphemeralSequential)
		if ctx.Err() != nil || zk.Classify(err) != zk.ClassMaybeApplied {
			return c, err
		}
		children, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return c, err
		}
		for _, name := range children {
			if strings.HasPrefix(name, "_c_"+guid) {
				return zk.Created{Path: l.dir + "/" + name}, nil
			}
		}
	}
	return c, err
}

// libraryNumber reads the number as the library does: what follows the last 'lock-', or the last '__'.
func libraryNumber(name string) (int, error) {
	parts := strings.Split(name, "lock-")
	if len(parts) == 1 {
		parts = strings.Split(name, "__")
	}
	return strconv.Atoi(parts[len(parts)-1])
}

func libraryPosition(children []string, own int) (ahead string, err error) {
	nearest := -1
	lowest := own
	for _, c := range children {
		n, err := libraryNumber(c)
		if err != nil {
			return "", err
		}
		lowest = min(lowest, n)
		if n < own && n > nearest {
			nearest, ahead = n, c
		}
	}
	if lowest == own {
		return "", nil
	}
	return ahead, nil
}

// Release gives the lock up, with the defects above: one delete, and the handle stays held if it fails.
func (l *goZookeeper) Release(ctx context.Context) error {
	if l.path == "" {
		return recipes.ErrNotHeld
	}
	if err := l.s.Delete(ctx, l.path, zk.AnyVersion); err != nil {
		return znode.ReleaseError(l.dir, err)
	}
	l.path = ""
	return nil
}
