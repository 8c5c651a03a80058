package zk

import (
	"sync"
	"time"
)

// EventType says what fired a watch; its value is the number on the wire.
type EventType int32

// The types of event.
const (
	EventLost            EventType = -1 // the watch is gone without having fired; Event.Err says why
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

func (t EventType) String() string {
	switch t {
	case EventLost:
		return "lost"
	case EventCreated:
		return "created"
	case EventDeleted:
		return "deleted"
	case EventDataChanged:
		return "data changed"
	case EventChildrenChanged:
		return "children changed"
	}
	return "event of unknown type"
}

// Event is what a watch yields: a change of the znode or, with Err, the loss of the watch.
type Event struct {
	Type EventType
	Path string
	At   time.Time // when it was read from the socket
	Err  error     // ErrSessionExpired, ErrClosed or ErrWatchLost when the watch was lost; nil for a change
	// Zxid is the transaction that made the change. It is 0 if that is unknown: servers before 3.9 do not send it, and none sends it for changes that
	// happened while the session had no connection.
	Zxid int64
}

// Watch is one armed one-shot watch. C yields exactly one event and is never closed.
//
// An engine creates it with NewWatch and calls Fire once; Fire never blocks, so it may be called from the goroutine that reads the sockets. A recipe
// receives from C and, if it no longer wants the event, calls Stop.
type Watch struct {
	c    chan Event
	stop func()

	mu    sync.Mutex
	fired bool
	event Event
	hook  func(Event)
}

// NewWatch creates a watch whose Stop calls stop (which may be nil) if it has not fired by then.
func NewWatch(stop func()) *Watch { return &Watch{c: make(chan Event, 1), stop: stop} }

// C returns the channel on which the one event arrives.
func (w *Watch) C() <-chan Event { return w.c }

// Fire delivers the event. Only the first call has an effect.
func (w *Watch) Fire(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired {
		return
	}
	w.fired, w.event = true, e
	if w.hook != nil { // before the send: when the event is received it has been counted
		w.hook(e)
	}
	w.c <- e
}

// Stop abandons the watch: no event arrives any more unless one already has, and the watch is taken off the server if the engine can do that. It does
// not wait for the server and may be called more than once, also after the event.
func (w *Watch) Stop() {
	w.mu.Lock()
	gone := w.fired
	w.fired = true
	w.mu.Unlock()
	if !gone && w.stop != nil {
		w.stop()
	}
}

// observe makes the watch call hook with its event, immediately if the event has already arrived.
func (w *Watch) observe(hook func(Event)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if prev := w.hook; prev != nil {
		next := hook
		hook = func(e Event) { prev(e); next(e) }
	}
	w.hook = hook
	if w.fired && w.event.Type != 0 {
		hook(w.event)
	}
}
