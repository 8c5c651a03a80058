package recipes

import "time"

// Options of recipes. The zero value is the default of each variant.
type Options struct {
	// Watch chooses how a waiter watches, where a variant has a choice (Variant.Watch): 'get' or 'exists' for a znode,
	// 'children' for its directory. Empty: the variant's default.
	Watch string
	// ReaderWatch chooses which of the writers before it a waiting reader watches: 'last', the nearest, wakes it once; 'first',
	// the one at the head, once for each of them. Empty: last.
	ReaderWatch string
	// Layout is the naming of the children, for contending with other implementations on one lock; the zero value is
	// go-zookeeper's, of read/write locks Curator's.
	Layout Layout
	// WatchOwn arms a watch on the holder's own znode, so that Grant.Lost also tells of its deletion by somebody else. It
	// costs one read per acquisition, and one event at the holder for its own release.
	WatchOwn bool
	// Force is how long a revocation leaves the holder to consent before it deletes the holder's znode; 0: forever.
	Force time.Duration
	// Permits is how many permits a semaphore has; 0: 1. All of its clients have to say the same.
	Permits int
	// SharedPermits keeps the number of permits in a znode beside the semaphore's queue, where Resize changes it for all clients
	// at once; Permits is what the first client writes there.
	SharedPermits bool
	// List chooses how a consumer of a queue comes by the names of its items (Variant.Lists). Empty: the variant's default.
	List string
	// Window lets a consumer take any of the first so many items, chosen by Pick, instead of the first: fewer consumers go for the
	// same one, and the order is given up. 0 and 1: the first.
	Window int
	// Pick chooses from 0 to n-1; nil: 0.
	Pick func(n int) int
	// Exact puts each item exactly once, where otherwise an item whose reply was lost is put again.
	Exact bool
	// MaxItems bounds how many items a queue holds; 0: no bound. Producers may overshoot it, each by one item.
	MaxItems int
	// Clock tells a consumer of a delay queue what is due; nil: time.Now. An item comes as much too early as the clock is ahead of the one
	// by which its producer has set the time.
	Clock func() time.Time
	// EphemeralItems makes items that go with their producer's session, as ZooKeeper's recipe page has them.
	EphemeralItems bool
	// ID is what the znode of a candidate tells those who ask for the leader; empty: the number of its session.
	ID string
	// Members is how many members a double barrier or a rendezvous waits for; 0: 1. All of its clients have to say the same.
	Members int
	// Generation is the number of the generation that a handle of a double barrier or a rendezvous begins with.
	Generation int64
	// Site is which of the Members of a two-phase commit the handle is, from 1; 0: none of them, one that proposes and does not vote.
	Site int
	// Deadline is how long the sites of a two-phase commit wait for each other, from when each has learnt of it; 0: not at all.
	Deadline time.Duration
	// Alive has the sites of a two-phase commit make an ephemeral znode when they learn of it, which those who collect the votes watch: the
	// death of one that has not voted aborts before the deadline. All sites have to say the same.
	Alive bool
	// PromoteAfter is after how many refusals a client of counter-promoted takes the lock; 0: 1.
	PromoteAfter int
	// Trace, when not nil, is told what the recipe does beyond its requests.
	Trace *Trace
}
