package load

import (
	"sync"
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
	mu                sync.Mutex // guards what follows
	failed, succeeded bool
	pause             time.Duration // after the last step; 0 if it did not fail
	of                *pauses       // nil: the session does not pause
}

// note notes the outcome of a whole operation.
func (p *pausing) note(o metrics.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch o {
	case metrics.OK:
		p.succeeded = true
	case metrics.Failed, metrics.Lost, metrics.InDoubt:
		p.failed = true
	}
}

// next returns how long to pause after the step that has ended.
func (p *pausing) next() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.failed || p.succeeded:
		p.pause = 0
	case p.pause == 0:
		p.pause = firstPause
	default:
		p.pause = min(2*p.pause, lastPause)
	}
	p.failed, p.succeeded = false, false
	if p.pause > 0 {
		p.of.count.Add(1)
		p.of.length.Add(int64(p.pause))
	}
	return p.pause
}
