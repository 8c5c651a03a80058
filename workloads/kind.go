package workloads

import (
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// Kind is an entry of the catalogue of workloads.
type Kind struct {
	Name string
	Doc  string
	// Variants lists the names of the recipes that it can drive.
	Variants func() []string
	// Persistent says whether a variant needs sessions that can keep watches armed.
	Persistent func(variant string) bool
	// Unsafe says whether a variant is kept as it was published, with faults that are known.
	Unsafe func(variant string) bool
	// CheckOption says whether a variant takes an option of that name and value.
	CheckOption func(variant, name, value string) error
	// CheckFence says whether the grants of a variant, of so many permits, can write through a fence; nil: they write nothing.
	CheckFence func(variant, fence string, permits int) error
	// New makes the workload of one cell. The variant, the options and the fence have been checked.
	New func(Params) Workload
}

// Params is one cell's load in words that every workload understands.
type Params struct {
	Dir      string // znode that the workload makes and lives under
	Variant  string
	Sessions int
	Objects  int     // locks, queues, ...
	Readers  float64 // share of the acquisitions that read, 0 to 1
	Active   float64 // share of the sessions that change a group or a setting, 0 to 1; the others observe it
	Crashes  float64 // share of the memberships that end with a crash, 0 to 1
	Permits  int     // of each semaphore
	Together int     // locks that are acquired at once
	Queue    QueueParams
	Failover Failover // of an election
	Rounds   int      // barriers that each session passes, transactions that each group of sites carries out
	// Participants is the sites of each two-phase commit, Aborts the share of these that one site votes to abort, 0 to 1.
	Participants int
	Aborts       float64
	Hold         func(*rand.Rand) time.Duration
	Deadline     time.Duration
	Stall        time.Duration
	Fence        Fence
	Options      map[string]string
}

// QueueParams is the load on queues as QueueConfig describes it.
type QueueParams struct {
	Producers                           float64
	Payload, Bound, Preload, Priorities int
	Delay                               func(*rand.Rand) time.Duration // of the items of a delay queue; nil: items have no time
}

// catalogue makes the kind of a workload that drives the variants of one catalogue.
func catalogue[T any](name, doc string, all []recipes.Variant[T], takes func(recipes.Variant[T]) choices,
	make func(recipes.Variant[T], recipes.Options, Params) Workload) Kind {
	return Kind{
		Name: name, Doc: doc,
		Variants: func() []string {
			var names []string
			for _, v := range all {
				names = append(names, v.Name)
			}
			return names
		},
		Persistent: func(variant string) bool {
			v, _ := recipes.Find(all, variant)
			return v.Persistent
		},
		Unsafe: func(variant string) bool {
			v, _ := recipes.Find(all, variant)
			return v.Unsafe
		},
		CheckOption: func(variant, name, value string) error {
			v, _ := recipes.Find(all, variant)
			_, err := takes(v).set(recipes.Options{}, name, value)
			return err
		},
		CheckFence: func(variant, fence string, permits int) error {
			v, _ := recipes.Find(all, variant)
			return checkFence(variant, fence, v.Tokens, permits)
		},
		New: func(p Params) Workload {
			v, ok := recipes.Find(all, p.Variant)
			if !ok {
				panic("workloads: variant " + p.Variant + " was not checked")
			}
			var o recipes.Options
			for name, value := range p.Options {
				o, _ = takes(v).set(o, name, value)
			}
			return make(v, o, p)
		},
	}
}

// Locks is the workload 'lock' over a catalogue of locks: recipes.Locks, or that with broken ones in a test.
func Locks(all []recipes.Variant[recipes.Lock]) Kind {
	return catalogue("lock", "acquire a lock, hold it, release it", all,
		func(v recipes.Variant[recipes.Lock]) choices {
			return choices{"watch": oneOf(v.Watch), "layout": layouts(recipes.Layouts), "watch-own": watchOwn}
		},
		func(v recipes.Variant[recipes.Lock], o recipes.Options, p Params) Workload {
			return NewLock(LockConfig{Variant: v, Options: o, Dir: p.Dir, Locks: p.Objects, Sessions: p.Sessions, Hold: p.Hold,
				Deadline: p.Deadline, Stall: p.Stall, Fence: p.Fence})
		})
}

// MultiLocks is the workload 'multi-lock' over a catalogue of locks that are acquired together.
func MultiLocks(all []recipes.Variant[recipes.MultiLock]) Kind {
	return catalogue("multi-lock", "acquire several locks together, all or none, hold them, release them", all,
		func(v recipes.Variant[recipes.MultiLock]) choices {
			return choices{"watch": oneOf(v.Watch), "layout": layouts(recipes.Layouts), "watch-own": watchOwn}
		},
		func(v recipes.Variant[recipes.MultiLock], o recipes.Options, p Params) Workload {
			return NewMulti(MultiConfig{Variant: v, Options: o, Dir: p.Dir, Locks: p.Objects, Together: p.Together, Sessions: p.Sessions, Hold: p.Hold,
				Deadline: p.Deadline, Stall: p.Stall})
		})
}

// RWLocks is the workload 'read-write' over a catalogue of read/write locks.
func RWLocks(all []recipes.Variant[recipes.RWLock]) Kind {
	return catalogue("read-write", "acquire a lock for reading or for writing, hold it, release it", all,
		func(v recipes.Variant[recipes.RWLock]) choices { return sharedChoices(v.Watch, v.ReaderWatch) },
		func(v recipes.Variant[recipes.RWLock], o recipes.Options, p Params) Workload {
			return NewReadWrite(SharedConfig{Variant: v, Options: o, Dir: p.Dir, Locks: p.Objects, Sessions: p.Sessions, Readers: p.Readers,
				Hold: p.Hold, Deadline: p.Deadline, Stall: p.Stall, Fence: p.Fence})
		})
}

// Revocables is the workload 'revocation' over a catalogue of revocable locks.
func Revocables(all []recipes.Variant[recipes.Revocable]) Kind {
	return catalogue("revocation", "hold a lock until somebody asks for it; one session at each lock asks", all,
		func(v recipes.Variant[recipes.Revocable]) choices {
			c := sharedChoices(v.Watch, v.ReaderWatch)
			c["force"] = force
			return c
		},
		func(v recipes.Variant[recipes.Revocable], o recipes.Options, p Params) Workload {
			return NewRevocation(RevocationConfig{Variant: v, Options: o, Dir: p.Dir, Locks: p.Objects, Sessions: p.Sessions, Readers: p.Readers,
				Hold: p.Hold, Deadline: p.Deadline, Stall: p.Stall, Fence: p.Fence, Told: p.Stall / 2})
		})
}

// Semaphores is the workload 'semaphore' over a catalogue of semaphores.
func Semaphores(all []recipes.Variant[recipes.Semaphore]) Kind {
	return catalogue("semaphore", "acquire a permit, hold it, release it", all,
		func(v recipes.Variant[recipes.Semaphore]) choices {
			return choices{"watch": oneOf(v.Watch), "layout": layouts(recipes.SemaphoreLayouts), "shared-permits": sharedPermits}
		},
		func(v recipes.Variant[recipes.Semaphore], o recipes.Options, p Params) Workload {
			return NewSemaphore(SemaphoreConfig{Variant: v, Options: o, Dir: p.Dir, Semaphores: p.Objects, Sessions: p.Sessions, Permits: p.Permits,
				Hold: p.Hold, Deadline: p.Deadline, Stall: p.Stall, Fence: p.Fence})
		})
}

// Queues is the workload 'queue' over a catalogue of queues.
func Queues(all []recipes.Variant[recipes.Queue]) Kind {
	return queues("queue", "some sessions put items, the others take them and work on them", all)
}

// PriorityQueues is the workload 'priority-queue' over a catalogue of priority queues.
func PriorityQueues(all []recipes.Variant[recipes.Queue]) Kind {
	return queues("priority-queue", "some sessions put items of several priorities, the others take them and work on them", all)
}

// DelayQueues is the workload 'delay-queue' over a catalogue of delay queues.
func DelayQueues(all []recipes.Variant[recipes.Queue]) Kind {
	return queues("delay-queue", "some sessions put items that may be taken later, the others take them then and work on them", all)
}

func queues(name, doc string, all []recipes.Variant[recipes.Queue]) Kind {
	return catalogue(name, doc, all,
		func(v recipes.Variant[recipes.Queue]) choices { return queueChoices(v) },
		func(v recipes.Variant[recipes.Queue], o recipes.Options, p Params) Workload {
			o.MaxItems = p.Queue.Bound
			return NewQueue(QueueConfig{Variant: v, Options: o, Dir: p.Dir, Queues: p.Objects, Sessions: p.Sessions, Producers: p.Queue.Producers,
				Payload: p.Queue.Payload, Preload: p.Queue.Preload, Priorities: p.Queue.Priorities, Delay: p.Queue.Delay, Hold: p.Hold, Deadline: p.Deadline, Stall: p.Stall})
		})
}

// Elections is the workload 'election' over a catalogue of elections.
func Elections(all []recipes.Variant[recipes.Election]) Kind {
	return catalogue("election", "campaign, lead, end: resign, crash or expire", all,
		func(v recipes.Variant[recipes.Election]) choices {
			return choices{"watch": oneOf(v.Watch), "layout": layouts(recipes.ElectionLayouts)}
		},
		func(v recipes.Variant[recipes.Election], o recipes.Options, p Params) Workload {
			return NewElection(ElectionConfig{Variant: v, Options: o, Dir: p.Dir, Elections: p.Objects, Sessions: p.Sessions, Failover: p.Failover,
				Hold: p.Hold, Deadline: p.Deadline, Stall: p.Stall})
		})
}

// Barriers is the workload 'barrier' over a catalogue of single barriers.
func Barriers(all []recipes.Variant[recipes.Barrier]) Kind {
	return rounds("barrier", "one session sets a barrier and removes it, the others wait at it", all, NewBarrier)
}

// DoubleBarriers is the workload 'double-barrier' over a catalogue of double barriers.
func DoubleBarriers(all []recipes.Variant[recipes.DoubleBarrier]) Kind {
	return rounds("double-barrier", "all sessions enter together, compute, and leave together", all, NewDoubleBarrier)
}

// Groups is the workload 'membership' over a catalogue of groups.
func Groups(all []recipes.Variant[recipes.Group]) Kind {
	return catalogue("membership", "some sessions join a group, stay, and leave or crash; the others observe who is in it", all,
		func(recipes.Variant[recipes.Group]) choices { return choices{"watch-own": watchOwn} },
		func(v recipes.Variant[recipes.Group], o recipes.Options, p Params) Workload {
			return NewMembership(MembershipConfig{Variant: v, Options: o, Dir: p.Dir, Groups: p.Objects, Sessions: p.Sessions, Members: p.Active,
				Crashes: p.Crashes, Hold: p.Hold, Deadline: p.Deadline, Stall: p.Stall})
		})
}

// Configs is the workload 'config' over a catalogue of caches of a setting.
func Configs(all []recipes.Variant[recipes.Config]) Kind {
	return catalogue("config", "some sessions change a setting, the others keep a copy of it", all,
		func(v recipes.Variant[recipes.Config]) choices { return choices{"watch": oneOf(v.Watch)} },
		func(v recipes.Variant[recipes.Config], o recipes.Options, p Params) Workload {
			return NewConfig(SettingsConfig{Variant: v, Options: o, Dir: p.Dir, Settings: p.Objects, Sessions: p.Sessions, Writers: p.Active,
				Deadline: p.Deadline, Stall: p.Stall})
		})
}

// Commits is the workload 'two-phase-commit' over a catalogue of two-phase commits.
func Commits(all []recipes.Variant[recipes.Commit]) Kind {
	return catalogue("two-phase-commit", "groups of sites commit or abort transactions, one after the other", all,
		func(recipes.Variant[recipes.Commit]) choices { return choices{"alive": alive} },
		func(v recipes.Variant[recipes.Commit], o recipes.Options, p Params) Workload {
			return NewCommit(CommitConfig{Participants: p.Participants, Aborts: p.Aborts, RoundsConfig: RoundsConfig[recipes.Commit]{Variant: v, Options: o,
				Dir: p.Dir, Sessions: p.Sessions, Rounds: p.Rounds, Hold: p.Hold, Deadline: p.Deadline, Stall: p.Stall}})
		})
}

// Rendezvouses is the workload 'rendezvous' over a catalogue of rendezvous.
func Rendezvouses(all []recipes.Variant[recipes.Rendezvous]) Kind {
	return rounds("rendezvous", "all sessions wait for each other, and start together", all, NewRendezvous)
}

func rounds[T any](name, doc string, all []recipes.Variant[T], new func(RoundsConfig[T]) Workload) Kind {
	return catalogue(name, doc, all,
		func(v recipes.Variant[T]) choices {
			if len(v.Watch) == 0 {
				return choices{}
			}
			return choices{"watch": oneOf(v.Watch)}
		},
		func(v recipes.Variant[T], o recipes.Options, p Params) Workload {
			return new(RoundsConfig[T]{Variant: v, Options: o, Dir: p.Dir, Sessions: p.Sessions, Rounds: p.Rounds, Hold: p.Hold, Deadline: p.Deadline,
				Stall: p.Stall})
		})
}
