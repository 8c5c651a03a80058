package bench

import (
	"context"

	"github.com/zkbench/zkbench/bench/merge"
	"github.com/zkbench/zkbench/results"
)

// Merged describes the merged result of the shares of a run.
type Merged struct {
	Config                         // Setup, Profile, Out, Command and Version; there are no connections
	Shares  []*results.ShareResult // of one run, the lowest first: see results.ReadShares
	Missing []int                  // shares that have no result
}

// Merge checks the profile with Setup.Check and merges the results of the shares with merge.Merge.
func Merge(ctx context.Context, m Merged) (*results.Run, error) {
	if err := m.Check(m.Profile); err != nil {
		return nil, err
	}
	kind, _ := m.workload(m.Profile.Workload)
	return merge.Merge(ctx, merge.Config{Kind: kind, Profile: m.Profile, Command: m.Command, Version: m.Version, Out: m.Out, Shares: m.Shares, Missing: m.Missing})
}
