package lock

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of exclusive locks.
func Variants() []recipes.Variant[recipes.Lock] {
	return []recipes.Variant[recipes.Lock]{
		{
			Name: "single-node", Source: "the 'exclusive lock' of the first ZooKeeper articles: one ephemeral znode",
			Doc:    "one ephemeral znode; every waiter watches it and tries to create it again: unfair, a herd of failing writes",
			Tokens: true,
			Wakes:  func(n int) (float64, float64) { return float64(n - 1), 0 },
			Watch:  []string{"exists", "children"},
			Znodes: recipes.Znodes{Ephemeral: []string{`OBJECT/lock`}},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				return &singleNode{s: s, dir: path, o: o}
			},
		},
		{
			Name: "naive", Source: "the common implementation in articles: ephemeral sequential znodes, getChildren watch",
			Doc:  "a queue of ephemeral sequential znodes; every waiter watches the whole queue: each release and each arrival wakes all",
			FIFO: true, Tokens: true,
			Wakes: func(n int) (float64, float64) { return float64(n - 1), float64(n - 1) },
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				return &naive{Place: znode.NewPlace(s, path, o)}
			},
		},
		{
			Name: "predecessor", Source: "Hunt et al., USENIX ATC 2010, section 2.4, 'Simple Locks without Herd Effect'; ZooKeeper's recipe page 'Locks'",
			Doc:  "a queue of ephemeral sequential znodes; every waiter watches the one before it: each release wakes one",
			FIFO: true, Tokens: true,
			Wakes: recipes.WakesOne,
			Watch: []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				return NewPredecessor(s, path, o)
			},
		},
		{
			Name: "reentrant", Source: "the reentrant lock of articles; Apache Curator's InterProcessMutex",
			Doc:  "predecessor with a count: its owner acquires again without a request; other owners in the process queue locally",
			FIFO: true, Tokens: true, Reentrant: true,
			Wakes: recipes.WakesOne,
			Watch: []string{"get", "exists"},
			New:   func(s zk.Session, path string, o recipes.Options) recipes.Lock { return newOwned(s, path, o) },
		},
		{
			Name: "persistent", Source: "persistent recursive watches (ZOOKEEPER-1416), used for a lock",
			Doc:  "a queue that every client follows with one persistent watch: as many events as naive, no lists; needs the native engine",
			FIFO: true, Tokens: true, Persistent: true,
			Wakes: func(n int) (float64, float64) { return float64(n), float64(n) },
			New:   func(s zk.Session, path string, o recipes.Options) recipes.Lock { return newPersistent(s, path, o) },
		},
	}
}

// RWVariants returns the catalogue of read/write locks.
func RWVariants() []recipes.Variant[recipes.RWLock] {
	return []recipes.Variant[recipes.RWLock]{
		{
			Name: "read-write", Source: "ZooKeeper's recipe page, 'Shared Locks'; the layout and the downgrade of Apache Curator's InterProcessReadWriteLock",
			Doc:  "a queue of readers and writers: a writer waits for the one before it, a reader for the writer before it",
			FIFO: true, Tokens: true,
			WakesUnder:  readWriteWakes,
			Watch:       []string{"get", "exists"},
			ReaderWatch: []string{"last", "first"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.RWLock {
				return newReadWrite(s, path, o, sharedTurn(o.ReaderWatch == "first"))
			},
		},
		{
			Name: "revocable", Source: "ZooKeeper's recipe page, 'Revocable Shared Locks'; the articles' recoverable read/write lock; Curator's Revoker",
			Doc:  "a read/write lock whose holder can be asked to give up: it watches its own znode, and others write to it",
			FIFO: true, Tokens: true,
			WakesUnder:  revocableWakes,
			Watch:       []string{"get", "exists"},
			ReaderWatch: []string{"last", "first"},
			New:         func(s zk.Session, path string, o recipes.Options) recipes.RWLock { return newRevocable(s, path, o) },
		},
	}
}

// RevocableVariants returns the read/write locks whose grants can be revoked.
func RevocableVariants() []recipes.Variant[recipes.Revocable] {
	return []recipes.Variant[recipes.Revocable]{
		{
			Name: "revocable", Source: RWVariants()[1].Source, Doc: RWVariants()[1].Doc,
			FIFO: true, Tokens: true,
			WakesUnder:  revocableWakes,
			Watch:       []string{"get", "exists"},
			ReaderWatch: []string{"last", "first"},
			New:         func(s zk.Session, path string, o recipes.Options) recipes.Revocable { return newRevocable(s, path, o) },
		},
	}
}

// MultiVariants returns the catalogue of locks that are acquired together.
func MultiVariants() []recipes.Variant[recipes.MultiLock] {
	return []recipes.Variant[recipes.MultiLock]{
		{
			Name: "multi", Source: "Apache Curator's InterProcessMultiLock, which acquires in the given order; here in the order of the names",
			Doc:    "several predecessor locks, all or none: acquired in one global order, so that no two clients wait for each other",
			Tokens: true,
			Watch:  []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.MultiLock {
				return newMulti(s, path, o)
			},
		},
	}
}
