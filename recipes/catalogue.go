package recipes

import (
	"time"

	"github.com/zkbench/zkbench/zk"
)

// Variant is an entry of a catalogue: one way of keeping the promise of T.
type Variant[T any] struct {
	Name   string
	Source string // paper, recipe page, library or article that it comes from
	Doc    string // one line
	FIFO   bool   // grants come in the order of arrival
	Tokens bool   // grants carry a token
	Unsafe bool   // published with faults, which it keeps: to be measured and shown, not to be used
	// Persistent says that the session must be able to keep a watch armed: zk.PersistentWatcher.
	Persistent bool
	// Wakes is the theory of the watch fan-out: how many events one release, and one arrival, cause while n sessions contend.
	Wakes func(n int) (release, arrival float64)
	// WakesUnder is Wakes where the number of sessions does not say enough: of read/write locks and semaphores.
	WakesUnder func(Load) (release, arrival float64)
	// Watch lists the choices of Options.Watch, the default first; empty when there is none to make.
	Watch []string
	// ReaderWatch lists the choices of Options.ReaderWatch, the default first; empty when there is none to make.
	ReaderWatch []string
	// Reentrant says that a handle which holds may acquire again; it then has to release as often.
	Reentrant bool
	// Lists lists the choices of Options.List, the default first; empty when there is none to make.
	Lists []string
	New   func(s zk.Session, path string, o Options) T
}

// Load is what the watch fan-out of a recipe depends on.
type Load struct {
	Sessions int     // that contend
	Readers  float64 // share of the acquisitions that only read
	Permits  int     // of a semaphore
}

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
	// Force is how long a revocation leaves the holder to consent before it deletes the holder's znode; 0: for ever.
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

// Trace receives what a recipe does beyond its requests, which zk.Observe reports. Hooks may be nil and must not block.
type Trace struct {
	Retry   func(op string, after zk.Class) // a request is made again after an error of this class
	Foreign func(name string)               // a child that is not the recipe's was ignored
	Janitor func(guid string)               // a znode whose create is in doubt is being looked for, to be deleted
	// Stage is told the stages of an election (StageStart and so on), as they come.
	Stage func(stage string)
	// Pause is called between the steps of a recipe, with the name of the point; tests make races there.
	Pause func(point string)
}

func (o Options) retry(op string, after zk.Class) {
	if o.Trace != nil && o.Trace.Retry != nil {
		o.Trace.Retry(op, after)
	}
}

func (o Options) foreign(name string) {
	if o.Trace != nil && o.Trace.Foreign != nil {
		o.Trace.Foreign(name)
	}
}

func (o Options) janitor(guid string) {
	if o.Trace != nil && o.Trace.Janitor != nil {
		o.Trace.Janitor(guid)
	}
}

// The points at which Trace.Pause is called.
const (
	PauseCreated  = "created"  // own znode made, nothing listed yet
	PauseListed   = "listed"   // listed, watch not armed yet
	PauseWoken    = "woken"    // the event is there, nothing re-checked yet
	PauseGranted  = "granted"  // about to return the grant
	PauseLeased   = "leased"   // of a semaphore: the lock is held and the lease made, nothing counted yet
	PauseShared   = "shared"   // of a downgrade: the read znode is made, the write znode still there
	PauseRead     = "read"     // of a queue: the item at the head is read, not taken yet
	PauseArmed    = "armed"    // of a queue: there was no item, the watch is armed; of a barrier: it is watched
	PauseCounted  = "counted"  // of a double barrier: all members are there, the barrier is not open yet
	PauseProposed = "proposed" // of a two-phase commit: the transaction is there
	PauseLearnt   = "learnt"   // of a two-phase commit: the site knows the transaction
	PauseVoted    = "voted"    // of a two-phase commit: the vote is cast
	PauseLate     = "late"     // of a two-phase commit: the deadline has passed
	PauseDeciding = "deciding" // of a two-phase commit: the outcome is known, the decision not made yet
	PauseFinished = "finished" // of a two-phase commit: the end is acknowledged, who else has done so not known
	PauseGuarded  = "guarded"  // of a revocable lock: the own znode is read and watched, nothing listed yet
)

func (o Options) pause(point string) {
	if o.Trace != nil && o.Trace.Pause != nil {
		o.Trace.Pause(point)
	}
}

