package workloads

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/check"
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
	// Op is what one Step does, whose successes are the operations of the result.
	Op() metrics.Op
	// Theory is the expected number of events for each release and for each arrival.
	Theory() (release, arrival float64)
}

// Several is a Workload whose Steps are of several operations. Its Op is one of them.
type Several interface {
	Workload
	// Ops are the operations whose successes, together, are the operations of the result.
	Ops() []metrics.Op
}

// Parted is a Workload whose operations bring about others that a user waits for, such as the fail-over of an election. Their responses
// are shown beside those of its operations.
type Parted interface {
	Workload
	Parts() []metrics.Op
}

// Driven is a Workload of whose sessions an open loop drives only some, such as the producers of a queue. The others, whose work depends
// on theirs, go on as soon as they may.
type Driven interface {
	Workload
	// IsDriven tells whether a session, 0 to sessions-1, is one of those that the rate is spread over. At least one is.
	IsDriven(session uint32) bool
	// Offered is the operation that the rate is of.
	Offered() metrics.Op
}

// Noting is a Workload that has something to say about a run that is no verdict.
type Noting interface {
	Workload
	// Notes are sentences for a reader, from the whole history of the cell.
	Notes(history iter.Seq[metrics.Sample]) []string
}

// Costed is a Workload that knows what theory says of its cost. Where a Workload drives both sides of something, a queue's producers and
// consumers, one success stands for all that belongs to it: for an item taken its put is part of the cost.
type Costed interface {
	Workload
	// Cost is what one success of Op costs all sessions together. What depends on chance, and has no theory, is left out.
	Cost() Cost
}

// CostedPer is a Costed whose Cost is that of something that several successes of Op make up, such as a transaction of many sites.
type CostedPer interface {
	Costed
	// Per is the operation of which there is one for each, and its name for a reader.
	Per() (op metrics.Op, name string)
}

// Cost is what something costs, by what is counted.
type Cost map[Spent]float64

// Spent is one thing that is counted.
type Spent string

// What is counted. A Multi is one write; a list is a read too.
const (
	Writes Spent = "writes"
	Reads  Spent = "reads"
	Lists  Spent = "lists"
	Names  Spent = "names" // listed
	Bytes  Spent = "bytes" // of names listed, 4 and their length each, and of data read
	Events Spent = "events"
)

// Spents is all of them, in the order of reports.
var Spents = []Spent{Writes, Reads, Lists, Names, Bytes, Events}

// CostOf is what was counted, altogether.
func CostOf(n metrics.FanoutCounts) Cost {
	c := Cost{Lists: float64(n.Lists), Names: float64(n.Names), Bytes: float64(n.Bytes + n.ReadBytes), Events: float64(n.AllEvents())}
	for k := range zk.Kind(zk.Kinds) {
		switch requests := float64(n.Requests[k]); {
		case write(k):
			c[Writes] += requests
		case k != zk.KindOther:
			c[Reads] += requests
		}
	}
	return c
}

// Ops are the operations of a workload.
func Ops(w Workload) []metrics.Op {
	if s, ok := w.(Several); ok {
		return s.Ops()
	}
	return []metrics.Op{w.Op()}
}

// Seat is a simulated client's place in a cell.
type Seat struct {
	ID       uint32
	Session  zk.Session
	Recorder metrics.Recorder
	Fanout   *metrics.FanoutShard
	Origin   metrics.Origin
	Rand     *rand.Rand
}

// Step does one unit of work that was due at an offset from the origin, records it, and returns when the session is free again.
// Its error says that the session is over and the seat needs a new one, or with ErrEnded that the step has ended it as it should;
// anything else that goes wrong is in the samples.
type Step func(ctx context.Context, due time.Duration) error
