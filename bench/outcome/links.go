package outcome

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// Links records what happened to the connections of a cell's clients. A client is a seat: when its session is lost, it gets another one.
type Links struct {
	Silent bool // some session does not report its connections
	Events []LinkEvent
}

// LinkEvent is an event of one seat's connection, at an offset.
type LinkEvent struct {
	Seat uint32
	What zk.Link
	At   time.Duration
}

// Account is what all sessions of a cell had sent and received by an offset.
type Account struct {
	At      time.Duration // shortly before it was taken
	Counts  metrics.FanoutCounts
	Traffic *zk.Traffic // nil if the engine does not report it
}

// storm adds to r the clients that lost their connection between two offsets, and returns when they were connected again, at any later time. A connection
// lost after that interval does not belong to this storm. A client that reconnected and lost the connection again within the interval does not count as back.
// The clock of the offsets may be off by skew: losses up to skew before the first offset count, and no client is back before that offset.
func (l Links) storm(from, skew, to time.Duration, r *results.Fault) (back []time.Duration) {
	if l.Silent {
		return nil
	}
	type client struct {
		back      time.Duration
		connected bool
	}
	cut, lost, handshakes := map[uint32]*client{}, 0, 0
	events := slices.Clone(l.Events)
	slices.SortStableFunc(events, func(a, b LinkEvent) int { return cmp.Compare(a.At, b.At) }) // events of different seats may be reported out of order
	for _, e := range events {
		c := cut[e.Seat]
		switch {
		case e.At < from-skew:
		case e.What == zk.LinkLost && e.At < to:
			if c == nil {
				c = &client{}
				cut[e.Seat] = c
			}
			c.connected = false
			lost++
		case c == nil:
		case e.What == zk.LinkTried && !c.connected:
			handshakes++
		case e.What == zk.LinkMade && !c.connected:
			c.connected, c.back = true, e.At
		}
	}
	for _, c := range cut {
		if c.connected {
			back = append(back, max(c.back-from, 0))
		}
	}
	n := len(cut)
	r.SessionsCut = &n
	backOf(back, r)
	if n > 0 {
		r.LinksCut, r.Handshakes = &lost, &handshakes
	}
	return back
}

// backOf reports when the clients that were cut off were back.
func backOf(back []time.Duration, r *results.Fault) {
	slices.Sort(back)
	n := *r.SessionsCut
	r.BackHalf, r.Back99, r.BackAll = share(back, n, 50), share(back, n, 99), share(back, n, 100)
}

// share returns when the given percentage of those due had come, in milliseconds; nil if fewer have. The times are sorted.
func share(came []time.Duration, due, percent int) *float64 {
	n := (due*percent + 99) / 100
	if n == 0 || n > len(came) {
		return nil
	}
	return new(Millis(came[n-1]))
}

// spent returns what the sessions sent and received between two offsets, or until the end of the load if that is sooner: from the last account at or before
// the first offset to the first account at or after the second. It is nil if these accounts do not exist.
func spent(all []Account, from, until time.Duration) *results.Reconnection {
	all = slices.SortedStableFunc(slices.Values(all), func(x, y Account) int { return cmp.Compare(x.At, y.At) })
	first, last := -1, len(all)-1
	for i, one := range all {
		if one.At <= from {
			first = i
		}
	}
	if i := slices.IndexFunc(all, func(one Account) bool { return one.At >= until }); i >= 0 {
		last = i
	}
	if first < 0 || last <= first {
		return nil
	}
	n := all[last].Counts.Sub(all[first].Counts)
	r := &results.Reconnection{Watches: n.Requests[zk.KindSetWatches], Credentials: n.Requests[zk.KindAuth], Events: n.AllEvents()}
	for k, sent := range n.Requests {
		if zk.Kind(k) != zk.KindPing {
			r.Requests += sent
		}
	}
	if before, after := all[first].Traffic, all[last].Traffic; before != nil && after != nil {
		sent, received := after.Sent-before.Sent, after.Received-before.Received
		r.SentBytes, r.ReceivedBytes = &sent, &received
	}
	return r
}
