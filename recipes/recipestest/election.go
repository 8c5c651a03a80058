package recipestest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
)

// ElectionOn tests that there is one leader at a time, that the terms have growing tokens, and that an observer follows the leaders: the variant's
// elections must also be Followers.
func ElectionOn(t *testing.T, v recipes.Variant[recipes.Election], dial Dial, dir string) {
	ctx := t.Context()
	t.Run("campaign, resign, campaign again", func(t *testing.T) {
		e := v.New(dial(t), dir, recipes.Options{ID: "alone"})
		if err := e.Resign(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Resign() of nothing = %v, want ErrNotHeld", err)
		}
		if _, err := e.Leader(ctx); !errors.Is(err, recipes.ErrNoLeader) {
			t.Errorf("Leader() of no candidate = %v, want ErrNoLeader", err)
		}
		last := int64(0)
		for range 3 {
			term, err := e.Campaign(ctx)
			bubble.OK(t, "Campaign()", err)
			if term.Token <= last {
				t.Errorf("token %d after %d, want it to grow", term.Token, last)
			}
			last = term.Token
			if l, err := e.Leader(ctx); err != nil || l != (recipes.Leader{ID: "alone", Path: term.Path, Token: term.Token}) {
				t.Errorf("Leader() = %+v, %v, want the one of term %+v", l, err, term)
			}
			if _, err := e.Campaign(ctx); !errors.Is(err, recipes.ErrHeld) {
				t.Errorf("Campaign() of the leader = %v, want ErrHeld", err)
			}
			bubble.OK(t, "Resign()", e.Resign(ctx))
			<-term.Lost
		}
	})
	t.Run("one leader at a time, with growing tokens", func(t *testing.T) {
		const candidates, rounds = 12, 4
		var leaders, token atomic.Int64
		var all sync.WaitGroup
		for range candidates {
			e := v.New(dial(t), dir, recipes.Options{})
			all.Go(func() {
				for range rounds {
					term, err := e.Campaign(ctx)
					if err != nil {
						t.Errorf("Campaign() = %v", err)
						return
					}
					if n := leaders.Add(1); n != 1 {
						t.Errorf("%d leaders at once", n)
					}
					if before := token.Swap(term.Token); before >= term.Token {
						t.Errorf("term %d after %d", term.Token, before)
					}
					leaders.Add(-1)
					if err := e.Resign(ctx); err != nil {
						t.Errorf("Resign() = %v", err)
					}
				}
			})
		}
		all.Wait()
	})
	t.Run("an observer follows the leaders", func(t *testing.T) {
		observer, follows := v.New(dial(t), dir, recipes.Options{}).(recipes.Follower)
		if !follows {
			t.Fatal("the handle is not a recipes.Follower")
		}
		first, second := v.New(dial(t), dir, recipes.Options{ID: "first"}), v.New(dial(t), dir, recipes.Options{ID: "second"})
		known := int64(0)
		follow := func(want string) {
			t.Helper()
			l, err := observer.Follow(ctx, known)
			if err != nil || l.ID != want {
				t.Fatalf("Follow() = %+v, %v, want %q", l, err, want)
			}
			known = l.Token
		}
		_, err := first.Campaign(ctx)
		bubble.OK(t, "Campaign()", err)
		follow("first")
		done := make(chan error)
		go func() {
			_, err := second.Campaign(ctx)
			done <- err
		}()
		bubble.OK(t, "Resign()", first.Resign(ctx))
		bubble.OK(t, "Campaign()", <-done)
		for l := (recipes.Leader{}); l.ID != "second"; known = l.Token { // there may have been no candidate between the two
			l, err = observer.Follow(ctx, known)
			bubble.OK(t, "Follow()", err)
		}
		bubble.OK(t, "Resign()", second.Resign(ctx))
		follow("")
	})
}
