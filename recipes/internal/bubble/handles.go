package bubble

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Waiter is a lock's handle with its one acquisition.
type Waiter struct {
	*Attempt
	Lock    recipes.Lock
	Session zk.Session
}

// Wait starts an acquisition with a new handle.
func Wait(ctx context.Context, v recipes.Variant[recipes.Lock], s zk.Session, o recipes.Options) *Waiter {
	w := &Waiter{Lock: v.New(s, Dir, o), Session: s}
	w.Attempt = Begin(func() (recipes.Grant, error) { return w.Lock.Acquire(ctx) })
	return w
}

// Release fails the test when the lock cannot be released.
func Release(t *testing.T, w *Waiter) {
	t.Helper()
	if err := w.Lock.Release(t.Context()); err != nil {
		t.Errorf("Release() = %v", err)
	}
}

// Standing is a handle on an election and its latest campaign.
type Standing struct {
	*Attempt
	Election recipes.Election
	Session  *zktest.Session
	Term     recipes.Term
}

// Stand starts a campaign with a new handle.
func Stand(ctx context.Context, v recipes.Variant[recipes.Election], s *zktest.Session, o recipes.Options) *Standing {
	c := &Standing{Election: v.New(s, Dir, o), Session: s}
	c.Again(ctx)
	return c
}

// Again starts another campaign.
func (c *Standing) Again(ctx context.Context) {
	c.Attempt = Begin(func() (recipes.Grant, error) {
		term, err := c.Election.Campaign(ctx)
		if err == nil {
			c.Term = term
		}
		return recipes.Grant{Path: term.Path, Token: term.Token}, err
	})
}

// Leads fails the test unless this candidate leads.
func (c *Standing) Leads(t *testing.T, what string) {
	t.Helper()
	Expect(t, what, c, "holds")
}

// IsCandidate fails the test unless this one is still a candidate.
func (c *Standing) IsCandidate(t *testing.T, what string) {
	t.Helper()
	Expect(t, what, c, "waits")
}

// Resigns makes this candidate resign.
func (c *Standing) Resigns(t *testing.T) {
	t.Helper()
	OK(t, "Resign()", c.Election.Resign(t.Context()))
}

// IDs returns the members of a view as one string.
func IDs(v recipes.View) string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

// Taker is a handle on a semaphore and its one attempt.
type Taker struct {
	*Attempt
	Sem     recipes.Semaphore
	Session *zktest.Session
}

// Take starts an acquisition of n permits with a new handle.
func Take(ctx context.Context, v recipes.Variant[recipes.Semaphore], s *zktest.Session, n int, o recipes.Options) Taker {
	sem := v.New(s, Dir, o)
	return Taker{Begin(func() (recipes.Grant, error) {
		grants, err := sem.Acquire(ctx, n)
		if err != nil {
			return recipes.Grant{}, err
		}
		return grants[0], nil
	}), sem, s}
}

// Item returns an item with a number as its data.
func Item(n int) recipes.Item { return recipes.Item{Data: []byte(strconv.Itoa(n))} }

// Got fails the test unless a queue returned this item.
func Got(t *testing.T, what string, it recipes.Item, err error, want string) {
	t.Helper()
	if err != nil || string(it.Data) != want {
		t.Fatalf("%s = %q, %v, want %q", what, it.Data, err, want)
	}
}

// Poll is like Take, with a time limit: ErrEmpty if no item came in time.
func Poll(ctx context.Context, q recipes.Queue, timeout time.Duration) (recipes.Item, error) {
	brief, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	it, err := q.Take(brief)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && !errors.Is(err, recipes.ErrInDoubt) {
		return recipes.Item{}, recipes.ErrEmpty
	}
	return it, err
}
