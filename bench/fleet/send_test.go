package fleet

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk/zktest"
)

// The others receive what one share sends, in whatever order they arrive and however much it is, and nothing of it remains after Forget.
func TestSharesSendEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := zktest.New(zktest.Config{OpLatency: time.Millisecond})
		all := gathered(t, e, nil)
		before := len(e.Tree())
		for k, size := range []int{0, 1, piece, piece + 1, 3 * piece} {
			data := bytes.Repeat([]byte{byte(k)}, size)
			for _, err := range everyone(all[:], func(m *Meeting) error {
				if m == all[1] {
					time.Sleep(time.Duration(k%2) * time.Second)
					return m.Send(t.Context(), data, "sent", k, 2)
				}
				time.Sleep(time.Duration((k+1)%2) * time.Second)
				got, err := m.Receive(t.Context(), "sent", k, 2)
				if !bytes.Equal(got, data) {
					t.Errorf("%d bytes were sent, and %d received, or others", len(data), len(got))
				}
				return err
			}) {
				if err != nil {
					t.Error(err)
				}
			}
		}
		all[0].Forget(t.Context(), "sent", 4, 2)
		all[0].Forget(t.Context(), "sent", 7)
		if got, err := all[2].Receive(t.Context(), "sent", 3, 2); err != nil || len(got) != piece+1 {
			t.Errorf("something else was forgotten: %d bytes, %v", len(got), err)
		}
		all[0].Forget(t.Context(), "sent")
		if after := len(e.Tree()); after != before {
			t.Errorf("%d znodes, and %d before anything was sent", after, before)
		}
		for _, m := range all {
			m.Close()
		}
	})
}

// A lost reply does not make Send fail, and a share that waits for a lost share gets an error.
func TestWhoSendsAndWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Int32
		e := zktest.New(zktest.Config{Timeout: 4 * time.Second, Hook: func(op zktest.Op) zktest.Action {
			return zktest.Action{Lose: op.Path == path+"/sent-1" && op.Applied && lost.Add(1) == 1}
		}})
		all := gathered(t, e, nil)
		if err := all[0].Send(t.Context(), []byte("x"), "sent"); err != nil {
			t.Errorf("the reply was lost: %v", err)
		}
		if lost.Load() < 2 {
			t.Error("no reply was lost, or nobody asked again")
		}
		time.AfterFunc(time.Second, func() { all[2].s.Close() })
		for _, err := range everyone(all[:2], func(m *Meeting) error {
			_, err := m.Receive(t.Context(), "never")
			return err
		}) {
			if !errors.Is(err, ErrLost) {
				t.Errorf("waiting for what nobody sends: %v", err)
			}
		}
		if err := all[1].Send(t.Context(), []byte("x"), "late"); !errors.Is(err, ErrLost) {
			t.Errorf("sending after a share was lost: %v", err)
		}
		for _, m := range all {
			m.Close()
		}
	})
}
