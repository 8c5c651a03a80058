package wire

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// Interrupt gives up requests with a patient context and no others: reads fail as at the end of their context, writes are in doubt, and what comes for them
// later goes to nobody.
func TestInterrupt(t *testing.T) {
	u := unplug(t)
	ctx, cancel := context.WithCancel(t.Context())
	patient := zk.Patient(ctx)
	read, write, other := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { read <- u.Sync(&zk.Reply{Context: patient}, "/a") }()
	<-u.out
	go func() { write <- u.Delete(patient, "/a", 0) }()
	<-u.out
	go func() { other <- u.Delete(t.Context(), "/a", 0) }()
	<-u.out
	cancel()
	zk.Interrupt(zk.Observe(u, &zk.Trace{}))
	u.Interrupt()
	if err := <-read; !errors.Is(err, context.Canceled) || errors.Is(err, zk.ErrMaybeApplied) {
		t.Errorf("a read: %v, want Canceled", err)
	}
	if err := <-write; !errors.Is(err, context.Canceled) || !errors.Is(err, zk.ErrMaybeApplied) {
		t.Errorf("a write: %v, want Canceled, in doubt", err)
	}
	u.feed(reply(1, 1, 0), reply(2, 2, 0), reply(3, 3, 0))
	if err := <-other; err != nil {
		t.Errorf("another request: %v", err)
	}
	// The owner's contexts have ended; this one has not, so that it is Interrupt alone that refuses the request.
	if err := u.Sync(zk.Patient(t.Context()), "/a"); !errors.Is(err, context.Canceled) || len(u.out) > 0 {
		t.Errorf("after the interrupt: %v, %d sent; want Canceled", err, len(u.out))
	}
	derived, end := context.WithCancel(zk.Patient(t.Context()))
	go func() { other <- u.Delete(derived, "/a", 0) }()
	<-u.out
	end()
	if err := <-other; !errors.Is(err, context.Canceled) {
		t.Errorf("a context derived from a patient one: %v, want Canceled", err)
	}
}

// unread is a context that nobody looks at.
type unread struct {
	context.Context
	*testing.T
}

func (u unread) Done() <-chan struct{}       { u.Error("Done was called"); return nil }
func (u unread) Err() error                  { u.Error("Err was called"); return nil }
func (u unread) Deadline() (time.Time, bool) { return u.Context.Deadline() }

// A request that is answered does not look at its patient context.
func TestPatientContextsAreNotLookedAt(t *testing.T) {
	u := unplug(t)
	result := make(chan error, 1)
	go func() { result <- u.Delete(&zk.Reply{Context: zk.Patient(unread{t.Context(), t})}, "/a", 0) }()
	<-u.out
	u.feed(reply(1, 1, 0))
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// An interrupt and a reply at the same time: the request has one of both, and the next request gets its own reply.
func TestInterruptsAndReplies(t *testing.T) {
	interrupted := 0
	for range 1000 {
		u := unplug(t)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- u.Delete(zk.Patient(ctx), "/a", 0) }()
		<-u.out
		go func() { cancel(); u.Interrupt() }()
		u.feed(reply(1, 1, 0))
		if err := <-result; errors.Is(err, context.Canceled) {
			interrupted++
		} else if err != nil {
			t.Fatal(err)
		}
		k := u.request(newBare(jute.OpDelete, zk.KindDelete, shapeNone))
		<-u.out
		select {
		case <-k.ready:
			t.Fatal("a request has an answer before its reply")
		default:
		}
		u.feed(reply(2, 2, 0))
		<-k.ready
	}
	t.Logf("%d of 1000 were interrupted", interrupted)
}
