package drivers

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Lock is the catalogue's entry, of that name, for the exclusive lock of a driver.
func Lock(name string) recipes.Variant[recipes.Lock] {
	return recipes.Variant[recipes.Lock]{Name: name, Source: "a driver: docs/drivers.md", Doc: "the lock of a program that is not zkbench's", New: NewLock}
}

// NewLock is a handle on the lock at a path, of a session that a driver holds.
func NewLock(s zk.Session, path string, _ recipes.Options) recipes.Lock {
	return &lock{s: sessionOf(s), path: path}
}

// sessionOf looks through Observe and Within; nil for a session of another kind.
func sessionOf(s zk.Session) *Session {
	for {
		switch of := s.(type) {
		case *Session:
			return of
		case interface{ Unwrap() zk.Session }:
			s = of.Unwrap()
		default:
			return nil
		}
	}
}

var errNoDriver = errors.New("the session is not one of a driver")

type lock struct {
	s    *Session
	path string
	held bool
}

func (l *lock) Acquire(ctx context.Context) (recipes.Grant, error) {
	switch {
	case l.s == nil:
		return recipes.Grant{}, errNoDriver
	case l.held:
		return recipes.Grant{}, recipes.ErrHeld
	}
	r := Request{Op: OpAcquire, Path: l.path}
	if deadline, limited := ctx.Deadline(); limited {
		r.DeadlineMS = max(time.Until(deadline).Milliseconds(), 1)
	}
	lost := l.s.Lease() // what is suspended during the acquisition makes the grant doubtful
	reply, err := l.s.ask(ctx, r)
	if err != nil {
		return recipes.Grant{}, err
	}
	if closed(lost) {
		lost = l.s.Lease()
	}
	l.held = true
	return recipes.Grant{Path: reply.Node, Token: reply.Token, Lost: lost}, nil
}

// Try takes a lock of NewLock if it is free; false: it is not. The driver has to know of tries.
func Try(ctx context.Context, of recipes.Lock) (recipes.Grant, bool, error) {
	l := of.(*lock)
	if l.held {
		return recipes.Grant{}, false, recipes.ErrHeld
	}
	lost := l.s.Lease()
	reply, err := l.s.ask(ctx, Request{Op: OpTry, Path: l.path})
	switch {
	case errors.Is(err, errTaken):
		return recipes.Grant{}, false, nil
	case err != nil:
		return recipes.Grant{}, false, err
	}
	l.held = true
	return recipes.Grant{Path: reply.Node, Token: reply.Token, Lost: lost}, true, nil
}

func (l *lock) Release(ctx context.Context) error {
	if !l.held {
		return recipes.ErrNotHeld
	}
	l.held = false
	_, err := l.s.ask(ctx, Request{Op: OpRelease, Path: l.path})
	return err
}
