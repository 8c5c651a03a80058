package znode

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A lease that has ended has lapsed, even if the session has a new one. A znode that still exists can be confirmed under the new lease.
func TestALapsedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{Timeout: 10 * time.Second})
		s := ens.Dial()
		defer s.Close()
		held, err := s.Create(t.Context(), "/held", nil, zk.Ephemeral)
		if err != nil {
			t.Fatal(err)
		}
		lease := s.Lease()
		if Lapsed(s, lease) {
			t.Fatal("an open lease has lapsed")
		}
		if same, err := Confirm(t.Context(), s, lease, zk.Created{Path: "/gone"}); same != lease || err != nil {
			t.Errorf("Confirm under an open lease: another lease %v, %v", same != lease, err)
		}
		ens.Partition(s)
		time.Sleep(9500 * time.Millisecond)
		if !Lapsed(s, lease) {
			t.Error("an ended lease without a successor has not lapsed")
		}
		ens.Reconnect(s)
		synctest.Wait()
		if _, _, err := s.Get(t.Context(), "/held"); err != nil {
			t.Fatal(err)
		}
		if !Lapsed(s, lease) || Lapsed(s, s.Lease()) {
			t.Error("want the old lease lapsed and the new one open")
		}
		next, err := Confirm(t.Context(), s, lease, held)
		if err != nil || next == lease || IsClosed(next) {
			t.Errorf("Confirm of a znode that exists: a new lease %v, %v", next != lease, err)
		}
		if _, err := Confirm(t.Context(), s, lease, held, zk.Created{Path: "/gone"}); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("Confirm of a missing znode: %v, want ErrNoNode", err)
		}
	})
}
