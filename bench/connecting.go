package bench

import (
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/metrics"
)

// watchConnecting has the connections that the sessions of the cell make from now on counted by the phase, until stop is called. The sessions'
// own numbers count from 1, as the administrative one has 0.
func (c *cell) watchConnecting() (stop func()) {
	if c.access == nil {
		return func() {}
	}
	c.access.Watch(func(m access.Made) {
		if m.Session == 0 {
			return
		}
		s := metrics.Sample{Op: connectOp(m), Session: uint32(m.Session - 1), Start: c.origin.At(m.Start), End: c.origin.At(m.End)}
		s.Due = s.Start
		c.collector.Shard(m.Session).Record(s)
	})
	return func() { c.access.Watch(nil) }
}

// connectOp is the phase as an operation.
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
