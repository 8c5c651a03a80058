package workloads

import (
	"testing"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// Everything that goes over the wire is in the cost, once: requests about watches only, and those that maintain a session, are neither reads nor
// writes of the recipe.
func TestEachRequestCountsOnce(t *testing.T) {
	want := map[zk.Kind]Spent{zk.KindAddWatch: Watches, zk.KindRemoveWatches: Watches, zk.KindSetWatches: Watches, zk.KindPing: Upkeep, zk.KindConnect: Upkeep,
		zk.KindAuth: Upkeep, zk.KindClose: Upkeep, zk.KindCreate: Writes, zk.KindDelete: Writes, zk.KindSet: Writes, zk.KindMulti: Writes}
	for kind := range zk.Kind(zk.Kinds) {
		var n metrics.FanoutCounts
		n.Requests[kind] = 1
		spent, listed := want[kind]
		if !listed {
			spent = Reads
		}
		cost := CostOf(n)
		if sum := cost[Writes] + cost[Reads] + cost[Watches] + cost[Upkeep]; cost[spent] != 1 || sum != 1 {
			t.Errorf("a %v costs %v, want one of %s", kind, cost, spent)
		}
	}
}
