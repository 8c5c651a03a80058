package wire_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk/wire"
)

const ten = 10 * time.Second

// leased is a session with a timeout of ten seconds. The test sets its clock and decides when its server answers.
type leased struct {
	*testing.T
	s      *wire.Client
	clock  *atomic.Int64
	engine *wire.Transport
	server *impostor
	asked  chan int32    // the xid of each packet that the server has received
	reply  chan net.Conn // each connection, for the test to write to
}

func lease(t *testing.T, dialer func(context.Context, string, string) (net.Conn, error)) *leased {
	clean(t)
	l := &leased{T: t, clock: new(atomic.Int64), asked: make(chan int32, 100), reply: make(chan net.Conn, 10)}
	l.engine = wire.NewTransport(func() time.Duration { return time.Duration(l.clock.Load()) })
	l.server = impersonate(t, func(_ int, c net.Conn) {
		if !welcome(c, ten) {
			return
		}
		l.reply <- c
		for b := hear(c); len(b) >= 8; b = hear(c) {
			xid := jute.Int32(b)
			if l.asked <- xid; jute.Int32(b[4:]) == int32(jute.OpClose) {
				answer(c, xid, 0)
			}
		}
	})
	l.s = dial(t, wire.Config{Servers: []string{l.server.address()}, Transport: l.engine, Dialer: dialer})
	return l
}

// at sets the clock and, unless timers are late, runs the schedule.
func (l *leased) at(d time.Duration, late bool) {
	l.clock.Store(int64(d))
	if !late {
		l.engine.Look()
	}
}

// open checks that the lease is open just before the given time and over at it, without the help of timers.
func (l *leased) open(why string, before time.Duration) {
	l.Helper()
	l.at(before-1, true)
	notify := l.s.Lease()
	if over(notify) {
		l.Errorf("%s: the lease is over at %v", why, before-1)
	}
	l.at(before, true)
	if !over(l.s.Lease()) || !over(notify) {
		l.Errorf("%s: the lease is open at %v", why, before)
	}
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// extended waits until a reply has extended the lease to the given time.
func (l *leased) extended(until time.Duration) {
	l.Helper()
	wire.Until(l, fmt.Sprintf("the lease is until %v", until), func() bool { return l.s.LeaseUntil() == until })
}

// links runs a test for both ways in which a client reads its socket.
func links(t *testing.T, test func(*leased)) {
	t.Run("poller", func(t *testing.T) { test(lease(t, nil)) })
	t.Run("stream", func(t *testing.T) { test(lease(t, plain)) })
}

// The server received the ping after it was sent, so the lease runs from then, however late the reply is.
func TestALateReplyExtendsTheLeaseFromTheSendingOfItsRequest(t *testing.T) {
	links(t, func(l *leased) {
		c := <-l.reply
		l.extended(9 * time.Second) // from the connect request
		l.at(4*time.Second, false)
		if xid := <-l.asked; xid != -2 {
			l.Fatalf("request %d, want a ping", xid)
		}
		l.at(6*time.Second, true)
		answer(c, -2, 0)
		l.extended(13 * time.Second)
		l.open("a ping sent at 4 s and answered at 6 s", 13*time.Second)
	})
}

func TestARequestExtendsTheLeaseAsAPingDoes(t *testing.T) {
	links(t, func(l *leased) {
		c := <-l.reply
		l.at(2*time.Second, false)
		done := make(chan error, 1)
		go func() { _, _, err := l.s.Get(l.Context(), "/a"); done <- err }()
		xid := <-l.asked
		l.at(5*time.Second, true)
		answer(c, xid, 0, make([]byte, 72)...)
		if err := <-done; err != nil {
			l.Fatal(err)
		}
		l.open("a read sent at 2 s and answered at 5 s", 11*time.Second)
	})
}

// A server that receives nothing can still send events. They neither extend the lease nor keep the connection.
func TestEventsDoNotExtendTheLease(t *testing.T) {
	links(t, func(l *leased) {
		c := <-l.reply
		path := append(jute.AppendInt32(nil, 2), "/a"...)
		event := append([]byte{0, 0, 0, 3, 0, 0, 0, 3}, path...)
		for now := time.Second; now < 7*time.Second; now += time.Second {
			l.at(now, false)
			answer(c, -1, 0, event...)
		}
		l.at(7*time.Second, false) // more than two thirds since the last reply, which is the greeting
		<-l.reply                  // the client has reconnected
		if n := l.server.connections(); n != 2 {
			l.Errorf("%d connections, want a second one", n)
		}
		l.extended(16 * time.Second)
	})
}

// After SIGCONT no timer has fired yet, and what arrived before SIGSTOP is still in the socket.
func TestAStoppedProcessSeesThatItsLeaseIsOver(t *testing.T) {
	links(t, func(l *leased) {
		c := <-l.reply
		notify := l.s.Lease()
		l.at(4*time.Second, false)
		<-l.asked
		l.at(time.Hour, true)
		if !over(l.s.Lease()) || !over(notify) {
			l.Error("the lease is open after an hour")
		}
		answer(c, -2, 0) // to the ping sent an hour ago
		l.extended(13 * time.Second)
		if !over(l.s.Lease()) {
			l.Error("a reply to a request of an hour ago has opened the lease again")
		}
		l.at(time.Hour, false)
		<-l.asked
		answer(c, -2, 0)
		l.extended(time.Hour + 9*time.Second)
		if over(l.s.Lease()) || !over(notify) {
			l.Error("the reply to a new ping has not made a new lease")
		}
	})
}

// After a lease has ended on a live connection, the reply to a younger request opens a new one, whose channel closes in turn.
func TestALeaseComesBackWithALateReply(t *testing.T) {
	links(t, func(l *leased) {
		c := <-l.reply
		l.at(4*time.Second, false)
		<-l.asked
		answer(c, -2, 0)
		l.extended(13 * time.Second)
		l.at(8*time.Second, false)
		<-l.asked
		l.at(10*time.Second, false) // the third ping follows later
		l.at(13*time.Second, true)
		notify := l.s.Lease()
		if !over(notify) {
			l.Error("the lease is open at 13 s")
		}
		answer(c, -2, 0)
		l.extended(17 * time.Second)
		l.at(17*time.Second-1, true)
		if notify = l.s.Lease(); over(notify) {
			l.Error("the lease has not come back with the reply to the ping of 8 s")
		}
		l.at(17*time.Second, false)
		<-notify
	})
}
