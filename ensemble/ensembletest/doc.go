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
// configuration before the start. The test is skipped without Java or ZooKeeper; see Need.
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

// cheap keeps the JVM from spending effort on compiling and garbage collection that does not pay off for servers that live for seconds.
var cheap = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

func config(servers int, changes []func(*local.Config)) local.Config {
	cfg := local.Config{Servers: servers, Heap: "192m", JavaArgs: cheap}
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

// Shared holds ensembles that the tests of one package share, because a start takes seconds. A test and its subtests have an ensemble to themselves
// until the test ends; then the next test gets it. So there are as many ensembles of a size as tests that used one concurrently ('go test -parallel').
// The zero value is ready to use:
//
//	var servers ensembletest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }
//
//	func TestIt(t *testing.T) { addresses := servers.Get(t, 3).Addresses() ... }
//
// Tests must leave servers as they found them, and use their own znodes. Get may be called concurrently.
type Shared struct {
	// Strict requires every test to leave the tree as it found it: see Look.
	Strict bool

	mu   sync.Mutex
	all  []*local.Local
	free map[int][]*local.Local // by number of servers
	used map[use]func() (*local.Local, error)
}

// use is the ensemble that a test has to itself.
type use struct {
	test    string
	servers int
}

// Get returns an ensemble of this number of servers for a test and its subtests. An onlooker watches the test or subtest that asks first.
func (s *Shared) Get(t testing.TB, servers int) *local.Local {
	t.Helper()
	NeedServers(t)
	e, err := s.take(t, servers)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// take returns the ensemble that the test already has, a free one, or a new one.
func (s *Shared) take(t testing.TB, servers int) (*local.Local, error) {
	s.mu.Lock()
	for name := t.Name(); name != ""; name = name[:max(strings.LastIndexByte(name, '/'), 0)] {
		if have := s.used[use{name, servers}]; have != nil {
			s.mu.Unlock()
			return have()
		}
	}
	if s.used == nil {
		s.free, s.used = map[int][]*local.Local{}, map[use]func() (*local.Local, error){}
	}
	key := use{t.Name(), servers}
	have := sync.OnceValues(func() (*local.Local, error) { return s.freeOrNew(context.WithoutCancel(t.Context()), servers) })
	s.used[key] = have
	s.mu.Unlock()

	e, err := have()
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.used, key)
		if err == nil {
			s.free[servers] = append(s.free[servers], e)
		}
	})
	if err == nil {
		Look(t, e.Addresses(), s.Strict) // its comparison runs before the ensemble is free again
	}
	return e, err
}

func (s *Shared) freeOrNew(ctx context.Context, servers int) (*local.Local, error) {
	s.mu.Lock()
	if free := s.free[servers]; len(free) > 0 {
		s.free[servers] = free[:len(free)-1]
		s.mu.Unlock()
		return free[len(free)-1], nil
	}
	s.mu.Unlock()
	e, err := local.Start(ctx, config(servers, nil))
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, e)
	}
	return e, err
}

// Run runs the tests and ends the ensembles; it returns the code for os.Exit.
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
	for _, e := range s.all {
		failed = append(failed, e.Close())
	}
	s.all = nil
	return errors.Join(failed...)
}
