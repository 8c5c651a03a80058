package lease

import (
	"testing"
	"time"
)

const (
	sec = time.Second
	ten = 10 * time.Second
)

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestALeaseRunsFromTheSendingOfAnsweredRequests(t *testing.T) {
	var l Lease
	if !over(l.Check(0)) {
		t.Error("a lease is open before Begin")
	}
	l.Begin(1*sec, Span(ten), 3*sec)
	first := l.Check(10*sec - 1)
	if over(first) {
		t.Error("the lease is over earlier than nine tenths of the timeout after the connect request")
	}
	l.Extend(4*sec, Span(ten))
	l.Extend(2*sec, Span(ten)) // an older request, answered later
	if l.Check(13*sec-1) != first || over(first) {
		t.Error("the reply to a request sent at 4 s has not extended the lease to 13 s")
	}
	if l.Check(13*sec) != first || !over(first) || l.Open() {
		t.Error("the lease is open at 13 s")
	}
	l.Extend(5*sec, Span(ten))
	if l.Reopen(14 * sec); l.Open() {
		t.Error("a reply that came as late as its lease would have ended reopened it")
	}
	l.Extend(9*sec, Span(ten))
	if l.Reopen(14 * sec); !l.Open() || l.Check(14*sec) == first || !over(first) {
		t.Error("the reply to a younger request has not started a new lease, or has reopened the old one")
	}
	l.End()
	if l.Begin(20*sec, Span(ten), 20*sec); l.Open() || !over(l.Check(20*sec)) {
		t.Error("a session that has ended has a lease")
	}
}

func TestEachConnectSetsTheTimeout(t *testing.T) {
	var l Lease
	l.Begin(0, Span(ten), 0)
	l.Begin(1*sec, Span(2*sec), 1*sec)
	if l.Until() != 2800*time.Millisecond {
		t.Errorf("the lease is until %v, want 2.8s: the server granted a shorter timeout", l.Until())
	}
}

// The rough clock, which dates requests, is never ahead of the exact one, which ends leases, however slow the machine is in between.
func TestTheRoughClockIsNeverAhead(t *testing.T) {
	var c Clock
	last := time.Duration(-1)
	for range 2000 {
		rough := c.Rough()
		now := c.Now()
		if rough > now || now < last {
			t.Fatalf("rough %v is ahead of now %v, or now is before the previous %v", rough, now, last)
		}
		last = now
	}
	if behind := c.Now() - c.Rough(); behind > time.Second {
		t.Errorf("the rough clock is %v behind right after a look", behind)
	}
}
