package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// variant is the entry in the catalogue. By Znodes zkbench recognizes the znodes when it removes those of a run.
var variant = recipes.Variant[recipes.Lock]{
	Name: "yours", Doc: "ephemeral sequential znodes, each waits for the one before it", Source: "docs/your-own-recipe.md",
	FIFO: true, Tokens: true, Wakes: recipes.WakesOne, Znodes: recipes.Znodes{Ephemeral: []string{`OBJECT/[A-Z2-7]{26}-SEQ`}},
	New: func(s zk.Session, path string, o recipes.Options) recipes.Lock { return &yours{s: s, dir: path} },
}

// yours is a queue of ephemeral sequential znodes, each of which waits for the one before it.
type yours struct {
	s    zk.Session
	dir  string
	held string // the znode of the grant
}

func (l *yours) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.held != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	id := rand.Text() // identifies the znode if the reply to its create is lost
	own, err := l.join(ctx, id)
	if err == nil {
		var lease <-chan struct{}
		if lease, err = l.wait(ctx, own.Path); err == nil {
			l.held = own.Path
			return recipes.Grant{Path: own.Path, Token: own.Czxid, Lost: lease}, nil
		}
	}
	l.s.Go(func() { l.leave(id) })
	return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
}

// join creates the znode.
func (l *yours) join(ctx context.Context, id string) (own zk.Created, err error) {
	for {
		own, err = l.s.Create(ctx, l.dir+"/"+id+"-", nil, zk.EphemeralSequential)
		if errors.Is(err, zk.ErrMaybeApplied) && ctx.Err() == nil { // does it exist?
			var names []string
			if names, _, err = l.s.Children(ctx, l.dir); err == nil {
				own = zk.Created{Path: find(l.dir, names, id)}
				if own.Path == "" {
					continue
				}
			}
		}
		if errors.Is(err, zk.ErrNoNode) {
			if err = l.makeDir(ctx); err == nil {
				continue
			}
		}
		if err == nil {
			own.Czxid, err = zk.Token(ctx, l.s, own)
		}
		return own, err
	}
}

func (l *yours) makeDir(ctx context.Context) error {
	for i, c := range l.dir + "/" {
		if c != '/' || i == 0 {
			continue
		}
		_, err := l.s.Create(ctx, l.dir[:i], nil, zk.Persistent)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) && (ctx.Err() != nil || !errors.Is(err, zk.ErrMaybeApplied)) {
			return err
		}
	}
	return nil
}

// wait returns when nobody is ahead, with the lease under which it saw that.
func (l *yours) wait(ctx context.Context, own string) (lease <-chan struct{}, err error) {
	for {
		lease = l.s.Lease() // before the list, so that a later loss is not missed
		names, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return nil, err
		}
		if find(l.dir, names, own[len(l.dir)+1:]) == "" {
			return nil, recipes.ErrRevoked
		}
		before := predecessor(names, own)
		if before == "" && l.s.Lease() == lease {
			return lease, nil
		} else if before == "" {
			continue // the lease has ended in the meantime: list again under the next one
		}
		_, _, w, err := l.s.GetW(ctx, l.dir+"/"+before)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		} else if err != nil {
			return nil, err
		}
		select {
		case <-w.C():
		case <-ctx.Done():
			w.Stop()
			return nil, ctx.Err()
		}
	}
}

func (l *yours) Release(ctx context.Context) error {
	if l.held == "" {
		return recipes.ErrNotHeld
	}
	held := l.held
	l.held = ""
	for again := false; ; again = true {
		err := l.s.Delete(ctx, held, zk.AnyVersion)
		switch {
		case err == nil, again && errors.Is(err, zk.ErrNoNode): // the previous attempt was applied
			return nil
		case errors.Is(err, zk.ErrMaybeApplied) && ctx.Err() == nil:
			continue
		case errors.Is(err, zk.ErrNoNode), l.s.Err() != nil:
			return errors.Join(recipes.ErrLockLost, err)
		}
		l.s.Go(func() { l.leave(held[len(l.dir)+1:]) })
		return fmt.Errorf("release %s: %w", l.dir, err)
	}
}

// leave removes what an acquisition left, while the session lives.
func (l *yours) leave(name string) {
	ctx := context.Background()
	for {
		names, _, err := l.s.Children(ctx, l.dir)
		if own := find(l.dir, names, name); own != "" {
			err = l.s.Delete(ctx, own, zk.AnyVersion)
		}
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return
		}
		select {
		case <-l.s.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// find returns the path of the child whose name starts with prefix, or "" if there is none.
func find(dir string, names []string, prefix string) string {
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			return dir + "/" + n
		}
	}
	return ""
}

// predecessor returns the last child before our own. Numbers wrap around, so the sign of the difference orders them.
func predecessor(names []string, own string) (before string) {
	ours, _ := number(own)
	nearest := int32(0)
	for _, n := range names {
		if theirs, ok := number(n); ok && theirs-ours < 0 && (before == "" || theirs-ours > nearest) {
			before, nearest = n, theirs-ours
		}
	}
	return before
}

func number(name string) (int32, bool) {
	_, digits, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "-")
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil
}
