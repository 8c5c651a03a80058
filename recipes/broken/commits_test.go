package broken_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/workloads"
)

func TestEachDefectOfACommitIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Commits {
		t.Run(d.Name, func(t *testing.T) {
			also := []string{"nothing-left"} // the run ends in the middle of a transaction
			switch d.Name {
			case "broken-own-way": // a participant that decides alone aborts what all voted for
				also = append(also, "commit-progress", "decision-stands")
			case "broken-overrules": // a vote to commit is missing
				also = append(also, "commit-validity")
			case "broken-forgets": // a participant that got the other decision differs from all others
				also = append(also, "commit-agreement", "commit-progress")
			}
			l := load{seed: 1, sessions: 4, length: 10 * time.Second, hold: 5 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}
			of := func(v recipes.Variant[recipes.Commit], o recipes.Options, c workloads.Load) workloads.Workload {
				c.Values["participants"], c.Values["aborts"], c.Values["transactions"] = 4, 10, 1<<16
				return workloads.NewCommit(v, o, c)
			}
			caught(t, d.Caught, runBarrier(t, l, of, d.Variant), also...)
		})
	}
}
