package recipes

// Variants is a catalogue: variants of each primitive, in the field of the workload that loads them.
type Variants struct {
	Locks          []Variant[Lock]          // lock
	MultiLocks     []Variant[MultiLock]     // multi-lock
	RWLocks        []Variant[RWLock]        // read-write
	RevocableLocks []Variant[Revocable]     // revocation
	Semaphores     []Variant[Semaphore]     // semaphore
	Queues         []Variant[Queue]         // queue
	PriorityQueues []Variant[Queue]         // priority-queue
	DelayQueues    []Variant[Queue]         // delay-queue
	Elections      []Variant[Election]      // election
	Barriers       []Variant[Barrier]       // barrier
	DoubleBarriers []Variant[DoubleBarrier] // double-barrier
	Rendezvouses   []Variant[Rendezvous]    // rendezvous
	Counters       []Variant[Counter]       // counter
	IDs            []Variant[IDs]           // counter
	Groups         []Variant[Group]         // membership
	Settings       []Variant[Setting]       // config
	Commits        []Variant[Commit]        // two-phase-commit
}
