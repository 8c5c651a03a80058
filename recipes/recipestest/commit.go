package recipestest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
)

// part runs one site's part in one transaction, from start to end.
func part(ctx context.Context, c recipes.Commit, proposes, commit bool) (bool, error) {
	if proposes {
		if err := c.Propose(ctx, []byte("payload of it")); err != nil {
			return false, err
		}
	} else if payload, err := c.Learn(ctx); err != nil || string(payload) != "payload of it" {
		return false, fmt.Errorf("Learn() = %q, %w", payload, err)
	}
	if err := c.Vote(ctx, commit); err != nil {
		return false, err
	}
	decision, err := c.Decide(ctx)
	if err != nil {
		return false, err
	}
	return decision, c.Finish(ctx)
}

// CommitOn tests that all sites of a two-phase commit decide the same, in a number of concurrent transactions of four sites, and that they leave nothing behind.
func CommitOn(t *testing.T, v recipes.Variant[recipes.Commit], dial Dial, dir string, transactions int) {
	const n = 4
	sessions := make([]zk.Session, n)
	for i := range sessions {
		sessions[i] = dial(t)
	}
	var all sync.WaitGroup
	for tx := range transactions {
		want := tx%3 != 1 // in every third, one site votes to abort
		for i, s := range sessions {
			all.Go(func() {
				c := v.New(s, fmt.Sprintf("%s/%d", dir, tx), recipes.Options{Members: n, Site: i + 1, Deadline: time.Minute})
				got, err := part(t.Context(), c, tx%n == i, want || i != (tx+1)%n)
				if err != nil || got != want {
					t.Errorf("transaction %d, site %d: decided %v, %v, want %v", tx, i+1, got, err, want)
				}
			})
		}
	}
	all.Wait()
	left, _, err := dial(t).Children(t.Context(), dir)
	bubble.OK(t, "Children()", err)
	if len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}
