package gozk_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestConformance(t *testing.T) {
	net := startProxy(t)
	zktest.Conformance(t, func(t *testing.T, cfg zktest.DialConfig) zk.Session {
		return net.dial(t, cfg.Timeout)
	}, zktest.Powers{
		Expire:     func(s zk.Session) { net.expire(t, s) },
		Disconnect: func(s zk.Session) { net.disconnect(s) },
		Reconnect:  net.reconnect,
	})
}

// network is what lies between the sessions of a test and one real server.
type network struct {
	*proxy.Proxy
	mu   sync.Mutex
	away map[int64]*proxy.Fault
}

func startProxy(t *testing.T) *network {
	t.Helper()
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 1).Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return &network{Proxy: p, away: map[int64]*proxy.Fault{}}
}

// dial opens a session through the proxy, also in the clean-up of a test, where its context has ended.
func (n *network) dial(t *testing.T, timeout time.Duration) *gozk.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), zktest.Patience)
	defer cancel()
	s, err := gozk.Dial(ctx, gozk.Config{Servers: n.Addresses(), Timeout: timeout, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (n *network) expire(t *testing.T, s zk.Session) {
	t.Helper()
	if err := n.Expire(t.Context(), s.ID()); err != nil {
		t.Error(err)
	}
}

// disconnect cuts the session off; the fault strikes each attempt to come back.
func (n *network) disconnect(s zk.Session) *proxy.Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	away := n.KeepAway(s.ID())
	n.away[s.ID()] = away
	return away
}

func (n *network) reconnect(s zk.Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away[s.ID()].Remove()
	delete(n.away, s.ID())
}
