package profiles

import (
	"fmt"
	"time"
)

// Profile describes one run. Lists are axes: the run has a cell for every combination, times Repetitions, in an order mixed
// by the seed. The table in fields.go gives every field its key, range and default. A Profile is a value: copies may be
// used from several goroutines as long as nobody writes to the lists they share.
type Profile struct {
	Name           string
	Description    string
	Workload       string        // lock, read-write, revocation, semaphore, queue, ...
	Variants       []string      // axis: names from the recipes catalogue
	Sessions       []int         // axis: simulated clients, each with a session of its own
	Barriers       []int         // axis: barriers that each client passes one after the other
	Transactions   []int         // axis: two-phase commits that each group of sites carries out one after the other
	Participants   []int         // axis: sites of each group
	Aborts         []int         // axis: percent of the transactions in which one site votes to abort
	Locks          int           // locks or semaphores; the sessions are spread over them evenly
	Together       []int         // axis: locks that each session acquires at once
	Readers        []int         // axis: percent of the acquisitions that only read
	Permits        int           // of each semaphore
	Queues         int           // the sessions are spread over them evenly
	Producers      []int         // axis: percent of the sessions that put items
	Priorities     int           // that items of a priority queue draw from
	Delay          Distribution  // of an item of a delay queue: from its put to when it may be taken
	Payload        int           // bytes of an item
	Bound          []int         // axis: items that a queue may hold; 0: no bound
	Preload        int           // items in each queue before the load begins
	Elections      int           // the sessions are spread over them evenly
	Counters       int           // counters or generators of ids; the sessions are spread over them evenly
	Groups         int           // the sessions are spread over them evenly
	Settings       int           // the sessions are spread over them evenly
	Members        []int         // axis: percent of the sessions that join and leave a group
	Crashes        []int         // axis: percent of the memberships that end with a crash
	Writers        []int         // axis: percent of the sessions that change a setting
	Failover       []string      // axis: resign, crash or expire; empty: resign
	Rate           []float64     // axis: offered acquisitions per second over all sessions (open loop); empty: closed loop
	Arrivals       string        // open loop: poisson or uniform; closed loop: empty
	Hold           Distribution  // how long a grant is held
	Fence          []string      // axis: none, register or server; empty: none
	Think          Distribution  // closed loop: pause of a session between release and the next acquire
	Deadline       time.Duration // of one acquisition; 0: none
	Warmup         time.Duration
	Duration       time.Duration // of the steady phase of each cell
	Drain          time.Duration // how long operations under way at the end may take to finish
	Repetitions    int
	Seed           uint64
	Engine         string // native or go-zookeeper
	Ensemble       string // local:N or compose:N; --servers replaces it
	Fsync          bool   // of a local ensemble
	SessionTimeout time.Duration
	Options        map[string]string // of the recipe: layout, watch, ...
	Faults         []PlannedFault    // what is broken in every cell, and when

	source string             // the file, for messages
	places map[string][]Place // where each given key has its values; an option's key is options.NAME
}

// At says where the index-th value of key was given, to begin an error message: file:line:column, or --set key. For an index
// outside the list it is the place of the first value. For a key that was not given it says so. The key of one recipe
// option is options.NAME.
func (p Profile) At(key string, index int) string {
	places := p.places[key]
	switch {
	case index >= 0 && index < len(places):
		return places[index].String()
	case len(places) > 0:
		return places[0].String()
	case p.source != "":
		return fmt.Sprintf("%s: %s (by default)", p.source, key)
	}
	return key
}
