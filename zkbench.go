package zkbench

import (
	"os"

	"github.com/zkbench/zkbench/internal/command"
	"github.com/zkbench/zkbench/recipes"
)

// Setup is the variants that a program adds to the catalogue. Each needs a Name and New. The name is what profiles and --set variants=[...] call it: at
// most 64 letters, digits and . _ + -, beginning with a letter or a digit; neither a variant of zkbench's nor another one of the same field may have it. The other
// fields of a recipes.Variant say what it promises, which is then tested (FIFO, Tokens), what is written in reports (Doc, Source, Wakes), and which znodes it
// makes: what neither its kind nor Znodes knows is taken for somebody else's when a run is removed, and stays.
//
// New is called for each session and object of a load, from many goroutines at a time. A handle that it returns is used by one goroutine at a time.
type Setup struct {
	Locks          []recipes.Variant[recipes.Lock]          // of workload lock
	RWLocks        []recipes.Variant[recipes.RWLock]        // read-write
	RevocableLocks []recipes.Variant[recipes.Revocable]     // revocation
	MultiLocks     []recipes.Variant[recipes.MultiLock]     // multi-lock
	Semaphores     []recipes.Variant[recipes.Semaphore]     // semaphore
	Queues         []recipes.Variant[recipes.Queue]         // queue
	PriorityQueues []recipes.Variant[recipes.Queue]         // priority-queue
	DelayQueues    []recipes.Variant[recipes.Queue]         // delay-queue
	Elections      []recipes.Variant[recipes.Election]      // election
	Barriers       []recipes.Variant[recipes.Barrier]       // barrier
	DoubleBarriers []recipes.Variant[recipes.DoubleBarrier] // double-barrier
	Rendezvouses   []recipes.Variant[recipes.Rendezvous]    // rendezvous
	Commits        []recipes.Variant[recipes.Commit]        // two-phase-commit
	Counters       []recipes.Variant[recipes.Counter]       // counter
	IDs            []recipes.Variant[recipes.IDs]           // counter
	Groups         []recipes.Variant[recipes.Group]         // membership
	Settings       []recipes.Variant[recipes.Setting]       // config
}

// Main carries out the command line of this process as zkbench does, and ends the process with its exit code; it does not return. It is called once, first
// thing in main: zkbench starts the program itself again, with other arguments, for clients in processes of their own. A Setup that cannot be used is told on
// standard error, all of it, before anything is started: exit code 2.
func Main(s Setup) { os.Exit(command.Main(command.Own(s))) }
