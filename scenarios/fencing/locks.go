package fencing

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// Locks are the locks that can be played: zkbench's, and others whose names are none of zkbench's. The zero value is zkbench's alone.
type Locks struct {
	Own   []recipes.Variant[recipes.Lock]
	OwnRW []recipes.Variant[recipes.RWLock]
}

func (l Locks) all() []recipes.Variant[recipes.Lock] { return slices.Concat(lock.Variants(), l.Own) }

func (l Locks) allRW() []recipes.Variant[recipes.RWLock] {
	return slices.Concat(lock.RWVariants(), l.OwnRW)
}

// Variants are the locks that can be fenced: those whose grants carry a token. Of read/write locks it is the writers.
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

// Persistent reports whether a variant needs sessions that can keep a watch armed.
func (l Locks) Persistent(variant string) bool {
	v, _ := recipes.Find(l.all(), variant)
	return v.Persistent
}

// Znodes are the names of what the trials make: each has a directory of its own, with a lock, and a resource where that is a znode.
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

// find finds what makes handles of the lock of that name.
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
