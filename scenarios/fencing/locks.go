package fencing

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
	locks "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// Variants are the locks that can be fenced: those whose grants carry a token. Of read/write locks it is the writers.
func Variants() []string {
	var all []string
	for _, v := range locks.Variants() {
		if v.Tokens {
			all = append(all, v.Name)
		}
	}
	for _, v := range locks.RWVariants() {
		if v.Tokens {
			all = append(all, v.Name)
		}
	}
	return all
}

// Persistent reports whether a variant needs sessions that can keep a watch armed.
func Persistent(variant string) bool {
	v, _ := recipes.Find(locks.Variants(), variant)
	return v.Persistent
}

// Znodes are the names of what the trials make: each has a directory of its own, with a lock, and a resource where that is a znode.
func Znodes() recipes.Znodes {
	all := recipes.Znodes{Persistent: []string{`trial-[0-9-]+/(lock|resource)`}, Ephemeral: []string{`OBJECT/PROTECTED`}}
	for _, v := range locks.Variants() {
		all = all.And(v.Znodes)
	}
	for _, v := range locks.RWVariants() {
		all = all.And(v.Znodes)
	}
	return all.Of("lock")
}

// lock finds what makes handles of the lock of that name.
func lock(name string) (func(s zk.Session, path string) recipes.Lock, bool) {
	if v, ok := recipes.Find(locks.Variants(), name); ok {
		return func(s zk.Session, path string) recipes.Lock { return v.New(s, path, recipes.Options{}) }, true
	}
	if v, ok := recipes.Find(locks.RWVariants(), name); ok {
		return func(s zk.Session, path string) recipes.Lock { return writers{v.New(s, path, recipes.Options{})} }, true
	}
	return nil, false
}

// writers is the exclusive side of a read/write lock.
type writers struct{ recipes.RWLock }

func (w writers) Acquire(ctx context.Context) (recipes.Grant, error) { return w.AcquireWrite(ctx) }
