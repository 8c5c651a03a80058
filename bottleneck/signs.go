package bottleneck

import (
	"cmp"
	"fmt"
	"math"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// The limits that signs show.
const (
	disk       = "the disk"
	request    = "the leader's request thread"
	collection = "garbage collection of the servers"
	snapshots  = "snapshots of the servers"
	throttling = "throttling by the servers"
	followers  = "the followers"
	uneven     = "the connections, which the servers share unevenly"
	commit     = "the commit of writes"
)

// sign is a figure of the servers that shows a bottleneck.
type sign struct {
	limit, label, unit string
	stage              int     // signs of a later stage move for want of what those of an earlier one show: what waits for the disk waits for the commit, too
	factor, least      float64 // by which it has to grow, and what it has to reach
	read               func(results.Figures) (float64, bool)
}

var signs = []sign{
	{disk, "mean time of a sync", " ms", 1, 2, 2, figure("fsync_mean_high_ms")},
	{disk, "requests that waited for a sync", "", 1, 4, 4, figure("sync_queue_mean")},
	{request, "requests that waited for the leader's request thread", "", 1, 4, 4, figure("prep_queue_mean")},
	{collection, "pauses for garbage collection", " ms/s", 1, 3, 5, perSecond("jvm_pause_ms")},
	{snapshots, "time taken by snapshots", " ms/s", 1, 3, 5, perSecond("snapshot_ms")},
	{throttling, "requests that servers held back", "/s", 1, 4, 1, perSecond("throttled")},
	{followers, "mean time to the acknowledgement of a quorum", " ms", 2, 2, 2, figure("quorum_ack_mean_ms")},
	{followers, "packets that waited for a follower", "", 2, 4, 4, figure("learner_queue_mean")},
	{uneven, "connections of the server with the most, relative to an even share", "", 2, 1.25, 1.5, imbalance},
	{commit, "writes that waited for their commit", "", 3, 4, 4, figure("write_commit_queue_mean")},
	{commit, "reads that waited behind writes", "", 3, 4, 4, figure("read_commit_queue_mean")},
	{throttling, "most outstanding requests of a server (globalOutstandingLimit is 1000 by default)", "", 3, 2, 900, figure("outstanding_max")},
}

// figure reads a figure as it is.
func figure(name string) func(results.Figures) (float64, bool) {
	return func(f results.Figures) (float64, bool) { return f.Get(name) }
}

// perSecond reads a sum over the time of a probe: a longer one has more of it.
func perSecond(name string) func(results.Figures) (float64, bool) {
	return func(f results.Figures) (float64, bool) {
		sum, known := f.Get(name)
		seconds, timed := f.Get("seconds")
		return sum / seconds, known && timed && seconds > 0
	}
}

// fewConnections is how many connections more than its share a server has to have: of few sessions the shares are never even.
const fewConnections = 10

// imbalance is how many times its even share of all connections the server with the most has; 1 where that is hardly more.
func imbalance(f results.Figures) (float64, bool) {
	servers, _ := f.Get("servers")
	all, known := f.Get("connections")
	most, has := f.Get("connections_max")
	if !known || !has || servers < 2 || all <= 0 {
		return 0, false
	}
	if even := all / servers; most >= even+fewConnections {
		return most / even, true
	}
	return 1, true
}

// moved is what grew with the load.
type moved struct {
	sign
	growth float64 // in units of what it has to grow by: 1 is just enough
	text   string
}

// grown compares a sign at the load that failed with that at half of it. What it was at lower loads, and in other probes there, is its noise, beyond which it has to be.
func (s sign) grown(top, half results.Cell, lower []results.Cell, at, halfAt string) (moved, bool) {
	to, known := s.read(top.Server)
	from, knew := s.read(half.Server)
	if !known || !knew || to <= s.factor*from || to < s.least {
		return moved{}, false
	}
	for _, c := range lower {
		if before, known := s.read(c.Server); known && before >= to {
			return moved{}, false
		}
	}
	number := func(x float64) string { return phrase.Number(x, 2) + s.unit }
	return moved{s, math.Log(to/max(from, s.least/s.factor)) / math.Log(s.factor), fmt.Sprintf("%s: %s at %s, %s at %s", s.label, number(from), halfAt, number(to), at)}, true
}

// before orders what moved: the earliest stage first, and within it what grew most.
func (m moved) before(other moved) int {
	return cmp.Or(cmp.Compare(m.stage, other.stage), cmp.Compare(other.growth, m.growth))
}
