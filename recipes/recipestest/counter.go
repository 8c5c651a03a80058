package recipestest

import (
	"slices"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
)

// CounterOn tests that each addition of several clients is counted once.
func CounterOn(t *testing.T, v recipes.Variant[recipes.Counter], dial Dial, path string) {
	const clients, rounds = 4, 6
	ctx := t.Context()
	var mu sync.Mutex
	var values []int64
	var all sync.WaitGroup
	for range clients {
		c := v.New(dial(t), path, recipes.Options{})
		all.Go(func() {
			last := int64(0)
			for range rounds {
				n, err := c.Add(ctx, 1)
				if err != nil || n.Value <= last || n.Attempts < 1 || n.Token == 0 && n.Value > 1 { // not every engine's create reports it
					t.Errorf("Add() after %d = %+v, %v; want more, with a token", last, n, err)
					return
				}
				last = n.Value
				mu.Lock()
				values = append(values, n.Value)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(values)
	for i, n := range values {
		if n != int64(i+1) {
			t.Fatalf("the values in order are %v, want each from 1 to %d once", values, clients*rounds)
		}
	}
	s := dial(t)
	bubble.OK(t, "CatchUp()", zk.CatchUp(ctx, s, path))
	c := v.New(s, path, recipes.Options{})
	if n, err := c.Value(ctx); n != clients*rounds || err != nil {
		t.Errorf("Value() = %d, %v, want %d", n, err, clients*rounds)
	}
	if n, err := c.Add(ctx, -100); n.Value != clients*rounds-100 || err != nil {
		t.Errorf("Add(-100) = %+v, %v, want %d", n, err, clients*rounds-100)
	}
}

// IDsOn tests that no id is given twice, that each client's ids grow, and that they leave no znode behind.
func IDsOn(t *testing.T, v recipes.Variant[recipes.IDs], dial Dial, path string) {
	const clients, rounds = 4, 6
	var mu sync.Mutex
	given := map[int64]bool{}
	var all sync.WaitGroup
	for range clients {
		g := v.New(dial(t), path, recipes.Options{})
		all.Go(func() {
			last := int64(0)
			for range rounds {
				id, err := g.Next(t.Context())
				mu.Lock()
				if err != nil || id <= last || given[id] {
					t.Errorf("Next() after %d = %d, %v, given before: %v", last, id, err, given[id])
				}
				given[id] = true
				mu.Unlock()
				last = id
			}
		})
	}
	all.Wait()
	if len(given) != clients*rounds {
		t.Errorf("%d ids, want %d", len(given), clients*rounds)
	}
	names, _, err := dial(t).Children(t.Context(), path)
	if err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}
