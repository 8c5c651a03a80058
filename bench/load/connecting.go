package load

import (
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/metrics"
)

// watchConnecting counts, by phase, the connections that the sessions of the cell make until stop is called. The cell's sessions are numbered from 1; number
// 0 is the administrative session.
func (c *Cell) watchConnecting() (stop func()) {
	if c.target.Access == nil {
		return func() {}
	}
	c.target.Access.Watch(func(m access.Made) {
		if m.Session == 0 {
			return
		}
		s := metrics.Sample{Op: connectOp(m), Session: uint32(m.Session - 1), Start: c.origin.At(m.Start), End: c.origin.At(m.End)}
		s.Due = s.Start
		c.collector.Shard(m.Session).Record(s)
	})
	return func() { c.target.Access.Watch(nil) }
}

// connectOp returns the operation that stands for the phase.
func connectOp(m access.Made) metrics.Op {
	switch {
	case m.Phase == access.TCP:
		return metrics.ConnectTCP
	case m.Resumed:
		return metrics.ConnectTLSResumed
	case m.Phase == access.TLS:
		return metrics.ConnectTLS
	case m.Phase == access.SASL:
		return metrics.ConnectSASL
	}
	return metrics.ConnectSession
}
