package zk

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAWatchYieldsOneEvent(t *testing.T) {
	w := NewWatch(func() { t.Error("a watch that has fired was removed") })
	w.Fire(Event{Type: EventCreated, Path: "/a"})
	w.Fire(Event{Type: EventDeleted, Path: "/a"})
	w.Stop()
	if got := <-w.C(); got.Type != EventCreated {
		t.Errorf("event is %v, want %v", got.Type, EventCreated)
	}
	if n := len(w.C()); n != 0 {
		t.Errorf("%d more events", n)
	}
}

func TestAStoppedWatchYieldsNothing(t *testing.T) {
	stops := 0
	w := NewWatch(func() { stops++ })
	w.Stop()
	w.Stop()
	w.Fire(Event{Type: EventDeleted})
	if stops != 1 || len(w.C()) != 0 {
		t.Errorf("stops = %d, events = %d, want 1 and 0", stops, len(w.C()))
	}
	NewWatch(nil).Stop()
}

func TestEitherStopOrFireWins(t *testing.T) {
	for range 1000 {
		stops := 0
		w := NewWatch(func() { stops++ })
		var wg sync.WaitGroup
		wg.Go(func() { w.Fire(Event{Type: EventDeleted}) })
		wg.Go(w.Stop)
		wg.Wait()
		if stops+len(w.C()) != 1 {
			t.Fatalf("stops = %d, events = %d, want either one", stops, len(w.C()))
		}
	}
}

func TestHooksOfAWatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps func(*Watch, func(Event))
		want  int
	}{
		{"an event after the hook is counted", func(w *Watch, h func(Event)) { w.observe(h); w.Fire(Event{Type: EventDeleted}) }, 1},
		{"an event before the hook is counted", func(w *Watch, h func(Event)) { w.Fire(Event{Type: EventDeleted}); w.observe(h) }, 1},
		{"two hooks both count", func(w *Watch, h func(Event)) { w.observe(h); w.observe(h); w.Fire(Event{Type: EventDeleted}) }, 2},
		{"a stopped watch counts nothing", func(w *Watch, h func(Event)) { w.observe(h); w.Stop(); w.Fire(Event{Type: EventDeleted}) }, 0},
	} {
		n := 0
		c.steps(NewWatch(nil), func(Event) { n++ })
		if n != c.want {
			t.Errorf("%s: hook was called %d times, want %d", c.name, n, c.want)
		}
	}
}

func TestAStreamKeepsEventsInOrder(t *testing.T) {
	s := NewStream(nil)
	for _, typ := range []EventType{EventCreated, EventDataChanged, EventDeleted} {
		s.Fire(Event{Type: typ})
	}
	select {
	case <-s.Ready():
	default:
		t.Error("Ready does not yield")
	}
	for _, want := range []EventType{EventCreated, EventDataChanged, EventDeleted} {
		if e, ok := s.Poll(); !ok || e.Type != want {
			t.Errorf("Poll() = %v, %v, want %v", e.Type, ok, want)
		}
	}
	if _, ok := s.Poll(); ok {
		t.Error("Poll yields a fourth event")
	}
}

func TestTheEndOfAStream(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want int // events after Fire(err), Fire(change)
	}{
		{"a gap: the stream continues", ErrWatchLost, 2},
		{"the session expired: nothing follows", ErrSessionExpired, 1},
		{"the session was closed: nothing follows", ErrClosed, 1},
	} {
		s, n := NewStream(nil), 0
		s.Fire(Event{Type: EventLost, Err: c.err})
		s.Fire(Event{Type: EventDeleted})
		for _, ok := s.Poll(); ok; _, ok = s.Poll() {
			n++
		}
		if n != c.want {
			t.Errorf("%s: %d events, want %d", c.name, n, c.want)
		}
	}
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStream(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(time.Second, func() { s.Fire(Event{Type: EventCreated}) })
		if e, err := s.Next(ctx); err != nil || e.Type != EventCreated {
			t.Errorf("Next() = %v, %v", e.Type, err)
		}
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next() = %v, want the end of the context", err)
		}
	})
}

func TestStopOfAStream(t *testing.T) {
	stops := 0
	s := NewStream(func() { stops++ })
	s.Fire(Event{Type: EventLost, Err: ErrWatchLost})
	s.Stop()
	s.Stop()
	s.Fire(Event{Type: EventDeleted})
	if _, ok := s.Poll(); ok || stops != 1 {
		t.Errorf("event %v, stops %d, want none and 1", ok, stops)
	}
	ended := NewStream(func() { t.Error("a stream that has ended was removed") })
	ended.Fire(Event{Err: ErrClosed})
	ended.Stop()
}
