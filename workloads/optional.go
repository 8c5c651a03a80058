package workloads

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/zk"
)

// Every interface below is optional: a Workload implements those that apply to it.

// Finite is a Workload whose sessions each have a fixed amount of work.
type Finite interface {
	Workload
	// Finished reports whether a session has nothing more to do. It is called between the Steps of the session's seat.
	Finished(session uint32) bool
}

// Paced is a Workload in which an open loop drives only some of the sessions, such as the producers of a queue. The others, whose work depends
// on theirs, continue as soon as they can.
type Paced interface {
	Workload
	// IsPaced reports whether the rate is spread over a session, 0 to sessions-1. It is over at least one.
	IsPaced(session uint32) bool
}

// Drawing is a Workload whose sessions draw what each of their Steps does, such as whether to read or to write.
type Drawing interface {
	Workload
	// Draw draws what the next Step of a session does, or would have done.
	Draw(session uint32, r *rand.Rand) metrics.Op
}

// Pipelined is a Workload whose Step may return while work that it started continues, to be recorded later from another goroutine.
type Pipelined interface {
	Workload
	// Await returns when nothing of a session is in flight any more. No Step of it may be running.
	Await(session uint32)
}

// Scheduled is a Workload that says when each of its Steps is due; the rate of an open loop, by which it is stretched, is in its Load.
type Scheduled interface {
	Workload
	// Schedule returns a function that returns the due times of a session's Steps, one after the other; with offered, only of those that the rate counts.
	Schedule(session uint32, offered bool) func() time.Duration
	// Skip leaves out the next Step of a session, and returns the operation that it would have been; OpNone if the rate does not count it.
	Skip(session uint32) metrics.Op
}

// Waiting is a Workload in which something waits without a session that waits for it, such as an item in a queue. Its waiting time is known only
// when the wait is over; what still waits at the end has waited at least that long.
type Waiting interface {
	Workload
	// StillWaiting records what is waiting at an offset as unfinished. It may be called while sessions work.
	StillWaiting(at time.Duration, r metrics.Recorder)
}

// Delayed is a Workload whose items may be taken only some time after their put.
type Delayed interface {
	Workload
	Delays() bool
}

// Keeping is a Workload whose sessions may have znodes while they hold nothing.
type Keeping interface {
	Workload
	// InspectOpen is Inspect without those znodes.
	InspectOpen(ctx context.Context, s zk.Session, r metrics.Recorder) error
}

// Divided is a Workload whose objects may each be held by several sessions at a time.
type Divided interface {
	Workload
	Permits() int // of each object
}

// Permits returns how many sessions may hold an object of a workload at a time; 0: its operations say who excludes whom.
func Permits(w Workload) int {
	if d, some := w.(Divided); some {
		return d.Permits()
	}
	return 0
}

// Contending is a Workload whose checks need sessions that keep each other from an object.
type Contending interface {
	Workload
	// Contends reports whether the profile has such sessions: not if each object has one session, if all only read, or if there is a permit for
	// each.
	Contends() bool
}

// Unfenced is a Workload whose grants may write to a resource without a fence.
type Unfenced interface {
	Workload
	// Unfenced returns how many writes it accepted after one of a later grant; false: nothing is written there.
	Unfenced() (stale int64, some bool)
}

// Owned is a Workload with its own description of an object that nobody holds.
type Owned interface {
	Workload
	// Ownerless describes the state of such an object: "nobody led".
	Ownerless() string
}

// Noting is a Workload that reports observations about a run in addition to the verdicts.
type Noting interface {
	Workload
	// Notes returns sentences for a reader, based on the whole history of the cell. Large sorts use the room; nil: memory.
	Notes(history iter.Seq[metrics.Sample], room *spill.Room) []string
}

// Releasing is a Workload with a theory of how many watch events a release and an arrival cause. There is none where that depends on chance, such
// as on how many wait for several locks at once.
type Releasing interface {
	Workload
	Theory() (release, arrival float64)
}

// Costed is a Workload with a theory of its cost. If it drives both sides of something, such as a queue's producers and consumers, one success
// stands for everything that belongs to it: the cost of an item that was taken includes its put.
type Costed interface {
	Workload
	// Cost returns what one success of the first operation costs all sessions together. It leaves out what depends on chance and has no theory.
	Cost() Cost
}

// CostedPer is a Workload whose cost is not that of one success of the first operation, but that of something that several operations make up, such as a
// transaction of many sites, or that of any of several operations, such as a grant to a reader or to a writer.
type CostedPer interface {
	Workload
	// Per returns the operations that together count as one unit per success, and the unit's name for a reader.
	Per() (ops []metrics.Op, name string)
}

// Frugal is a Workload that knows the minimum cost of one success: less in a result is a counting error. What depends on luck has no minimum, and
// neither have variants that are Unsafe.
type Frugal interface {
	Workload
	Least() Cost
}
