// Package ensembletest provides real ZooKeeper servers for tests, as package httptest does for HTTP.
package ensembletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble/local"
)

// Start starts a local ensemble of 1, 3, 5 or 7 servers with small heaps and ends it with the test. Each change edits the
// configuration before the start. Where there is no Java or no ZooKeeper the test is skipped; see Need.
func Start(t testing.TB, servers int, changes ...func(*local.Config)) *local.Local {
	t.Helper()
	NeedServers(t)
	cfg := config(servers, changes)
	e, err := local.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	if cfg.Secure == "" { // an onlooker has no credentials
		Look(t, e.Addresses(), false)
	}
	return e
}

func config(servers int, changes []func(*local.Config)) local.Config {
	cfg := local.Config{Servers: servers, Heap: "192m"}
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
	// Strict has every test leave the tree as it found it: see Look.
	Strict bool

	mu      sync.Mutex
	started map[int]*local.Local
	looking map[string]bool // tests that an onlooker looks at, with the number of servers
}

// Get is the shared ensemble of this number of servers. An onlooker looks at the test.
func (s *Shared) Get(t testing.TB, servers int) *local.Local {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.started[servers]; e != nil {
		s.look(t, servers)
		return e
	}
	NeedServers(t)
	e, err := local.Start(context.WithoutCancel(t.Context()), config(servers, nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.started == nil {
		s.started = map[int]*local.Local{}
	}
	s.started[servers] = e
	s.look(t, servers)
	return e
}

// look puts a test under an onlooker, once; subtests are under their test's.
func (s *Shared) look(t testing.TB, servers int) {
	t.Helper()
	for name := t.Name(); name != ""; name = name[:max(strings.LastIndexByte(name, '/'), 0)] {
		if s.looking[fmt.Sprint(servers, name)] {
			return
		}
	}
	if s.looking == nil {
		s.looking = map[string]bool{}
	}
	key := fmt.Sprint(servers, t.Name())
	s.looking[key] = true
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.looking, key)
	})
	Look(t, s.started[servers].Addresses(), s.Strict)
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
	var failed []error
	for servers, e := range s.started {
		failed = append(failed, e.Close())
		delete(s.started, servers)
	}
	return errors.Join(failed...)
}
