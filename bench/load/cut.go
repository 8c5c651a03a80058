package load

import (
	"sync/atomic"

	"github.com/zkbench/zkbench/metrics"
)

// counted records what sessions did, for the figures. It leaves out what existed before the load, and records what the end of the run cut as unfinished, not
// as an error. The checks still have to consider that the last request of a session may have been carried out.
type counted struct {
	metrics.Recorder
	cutAt *atomic.Int64 // when the run was cut, as an offset; 0 before
	ok    *atomic.Int64 // when something last succeeded, as an offset
}

func (c counted) Record(s metrics.Sample, parts ...metrics.Sample) {
	if s.Session == metrics.Everybody {
		return
	}
	if at := c.cutAt.Load(); at > 0 && s.Outcome == metrics.InDoubt && int64(s.End) >= at {
		s.Outcome = metrics.Unfinished
	}
	if s.Outcome == metrics.OK {
		c.ok.Store(int64(s.End))
	}
	c.Recorder.Record(s, parts...)
}
