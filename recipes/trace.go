package recipes

// Trace receives what a recipe does beyond its requests, which zk.Observe reports. Hooks may be nil and must not block.
type Trace struct {
	// Foreign is called with the name of a child that is not the recipe's and was ignored.
	Foreign func(name string)
	// PutAgain is called before a queue repeats the put of an item that an earlier attempt, whose reply was lost, may have put.
	PutAgain func()
	// Vacated is called when a join has waited for another member with its id to leave: from here on it joins.
	Vacated func()
	// Stage is called with the stages of an election (StageStart and so on), as they happen.
	Stage func(stage string)
	// Pause is called between the steps of a recipe, with the name of the point. Tests create races there; no measurement depends on it.
	Pause func(point string)
}

// The recipes call these whether or not the hooks are set.

// Foreign calls Trace.Foreign.
func (o *Options) Foreign(name string) {
	if o.Trace != nil && o.Trace.Foreign != nil {
		o.Trace.Foreign(name)
	}
}

// PutAgain calls Trace.PutAgain.
func (o *Options) PutAgain() {
	if o.Trace != nil && o.Trace.PutAgain != nil {
		o.Trace.PutAgain()
	}
}

// Vacated calls Trace.Vacated.
func (o *Options) Vacated() {
	if o.Trace != nil && o.Trace.Vacated != nil {
		o.Trace.Vacated()
	}
}

// Pause calls Trace.Pause.
func (o *Options) Pause(point string) {
	if o.Trace != nil && o.Trace.Pause != nil {
		o.Trace.Pause(point)
	}
}

// Stages calls Trace.Stage with each name in turn.
func (o *Options) Stages(names ...string) {
	if o.Trace != nil && o.Trace.Stage != nil {
		for _, name := range names {
			o.Trace.Stage(name)
		}
	}
}

// The points at which Trace.Pause is called.
const (
	PauseCreated  = "created"  // own znode created, nothing listed yet
	PauseListed   = "listed"   // listed, watch not armed yet
	PauseWoken    = "woken"    // the event has arrived, nothing re-checked yet
	PauseGranted  = "granted"  // about to return the grant
	PauseLeased   = "leased"   // of a semaphore: the lock is held and the lease created, nothing counted yet
	PauseShared   = "shared"   // of a downgrade: the read znode is created, the write znode still exists
	PauseRead     = "read"     // of a queue: the item at the head is read, not taken yet
	PauseArmed    = "armed"    // of a queue: there was no item, the watch is armed; of a barrier: it is watched
	PauseCounted  = "counted"  // of a double barrier: all members are present, the barrier is not open yet
	PauseProposed = "proposed" // of a two-phase commit: the transaction exists
	PauseLearnt   = "learnt"   // of a two-phase commit: the site knows the transaction
	PauseVoted    = "voted"    // of a two-phase commit: the vote is cast
	PauseLate     = "late"     // of a two-phase commit: the deadline has passed
	PauseDeciding = "deciding" // of a two-phase commit: the outcome is known, the decision not made yet
	PauseFinished = "finished" // of a two-phase commit: the end is acknowledged, and it is not known which others have done so
	PauseGuarded  = "guarded"  // of a revocable lock: the own znode is read and watched, nothing listed yet
)

// Stages of an election, named after the events of LeaderElectionSupport, for Trace.Stage.
const (
	StageStart         = "START"
	StageOffer         = "OFFER_START"
	StageOffered       = "OFFER_COMPLETE"
	StageDetermine     = "DETERMINE_START"
	StageDetermined    = "DETERMINE_COMPLETE"
	StageReady         = "READY_START" // another candidate is before us
	StageReadyComplete = "READY_COMPLETE"
	StageElected       = "ELECTED_START"
	StageElectedDone   = "ELECTED_COMPLETE"
	StageFailed        = "FAILED"
	StageStop          = "STOP_START"
	StageStopped       = "STOP_COMPLETE"
)
