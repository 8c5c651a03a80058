package lease

import (
	"sync/atomic"
	"time"
)

// Clock counts the time that passes for servers while this process runs, is stopped, or sleeps with its machine. The zero value is
// ready, and its zero is the start of the process. It may be used by many goroutines.
//
// Go's own clock stands still while the machine is suspended. The one that does not (CLOCK_BOOTTIME of Linux) costs a system call, so
// Rough adds to Go's clock by how much the other was ahead when somebody last looked: it is never ahead of the truth.
type Clock struct {
	slept  atomic.Int64
	source func() time.Duration
}

// NewClock returns a clock that tells what source does, for tests.
func NewClock(source func() time.Duration) *Clock { return &Clock{source: source} }

// Manual reports whether the clock is one of NewClock: no timer goes by it.
func (c *Clock) Manual() bool { return c.source != nil }

// started is read in this order, so that Rough is never ahead.
var (
	bootStarted = boot()
	started     = time.Now()
)

// Rough is the time without the system's suspensions since the last call of Now: not later than the true one. It is for noting when a
// request is sent.
func (c *Clock) Rough() time.Duration {
	if c.source != nil {
		return c.source()
	}
	return time.Since(started) + time.Duration(c.slept.Load())
}

// Now is the true time. It is for deciding whether a lease is over.
func (c *Clock) Now() time.Duration {
	if c.source != nil {
		return c.source()
	}
	now := boot() - bootStarted
	ahead := int64(now - time.Since(started)) // too small by what passes in between, never too large
	for was := c.slept.Load(); ahead > was && !c.slept.CompareAndSwap(was, ahead); {
		was = c.slept.Load()
	}
	return now
}
