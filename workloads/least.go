package workloads

import (
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
)

// Frugal is a Workload that knows the least that one success can cost, of whatever Cost is per: less than that in a result is a defect of what
// counts. Of what depends on luck there is none.
type Frugal interface {
	Workload
	Least() Cost
}

// Least of a lock: a session in a queue lists it before it holds, unless a persistent watch tells it of all.
func (l *lock) Least() Cost { return queued(l.variant, 1) }

// Least of a set of locks is a list of each.
func (w *multi) Least() Cost {
	if w.variant.Unsafe {
		return Cost{}
	}
	return Cost{Lists: float64(w.together), Reads: float64(w.together)}
}

// Least of a read/write lock is a list.
func (w *readWrite) Least() Cost { return queued(w.variant, 1) }

// Least of a revocable lock is a list, and the look at the own znode, into which others write.
func (w *revocation) Least() Cost {
	c := queued(w.variant, 1)
	c[Reads]++
	return c
}

// queued is the least that a place in some queues costs.
func queued[T any](v recipes.Variant[T], queues float64) Cost {
	if !v.FIFO || v.Unsafe || v.Persistent {
		return Cost{}
	}
	return Cost{Lists: queues, Reads: queues}
}

// Least of a permit is a list of the lock, and one of the leases.
func (w *semaphore) Least() Cost {
	if w.variant.Unsafe {
		return Cost{}
	}
	return Cost{Lists: 2, Reads: 2}
}

// Least of an item that was taken is a list of the items, unless one does for many, with claims another one of these, and the item.
func (w *queue) Least() Cost {
	if !w.has(metrics.Take) {
		return Cost{}
	}
	lists := 1.0
	switch {
	case w.claims():
		lists = 2
	case w.options.List == recipes.ListCached, w.options.List == recipes.ListWatched:
		lists = 0
	}
	return Cost{Lists: lists, Reads: lists + 1}
}

// Least of a term is a list, and the look at the own znode.
func (w *election) Least() Cost {
	if w.variant.Unsafe {
		return Cost{}
	}
	return Cost{Lists: 1, Reads: 2}
}

// Least of a number is the counter's value, which an id does without.
func (w *counter) Least() Cost {
	if !w.counts() {
		return Cost{}
	}
	return Cost{Reads: 1}
}

// Least of passing a barrier is the transaction by which its client catches up with the one that set it.
func (w *barrier) Least() Cost {
	if w.variant.Unsafe {
		return Cost{}
	}
	return Cost{Writes: 1}
}

// Least of entering a double barrier is the look whether it is open, and a count of who is there.
func (w *doubleBarrier) Least() Cost { return gathered(w.variant) }

// Least of a rendezvous is the same.
func (w *rendezvous) Least() Cost { return gathered(w.variant) }

func gathered[T any](v recipes.Variant[T]) Cost {
	if v.Unsafe {
		return Cost{}
	}
	return Cost{Lists: 1, Reads: 2}
}

// Least of a transaction is that each other site reads it, and that the one that removes it lists it.
func (w *commit) Least() Cost {
	if w.variant.Unsafe {
		return Cost{}
	}
	return Cost{Lists: 1, Reads: float64(w.members(0))}
}
