package wire_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// tapped is a session with a tap: each create also sends a ping and receives something.
type tapped struct {
	zk.Session
	by zk.WireObserver
}

func (s *tapped) Tap(by zk.WireObserver) { s.by = by }

func (s *tapped) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	s.by.Sends(zk.KindCreate, time.Now())
	s.by.Sends(zk.KindPing, time.Now())
	s.by.Receives(time.Now())
	return s.Session.Create(ctx, path, data, mode)
}

// Observe counts what a session's tap reports, whatever is wrapped around the session. For a session without a tap it counts calls and fired
// watches instead.
func TestObserveTapsTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tap := range []bool{false, true} {
			ens := zktest.New(zktest.Config{})
			var s zk.Session = ens.Dial()
			if tap {
				s = &tapped{Session: s}
			}
			var sent, want []zk.Kind
			received := 0
			inner := zk.Observe(zk.Within(s, "/"), &zk.Trace{Call: func(*zk.Call) {}}) // does not ask for the tap
			outer := zk.Observe(inner, &zk.Trace{Sent: func(k zk.Kind, _ time.Time) { sent = append(sent, k) }, Received: func(time.Time) { received++ }})
			_, _, w, err := outer.ExistsW(t.Context(), "/a")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := outer.Create(t.Context(), "/a", nil, zk.Persistent); err != nil {
				t.Fatal(err)
			}
			<-w.C()
			synctest.Wait()
			if want = []zk.Kind{zk.KindExists, zk.KindCreate}; tap {
				want = []zk.Kind{zk.KindCreate, zk.KindPing}
			}
			if !slices.Equal(sent, want) || received != 1 {
				t.Errorf("tap %v: sent %v, %d received; want %v and 1", tap, sent, received, want)
			}
			outer.Close()
		}
	})
}
