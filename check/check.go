package check

import (
	"iter"

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
}

// Check judges one promise of a recipe.
type Check struct {
	Name  string
	Judge func(history iter.Seq[metrics.Sample]) Verdict
}
