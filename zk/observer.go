package zk

import "time"

// Observer is told what a session does. Its methods are called from many goroutines concurrently, and must neither block nor use the session.
type Observer interface {
	// Begins is called when a call begins.
	Begins()
	// Ends is called when that call has returned; c is read-only, and valid only until Ends returns.
	Ends(c *Call)
}

// EventObserver is an Observer that is also told of events.
type EventObserver interface {
	Observer
	// Fires is called once per one-shot watch that fired, by the goroutine that reads the socket; not for a watch that was lost.
	Fires(Event)
}

// WireObserver is an Observer that is also told what goes over the wire.
type WireObserver interface {
	Observer
	// Sends is called for each request sent to the servers, including those that the session makes on its own, and again each time that one is resent.
	Sends(Kind, time.Time)
	// Receives is called for each event that comes from the servers, before Fires, even if no watch waits for it any more, by the goroutine that reads the
	// socket.
	Receives(time.Time)
}

// Trace is an Observer made of functions, of which every one may be nil. They are called as the methods of observers are.
type Trace struct {
	Call     func(*Call)
	Event    func(Event)
	Sent     func(Kind, time.Time)
	Received func(time.Time)
}

// Begins does nothing.
func (t *Trace) Begins() {}

// Ends calls Call.
func (t *Trace) Ends(c *Call) {
	if t.Call != nil {
		t.Call(c)
	}
}

// Fires calls Event.
func (t *Trace) Fires(e Event) {
	if t.Event != nil {
		t.Event(e)
	}
}

// Sends calls Sent.
func (t *Trace) Sends(k Kind, at time.Time) {
	if t.Sent != nil {
		t.Sent(k, at)
	}
}

// Receives calls Received.
func (t *Trace) Receives(at time.Time) {
	if t.Received != nil {
		t.Received(at)
	}
}

// powersOf returns what an observer wants to be told besides calls, nil for nothing.
func powersOf(o Observer) (events EventObserver, wire WireObserver) {
	events, _ = o.(EventObserver)
	wire, _ = o.(WireObserver)
	if t, made := o.(*Trace); made {
		if t.Event == nil {
			events = nil
		}
		if t.Sent == nil && t.Received == nil {
			wire = nil
		}
	}
	return events, wire
}

// both tells two observers, one after the other.
type both struct{ first, second Observer }

func (b *both) Begins() {
	b.first.Begins()
	b.second.Begins()
}

func (b *both) Ends(c *Call) {
	b.first.Ends(c)
	b.second.Ends(c)
}

func (b *both) Fires(e Event) {
	fires(b.first, e)
	fires(b.second, e)
}

func (b *both) Sends(k Kind, at time.Time) {
	sends(b.first, k, at)
	sends(b.second, k, at)
}

func (b *both) Receives(at time.Time) {
	receives(b.first, at)
	receives(b.second, at)
}

func fires(o Observer, e Event) {
	if o, wants := o.(EventObserver); wants {
		o.Fires(e)
	}
}

func sends(o Observer, k Kind, at time.Time) {
	if o, wants := o.(WireObserver); wants {
		o.Sends(k, at)
	}
}

func receives(o Observer, at time.Time) {
	if o, wants := o.(WireObserver); wants {
		o.Receives(at)
	}
}
