package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/lease"
)

// pair returns both ends of a connection, the first as a link of a poller.
func pair(t *testing.T, c *Client) (*conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	cn, err := newConn(c, "", here)
	if err != nil {
		t.Fatal(err)
	}
	return cn, there
}

// A link can be closed before its poller knows it, as when a session ends while it adopts a connection.
func TestCloseOfALinkThatWasNotStarted(t *testing.T) {
	e, err := newEngine(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.stop()
	cn, _ := pair(t, &Client{eng: e})
	cn.close()
}

// unpolled returns a link that no poller reads: the test does.
func unpolled(t *testing.T) (*epollLink, net.Conn) {
	e := &engine{}
	p := &poller{eng: e}
	e.pollers = []*poller{p}
	c := &Client{eng: e, timeout: ten, cfg: Config{MaxReply: 1 << 20}, done: make(chan struct{}), hosts: []string{""}, rand: rand.New(rand.NewPCG(1, 0))}
	c.cfg.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	e.dialing = make(chan struct{}, 1)
	cn, there := pair(t, c)
	c.conn = cn
	t.Cleanup(func() { c.end(zk.ErrClosed); c.work.Wait() })
	return cn.link.(*epollLink), there
}

// unread returns how many bytes wait in the socket of a link.
func (l *epollLink) unread() (n int32) {
	syscall.Syscall(syscall.SYS_IOCTL, uintptr(l.fd), syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	return n
}

// await waits until that many bytes wait in the socket of a link and, if end, the other side has closed it.
func (l *epollLink) await(t *testing.T, bytes int, end bool) {
	t.Helper()
	Until(t, fmt.Sprintf("%d bytes have arrived", bytes), func() bool { return l.unread() >= int32(bytes) })
	if !end {
		return
	}
	ep, err := syscall.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(ep)
	err = syscall.EpollCtl(ep, syscall.EPOLL_CTL_ADD, l.fd, &syscall.EpollEvent{Events: syscall.EPOLLRDHUP})
	for n := 0; n == 0 && err == nil || err == syscall.EINTR; {
		n, err = syscall.EpollWait(ep, make([]syscall.EpollEvent, 1), int(ten.Milliseconds()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// On an event the poller reads until the socket is empty, but at most maxReads times. After a read that did not fill the buffer it reads again
// only if the server has closed the connection.
func TestHowMuchThePollerReads(t *testing.T) {
	const one = 4 + jute.ReplyHeader // the reply to a ping
	for _, c := range []struct {
		sentence    string
		pongs, room int
		events      uint32
		left        int
		empty       bool
		ended       bool // the server has closed the connection, and the session has noticed
	}{
		{"it can be written to", 1, one, syscall.EPOLLOUT, one, true, false},
		{"the socket is empty", 0, one, syscall.EPOLLIN, 0, true, false},
		{"less than fits", 1, one + 1, syscall.EPOLLIN, 0, true, false},
		{"as much as fits", 1, one, syscall.EPOLLIN, 0, true, false},
		{"twice as much", 2, one, syscall.EPOLLIN | syscall.EPOLLOUT, 0, true, false},
		{"more than it reads in a row", maxReads + 1, one, syscall.EPOLLIN, one, false, false},
		{"the end", 0, one, syscall.EPOLLIN | syscall.EPOLLRDHUP, 0, true, true},
		{"the end after less than fits", 1, one + 1, syscall.EPOLLIN | syscall.EPOLLRDHUP, 0, true, true},
	} {
		l, there := unpolled(t)
		there.Write(bytes.Repeat(reply(jute.XidPing, 0, 0), c.pongs))
		if c.ended {
			there.Close()
		}
		l.await(t, c.pongs*one, c.ended)
		empty := l.drain(newReader(c.room), 1, c.events)
		if ended := l.c.current() == nil; empty != c.empty || ended != c.ended || !ended && l.unread() != int32(c.left) {
			t.Errorf("%s: drained: %v, connection ended: %v (%v), %d bytes left", c.sentence, empty, ended, l.c.Trouble(), l.unread())
		}
	}
}

// After maxReads reads the poller turns to other links, and comes back without another event.
func TestThePollerComesBackToALink(t *testing.T) {
	e := &engine{time: new(lease.Clock)}
	p, err := startPoller(e, newReader(4+jute.ReplyHeader)) // fits one reply
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	e.pollers = []*poller{p}
	c := &Client{eng: e, timeout: time.Hour, cfg: Config{MaxReply: 1 << 20}}
	c.lease.Begin(0, time.Hour, 0)
	cn, there := pair(t, c)
	c.conn = cn
	defer cn.close()
	c.mu.Lock() // stops the poller at the first reply
	if err := cn.link.start(); err != nil {
		t.Fatal(err)
	}
	there.Write(reply(jute.XidPing, 0, 0))
	Until(t, "the poller has read", func() bool { return cn.heard.Load() != 0 })
	k := &call{xid: 1, ready: make(chan struct{}, 1)}
	c.pending.push(k)
	all := slices.Concat(bytes.Repeat(reply(jute.XidPing, 0, 0), 3*maxReads), reply(1, 1, 0))
	there.Write(all)
	cn.link.(*epollLink).await(t, len(all), false)
	c.mu.Unlock()
	select {
	case <-k.ready:
	case <-time.After(ten):
		t.Error("the last reply stays in the socket")
	}
}

// What does not fit into the socket is kept, and is sent in order as soon as it fits.
func TestWritesToAFullSocket(t *testing.T) {
	l, there := unpolled(t)
	var sent []byte
	for i := 0; !l.backlog.Load(); i++ {
		b := bytes.Repeat([]byte{byte(i)}, 100_000)
		if err := l.write(b); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, b...)
	}
	more := []byte("behind the backlog")
	if err := l.write(more); err != nil {
		t.Fatal(err)
	}
	sent = append(sent, more...)
	got := make(chan []byte)
	go func() {
		b := make([]byte, len(sent))
		n, _ := io.ReadFull(there, b)
		got <- b[:n]
	}()
	Until(t, "the backlog is written", func() bool { l.drain(nil, 0, syscall.EPOLLOUT); return !l.backlog.Load() })
	if len(l.out) > 0 || cap(l.out) > keepRequest {
		t.Errorf("%d bytes are kept, in %d", len(l.out), cap(l.out))
	}
	there.SetReadDeadline(time.Now().Add(ten))
	if b := <-got; !bytes.Equal(b, sent) {
		t.Errorf("%d bytes have arrived, want the %d that were written", len(b), len(sent))
	}
}

// What is written in a burst is sent at its end, in order, also with what is written between the end and the flush; nothing is sent over a closed link.
func TestWritesInABurst(t *testing.T) {
	l, there := unpolled(t)
	b := &l.p.burst
	for range 2 { // the second with the memory of the first
		write := func(text string) {
			t.Helper()
			if err := l.write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		b.begin()
		write("one ")
		write("two ")
		if string(l.out) != "one two " || l.backlog.Load() {
			t.Errorf("before the end %q is kept, backlog %v", l.out, l.backlog.Load())
		}
		links := b.end()
		write("three ")
		for _, l := range links {
			l.flush()
		}
		write("four ")
		got := make([]byte, len("one two three four "))
		there.SetReadDeadline(time.Now().Add(ten))
		if _, err := io.ReadFull(there, got); err != nil || string(got) != "one two three four " || !slices.Equal(links, []*epollLink{l}) {
			t.Errorf("%q, %v, of links %v", got, err, links)
		}
	}
	b.begin()
	if err := l.write([]byte("five")); err != nil {
		t.Fatal(err)
	}
	l.conn.close()
	for _, l := range b.end() {
		l.flush()
	}
	if got, err := io.ReadAll(there); len(got) > 0 || err != nil {
		t.Errorf("after the close %q has arrived, %v", got, err)
	}
}

// Events of links that have been closed are dropped: their slot may belong to another link by now.
func TestEventsOfFormerLinks(t *testing.T) {
	a, b := &epollLink{turn: 7}, &epollLink{turn: 9}
	p := &poller{links: []*epollLink{a, nil, b}}
	events := []syscall.EpollEvent{{Fd: 1, Pad: 8}, {Fd: 0, Pad: 6}, {Fd: 2, Pad: 9, Events: 1}, {Fd: 0, Pad: 7, Events: 2}}
	got := p.resolve(events, make([]*epollLink, 0, 4))
	if !slices.Equal(got, []*epollLink{b, a}) || events[0].Events != 1 || events[1].Events != 2 {
		t.Errorf("resolve() = %v with %+v", got, events)
	}
}

// A new link gets the slot of a closed one. Closing a link that was not started frees no slot.
func TestTheSlotsOfLinks(t *testing.T) {
	e, err := newEngine(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.stop()
	p := e.pollers[0]
	link := func(start bool) *epollLink {
		cn, _ := pair(t, &Client{eng: e})
		if start {
			if err := cn.link.start(); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(cn.close)
		return cn.link.(*epollLink)
	}
	first, second := link(true), link(true)
	link(false).close()
	if p.links[0] != first || p.links[1] != second || len(p.free) != 0 {
		t.Errorf("slots %v, free %v; want the first two in use", p.links, p.free)
	}
	first.close()
	first.close()
	if p.links[0] != nil || !slices.Equal(p.free, []int32{0}) {
		t.Errorf("slots %v, free %v; want the first free", p.links, p.free)
	}
	if third := link(true); p.links[0] != third || third.turn == first.turn || len(p.links) != 2 || len(p.free) != 0 {
		t.Errorf("slots %v, free %v; want the third link in the first slot", p.links, p.free)
	}
	if _, err := first.read(make([]byte, 1)); err != errUnlinked {
		t.Errorf("read of a closed link = %v, want errUnlinked", err)
	}
	if err := first.write([]byte{1}); err != errUnlinked {
		t.Errorf("write to a closed link = %v, want errUnlinked", err)
	}
}

// newConn refuses a connection whose socket has been closed.
func TestNewConnOfAClosedSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if _, err := newConn(&Client{eng: &engine{pollers: []*poller{{}}}}, "", nc); !errors.Is(err, net.ErrClosed) {
		t.Errorf("newConn() = %v, want %v", err, net.ErrClosed)
	}
}

// stop must leave the descriptor open while the poller may still use it: once closed, its number may become another file's.
func TestThePollerClosesItsDescriptor(t *testing.T) {
	e, err := newEngine(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := e.pollers[0]
	c := &Client{eng: e, cfg: Config{MaxReply: 1 << 20}}
	cn, there := pair(t, c)
	if err := cn.link.start(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock() // stops the poller at the reply
	there.Write(append([]byte{0, 0, 0, 16, 0, 0, 0, 1}, make([]byte, 12)...))
	Until(t, "the poller has read", func() bool { return cn.heard.Load() != 0 })
	stopped := make(chan struct{})
	go func() { e.stop(); close(stopped) }()
	Until(t, "stop has told the poller", p.quit.Load)
	time.Sleep(20 * time.Millisecond) // gives a wrong stop time to close it; a right one passes however long this is
	if to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(p.ep)); err != nil || to != "anon_inode:[eventpoll]" {
		t.Errorf("the descriptor in use by the poller is %q, %v, want the eventpoll", to, err)
	}
	c.mu.Unlock()
	<-stopped
	if to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(p.ep)); err == nil && to == "anon_inode:[eventpoll]" {
		t.Error("the poller has ended, but its descriptor is open")
	}
	cn.close()
}

// What each request touches starts with a cache line: the allocator gives objects whose size is a multiple of it such addresses.
func TestWholeCacheLines(t *testing.T) {
	for name, size := range map[string]uintptr{"call": unsafe.Sizeof(call{}), "epollLink": unsafe.Sizeof(epollLink{}), "before its conn": unsafe.Offsetof(epollLink{}.conn)} {
		if unsafe.Sizeof(uintptr(0)) == 8 && size%64 != 0 {
			t.Errorf("%s: %d bytes, want a multiple of 64", name, size)
		}
	}
}
