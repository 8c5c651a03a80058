package zktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func create(t *testing.T, s zk.Session, path string, mode zk.Mode) zk.Created {
	t.Helper()
	c, err := s.Create(t.Context(), path, nil, mode)
	must(t, err)
	return c
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// closed reports whether a channel is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestSequenceNumbersWrapAsOnServers(t *testing.T) {
	for _, c := range []struct {
		next  int32
		names string
	}{
		{0, "0000000000 0000000001"},
		{2147483646, "2147483646 2147483647"},
		{2147483647, "2147483647 -2147483648"},
		{-2147483648, "-2147483648 -2147483647"},
		{-5, "-000000005 -000000004"},
		{-1, "-000000001 0000000000"},
	} {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		create(t, s, "/q", zk.Persistent)
		ens.SetSequence("/q", c.next)
		var names []string
		for range 2 {
			names = append(names, strings.TrimPrefix(create(t, s, "/q/n", zk.PersistentSequential).Path, "/q/n"))
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("after SetSequence(%d) the names are %s, want %s", c.next, got, c.names)
		}
	}
}

func TestEveryWriteTakesAZxid(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s := ens.Dial()
	create(t, s, "/a", zk.Persistent)
	ctx := t.Context()
	for _, c := range []struct {
		what string
		call func()
		want int64
	}{
		{"a read", func() { s.Get(ctx, "/a") }, 0},
		{"a sync", func() { s.Sync(ctx, "/a") }, 0},
		{"a create", func() { s.Create(ctx, "/b", nil, zk.Persistent) }, 1},
		{"a create that fails", func() { s.Create(ctx, "/b", nil, zk.Persistent) }, 1},
		{"a set that fails", func() { s.Set(ctx, "/a", nil, 9) }, 1},
		{"a delete that fails", func() { s.Delete(ctx, "/no", 0) }, 1},
		{"a multi", func() { s.Multi(ctx, zk.SetOp("/a", nil, -1), zk.SetOp("/b", nil, -1)) }, 1},
		{"a multi that fails", func() { s.Multi(ctx, zk.SetOp("/a", nil, -1), zk.CheckOp("/no", -1)) }, 1},
		{"a malformed path", func() { s.Delete(ctx, "no", 0) }, 0},
		{"a session", func() { ens.Dial() }, 1},
		{"the end of a session", func() { ens.Sessions()[1].Close() }, 1},
	} {
		before := ens.Zxid()
		c.call()
		if got := ens.Zxid() - before; got != c.want {
			t.Errorf("%s takes %d zxids, want %d", c.what, got, c.want)
		}
	}
}

func TestContainersAreReapedAfterTheirLastChild(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s := ens.Dial()
	create(t, s, "/fresh", zk.Container)
	create(t, s, "/used", zk.Container)
	create(t, s, "/used/a", zk.Persistent)
	equal(t, "containers reaped while one has a child", len(ens.ReapContainers()), 0)
	must(t, s.Delete(t.Context(), "/used/a", 0))
	equal(t, "containers reaped", strings.Join(ens.ReapContainers(), " "), "/used")
	if _, ok := ens.Tree()["/fresh"]; !ok {
		t.Error("a container that never had a child was reaped")
	}
}

// TestSessionsEndOnTime checks when a session that is cut off notices it, loses its lease, and expires.
func TestSessionsEndOnTime(t *testing.T) {
	const T = 9 * time.Second
	for _, c := range []struct {
		name                  string
		cut                   func(*zktest.Ensemble, zk.Session)
		notices, lease, death time.Duration
	}{
		{"disconnected", (*zktest.Ensemble).Disconnect, 0, T - T/10, T},
		{"partitioned", (*zktest.Ensemble).Partition, 2 * T / 3, T - T/10, T},
		{"deaf server", func(e *zktest.Ensemble, s zk.Session) { e.Silence(s, zktest.ToServer) }, 2 * T / 3, T - T/10, T},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{})
				s, other := ens.DialTimeout(T), ens.Dial()
				create(t, s, "/e", zk.Ephemeral)
				_, _, w, err := other.GetW(t.Context(), "/e")
				must(t, err)
				_, _, mine, err := s.GetW(t.Context(), "/e")
				must(t, err)

				start, lease := time.Now(), s.Lease()
				c.cut(ens, s)
				var failed time.Duration
				go func() {
					if _, err := s.Set(t.Context(), "/e", nil, -1); errors.Is(err, zk.ErrMaybeApplied) {
						failed = time.Since(start)
					}
				}()
				<-lease
				equal(t, "end of the lease", time.Since(start), c.lease)
				e := <-w.C()
				equal(t, "expiry on the server", time.Since(start), c.death)
				equal(t, "event", e.Type, zk.EventDeleted)
				synctest.Wait()
				equal(t, "failure of the pending call", failed, c.notices)

				time.Sleep(time.Hour)
				equal(t, "Done before the client can know", closed(s.Done()), false)
				ens.Reconnect(s)
				equal(t, "Done", closed(s.Done()), true)
				equal(t, "loss", errors.Is((<-mine.C()).Err, zk.ErrSessionExpired), true)
				synctest.Wait()
			})
		})
	}
}

func TestASessionThatComesBackInTimeLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{Timeout: 9 * time.Second})
		s := ens.Dial()
		create(t, s, "/e", zk.Ephemeral)
		ens.Disconnect(s)
		time.Sleep(9*time.Second - 1)
		ens.Reconnect(s)
		equal(t, "new lease is over", closed(s.Lease()), false)
		time.Sleep(time.Hour)
		equal(t, "ephemerals", strings.Join(ens.Ephemerals(), " "), "/e")
		must(t, s.Sync(t.Context(), "/"))
	})
}

