package check

import (
	"iter"
	"time"

	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
)

// Answer is what a check says.
type Answer uint8

// The answers. The zero value is Unknown: silence is never Holds.
const (
	Unknown Answer = iota
	Holds
	Violated
)

func (a Answer) String() string { return [...]string{"unknown", "holds", "violated"}[a] }

// Verdict is the outcome of one check on one history.
type Verdict struct {
	Answer   Answer
	Evidence int              // how many operations the answer rests on
	Witness  []metrics.Sample // of a violation: the samples that show it, earliest first; the first violation by time
	Count    int              // of a violation: how many there are
	Detail   string           // one sentence for a person
	Judges   []Judge          // of a promise that several ways are judged in: what each says by itself
}

// Judge is one way of judging a promise that is judged in several. It is Violated if one of them says so, and holds if one of them does.
type Judge struct {
	By       string // ByZxid, ByClock
	Answer   Answer
	Evidence int           // how many operations its answer rests on
	Count    int           // of a violation: how many there are
	Held     time.Duration // of ByClock: how long objects were held, all together
}

// The judges of exclusion.
const (
	ByZxid  = "zxid"  // the order of transactions, in which a grant lasts from the state that it was given in to the removal of its znode
	ByClock = "clock" // the monotonic clock of this process
)

// Check judges one promise of a recipe.
type Check struct {
	Name string
	// Part says that the samples of some of the sessions can show a violation: what they did was wrong, whatever the others did.
	Part bool
	// Left says that the check is of what was found after the load alone.
	Left bool
	// Judge judges a history, which it may go through several times. What it has to keep beside what is open at a time, it keeps in the room;
	// nil: in memory.
	Judge func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict
	// Across judges the histories of several hosts, none of whose clocks is compared with another's; nil: see JudgeAcross.
	Across func(hosts []Host, room *spill.Room) Verdict
}
