package bench

import (
	"sync/atomic"

	"github.com/zkbench/zkbench/metrics"
)

// counted records what sessions did, for the figures: nothing that was there before the load, and what the end of the run has cut as unfinished. Whether
// its last request was carried out is for the checks to bear in mind, and no error.
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
