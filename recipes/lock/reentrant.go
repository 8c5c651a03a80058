package lock

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Owner is the holder of a reentrant lock. Goroutines have no identity that a lock could ask for, unlike threads in other languages; an Owner is that
// identity, and the work that holds the lock passes it on.
type Owner struct{ _ byte } // not empty, because two empty values may share an address

// NewOwner creates an owner that is different from all others.
func NewOwner() *Owner { return new(Owner) }

// Reentrant is an exclusive lock that all goroutines of a process share: an owner that holds it acquires it again without a request. Owners of one
// process queue inside it, in the order of arrival, and only one of them at a time is in the queue on the servers. Each waits on its own channel:
// with one condition for all, as in Apache Curator, an event would wake them all and each would list, the herd effect inside the process. It is safe
// for concurrent use.
type Reentrant struct {
	s    zk.Session
	lock recipes.TryLock

	mu      sync.Mutex
	busy    bool // an owner holds the lock, or is requesting it from the servers
	owner   *Owner
	depth   int // number of the owner's acquisitions
	grant   recipes.Grant
	void    map[*Owner]int  // releases still due by lost owners
	waiting []chan struct{} // of the owners waiting inside the process, in order; each is closed when its turn comes
}

// NewReentrant creates a reentrant lock over a predecessor lock.
func NewReentrant(s zk.Session, path string, o recipes.Options) *Reentrant {
	return &Reentrant{s: s, lock: NewPredecessor(s, path, o), void: map[*Owner]int{}}
}

// Acquire waits for the lock like Lock.Acquire; an owner that holds it gets the same grant again, and has to release it as often. ErrLockLost means
// that the owner's grant was lost: it must first release it as often as it acquired it.
func (r *Reentrant) Acquire(ctx context.Context, o *Owner) (recipes.Grant, error) {
	if g, mine, err := r.again(o); mine {
		return g, err
	}
	if err := r.turn(ctx); err != nil {
		return recipes.Grant{}, err
	}
	g, err := r.lock.Acquire(ctx)
	r.begin(o, g, err == nil)
	return g, err
}

// TryAcquire is like TryLock.TryAcquire, for an owner. It does not wait for other owners of the process either.
func (r *Reentrant) TryAcquire(ctx context.Context, o *Owner) (recipes.Grant, bool, error) {
	if g, mine, err := r.again(o); mine {
		return g, err == nil, err
	}
	r.mu.Lock()
	if r.busy {
		r.mu.Unlock()
		return recipes.Grant{}, false, nil
	}
	r.busy = true
	r.mu.Unlock()
	g, granted, err := r.lock.TryAcquire(ctx)
	r.begin(o, g, granted)
	return g, granted, err
}

// Release undoes one acquisition of the owner, and with the last one releases the lock. ErrNotOwner means that the owner holds nothing. ErrLockLost
// is Lock.Release's. The loss of a grant that was acquired several times voids them all: the first release gives the lock up, and each of the owner's
// releases returns the error.
func (r *Reentrant) Release(ctx context.Context, o *Owner) error {
	r.mu.Lock()
	if r.owner != o {
		defer r.mu.Unlock()
		if r.void[o] == 0 {
			return recipes.ErrNotOwner
		}
		if r.void[o]--; r.void[o] == 0 {
			delete(r.void, o)
		}
		return fmt.Errorf("release: %w", recipes.ErrLockLost)
	}
	lost := r.lost()
	if r.depth--; r.depth > 0 && !lost {
		r.mu.Unlock()
		return nil
	}
	void := r.depth > 0
	if void {
		r.void[o] = r.depth
	}
	r.owner, r.depth, r.grant = nil, 0, recipes.Grant{}
	r.mu.Unlock()
	err := r.lock.Release(ctx)
	r.pass()
	if void && err == nil {
		return fmt.Errorf("release: %w", recipes.ErrLockLost)
	}
	return err
}

// again counts one more acquisition of the owner that holds the lock; mine is false if it does not hold it.
func (r *Reentrant) again(o *Owner) (g recipes.Grant, mine bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.void[o] > 0:
		return recipes.Grant{}, true, recipes.ErrLockLost
	case r.owner != o:
		return recipes.Grant{}, false, nil
	case r.lost():
		return recipes.Grant{}, true, recipes.ErrLockLost
	}
	r.depth++
	return r.grant, true, nil
}

// lost reports whether the grant is lost. Called with mu held.
func (r *Reentrant) lost() bool {
	r.s.Lease() // so that Lost is up to date, even if the process has been stopped
	return znode.IsClosed(r.grant.Lost)
}

// turn waits until no other owner of the process is using the lock.
func (r *Reentrant) turn(ctx context.Context) error {
	r.mu.Lock()
	if !r.busy {
		r.busy = true
		r.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	r.waiting = append(r.waiting, mine)
	r.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	i := slices.Index(r.waiting, mine)
	if i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	r.mu.Unlock()
	if i < 0 { // the turn came together with the end of the context
		r.pass()
	}
	return fmt.Errorf("acquire: %w", ctx.Err())
}

// begin ends an attempt: the owner holds, or the next in line gets its turn.
func (r *Reentrant) begin(o *Owner, g recipes.Grant, granted bool) {
	if !granted {
		r.pass()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner, r.depth, r.grant = o, 1, g
}

// pass gives the turn to the first waiter inside the process.
func (r *Reentrant) pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.busy = false
		return
	}
	close(r.waiting[0])
	r.waiting = r.waiting[1:]
}

// owned is a Reentrant with one owner: the handle.
type owned struct {
	shared *Reentrant
	owner  *Owner
}

func newOwned(s zk.Session, path string, o recipes.Options) *owned {
	return &owned{NewReentrant(s, path, o), NewOwner()}
}

// Acquire waits for the lock. It never returns ErrHeld: a handle that holds acquires once more.
func (l *owned) Acquire(ctx context.Context) (recipes.Grant, error) {
	return l.shared.Acquire(ctx, l.owner)
}

// TryAcquire takes the lock if it is free.
func (l *owned) TryAcquire(ctx context.Context) (recipes.Grant, bool, error) {
	return l.shared.TryAcquire(ctx, l.owner)
}

// Release gives the lock up.
func (l *owned) Release(ctx context.Context) error {
	err := l.shared.Release(ctx, l.owner)
	if err == recipes.ErrNotOwner {
		return recipes.ErrNotHeld
	}
	return err
}
