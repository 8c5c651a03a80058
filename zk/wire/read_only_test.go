package wire_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// TestReadOnlyServer: without a quorum a server serves the reads of a client that accepts read-only servers and refuses its writes. Other clients
// refuse the server. When the quorum is back, the session can write, or reports that it has ended.
func TestReadOnlyServer(t *testing.T) {
	local := ensembletest.Start(t, 3, func(c *local.Config) {
		c.JavaArgs = []string{"-Dreadonlymode.enabled=true"}
		c.Extra = map[string]string{"localSessionsEnabled": "true", "localSessionsUpgradingEnabled": "true"} // without local sessions a read-only server opens none
		c.Tick = 500 * time.Millisecond
	})
	ctx := limited(t)
	for _, server := range []int{2, 3} {
		if err := local.Kill(ctx, server); err != nil {
			t.Fatal(err)
		}
	}
	survivor := local.Addresses()[:1]
	var s *wire.Client
	for s == nil { // until the server has noticed that the others are gone
		c, err := wire.Dial(ctx, wire.Config{Servers: survivor, Timeout: 10 * time.Second, ReadOnly: true})
		switch {
		case err != nil:
			t.Fatalf("no read-only session: %v", err)
		case c.ReadOnly():
			s = c
		default:
			c.Close()
			time.Sleep(50 * time.Millisecond)
		}
	}
	defer s.Close()
	if _, _, err := s.Get(ctx, "/"); err != nil {
		t.Errorf("Get on a read-only server = %v, want nil", err)
	}
	if _, err := s.Create(ctx, "/read-only", nil, zk.Persistent); !errors.Is(err, zk.ErrReadOnly) {
		t.Errorf("Create on a read-only server = %v, want %v", err, zk.ErrReadOnly)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if strict, err := wire.Dial(short, wire.Config{Servers: survivor, Timeout: 10 * time.Second}); err == nil {
		strict.Close()
		t.Error("Dial without ReadOnly accepted a read-only server")
	}
	if err := local.Restart(ctx, 2); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := s.Create(ctx, "/written", nil, zk.Ephemeral)
		if err == nil || s.Err() != nil {
			t.Logf("with the quorum back: %v, session %v", err, s.Err())
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("with the quorum back the session neither writes nor ends: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if s.Err() == nil && s.ReadOnly() {
		t.Error("ReadOnly() = true after a write")
	}
}
