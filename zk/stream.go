package zk

import (
	"context"
	"sync"
)

// PersistentWatcher is the optional ability of a session to keep a watch armed (addWatch, servers from 3.6 on). Find it with
// AsPersistentWatcher, which looks through Observe and Within.
type PersistentWatcher interface {
	// AddWatch arms a persistent watch on path, or on it and everything below it. A recursive one reports
	// EventCreated, EventDeleted and EventDataChanged with the path that changed, never EventChildrenChanged.
	AddWatch(ctx context.Context, path string, recursive bool) (*Stream, error)
}

// AsPersistentWatcher returns the PersistentWatcher of s, or false.
func AsPersistentWatcher(s Session) (PersistentWatcher, bool) {
	if b, ok := s.(*bound); ok {
		return AsPersistentWatcher(b.Session)
	}
	o, ok := s.(*Observed)
	if !ok {
		p, ok := s.(PersistentWatcher)
		return p, ok
	}
	below, ok := AsPersistentWatcher(o.Session)
	if !ok {
		return nil, false
	}
	return observedWatcher{below, o}, true
}

type observedWatcher struct {
	PersistentWatcher
	o *Observed
}

func (w observedWatcher) AddWatch(ctx context.Context, path string, recursive bool) (*Stream, error) {
	start, r := w.o.begin(ctx)
	st, err := w.PersistentWatcher.AddWatch(r, path, recursive)
	n := w.o.call(ctx, KindAddWatch, path, start, r, err)
	n.Watch = true
	w.o.tell(n)
	if err == nil {
		st.observe(w.o.event)
	}
	return st, err
}

// Stream is a persistent watch: its events in the server's order, none dropped. An event of type EventLost with ErrWatchLost marks where the
// connection broke: the watch is armed again, but changes may be missing, so the reader must list again. An event with any other Err is the last one.
type Stream struct {
	stop func()

	mu    sync.Mutex
	queue []Event
	over  bool
	hook  func(Event)
	ready chan struct{} // capacity 1: something was queued
}

// NewStream creates a stream whose Stop calls stop, which may be nil.
func NewStream(stop func()) *Stream { return &Stream{stop: stop, ready: make(chan struct{}, 1)} }

// Fire queues an event; it never blocks. After an event whose Err is not nil and not ErrWatchLost nothing more is queued.
func (s *Stream) Fire(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = e.Err != nil && e.Err != ErrWatchLost
	if s.hook != nil && e.Err == nil {
		s.hook(e)
	}
	s.queue = append(s.queue, e)
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Next returns the next event, waiting for it. The error is the context's. One goroutine may call it at a time.
func (s *Stream) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok := s.pop(); ok {
			return e, nil
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Ready receives a value when something may be queued, so that a select can wait for the stream and other things; then call Poll until it returns false.
func (s *Stream) Ready() <-chan struct{} { return s.ready }

// Poll returns the next event if there is one, without waiting.
func (s *Stream) Poll() (Event, bool) { return s.pop() }

func (s *Stream) pop() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Event{}, false
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	return e, true
}

// Stop takes the watch off the server without waiting for the reply, and drops the events that were not read; it may be called more than once.
func (s *Stream) Stop() {
	s.mu.Lock()
	gone := s.over
	s.over, s.queue = true, nil
	s.mu.Unlock()
	if !gone && s.stop != nil {
		s.stop()
	}
}

func (s *Stream) observe(hook func(Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
	for _, e := range s.queue {
		if e.Err == nil {
			hook(e)
		}
	}
}
