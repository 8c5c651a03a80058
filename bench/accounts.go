package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// account is what all sessions of a cell had sent and received by an offset.
type account struct {
	at      time.Duration // before it was taken
	counts  metrics.FanoutCounts
	traffic *zk.Traffic // nil where the engine does not tell
}

// accounts are those of a cell, taken before each fault, whenever all clients are connected again, and at the end of the load: what lies
// between two of them is what a storm of reconnections took. They are not taken in the course of a cell without faults.
type accounts struct {
	mu  sync.Mutex
	all []account
}

// take takes one.
func (c *cell) take() {
	a := account{at: c.origin.Now(), traffic: c.clients.traffic(), counts: c.fanout.Snapshot()}
	c.accounts.mu.Lock()
	defer c.accounts.mu.Unlock()
	c.accounts.all = append(c.accounts.all, a)
}

// keepAccounts takes one whenever all clients are connected again. The caller calls stop, which takes the last one.
func (c *cell) keepAccounts(ctx context.Context) (stop func()) {
	if len(c.profile.Faults) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	whole := c.clients.links.tellWhole()
	go func() {
		defer close(over)
		defer c.take()
		for {
			select {
			case <-ctx.Done():
				return
			case <-whole:
				c.take()
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// spent is what the sessions sent and received from an offset until another, or until the end of the load where that is sooner: from the last
// account before the first to the first one from the second on. It is nil where there are none.
func (a *accounts) spent(from, until time.Duration) *results.Reconnection {
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.SortStableFunc(a.all, func(x, y account) int { return int(x.at - y.at) })
	first, last := -1, len(a.all)-1
	for i, one := range a.all {
		if one.at <= from {
			first = i
		}
	}
	if i := slices.IndexFunc(a.all, func(one account) bool { return one.at >= until }); i >= 0 {
		last = i
	}
	if first < 0 || last <= first {
		return nil
	}
	n := a.all[last].counts.Sub(a.all[first].counts)
	r := &results.Reconnection{Watches: n.Requests[zk.KindSetWatches], Credentials: n.Requests[zk.KindAuth], Events: n.AllEvents()}
	for k, sent := range n.Requests {
		if zk.Kind(k) != zk.KindPing {
			r.Requests += sent
		}
	}
	if before, after := a.all[first].traffic, a.all[last].traffic; before != nil && after != nil {
		sent, received := after.Sent-before.Sent, after.Received-before.Received
		r.SentBytes, r.ReceivedBytes = &sent, &received
	}
	return r
}

// traffic is what all sessions that the seats ever had sent and received; nil where some do not tell.
func (c *sessionPool) traffic() *zk.Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.retired
	for _, s := range c.sessions {
		t, told := zk.TrafficOf(s)
		if !told {
			return nil
		}
		sum.Sent, sum.Received = sum.Sent+t.Sent, sum.Received+t.Received
	}
	return &sum
}

// retire has a new session take the place of one, whose traffic counts on.
func (c *sessionPool) retire(place int, fresh zk.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, _ := zk.TrafficOf(c.sessions[place])
	c.retired.Sent, c.retired.Received = c.retired.Sent+t.Sent, c.retired.Received+t.Received
	c.sessions[place] = fresh
}
