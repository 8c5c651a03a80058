package load

import (
	"context"
	"sync"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/zk"
)

// accounts holds the accounts of a cell, taken before each fault, whenever all clients are connected again, and at the end of the load: the difference
// between two of them is the cost of a storm of reconnections. A cell without faults takes none during the load.
type accounts struct {
	mu  sync.Mutex
	all []outcome.Account
}

// take takes an account.
func (c *Cell) take() {
	a := outcome.Account{At: c.origin.Now(), Traffic: c.clients.traffic(), Counts: c.fanout.Snapshot()}
	c.accounts.mu.Lock()
	defer c.accounts.mu.Unlock()
	c.accounts.all = append(c.accounts.all, a)
}

// keepAccounts takes an account whenever all clients are connected again. The caller calls stop, which takes the last one.
func (c *Cell) keepAccounts(ctx context.Context) (stop func()) {
	if len(c.Profile.Faults) == 0 {
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

// traffic returns what all sessions that the seats ever had sent and received; nil if some do not report it.
func (c *sessionPool) traffic() *zk.Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.retired
	for _, s := range c.sessions {
		t, reported := zk.TrafficOf(s)
		if !reported {
			return nil
		}
		sum.Sent, sum.Received = sum.Sent+t.Sent, sum.Received+t.Received
	}
	return &sum
}

// retire replaces the session at a place with a fresh one, and keeps counting the traffic of the old one.
func (c *sessionPool) retire(place int, fresh zk.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, _ := zk.TrafficOf(c.sessions[place])
	c.retired.Sent, c.retired.Received = c.retired.Sent+t.Sent, c.retired.Received+t.Received
	c.sessions[place] = fresh
}
