package gozk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
)

var servers ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func dial(t testing.TB) *gozk.Session {
	t.Helper()
	s, err := gozk.Dial(t.Context(), gozk.Config{Servers: servers.Get(t, 1).Addresses(), Timeout: 10 * time.Second, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return s
}

// root creates a znode for this test alone.
func root(t testing.TB, s zk.Session) string {
	t.Helper()
	c, err := s.Create(t.Context(), "/test-", nil, zk.PersistentSequential)
	if err != nil {
		t.Fatal(err)
	}
	return c.Path
}

// receive returns the event of a watch, for which it waits as long as the test may run.
func receive(t testing.TB, w *zk.Watch) zk.Event {
	t.Helper()
	select {
	case e := <-w.C():
		return e
	case <-t.Context().Done():
		t.Fatal("no event")
		return zk.Event{}
	}
}

func TestLargeRequestsAndReplies(t *testing.T) {
	s := dial(t)
	path := root(t, s) + "/large"
	for _, size := range []int{0, 3 << 10, 4 << 10, 5 << 10, 100 << 10, 900 << 10, 10} {
		data := bytes.Repeat([]byte{'x'}, size)
		name := fmt.Sprintf("%s-%d", path, size)
		if _, err := s.Create(t.Context(), name, data, zk.Persistent); err != nil {
			t.Fatalf("Create of %d bytes: %v", size, err)
		}
		if got, st, err := s.Get(t.Context(), name); err != nil || !bytes.Equal(got, data) || int(st.DataLength) != size {
			t.Errorf("Get = %d bytes, DataLength %d, %v, want %d", len(got), st.DataLength, err, size)
		}
	}
}

func TestManyWatchesOfOneSession(t *testing.T) {
	s := dial(t)
	dir := root(t, s)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			path := fmt.Sprintf("%s/%s-%d", dir, strings.Repeat("n", 200), i)
			_, found, w, err := s.ExistsW(t.Context(), path)
			if err != nil || found {
				t.Errorf("ExistsW = %v, %v, want false, nil", found, err)
				return
			}
			if _, err := s.Create(t.Context(), path, nil, zk.Ephemeral); err != nil {
				t.Error(err)
				return
			}
			if e := receive(t, w); e.Type != zk.EventCreated || e.Path != path || e.Err != nil {
				t.Errorf("event = %+v, want created", e)
			}
		})
	}
	wg.Wait()
	if got := s.Leaks(); got != (gozk.Leaks{}) {
		t.Errorf("Leaks() = %+v, want none", got)
	}
}

func TestStoppedWatchesAreCounted(t *testing.T) {
	s := dial(t)
	path := root(t, s)
	_, _, w, err := s.GetW(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	if got := s.Leaks().Watches; got != 1 {
		t.Errorf("after Stop, Leaks().Watches = %d, want 1", got)
	}
	_, _, again, err := s.GetW(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Set(t.Context(), path, []byte("x"), zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	receive(t, again)
	if got := s.Leaks().Watches; got != 0 {
		t.Errorf("after the event, Leaks().Watches = %d, want 0", got)
	}
}

func TestTimeoutIsTheNegotiatedOne(t *testing.T) {
	s, err := gozk.Dial(t.Context(), gozk.Config{Servers: servers.Get(t, 1).Addresses(), Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Timeout(); got <= 0 || got >= time.Hour {
		t.Errorf("Timeout() = %v, want the server's maximum", got)
	}
}

func TestDialFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := gozk.Dial(ctx, gozk.Config{Servers: []string{"127.0.0.1:1"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial of a closed port = %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := gozk.Dial(t.Context(), gozk.Config{}); !errors.Is(err, zk.ErrBadArguments) {
		t.Errorf("Dial without servers = %v, want %v", err, zk.ErrBadArguments)
	}
}
