package workloads

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// Workload is one cell's load: what each session does, over and over, and what must be true of it afterwards.
type Workload interface {
	// Setup makes the znodes that the sessions share, before any of them joins.
	Setup(ctx context.Context, s zk.Session) error
	// Join gives a session its place and returns its Step. A seat whose session was lost joins again with a new one. It is called
	// from many goroutines.
	Join(seat Seat) Step
	// Inspect looks at what is left of the recipe's znodes after all sessions have closed, and records it for the checks.
	Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error
	// Checks are the promises that the history of the cell is judged by.
	Checks() []check.Check
	// Measures are what a result is about: one operation at least, which comes first.
	Measures() []Measure
	// Theory is the expected number of events for each release and for each arrival.
	Theory() (release, arrival float64)
}

// Driven is a Workload of whose sessions an open loop drives only some, such as the producers of a queue. The others, whose work depends
// on theirs, go on as soon as they may.
type Driven interface {
	Workload
	// IsDriven tells whether a session, 0 to sessions-1, is one of those that the rate is spread over. At least one is.
	IsDriven(session uint32) bool
}

// Unfenced is a Workload whose grants may write to a resource without a fence.
type Unfenced interface {
	Workload
	// Unfenced is how many writes it took after one of a later grant; false: nothing is written there.
	Unfenced() (stale int64, some bool)
}

// Owned is a Workload of whose objects somebody may wait for more than that nobody holds them.
type Owned interface {
	Workload
	// Ownerless says what an object is while it could be had: "nobody led".
	Ownerless() string
}

// Divided is a Workload of whose objects each may be held by several at a time.
type Divided interface {
	Workload
	Permits() int // of each object
}

// Permits is how many may hold an object of the workload at a time; 0: its operations say who excludes whom.
func Permits(w Workload) int {
	if d, some := w.(Divided); some {
		return d.Permits()
	}
	return 0
}

// HandsOver tells whether each release of a workload lets in whoever is next, which takes the time of a hand-off.
func HandsOver(w Workload) bool {
	switch w.(type) {
	case *lock, *readWrite, *election:
		return true
	}
	return false
}

// Drawing is a Workload whose sessions draw what each of their Steps does, such as whether to read or to write.
type Drawing interface {
	Workload
	// Draw is what the next Step of a session does, or would have done.
	Draw(session uint32, r *rand.Rand) metrics.Op
}

// Pipelined is a Workload whose Step may return while what it has begun is still under way, to be recorded later from another goroutine.
type Pipelined interface {
	Workload
	// Await returns when nothing of a session is under way any more. No Step of it may be running.
	Await(session uint32)
}

// Noting is a Workload that has something to say about a run that is no verdict.
type Noting interface {
	Workload
	// Notes are sentences for a reader, from the whole history of the cell. What they have to sort goes into the room; nil: in memory.
	Notes(history iter.Seq[metrics.Sample], room *spill.Room) []string
}

// Costed is a Workload that knows what theory says of its cost. Where a Workload drives both sides of something, a queue's producers and
// consumers, one success stands for all that belongs to it: for an item taken its put is part of the cost.
type Costed interface {
	Workload
	// Cost is what one success of Op costs all sessions together. What depends on chance, and has no theory, is left out.
	Cost() Cost
}

// CostedPer is a Workload whose cost is not that of a success of Op: of something that several of them make up, such as a transaction of
// many sites, or of any of several operations, such as a grant to a reader or to a writer.
type CostedPer interface {
	Workload
	// Per are the operations of which there is one for each, and its name for a reader.
	Per() (ops []metrics.Op, name string)
}

// Cost is what something costs, by what is counted.
type Cost map[Spent]float64

// Spent is one thing that is counted.
type Spent string

// What is counted: everything that goes over the wire. A Multi is one write; a list is a read too.
const (
	Writes  Spent = "writes"
	Reads   Spent = "reads"
	Lists   Spent = "lists"
	Names   Spent = "names" // listed
	Bytes   Spent = "bytes" // of names listed, 4 and their length each, and of data read
	Events  Spent = "events"
	Watches Spent = "watches" // requests that are about watches alone: to keep one armed, to remove them, to arm all again
	Upkeep  Spent = "session" // requests that keep the session: pings, handshakes, credentials, the end
)

// Spents is all of them, in the order of reports.
var Spents = []Spent{Writes, Reads, Lists, Names, Bytes, Events, Watches, Upkeep}

// CostOf is what was counted, altogether.
func CostOf(n metrics.FanoutCounts) Cost {
	c := Cost{Lists: float64(n.Lists), Names: float64(n.Names), Bytes: float64(n.Bytes + n.ReadBytes), Events: float64(n.AllEvents())}
	for k := range zk.Kind(zk.Kinds) {
		c[spentOn(k)] += float64(n.Requests[k])
	}
	return c
}

// spentOn is what a request of a kind counts as. That of no kind that recipes know counts as a read.
func spentOn(k zk.Kind) Spent {
	switch k {
	case zk.KindAddWatch, zk.KindRemoveWatches, zk.KindSetWatches:
		return Watches
	case zk.KindPing, zk.KindConnect, zk.KindAuth, zk.KindClose:
		return Upkeep
	}
	if write(k) {
		return Writes
	}
	return Reads
}

// diedBefore returns when the client's process died, if that was before an offset that has passed.
func (s *Seat) diedBefore(offset time.Duration) (time.Duration, bool) {
	if s.Died == nil {
		return 0, false
	}
	at, dead := s.Died()
	died := s.Origin.At(at)
	return died, dead && died < offset
}

// Seat is one simulated client of a cell. It has one session at a time: a new one where one was lost.
type Seat struct {
	ID       uint32
	Session  zk.Session
	Recorder metrics.Recorder
	Fanout   *metrics.FanoutShard
	Origin   metrics.Origin
	Rand     *rand.Rand
	Standing *metrics.Standing // what the session is doing, for progress displays; nil: none
	// Work begins, and end ends, something short that the client does beside its requests: it waits while the process of the client is stopped. False: that is gone, or
	// ctx has ended. Nil: the client is in this process.
	Work func(ctx context.Context) (end func(), alive bool)
	// Died returns when the client's process died, which zkbench may learn late: it held nothing from then on. Nil: the client is in this process.
	Died func() (at time.Time, dead bool)
	// Open opens a session in the place of Session, which has ended. It is Session from then on.
	Open func(ctx context.Context) (zk.Session, error)
	// MayLead tells whether the server of the session may be the leader: it is not known to be a follower, an observer or alone. nil: none may.
	MayLead func() bool
}

// CutAt is the cause of a context that cuts the work of a run short: when that was, as an offset.
type CutAt time.Duration

func (c CutAt) Error() string { return fmt.Sprintf("the run cut it at %v", time.Duration(c)) }

// Step does one unit of work that was due at an offset from the origin, records it, and returns when the session is free again.
// Its error says that the session is over and the seat needs a new one, or with ErrEnded that the step has ended it as it should;
// anything else that goes wrong is in the samples.
type Step func(ctx context.Context, due time.Duration) error
