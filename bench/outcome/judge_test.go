package outcome

import (
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/workloads"
)

// No check silently ignores samples that could not be written.
func TestAHistoryThatHasLostSamplesIsNotJudged(t *testing.T) {
	for _, dir := range []string{t.TempDir(), t.TempDir() + "/gone"} {
		c := &Cell{Work: judged{}, Recording: Recording{History: metrics.NewHistory(1, spill.NewRoom(dir, 0))}}
		for i := range metrics.Kept + 1 {
			c.History.Shard(0).Record(metrics.Sample{Op: metrics.Acquire, End: time.Duration(i)})
		}
		checks, _ := c.judge()
		v, lost := checks[0], strings.HasSuffix(dir, "gone")
		if lost != (v.Verdict == check.Unknown.String()) || lost != (c.History.Err() != nil) || lost != strings.Contains(v.Detail, "not complete") {
			t.Errorf("%s: %+v, the history has lost samples: %v", dir, v, c.History.Err())
		}
		c.History.Close()
	}
}

// judged is a workload with a check that always holds.
type judged struct{ workloads.Workload }

func (judged) Checks() []check.Check {
	return []check.Check{{Name: "fine", Judge: func(iter.Seq[metrics.Sample], *spill.Room) check.Verdict {
		return check.Verdict{Answer: check.Holds, Evidence: 1}
	}}}
}
