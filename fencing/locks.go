package fencing

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Variants are the locks that can be fenced: those whose grants carry a token. Of read/write locks it is the writers.
func Variants() []string {
	var all []string
	for _, v := range recipes.Locks {
		if v.Tokens {
			all = append(all, v.Name)
		}
	}
	for _, v := range recipes.RWLocks {
		if v.Tokens {
			all = append(all, v.Name)
		}
	}
	return all
}

// Persistent reports whether a variant needs sessions that can keep a watch armed.
func Persistent(variant string) bool {
	v, _ := recipes.Find(recipes.Locks, variant)
	return v.Persistent
}

// lock finds what makes handles of the lock of that name.
func lock(name string) (func(s zk.Session, path string) recipes.Lock, bool) {
	if v, ok := recipes.Find(recipes.Locks, name); ok {
		return func(s zk.Session, path string) recipes.Lock { return v.New(s, path, recipes.Options{}) }, true
	}
	if v, ok := recipes.Find(recipes.RWLocks, name); ok {
		return func(s zk.Session, path string) recipes.Lock { return writers{v.New(s, path, recipes.Options{})} }, true
	}
	return nil, false
}

// writers is the exclusive side of a read/write lock.
type writers struct{ recipes.RWLock }

func (w writers) Acquire(ctx context.Context) (recipes.Grant, error) { return w.AcquireWrite(ctx) }
