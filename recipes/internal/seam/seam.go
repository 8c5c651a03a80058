package seam

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// CatchUp is what a wait at a barrier does before its first check. zk.ErrNoNode means that the barrier is not set.
type CatchUp func(ctx context.Context, s zk.Session, path string) error

// Order is the order in which locks are acquired together.
type Order func(names []string) []string

// Room is the directory of a generation of a barrier, below the barrier's own.
type Room func(generation int64) string

// Names defines how the items of a queue are named, and their order.
type Names struct {
	// Prefix returns what precedes the number that the server appends.
	Prefix func(recipes.Item) string
	// Parse parses a name; ok is false for a child that is not an item.
	Parse func(name string) (at Rank, ok bool)
	// Before is the order in which items are taken.
	Before func(a, b Rank) bool
}

// Rank is an item's place in the order of its queue.
type Rank struct {
	Name     string
	Due      int64 // in milliseconds since 1970
	Priority int32
	Seq      int32
}
