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

// sign is a measurement of the servers that indicates a bottleneck.
type sign struct {
	limit, label, unit string
	stage              int     // signs of a later stage grow because of those of an earlier one: what waits for the disk also waits for the commit
	factor, least      float64 // factor by which it must grow, and value that it must reach
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

// figure reads a measurement as it is.
func figure(name string) func(results.Figures) (float64, bool) {
	return func(f results.Figures) (float64, bool) { return f.Get(name) }
}

// perSecond reads a sum over the time of a probe and divides it by that time, because a longer probe has a larger sum.
func perSecond(name string) func(results.Figures) (float64, bool) {
	return func(f results.Figures) (float64, bool) {
		sum, known := f.Get(name)
		seconds, timed := f.Get("seconds")
		return sum / seconds, known && timed && seconds > 0
	}
}

// fewConnections is how many connections more than its share a server must have: with few sessions the shares are never even.
const fewConnections = 10

// imbalance returns the connections of the server with the most, relative to an even share of all; 1 if it has hardly more.
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

// moved is a sign that grew with the load.
type moved struct {
	sign
	growth float64 // growth in units of the required growth: 1 is just enough
	text   string
}

// grown compares a sign at the load that failed with the sign at half of that load. Its values at lower loads, and in other probes at half, are its noise,
// which it must exceed.
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

// before orders signs: the earliest stage first, and within a stage the one that grew most.
func (m moved) before(other moved) int {
	return cmp.Or(cmp.Compare(m.stage, other.stage), cmp.Compare(other.growth, m.growth))
}
