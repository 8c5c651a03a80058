package recipes

import "github.com/zkbench/zkbench/zk"

// Variant is an entry of a catalogue: one implementation of T.
type Variant[T any] struct {
	Name     string
	Source   string // the paper, recipe page, library or article that it comes from, with its title, its author and where it was published
	Formerly string // its previous name; whoever uses that is told the present one
	Doc      string // one line
	FIFO     bool   // grants come in the order of arrival
	Tokens   bool   // grants carry a token
	Unsafe   bool   // published with defects, which it keeps: to be measured and demonstrated, not to be used
	// Persistent says that the session must support persistent watches: zk.PersistentWatcher.
	Persistent bool
	// Wakes is the theoretical watch fan-out: how many events one release, and one arrival, cause while n sessions contend.
	Wakes func(n int) (release, arrival float64)
	// WakesUnder replaces Wakes if the number of sessions is not enough: for read/write locks and semaphores.
	WakesUnder func(Load) (release, arrival float64)
	// Watch lists the choices of Options.Watch, the default first; empty if there is no choice.
	Watch []string
	// ReaderWatch lists the choices of Options.ReaderWatch, the default first; empty if there is no choice.
	ReaderWatch []string
	// Reentrant says that a handle which holds may acquire again; it then has to release as often.
	Reentrant bool
	// Lists lists the choices of Options.List, the default first; empty if there is no choice.
	Lists []string
	// Window, of a queue, says that it supports Options.Window.
	Window bool
	// Claims, of a queue, says that its handles are Claimers.
	Claims bool
	// Data, of a group, says that its views include the data of the members.
	Data bool
	// Counts, of a generator of numbers, says that it is a counter: its value shows how often a number was drawn from it.
	Counts bool
	// LeaveByAll, of a double barrier, says that a leaving member watches all others, not just one.
	LeaveByAll bool
	// Znodes are its names in addition to those that all recipes of its kind use.
	Znodes Znodes
	// Requests is the theoretical cost of one operation while n sessions contend, if nobody interferes; nil: unknown. For a barrier it is a wait
	// through one removal; for a generator of numbers a draw; for an election a term, up to its end; for a two-phase commit everything that n sites
	// send for one transaction, if all have learnt of it and watch before the first votes, and all commit.
	Requests func(n int) Requests
	New      func(s zk.Session, path string, o Options) T
}

// Requests is the cost of an operation.
type Requests struct {
	Reads, Writes float64 // lists count as reads
	Lists         float64
}

// Load is what the watch fan-out of a recipe depends on.
type Load struct {
	Sessions int     // that contend
	Readers  float64 // share of the acquisitions that only read
	Permits  int     // of a semaphore
}

// WakesOne is Variant.Wakes for a queue whose waiters each watch the one before them: a release wakes one.
func WakesOne(n int) (release, arrival float64) {
	if n > 1 {
		return 1, 0
	}
	return 0, 0
}

// Find returns the variant with that name.
func Find[T any](catalogue []Variant[T], name string) (Variant[T], bool) {
	for _, v := range catalogue {
		if v.Name == name {
			return v, true
		}
	}
	return Variant[T]{}, false
}
