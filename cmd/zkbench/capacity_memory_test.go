package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// oneByOne is one server in memory whose requests are served one after the other, each in the same time: for bubbles.
type oneByOne struct {
	memory
	mu      sync.Mutex
	service time.Duration // of one request; 0: none
	free    time.Time     // when the server has nothing left to do
}

// newOneByOne returns one, and a command that knows it as the engine 'memory'.
func newOneByOne(t *testing.T) (*oneByOne, *app) {
	t.Helper()
	m := &oneByOne{}
	m.memory.Ensemble = zktest.New(zktest.Config{Hook: m.serve})
	a := &app{setup: setup()}
	a.setup.Engines = append(a.setup.Engines, bench.Engine{Name: "memory", Persistent: true,
		Dial: func(_ context.Context, _ []string, timeout time.Duration, _ uint64) (zk.Session, error) {
			return m.DialTimeout(timeout), nil
		}})
	return m, a
}

// serve holds a request up until the server has served it.
func (m *oneByOne) serve(op zktest.Op) zktest.Action {
	m.mu.Lock()
	now := time.Now()
	if m.free.Before(now) {
		m.free = now
	}
	if !op.Applied {
		m.free = m.free.Add(m.service)
	}
	wait := m.free.Sub(now)
	m.mu.Unlock()
	if !op.Applied {
		time.Sleep(wait)
	}
	return zktest.Action{}
}

func (m *oneByOne) Stats(context.Context) []ensemble.ServerStats {
	return []ensemble.ServerStats{{Server: 1, Address: "memory:1", Stats: ensemble.Stats{State: "standalone", Znodes: int64(len(m.Tree()))}}}
}
