package znode

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A lease that is over has lapsed, whether or not the session has another one by now; what is held under it is held under the next one if it
// still stands.
func TestALeaseThatIsOver(t *testing.T) {
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
			t.Fatal("a lease that lasts has lapsed")
		}
		if same, err := Confirm(t.Context(), s, lease, zk.Created{Path: "/gone"}); same != lease || err != nil {
			t.Errorf("Confirm under a lease that lasts: another lease %v, %v", same != lease, err)
		}
		ens.Partition(s)
		time.Sleep(9500 * time.Millisecond)
		if !Lapsed(s, lease) {
			t.Error("a lease that is over, without another one, has not lapsed")
		}
		ens.Reconnect(s)
		synctest.Wait()
		if _, _, err := s.Get(t.Context(), "/held"); err != nil {
			t.Fatal(err)
		}
		if !Lapsed(s, lease) || Lapsed(s, s.Lease()) {
			t.Error("the old lease has to have lapsed, and the new one not")
		}
		next, err := Confirm(t.Context(), s, lease, held)
		if err != nil || next == lease || IsClosed(next) {
			t.Errorf("Confirm of what still stands: a new lease %v, %v", next != lease, err)
		}
		if _, err := Confirm(t.Context(), s, lease, held, zk.Created{Path: "/gone"}); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("Confirm of what is gone: %v, want ErrNoNode", err)
		}
	})
}
