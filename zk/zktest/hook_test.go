package zktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// at returns a hook that acts once, before or after the first operation of that kind of a session is applied.
func at(s *zktest.Session, kind zk.Kind, applied bool, act func() zktest.Action) zktest.Hook {
	var done bool
	return func(op zktest.Op) zktest.Action {
		if done || op.Session != s || op.Kind != kind || op.Applied != applied {
			return zktest.Action{}
		}
		done = true
		return act()
	}
}

func TestAHookActsAtTheExactPoint(t *testing.T) {
	for _, c := range []struct {
		name    string
		applied bool
		found   bool
		events  int
	}{
		{"a delete right before a watch is armed", false, false, 0},
		{"a delete right after a watch was armed", true, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s, other := ens.Dial(), ens.Dial()
			create(t, s, "/a", zk.Persistent)
			ens.Hook(at(s, zk.KindExists, c.applied, func() zktest.Action {
				must(t, other.Delete(t.Context(), "/a", -1))
				return zktest.Action{}
			}))
			_, found, w, err := s.ExistsW(t.Context(), "/a")
			must(t, err)
			equal(t, "found", found, c.found)
			equal(t, "events", len(w.C()), c.events)
		})
	}
}

func TestAHookLosesWrites(t *testing.T) {
	for _, c := range []struct {
		name    string
		applied bool
		act     zktest.Action
		want    error
		there   bool
	}{
		{"the request is lost", false, zktest.Action{Lose: true}, zk.ErrMaybeApplied, false},
		{"the reply is lost", true, zktest.Action{Lose: true}, zk.ErrMaybeApplied, true},
		{"the server is busy", false, zktest.Action{Err: zk.ErrThrottled}, zk.ErrThrottled, false},
		{"the hook does nothing", true, zktest.Action{}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s := ens.Dial()
			ens.Hook(at(s, zk.KindCreate, c.applied, func() zktest.Action { return c.act }))
			_, err := s.Create(t.Context(), "/a", nil, zk.Persistent)
			if !errors.Is(err, c.want) {
				t.Errorf("Create() = %v, want %v", err, c.want)
			}
			_, there, err := s.Exists(t.Context(), "/a")
			must(t, err)
			equal(t, "applied", there, c.there)
		})
	}
}

func TestAReadWithALostReplyIsSentAgainAndArmsOneWatch(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s := ens.Dial()
	create(t, s, "/a", zk.Persistent)
	ens.Hook(at(s, zk.KindGet, true, func() zktest.Action { return zktest.Action{Lose: true} }))
	_, _, w, err := s.GetW(t.Context(), "/a")
	must(t, err)
	equal(t, "reads", ens.Counts().Ops[zk.KindGet], 2)
	_, err = s.Set(t.Context(), "/a", nil, -1)
	must(t, err)
	equal(t, "event", (<-w.C()).Type, zk.EventDataChanged)
	equal(t, "events", ens.Counts().Events[zk.EventDataChanged], 1)
}

func TestAStaleListThroughTheHook(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s := ens.Dial()
	create(t, s, "/q", zk.Persistent)
	create(t, s, "/q/a", zk.Persistent)
	ens.Hook(at(s, zk.KindChildren, true, func() zktest.Action { return zktest.Action{Names: []string{}} }))
	for _, want := range []int{0, 1} {
		names, _, err := s.Children(t.Context(), "/q")
		must(t, err)
		equal(t, "names", len(names), want)
	}
}

func TestADelayedCallReturnsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		release := make(chan struct{})
		ens.Hook(at(s, zk.KindCreate, false, func() zktest.Action { <-release; return zktest.Action{} }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.Create(ctx, "/a", nil, zk.Persistent)
		equal(t, "time", time.Since(start), time.Second)
		equal(t, "class", zk.Classify(err), zk.ClassMaybeApplied)
		equal(t, "is DeadlineExceeded", errors.Is(err, context.DeadlineExceeded), true)

		listed := make(chan bool)
		go func() { // queues behind it, as on a connection
			_, ok, err := s.Exists(t.Context(), "/a")
			listed <- ok && err == nil
		}()
		synctest.Wait()
		equal(t, "applied while delayed", len(ens.Tree()), 0)
		close(release)
		equal(t, "seen by the call behind it", <-listed, true)
	})
}

func TestAWritePendingOnAFormerConnection(t *testing.T) {
	for _, c := range []struct {
		name      string
		reconnect bool
		applied   bool
	}{
		{"released while the session is disconnected", false, true},
		{"released after the session has reconnected", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{})
				s := ens.Dial()
				release := make(chan struct{})
				ens.Hook(at(s, zk.KindCreate, false, func() zktest.Action { <-release; return zktest.Action{} }))
				failed := make(chan error)
				go func() {
					_, err := s.Create(t.Context(), "/a", nil, zk.Persistent)
					failed <- err
				}()
				synctest.Wait()
				ens.Disconnect(s)
				equal(t, "class", zk.Classify(<-failed), zk.ClassMaybeApplied)
				if c.reconnect {
					ens.Reconnect(s)
				}
				close(release)
				synctest.Wait()
				_, applied := ens.Tree()["/a"]
				equal(t, "applied", applied, c.applied)
			})
		})
	}
}

func TestAnAbandonedWatchLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{OpLatency: 10 * time.Second})
		s := ens.Dial()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, _, err := s.ExistsW(ctx, "/a")
		equal(t, "class", zk.Classify(err), zk.ClassCanceled)
		time.Sleep(time.Minute)
		equal(t, "watches", len(ens.Watches()), 0)
	})
}

// A new connection on which the servers refuse to arm the watches again loses them; one on which they refuse the credentials ends the session.
func TestAHookRefusesOnTheNewConnection(t *testing.T) {
	for _, c := range []struct {
		refuse      error
		over        error
		watch, last error
	}{
		{nil, nil, nil, zk.ErrWatchLost},
		{zk.ErrThrottled, nil, zk.ErrWatchLost, zk.ErrThrottled},
		{zk.ErrAuthFailed, zk.ErrAuthFailed, zk.ErrAuthFailed, zk.ErrAuthFailed},
	} {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		_, _, w, err := s.ExistsW(t.Context(), "/a")
		must(t, err)
		st, err := s.AddWatch(t.Context(), "/", true)
		must(t, err)
		ens.Hook(at(s, zk.KindSync, false, func() zktest.Action { return zktest.Action{Lose: true, Refuse: c.refuse} }))
		if err := s.Sync(t.Context(), "/"); !errors.Is(err, c.over) || c.over == nil && err != nil {
			t.Errorf("%v: sync gives %v", c.refuse, err)
		}
		equal(t, "the session's end", s.Err(), c.over)
		if e, some := st.Poll(); !some || !errors.Is(e.Err, c.last) {
			t.Errorf("%v: the stream ends with %v", c.refuse, e.Err)
		}
		if c.watch == nil {
			equal(t, "events", len(w.C()), 0)
		} else {
			equal(t, "the watch's end", (<-w.C()).Err, c.watch)
		}
	}
}
