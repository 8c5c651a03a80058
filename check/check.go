package check

import (
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Answer is the result of a check.
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
	Evidence int              // number of operations that the answer rests on
	Witness  []metrics.Sample // for a violation: the samples that show it, earliest first; it is the first violation by time
	Count    int              // for a violation: how many there are
	Detail   string           // one sentence for a person
	Overlap  string           // for a violation of severity Overlap: who held the object, and for how long both did
	Severity Severity         // severity of the check
	Judges   []Judge          // for a promise that is judged in several ways: the result of each
	// Uncontended says that the answer is Unknown because nobody contended for an object.
	Uncontended bool
	// Refused is the session's request that the servers refused, if that may be why the answer is Unknown instead of Violated; otherwise its Op is OpNone.
	Refused metrics.Sample
}

// Severity says how grave a violation is.
type Severity string

// The severities.
const (
	Wrong   Severity = ""        // something was done that cannot be undone
	Overlap Severity = "overlap" // the gravest: two held simultaneously what only one may hold
	Late    Severity = "late"    // something came too late, never or in an unfair order
)

// Judge is the result of one of several ways of judging a promise. The promise is Violated if one of them says so, and otherwise holds if one of them does.
type Judge struct {
	By       string // ByZxid, ByClock
	Answer   Answer
	Evidence int           // number of operations that its answer rests on
	Count    int           // for a violation: how many there are
	Held     time.Duration // for ByClock: how long objects were held, in total
}

// The judges of exclusion.
const (
	ByZxid  = "zxid"  // the order of transactions, in which a grant lasts from the state in which it was given to the removal of its znode
	ByClock = "clock" // the monotonic clock of this process
)

// Check judges one promise of a recipe.
type Check struct {
	Name     string
	Severity Severity // of a violation
	// Part says that the samples of some of the sessions suffice to show a violation: what they did was wrong, whatever the others did.
	Part bool
	// Left says that the check concerns only what was found after the load.
	Left bool
	// Held says that the check concerns what is held simultaneously. For such a check, a hold ends when its client is told not to rely on it.
	Held bool
	// Judge judges a history, which it may iterate over several times. Whatever it keeps beyond what is open at a time goes into the room; nil: in memory.
	Judge func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict
	// Across judges the histories of several hosts, whose clocks are never compared; nil: see JudgeAcross.
	Across func(hosts []Host, room *spill.Room) Verdict
}
