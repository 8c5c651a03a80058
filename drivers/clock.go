package drivers

import (
	"fmt"
	"time"
)

// clock relates the clock of a driver to that of this process: both count the monotonic time of one machine, from different beginnings.
type clock struct {
	base   time.Time
	offset int64         // the driver's clock at base, in nanoseconds
	bound  time.Duration // the offset is not farther from the true one; 0: never measured
}

// slack is what is allowed beside the bound: clocks that run at rates of their own differ by less in a run of minutes.
const slack = time.Millisecond

// measure takes what the driver's clock said at an unknown instant between two of this process. The closest two count.
func (c *clock) measure(sent, received time.Time, now int64) {
	if c.base.IsZero() {
		c.base = sent
	}
	if bound := received.Sub(sent) / 2; c.bound == 0 || bound < c.bound {
		c.offset, c.bound = now-int64(sent.Sub(c.base)+bound), max(bound, 1)
	}
}

// lie is what is wrong with the times of a reply to a request that was sent and received then; nil: nothing.
func (c *clock) lie(r Reply, sent, received time.Time) error {
	start, end := time.Duration(r.Start-c.offset), time.Duration(r.End-c.offset)
	allowed := c.bound + slack
	switch {
	case r.Start == 0 || r.End == 0:
		return fmt.Errorf("the reply has no start or no end")
	case r.End < r.Start:
		return fmt.Errorf("the reply says that it ended %v before it started", time.Duration(r.Start-r.End))
	case start < sent.Sub(c.base)-allowed:
		return fmt.Errorf("the reply says that it started %v before the request was sent", sent.Sub(c.base)-start)
	case end > received.Sub(c.base)+allowed:
		return fmt.Errorf("the reply says that it ended %v after it was received", end-received.Sub(c.base))
	}
	return nil
}
