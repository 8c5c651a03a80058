package fencing

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// Locks are the locks that can be played: zkbench's, and others with names of their own. The zero value has only zkbench's.
type Locks struct {
	Own   []recipes.Variant[recipes.Lock]
	OwnRW []recipes.Variant[recipes.RWLock]
}

func (l Locks) all() []recipes.Variant[recipes.Lock] { return slices.Concat(lock.Variants(), l.Own) }

func (l Locks) allRW() []recipes.Variant[recipes.RWLock] {
	return slices.Concat(lock.RWVariants(), l.OwnRW)
}

// Variants returns the locks that can be fenced: those whose grants carry a token. For read/write locks, writers are played.
func (l Locks) Variants() []string {
	var names []string
	for _, v := range l.all() {
		if v.Tokens {
			names = append(names, v.Name)
		}
	}
	for _, v := range l.allRW() {
		if v.Tokens {
			names = append(names, v.Name)
		}
	}
	return names
}

// Persistent reports whether a variant needs sessions that can keep a watch set.
func (l Locks) Persistent(variant string) bool {
	v, _ := recipes.Find(l.all(), variant)
	return v.Persistent
}

// Znodes returns the names of the znodes that the trials create: each has its own directory, with a lock, and a resource if that is a znode.
func (l Locks) Znodes() recipes.Znodes {
	names := recipes.Znodes{Persistent: []string{`trial-[0-9-]+/(lock|resource)`}, Ephemeral: []string{`OBJECT/PROTECTED`}}
	for _, v := range l.all() {
		names = names.And(v.Znodes)
	}
	for _, v := range l.allRW() {
		names = names.And(v.Znodes)
	}
	return names.Of("lock")
}

// find returns the constructor of handles for the lock with that name.
func (l Locks) find(name string) (func(s zk.Session, path string) recipes.Lock, bool) {
	if v, ok := recipes.Find(l.all(), name); ok {
		return func(s zk.Session, path string) recipes.Lock { return v.New(s, path, recipes.Options{}) }, true
	}
	if v, ok := recipes.Find(l.allRW(), name); ok {
		return func(s zk.Session, path string) recipes.Lock { return writers{v.New(s, path, recipes.Options{})} }, true
	}
	return nil, false
}

// writers is the exclusive side of a read/write lock.
type writers struct{ recipes.RWLock }

func (w writers) Acquire(ctx context.Context) (recipes.Grant, error) { return w.AcquireWrite(ctx) }
