package wire

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// What a visit does and when the next one is due, for a session with a timeout of ten seconds and a lease of nine.
func TestVisits(t *testing.T) {
	const third = ten / 3
	for _, c := range []struct {
		sentence         string
		heard, sent, now time.Duration
		next             time.Duration
		pings, broken    bool
	}{
		{"less than a third since the last request: nothing", 0, 0, third - 1, third, false, false},
		{"a third since the last request: a ping", 0, 0, third, 2 * third, true, false},
		{"a request was sent meanwhile", 0, time.Second, third, third + time.Second, false, false},
		{"silent for less than two thirds", time.Second, 7 * time.Second, 2*third + time.Second - 1, 2*third + time.Second, false, false},
		{"silent for two thirds", time.Second, 7 * time.Second, 2*third + time.Second, 9 * time.Second, false, true},
		{"the end of the lease is due first", 4 * time.Second, 8 * time.Second, 8 * time.Second, 9 * time.Second, false, false},
		{"the lease is over", 4 * time.Second, 8 * time.Second, 9 * time.Second, 4*time.Second + 2*third, false, false},
	} {
		u := unplug(t)
		cn := u.conn
		cn.heard.Store(int64(c.heard))
		cn.sent.Store(int64(c.sent))
		u.clock.Store(int64(c.now))
		if next := time.Duration(cn.visit(int64(c.now))); next != c.next {
			t.Errorf("%s: the next visit is due at %v, want %v", c.sentence, next, c.next)
		}
		if pings := u.asked().op == jute.OpPing; pings != c.pings || (u.current() == nil) != c.broken {
			t.Errorf("%s: ping: %v, connection broken: %v; want %v and %v", c.sentence, pings, u.current() == nil, c.pings, c.broken)
		}
		if c.broken && !errors.Is(u.Trouble(), errSilent) {
			t.Errorf("%s: Trouble() = %v, want errSilent", c.sentence, u.Trouble())
		}
	}
}

// A broken connection is still visited, for the end of the lease, until another one replaces it.
func TestVisitsOfFormerConnections(t *testing.T) {
	u := unplug(t)
	cn := u.conn
	cn.broken(io.EOF)
	lease := u.Lease()
	if next := time.Duration(cn.visit(int64(time.Second))); next != 9*time.Second {
		t.Errorf("without a connection the next visit is due at %v, want the end of the lease", next)
	}
	if next := cn.visit(int64(9 * time.Second)); next != 0 {
		t.Errorf("after the end of the lease the next visit is due at %v, want none", next)
	}
	if !over(lease) {
		t.Error("the lease is open after its end")
	}
	u.clock.Store(int64(ten))
	u.plug()
	if next := cn.visit(int64(ten)); next != 0 {
		t.Errorf("the next visit of a replaced connection is due at %v, want none", next)
	}
	u.end(zk.ErrClosed)
	if next := cn.visit(int64(ten)); next != 0 {
		t.Errorf("the next visit of an ended session is due at %v, want none", next)
	}
}

// Replies to pings arrive in order, and each extends the lease from the time its ping was sent.
func TestPongs(t *testing.T) {
	u := unplug(t)
	for _, at := range []time.Duration{time.Second, 3 * time.Second} {
		u.conn.ping(int64(at))
	}
	for i, until := range []time.Duration{ten, 12 * time.Second, 12 * time.Second} { // the third reply has no ping
		if err := u.feed(reply(jute.XidPing, 0, 0)); err != nil || u.LeaseUntil() != until {
			t.Errorf("after %d replies the lease is until %v, want %v (%v)", i+1, u.LeaseUntil(), until, err)
		}
	}
}

// A ping that cannot be written breaks the connection.
func TestAFailedPing(t *testing.T) {
	u := unplug(t)
	u.writes = io.ErrClosedPipe
	if u.conn.ping(0); u.Server() != "" || !errors.Is(u.Trouble(), io.ErrClosedPipe) {
		t.Errorf("Server() = %q, Trouble() = %v, want none and ErrClosedPipe", u.Server(), u.Trouble())
	}
}

// The first ping of a connection is due a third of the timeout after its connect request. A connection that fails at its start is dropped.
func TestTheStartOfAConnection(t *testing.T) {
	u := unplug(t)
	if due := time.Duration(u.eng.schedule.due[0].at); due != ten/3 || u.Server() != "server" || len(u.out) != 0 {
		t.Errorf("Server() = %q, first visit at %v after %d writes; want a third of the timeout and none", u.Server(), due, len(u.out))
	}
	u.conn.broken(io.EOF)
	u.starts = io.ErrUnexpectedEOF
	if u.plug(); u.Server() != "" || !errors.Is(u.Trouble(), io.ErrUnexpectedEOF) {
		t.Errorf("after a failed start Server() = %q, Trouble() = %v, want none and ErrUnexpectedEOF", u.Server(), u.Trouble())
	}
	u.starts = nil
	k := u.request(u.get()) // waits for a connection
	u.writes = io.ErrClosedPipe
	if u.plug(); u.asked().op != jute.OpGetData || u.Server() != "" || done(k) {
		t.Error("a waiting request was not written at the start, or did not stay pending when the write failed")
	}
}
