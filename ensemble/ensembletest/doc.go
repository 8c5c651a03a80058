// Package ensembletest is real ZooKeeper servers for tests: what package httptest is to package http.
package ensembletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
)

// Start starts a local ensemble of 1, 3, 5 or 7 servers with small heaps and ends it with the test. Each change edits the
// configuration before the start.
func Start(t testing.TB, servers int, changes ...func(*ensemble.LocalConfig)) *ensemble.Local {
	t.Helper()
	local, err := ensemble.Start(t.Context(), config(servers, changes))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return local
}

func config(servers int, changes []func(*ensemble.LocalConfig)) ensemble.LocalConfig {
	cfg := ensemble.LocalConfig{Servers: servers, Heap: "192m"}
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

// Shared is ensembles that the tests of one package share, at most one per number of servers, because a start takes seconds.
// Each is started when a test first asks for it. The zero value is ready:
//
//	var servers ensembletest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }
//
//	func TestIt(t *testing.T) { addresses := servers.Get(t, 3).Addresses() ... }
//
// Tests that share must leave servers as they found them, and use znodes of their own.
type Shared struct {
	mu      sync.Mutex
	started map[int]*ensemble.Local
}

// Get is the shared ensemble of this number of servers.
func (s *Shared) Get(t testing.TB, servers int) *ensemble.Local {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if local := s.started[servers]; local != nil {
		return local
	}
	local, err := ensemble.Start(context.WithoutCancel(t.Context()), config(servers, nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.started == nil {
		s.started = map[int]*ensemble.Local{}
	}
	s.started[servers] = local
	return local
}

// Run runs the tests and ends the ensembles; what it returns is for os.Exit.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

func (s *Shared) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []error
	for servers, local := range s.started {
		faults = append(faults, local.Close())
		delete(s.started, servers)
	}
	return errors.Join(faults...)
}
