package command

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// turns serves requests one after the other, each in the same time.
type turns struct {
	mu           sync.Mutex
	service      time.Duration // time of one request; 0 for none
	ahead        time.Duration // work that may be served at once after a pause: the depth of a token bucket
	still, every time.Duration // it serves nothing for the time still, once in every
	free         time.Time     // when there is nothing left to do
}

// take returns when the request that comes now has been served.
func (s *turns) take() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if full := time.Now().Add(-s.ahead); s.free.Before(full) {
		s.free = full
	}
	if s.every > 0 {
		if into := time.Duration(s.free.UnixNano() % int64(s.every)); into < s.still {
			s.free = s.free.Add(s.still - into)
		}
	}
	s.free = s.free.Add(s.service)
	return s.free
}

// oneByOne is one server in memory that serves its requests one after the other, for use in a synctest bubble.
type oneByOne struct {
	memory
	turns
	follower *ensemble.ServerStats // another server, which only reports figures; nil if there is none
}

// newOneByOne returns a server, and a command that knows it as the engine 'memory'.
func newOneByOne(t *testing.T) (*oneByOne, *app) {
	t.Helper()
	m := &oneByOne{}
	m.memory.Ensemble = zktest.New(zktest.Config{Hook: m.serve})
	a := &app{setup: setup()}
	a.setup.Engines = append(a.setup.Engines, target.Engine{Name: "memory", Persistent: true,
		Open: func(_ context.Context, d target.Dialing) (zk.Session, error) {
			return m.DialTimeout(d.Timeout), nil
		}})
	return m, a
}

// serve delays a request until the server has served it.
func (m *oneByOne) serve(op zktest.Op) zktest.Action {
	if !op.Applied {
		time.Sleep(time.Until(m.take()))
	}
	return zktest.Action{}
}

func (m *oneByOne) Stats(context.Context) []ensemble.ServerStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	leader := ensemble.ServerStats{Server: 1, Address: "memory:1", Stats: ensemble.Stats{State: "standalone", Znodes: int64(len(m.Tree())), Uptime: time.Hour}}
	if m.follower == nil {
		return []ensemble.ServerStats{leader}
	}
	leader.State = "leader"
	return []ensemble.ServerStats{leader, *m.follower}
}
