package ensembletest

import (
	"net"
	"os"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble/local"
)

var servers Shared

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func TestStart(t *testing.T) {
	var address string
	t.Run("while the test runs", func(t *testing.T) {
		local := Start(t, 1)
		address = local.Addresses()[0]
		if s := local.Stats(t.Context())[0]; s.Err != nil {
			t.Error(s.Err)
		}
	})
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Errorf("%s accepts a connection after the test", address)
	}
}

// A test and its subtests share one ensemble, concurrent tests have different ones, and the next test gets an earlier one.
func TestShared(t *testing.T) {
	var have [2]*local.Local
	var tests, got sync.WaitGroup
	got.Add(len(have))
	for i := range have {
		tests.Go(func() {
			t.Run("at once", func(t *testing.T) {
				have[i] = servers.Get(t, 1)
				t.Run("subtest", func(t *testing.T) {
					if second := servers.Get(t, 1); second != have[i] {
						t.Error("a subtest has another ensemble than its test")
					}
				})
				got.Done()
				got.Wait()
			})
		})
	}
	tests.Wait()
	if have[0] == have[1] {
		t.Error("two tests have the same ensemble at once")
	}
	if later := servers.Get(t, 1); later != have[0] && later != have[1] {
		t.Error("a later test has a third ensemble")
	}
}
