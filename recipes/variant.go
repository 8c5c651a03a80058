package recipes

import "github.com/zkbench/zkbench/zk"

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
	// Window, of a queue, says that it takes Options.Window.
	Window bool
	// Claims, of a queue, says that its handles are Claimers.
	Claims bool
	// Data, of a group, says that its views have the data of the members.
	Data bool
	// Counts, of what draws numbers, says that it is a counter: how often it was drawn from can be read from it.
	Counts bool
	// LeaveByAll, of a double barrier, says that who leaves watches all members, and not one.
	LeaveByAll bool
	// Znodes are the names that it gives beside those that all recipes of its kind give.
	Znodes Znodes
	// Requests is the theory of what one operation costs while n sessions contend, where nobody disturbs it; nil: there is none. Of a barrier
	// it is a wait through one removal; of what draws numbers a draw; of an election a term, up to its end; of a two-phase commit all that
	// n sites send for one transaction, if all have learnt of it and watch before the first votes, and all commit.
	Requests func(n int) Requests
	New      func(s zk.Session, path string, o Options) T
}

// Requests is what something costs.
type Requests struct {
	Reads, Writes float64 // lists are reads too
	Lists         float64
}

// Load is what the watch fan-out of a recipe depends on.
type Load struct {
	Sessions int     // that contend
	Readers  float64 // share of the acquisitions that only read
	Permits  int     // of a semaphore
}

func WakesOne(n int) (release, arrival float64) {
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
