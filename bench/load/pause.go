package load

import (
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// A closed loop asks again at once, so a session whose operations fail at once would do nothing but fail. It therefore pauses after a failed step, whatever
// its think time, and longer after each further one.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// pauses counts the pauses of all sessions of a cell.
type pauses struct{ count, length atomic.Int64 }

// pausing knows whether the last step of a session failed.
type pausing struct {
	ended  atomic.Uint32 // how the operations of the current step ended, so far: one of the constants below
	may    bool          // the session pauses
	failed uint8         // steps that failed, one after the other until now; no further ones are counted once the pause is the longest
}

const (
	noneEnded     uint32 = iota // or only in ways that are neither success nor failure
	noneSucceeded               // and at least one failed
	someSucceeded
)

// note notes the outcome of a whole operation.
func (p *pausing) note(o metrics.Outcome) {
	switch o {
	case metrics.OK:
		p.ended.Store(someSucceeded)
	case metrics.Failed, metrics.Lost, metrics.InDoubt:
		p.ended.CompareAndSwap(noneEnded, noneSucceeded)
	}
}

// next takes the end of a step into account, and counts the pause that follows.
func (p *pausing) next(of *pauses) {
	if p.ended.Swap(noneEnded) != noneSucceeded {
		p.failed = 0
		return
	}
	if p.pause() < lastPause {
		p.failed++
	}
	of.count.Add(1)
	of.length.Add(int64(p.pause()))
}

// pause returns how long to pause after the last step; 0 if it did not fail.
func (p *pausing) pause() time.Duration {
	if p.failed == 0 {
		return 0
	}
	return min(firstPause<<(p.failed-1), lastPause)
}
