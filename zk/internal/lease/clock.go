package lease

import (
	"sync/atomic"
	"time"
)

// Clock counts the time that passes for servers while this process runs, is stopped, or is suspended with its machine. The zero value is ready to
// use; time zero is the start of the process. It is safe for concurrent use.
//
// Go's own clock stands still while the machine is suspended. The one that does not (Linux's CLOCK_BOOTTIME) costs a system call, so Rough adds to
// Go's clock the difference between both as of the last call of Now: it is never ahead of the true time.
type Clock struct {
	slept  atomic.Int64
	source func() time.Duration
}

// NewClock returns a clock that reads source, for tests.
func NewClock(source func() time.Duration) *Clock { return &Clock{source: source} }

// Manual reports whether the clock was made by NewClock, in which case no timer follows it.
func (c *Clock) Manual() bool { return c.source != nil }

// These are read in this order, so that Rough is never ahead.
var (
	bootStarted = boot()
	started     = time.Now()
)

// Rough returns the time without suspensions since the last call of Now: never later than the true time. Use it to note when a request is sent.
func (c *Clock) Rough() time.Duration {
	if c.source != nil {
		return c.source()
	}
	return time.Since(started) + time.Duration(c.slept.Load())
}

// Now returns the true time. Use it to decide whether a lease has ended.
func (c *Clock) Now() time.Duration {
	if c.source != nil {
		return c.source()
	}
	now := boot() - bootStarted
	ahead := int64(now - time.Since(started)) // too small by the time that passes in between, never too large
	for was := c.slept.Load(); ahead > was && !c.slept.CompareAndSwap(was, ahead); {
		was = c.slept.Load()
	}
	return now
}