func TestCloseWithoutAConnectionLeavesTheSessionToExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{Timeout: 9 * time.Second, OpLatency: time.Second})
		s := ens.Dial()
		create(t, s, "/e", zk.Ephemeral)
		ens.Partition(s)
		if err := s.Close(); !errors.Is(err, zk.ErrMaybeApplied) {
			t.Errorf("Close = %v, want ErrMaybeApplied", err)
		}
		equal(t, "ephemerals after Close", len(ens.Ephemerals()), 1)
		time.Sleep(9*time.Second + 1)
		equal(t, "ephemerals after the timeout", len(ens.Ephemerals()), 0)
		equal(t, "sessions", len(ens.Sessions()), 0)
	})
}

func TestLatenciesAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{OpLatency: 10 * time.Millisecond, EventLatency: 30 * time.Millisecond})
		s, other := ens.Dial(), ens.Dial()
		start := time.Now()
		_, _, w, err := other.ExistsW(t.Context(), "/a")
		must(t, err)
		equal(t, "a read", time.Since(start), 10*time.Millisecond)
		create(t, s, "/a", zk.Persistent)
		equal(t, "a write after it", time.Since(start), 20*time.Millisecond)
		e := <-w.C()
		equal(t, "the event, sent when the write was applied", e.At.Sub(start), 45*time.Millisecond)

		_, _, w, err = s.GetW(t.Context(), "/a")
		must(t, err)
		start = time.Now()
		_, err = s.Set(t.Context(), "/a", nil, -1)
		must(t, err)
		equal(t, "a reply behind the event of its own write", time.Since(start), 35*time.Millisecond)
		equal(t, "events received", len(w.C()), 1)
	})
}

func TestOneEventForAllWatchesOfASession(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s, other := ens.Dial(), ens.Dial()
	create(t, s, "/a", zk.Persistent)
	for _, x := range []zk.Session{s, s, other} {
		_, _, _, err := x.GetW(t.Context(), "/a")
		must(t, err)
		_, _, _, err = x.ChildrenW(t.Context(), "/a")
		must(t, err)
	}
	equal(t, "watches on the servers", len(ens.Watches()), 4)
	must(t, s.Delete(t.Context(), "/a", -1))
	equal(t, "events", ens.Counts().Events[zk.EventDeleted], 2)
	equal(t, "deletes", ens.Counts().Ops[zk.KindDelete], 1)
	equal(t, "watches left", len(ens.Watches()), 0)
}

func TestWhatReconnectingWatchesMiss(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s, other := ens.Dial(), ens.Dial()
	create(t, s, "/again", zk.Persistent)
	_, _, again, err := s.GetW(t.Context(), "/again")
	must(t, err)
	_, _, flash, err := s.ExistsW(t.Context(), "/flash")
	must(t, err)
	ens.Disconnect(zk.Observe(s, &zk.Trace{}))
	must(t, other.Delete(t.Context(), "/again", -1))
	create(t, other, "/again", zk.Persistent)
	create(t, other, "/flash", zk.Persistent)
	must(t, other.Delete(t.Context(), "/flash", -1))
	ens.Reconnect(s)
	equal(t, "event of a znode deleted and created again", (<-again.C()).Type, zk.EventDataChanged)
	equal(t, "events of a znode that came and went", len(flash.C()), 0)
	create(t, other, "/flash", zk.Persistent)
	equal(t, "the next event", (<-flash.C()).Type, zk.EventCreated)
}

func TestALaggingServerLearnsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s, other := ens.Dial(), ens.Dial()
		create(t, s, "/q", zk.Persistent)
		list := func() string {
			names, _, err := s.Children(t.Context(), "/q")
			must(t, err)
			return strings.Join(names, " ")
		}
		ens.Lag(s, zktest.UntilSync)
		_, _, w, err := s.ChildrenW(t.Context(), "/q")
		must(t, err)
		create(t, other, "/q/a", zk.Persistent)
		time.Sleep(time.Hour)
		equal(t, "stale list", list(), "")
		equal(t, "events", len(w.C()), 0)
		must(t, s.Sync(t.Context(), "/"))
		equal(t, "list after Sync", list(), "a")
		equal(t, "event", (<-w.C()).Type, zk.EventChildrenChanged)

		create(t, other, "/q/b", zk.Persistent)
		equal(t, "stale list", list(), "a")
		create(t, s, "/mine", zk.Persistent)
		equal(t, "list after a write", list(), "a b")

		ens.Lag(s, time.Second)
		create(t, other, "/q/c", zk.Persistent)
		equal(t, "stale list", list(), "a b")
		time.Sleep(time.Second)
		synctest.Wait()
		equal(t, "list after the lag", list(), "a b c")
	})
}

func TestNamesAndSessionsAreInOrder(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	a, b := ens.Dial(), ens.Dial()
	create(t, b, "/z", zk.Ephemeral)
	create(t, a, "/y", zk.Ephemeral)
	equal(t, "ephemerals", strings.Join(ens.Ephemerals(), " "), "/y /z")
	equal(t, "sessions in the order of Dial", slices.Equal(ens.Sessions(), []*zktest.Session{a, b}), true)
	names, _, err := a.Children(context.Background(), "/")
	must(t, err)
	equal(t, "names", strings.Join(names, " "), "y z zookeeper")
}

// While a process is stopped, several ends of its connection may arrive: they count as one.
func TestAFrozenSessionLosesItsConnectionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		ens.Freeze(s)
		ens.Disconnect(s)
		ens.Disconnect(s)
		ens.Thaw(s)
		ens.Reconnect(s)
		if _, _, err := s.Exists(t.Context(), "/"); err != nil {
			t.Errorf("Exists() after the thaw = %v", err)
		}
	})
}
