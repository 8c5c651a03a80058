package broken

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// word is a lock in the data of one znode. Its defect: between the read of 'free' and the write of 'held' somebody else may have
// written, and without the version the servers do not notice.
type word struct {
	s    zk.Session
	path string
	held bool
}

const busy = "held"

// Acquire is described at recipes.Lock, less the defect.
func (l *word) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.held {
		return recipes.Grant{}, recipes.ErrHeld
	}
	lease := l.s.Lease()
	for {
		data, _, w, err := l.s.GetW(ctx, l.path)
		if err != nil {
			return recipes.Grant{}, err
		}
		if string(data) != busy {
			w.Stop()
			st, err := l.s.Set(ctx, l.path, []byte(busy), zk.AnyVersion)
			l.held = err == nil
			return recipes.Grant{Path: l.path, Token: st.Mzxid, Lost: lease}, err
		}
		select {
		case e := <-w.C():
			if e.Err != nil {
				return recipes.Grant{}, e.Err
			}
		case <-ctx.Done():
			w.Stop()
			return recipes.Grant{}, ctx.Err()
		}
	}
}

// Release is described at recipes.Lock.
func (l *word) Release(ctx context.Context) error {
	if !l.held {
		return recipes.ErrNotHeld
	}
	l.held = false
	_, err := l.s.Set(ctx, l.path, nil, zk.AnyVersion)
	return err
}

// newestFirst has a queue like any other, and a znode 'holder' that only one can create; of the waiters only the newest tries.
// Exclusion rests on the holder's znode, the order is turned round.
type newestFirst struct {
	queue
	place string
}

func newNewestFirst(s zk.Session, path string) *newestFirst {
	return &newestFirst{queue: queue{s: s, dir: path, steps: right()}}
}

const holder = "holder"

// Acquire is described at recipes.Lock, less the defect.
func (l *newestFirst) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.held != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	place, err := l.create(ctx, &l.queue)
	if err != nil {
		return recipes.Grant{}, err
	}
	lease := l.s.Lease()
	c, err := l.waitToBeNewest(ctx, place.Path)
	if err != nil {
		l.remove(ctx, place.Path)
		return recipes.Grant{}, err
	}
	l.held, l.place = c.Path, place.Path
	token, err := zk.Token(ctx, l.s, c)
	return recipes.Grant{Path: c.Path, Token: token, Lost: lease}, err
}

func (l *newestFirst) waitToBeNewest(ctx context.Context, self string) (zk.Created, error) {
	for {
		children, _, w, err := l.s.ChildrenW(ctx, l.dir)
		if err != nil {
			return zk.Created{}, err
		}
		// In the turned order nobody is before the newest.
		newer, err := nearest(children, base(self), func(a, b int32) bool { return b-a < 0 })
		if err != nil {
			w.Stop()
			return zk.Created{}, err
		}
		if newer == "" {
			c, err := l.s.Create(ctx, l.dir+"/"+holder, nil, zk.Ephemeral)
			if !errors.Is(err, zk.ErrNodeExists) {
				w.Stop()
				return c, err
			}
		}
		select {
		case e := <-w.C():
			if e.Err != nil {
				return zk.Created{}, e.Err
			}
		case <-ctx.Done():
			w.Stop()
			return zk.Created{}, ctx.Err()
		}
	}
}

// Release is described at recipes.Lock. The place goes first: a holder is not in the queue any more when the next may come.
func (l *newestFirst) Release(ctx context.Context) error {
	if l.held == "" {
		return recipes.ErrNotHeld
	}
	err := errors.Join(l.remove(ctx, l.place), l.remove(ctx, l.held))
	l.held, l.place = "", ""
	return err
}
