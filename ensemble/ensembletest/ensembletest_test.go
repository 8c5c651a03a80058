package ensembletest

import (
	"net"
	"os"
	"testing"
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

func TestShared(t *testing.T) {
	first := servers.Get(t, 1)
	if second := servers.Get(t, 1); second != first {
		t.Error("two ensembles of one server, want one")
	}
}