// Locks is the catalogue of exclusive locks.
var Locks = []Variant[Lock]{
	{
		Name: "single-node", Source: "the 'exclusive lock' of the first ZooKeeper articles: one ephemeral znode",
		Doc:    "one ephemeral znode; every waiter watches it and every waiter tries to create it again: unfair, a herd of failing writes",
		Tokens: true,
		Wakes:  func(n int) (float64, float64) { return float64(n - 1), 0 },
		Watch:  []string{"exists", "children"},
		New:    func(s zk.Session, path string, o Options) Lock { return &singleNode{s: s, dir: path, o: o} },
	},
	{
		Name: "naive", Source: "the general implementation that articles teach: ephemeral sequential znodes, getChildren watch",
		Doc:  "a queue of ephemeral sequential znodes; every waiter watches the whole queue: each release and each arrival wakes all",
		FIFO: true, Tokens: true,
		Wakes: func(n int) (float64, float64) { return float64(n - 1), float64(n - 1) },
		New:   func(s zk.Session, path string, o Options) Lock { return &naive{queue: newQueue(s, path, o)} },
	},
	{
		Name: "predecessor", Source: "Hunt et al., USENIX ATC 2010, section 2.4, 'Simple Locks without Herd Effect'; ZooKeeper's recipe page 'Locks'",
		Doc:  "a queue of ephemeral sequential znodes; every waiter watches the one before it: each release wakes one",
		FIFO: true, Tokens: true,
		Wakes: wakesOne,
		Watch: []string{"get", "exists"},
		New:   func(s zk.Session, path string, o Options) Lock { return &predecessor{queue: newQueue(s, path, o)} },
	},
	{
		Name: "reentrant", Source: "the reentrant lock that articles ask for, as Apache Curator's InterProcessMutex is one",
		Doc:  "predecessor with a count: its owner acquires again without a request; other owners of its process queue inside it",
		FIFO: true, Tokens: true, Reentrant: true,
		Wakes: wakesOne,
		Watch: []string{"get", "exists"},
		New:   func(s zk.Session, path string, o Options) Lock { return newOwned(s, path, o) },
	},
	{
		Name: "persistent", Source: "persistent recursive watches, ZOOKEEPER-1416, put to a lock",
		Doc:  "a queue that every client follows with one persistent watch: as many events as naive, no lists; needs the native engine",
		FIFO: true, Tokens: true, Persistent: true,
		Wakes: func(n int) (float64, float64) { return float64(n), float64(n) },
		New:   func(s zk.Session, path string, o Options) Lock { return newPersistent(s, path, o) },
	},
	{
		Name: "go-zookeeper", Source: "the Lock of github.com/go-zookeeper/zk v1.0.4, its algorithm carried out over any session",
		Doc:  "the library's predecessor lock as it is: no contexts, keeps its znode after an error, takes a missing znode of its own for the lowest",
		FIFO: true, Unsafe: true,
		Wakes: wakesOne,
		New:   func(s zk.Session, path string, o Options) Lock { return &goZookeeper{s: s, dir: path, o: o} },
	},
}

// RWLocks is the catalogue of read/write locks.
var RWLocks = []Variant[RWLock]{
	{
		Name: "read-write", Source: "ZooKeeper's recipe page, 'Shared Locks'; the layout and the downgrade of Apache Curator's InterProcessReadWriteLock",
		Doc:  "a queue of readers and writers: a writer waits for the one before it, a reader for the writer before it",
		FIFO: true, Tokens: true,
		WakesUnder:  readWriteWakes,
		Watch:       []string{"get", "exists"},
		ReaderWatch: []string{"last", "first"},
		New:         func(s zk.Session, path string, o Options) RWLock { return newReadWrite(s, path, o) },
	},
	{
		Name: "revocable", Source: "ZooKeeper's recipe page, 'Revocable Shared Locks'; the articles' recoverable read/write lock; Curator's Revoker",
		Doc:  "a read/write lock whose holder can be asked to give up: it watches its own znode, into which others write",
		FIFO: true, Tokens: true,
		WakesUnder:  revocableWakes,
		Watch:       []string{"get", "exists"},
		ReaderWatch: []string{"last", "first"},
		New:         func(s zk.Session, path string, o Options) RWLock { return newRevocable(s, path, o) },
	},
}

// Revocables is the read/write locks whose grants can be asked back.
var Revocables = []Variant[Revocable]{
	{
		Name: "revocable", Source: RWLocks[1].Source, Doc: RWLocks[1].Doc,
		FIFO: true, Tokens: true,
		WakesUnder:  revocableWakes,
		Watch:       []string{"get", "exists"},
		ReaderWatch: []string{"last", "first"},
		New:         func(s zk.Session, path string, o Options) Revocable { return newRevocable(s, path, o) },
	},
}

// Semaphores is the catalogue of counting semaphores.
var Semaphores = []Variant[Semaphore]{
	{
		Name: "lease", Source: "Apache Curator's InterProcessSemaphoreV2: a lock, and under it a lease for each permit",
		Doc:    "whoever holds the lock makes a lease and waits until there are no more leases than permits: each release wakes one",
		Tokens: true, WakesUnder: leaseWakes,
		Watch: []string{"get", "exists"},
		New:   func(s zk.Session, path string, o Options) Semaphore { return newLease(s, path, o) },
	},
}

// Queues is the catalogue of queues that take items in the order of their arrival.
var Queues = []Variant[Queue]{
	{
		Name: "fifo", Source: "ZooKeeper's recipe page, 'Queues', as zookeeper-recipes-queue and Curator's SimpleDistributedQueue carry it out",
		Doc:  "items are sequential znodes; whoever deletes the first one has taken it: at most once, consumers collide on the head",
		FIFO: true, Lists: []string{ListFresh, ListCached},
		New: newFIFO,
	},
	{
		Name: "claim", Source: "the LockingQueue of kazoo; the lockPath of Apache Curator's DistributedQueue",
		Doc:    "an item is claimed with an ephemeral znode and deleted when it is finished: at least once, and again when its consumer dies",
		Tokens: true,
		New:    func(s zk.Session, path string, o Options) Queue { return newClaims(s, path, o) },
	},
}

// PriorityQueues is the catalogue of queues that take the item of the best priority.
var PriorityQueues = []Variant[Queue]{
	{
		Name: "priority", Source: "ZooKeeper's recipe page, 'Priority Queues', with the names of Apache Curator's DistributedPriorityQueue",
		Doc:   "the priority stands in the name in fixed width, before the number; needs a list that is up to date for each item",
		Lists: []string{ListFresh, ListWatched, ListSynced},
		New:   newPriority,
	},
}

func wakesOne(n int) (release, arrival float64) {
	if n > 1 {
		return 1, 0
	}
	return 0, 0
}

// Find returns the variant of that name.
func Find[T any](catalogue []Variant[T], name string) (Variant[T], bool) {
	for _, v := range catalogue {
		if v.Name == name {
			return v, true
		}
	}
	return Variant[T]{}, false
}

// backoff is the pause before try n (from 1) of a request that the servers refused for now: 10 ms doubling to 1 s.
func backoff(n int) time.Duration {
	return min(10*time.Millisecond<<min(n-1, 10), time.Second)
}
