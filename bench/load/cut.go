package load

import (
	"sync/atomic"

	"github.com/zkbench/zkbench/metrics"
)

// recorder records what the sessions of a seat did: all of it in the history, and in the figures not what existed before the load. There, what the end of the
// run cut is unfinished, not an error; the checks still have to consider that the last request of a session may have been carried out.
type recorder struct {
	pausing // for a closed loop
	*records
}

// records are what some of the seats share to record what their sessions did.
type records struct {
	figures, history metrics.Recorder
	cutAt            *atomic.Int64 // when the run was cut, as an offset; 0 before
	pauses           *pauses
}

// Record implements metrics.Recorder.
func (r *recorder) Record(s metrics.Sample, parts ...metrics.Sample) {
	if r.may {
		r.note(s.Outcome)
	}
	r.history.Record(s, parts...)
	if s.Session == metrics.Everybody {
		return
	}
	if at := r.cutAt.Load(); at > 0 && s.Outcome == metrics.InDoubt && int64(s.End) >= at {
		s.Outcome = metrics.Unfinished
	}
	r.figures.Record(s, parts...)
}
