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
	ended atomic.Uint32 // how the operations of the current step ended, so far: one of the constants below
	pause time.Duration // after the last step; 0 if it did not fail
	of    *pauses       // nil: the session does not pause
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

// next sets how long to pause after the step that has ended.
func (p *pausing) next() {
	switch {
	case p.ended.Swap(noneEnded) != noneSucceeded:
		p.pause = 0
		return
	case p.pause == 0:
		p.pause = firstPause
	default:
		p.pause = min(2*p.pause, lastPause)
	}
	p.of.count.Add(1)
	p.of.length.Add(int64(p.pause))
}
