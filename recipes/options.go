package recipes

import "time"

// Options of recipes. The zero value is the default of each variant.
type Options struct {
	// Watch chooses how a waiter watches, where a variant has a choice (Variant.Watch): 'get' or 'exists' for a znode,
	// 'children' for its directory. Empty: the variant's default.
	Watch string
	// ReaderWatch chooses which of the writers before it a waiting reader watches: 'last', the nearest, wakes it once; 'first', the one at the head,
	// once for each of them. Empty: last.
	ReaderWatch string
	// Layout is the naming of the children, for contending with other implementations on one lock; the zero value is
	// go-zookeeper's or, for read/write locks, Curator's.
	Layout Layout
	// WatchOwn arms a watch on the holder's own znode, so that Grant.Lost also reports its deletion by somebody else. It costs one read per
	// acquisition, and one event at the holder for its own release.
	WatchOwn bool
	// Force is how long a revocation waits for the holder's consent before it deletes the holder's znode; 0: forever.
	Force time.Duration
	// Permits is how many permits a semaphore has; 0: 1. All of its clients must use the same value.
	Permits int
	// SharedPermits keeps the number of permits in a znode next to the semaphore's queue, where Resize changes it for all clients; Permits is what the
	// first client writes there.
	SharedPermits bool
	// List chooses how a consumer of a queue obtains the names of its items (Variant.Lists). Empty: the variant's default.
	List string
	// Window lets a consumer take any of the first Window items, chosen by Pick, instead of the first: fewer consumers try for the same one, and the
	// order is given up. 0 and 1: the first.
	Window int
	// Pick chooses a number from 0 to n-1; nil: 0.
	Pick func(n int) int
	// Exact puts each item exactly once; otherwise an item whose reply was lost is put again.
	Exact bool
	// MaxItems bounds how many items a queue holds; 0: no bound. Each producer may exceed it by one item.
	MaxItems int
	// Clock is the clock by which a consumer of a delay queue decides what is due; nil: time.Now. Items come too early by as much as it is ahead of the
	// clock by which the producer has set the time.
	Clock func() time.Time
	// EphemeralItems creates items that are removed with their producer's session, as on ZooKeeper's recipe page.
	EphemeralItems bool
	// ID is what a candidate's znode reports as the leader's identity; empty: the session id.
	ID string
	// Members is how many members a double barrier or a rendezvous waits for; 0: 1. All of its clients must use the same value.
	Members int
	// Generation is the number of the generation that a handle of a double barrier or a rendezvous starts with.
	Generation int64
	// Site says which of the Members of a two-phase commit the handle is, from 1; 0: none of them, a handle that proposes and does not vote.
	Site int
	// Deadline is how long the sites of a two-phase commit wait for each other, from when each has learnt of it; 0: not at all.
	Deadline time.Duration
	// Alive makes the sites of a two-phase commit create an ephemeral znode when they learn of it, which the sites that collect the votes watch: if a
	// site dies without having voted, the transaction aborts before the deadline. All sites must use the same value.
	Alive bool
	// PromoteAfter is the number of refusals after which a client of counter-promoted takes the lock; 0: 1.
	PromoteAfter int
	// Trace, if not nil, is notified of what the recipe does beyond its requests.
	Trace *Trace
}
