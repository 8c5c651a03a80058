package bench

import (
	"sync/atomic"

	"github.com/zkbench/zkbench/metrics"
)

// cutShort records what the end of the run has cut as unfinished. Whether its last request was carried out is for the checks to bear in mind, and
// no error.
type cutShort struct {
	metrics.Recorder
	at *atomic.Int64 // when the run was cut, as an offset; 0 before
}

func (c cutShort) Record(s metrics.Sample, parts ...metrics.Sample) {
	if at := c.at.Load(); at > 0 && s.Outcome == metrics.InDoubt && int64(s.End) >= at {
		s.Outcome = metrics.Unfinished
	}
	c.Recorder.Record(s, parts...)
}
