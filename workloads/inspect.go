package workloads

import (
	"context"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// InspectOpen records for the checks what is left of the recipe's znodes while the sessions are still open and hold nothing: ephemeral znodes
// are deleted with their session and cannot be seen afterwards. It records no items and no sums, which are accounted for only once.
func InspectOpen(ctx context.Context, w Workload, s zk.Session, r metrics.Recorder) error {
	inspect := w.Inspect
	if k, some := w.(Keeping); some {
		inspect = k.InspectOpen
	}
	return inspect(ctx, s, whileOpen{r})
}

type whileOpen struct{ metrics.Recorder }

func (o whileOpen) Record(s metrics.Sample, parts ...metrics.Sample) {
	for _, s := range append([]metrics.Sample{s}, parts...) {
		if s.Op == metrics.Left || s.Op == metrics.Drain {
			s.Value = check.SessionsOpen
			o.Recorder.Record(s)
		}
	}
}
