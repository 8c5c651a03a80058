package drivers

import (
	"fmt"
	"time"
)

// clock relates the clock of a driver to that of this process: both count the monotonic time of one machine, from different starts, and at rates that
// differ by at most rateError.
type clock struct {
	base   time.Time
	offset int64         // the driver's clock at base, in nanoseconds, as last measured
	at     time.Duration // time of that measurement since base
	bound  time.Duration // maximum error of the offset at that time; 0: never measured
	worst  time.Duration // the largest bound with which a reply was judged
}

const (
	// slack is the tolerance added to the error of the offset.
	slack = time.Millisecond
	// rateError is by how many millionths the rates of two monotonic clocks of a machine may differ: the most by which the system adjusts one of them.
	rateError = 500
)

// err returns the maximum error of the offset at a time since base.
func (c *clock) err(at time.Duration) time.Duration { return c.bound + max(at-c.at, 0)*rateError/1e6 }

// measure uses a reading of the driver's clock taken at an unknown instant between two instants of this process. It is used only if it is more precise than
// the last one used is by now. An error says that the driver's clock has jumped, or that its rate is different.
func (c *clock) measure(sent, received time.Time, now int64) error {
	if c.base.IsZero() {
		c.base = sent
	}
	at, bound := received.Sub(c.base), max(received.Sub(sent)/2, 1)
	offset := now - int64(sent.Sub(c.base)+bound)
	moved := time.Duration(offset - c.offset)
	switch known := c.err(at); {
	case c.bound != 0 && moved.Abs() > known+bound+slack:
		return fmt.Errorf("its clock went on by %v in %v (expected nanoseconds of a monotonic clock with the rate of this machine's)", at-c.at+moved, at-c.at)
	case c.bound == 0 || bound < known:
		c.offset, c.at, c.bound = offset, at, bound
	}
	return nil
}

// lie says what is wrong with the times in the reply to a request that was sent and received at these times; nil if nothing is.
func (c *clock) lie(r Reply, sent, received time.Time) error {
	start, end := time.Duration(r.Start-c.offset), time.Duration(r.End-c.offset)
	c.worst = max(c.worst, c.bound)
	allowed := c.err(received.Sub(c.base)) + slack
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
