package command

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// capture is a pass-through in front of servers. It records every frame, decoded here and not by zkbench's own code, so that what zkbench
// reports about a run can be compared with what was on its wire.
type capture struct {
	listeners []net.Listener
	running   sync.WaitGroup
	sent      atomic.Int64 // bytes of frames
	received  atomic.Int64

	mu     sync.Mutex
	frames []frame
	conns  []net.Conn
	closed bool
}

// frame is one request, reply or event.
type frame struct {
	at         time.Time
	dir        direction
	op         int32 // of the request, also in its reply; handshake for the first frame of a connection
	failed     bool  // the reply has an error
	names      int   // number of names in a list
	namesBytes int   // 4 bytes and the length of each
	data       int   // bytes of data in the reply to a getData
}

type direction uint8

const (
	request direction = iota
	reply
	event
)

// The types of requests on the wire (ZooDefs.OpCode).
const (
	opHandshake = -1000 // a handshake has no type
	opCreate    = 1
	opDelete    = 2
	opExists    = 3
	opGetData   = 4
	opSetData   = 5
	opSync      = 9
	opPing      = 11
	opChildren2 = 12
	opMulti     = 14
	opCreate2   = 15
	opRemove    = 18
	opContainer = 19
	opAuth      = 100
	opSetWatch  = 101
	opSetWatch2 = 105
	opAddWatch  = 106
	opClose     = -11
)

func startCapture(t *testing.T, upstreams []string) (*capture, []string) {
	t.Helper()
	c := &capture{}
	var addresses []string
	for _, upstream := range upstreams {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.listeners, addresses = append(c.listeners, l), append(addresses, l.Addr().String())
		c.running.Go(func() { c.accept(t, l, upstream) })
	}
	t.Cleanup(c.close)
	return c, addresses
}

func (c *capture) close() {
	for _, l := range c.listeners {
		l.Close()
	}
	c.mu.Lock()
	c.closed = true
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.running.Wait()
}

func (c *capture) accept(t *testing.T, l net.Listener, upstream string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(t.Context(), "tcp", upstream)
		if err != nil {
			client.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, client, server)
		closed := c.closed
		c.mu.Unlock()
		if closed {
			client.Close()
			server.Close()
			return
		}
		w := &tapped{c: c, asked: map[int32]int32{}}
		c.running.Go(func() { w.carry(server, client, &c.sent, w.request) })
		c.running.Go(func() { w.carry(client, server, &c.received, w.reply) })
	}
}

// tapped is one connection.
type tapped struct {
	c     *capture
	mu    sync.Mutex
	asked map[int32]int32 // types by xid, of unanswered requests
}

// carry forwards frames unchanged, after note has seen each.
func (w *tapped) carry(to, from net.Conn, bytes *atomic.Int64, note func(body []byte, first bool) (frame, bool)) {
	defer to.Close()
	defer from.Close()
	in := bufio.NewReaderSize(from, 64<<10)
	for first := true; ; first = false {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		whole := make([]byte, 4+binary.BigEndian.Uint32(head[:]))
		copy(whole, head[:])
		if _, err := io.ReadFull(in, whole[4:]); err != nil {
			return
		}
		bytes.Add(int64(len(whole)))
		at := time.Now()
		if f, counts := note(whole[4:], first); counts {
			f.at = at
			w.c.mu.Lock()
			w.c.frames = append(w.c.frames, f)
			w.c.mu.Unlock()
		}
		if _, err := to.Write(whole); err != nil {
			return
		}
	}
}

func number(b []byte, at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }

func (w *tapped) request(body []byte, first bool) (frame, bool) {
	if first {
		return frame{dir: request, op: opHandshake}, true
	}
	xid, op := number(body, 0), number(body, 4)
	w.mu.Lock()
	w.asked[xid] = op
	w.mu.Unlock()
	return frame{dir: request, op: op}, true
}

func (w *tapped) reply(body []byte, first bool) (frame, bool) {
	if first {
		return frame{dir: reply, op: opHandshake}, true
	}
	xid := number(body, 0)
	if xid == -1 {
		return frame{dir: event}, true
	}
	w.mu.Lock()
	op := w.asked[xid]
	delete(w.asked, xid)
	w.mu.Unlock()
	f := frame{dir: reply, op: op, failed: number(body, 12) != 0}
	if f.failed {
		return f, true
	}
	switch rest := body[16:]; op {
	case opChildren2:
		f.names = max(int(number(rest, 0)), 0)
		f.namesBytes = len(rest) - 4 - 68
	case opGetData:
		f.data = max(int(number(rest, 0)), 0)
	}
	return f, true
}

// between tallies the frames from one instant on and before another.
func (c *capture) between(from, to time.Time) tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := tally{requests: map[int32]int{}, ok: map[int32]int{}, edge: map[int32]int{}}
	for _, f := range c.frames {
		if f.dir == request { // sent but not answered at an instant: the clocks decide on which side of it they are
			for _, mark := range []time.Time{from, to} {
				if d := f.at.Sub(mark); d > -edge && d < edge {
					t.edge[f.op]++
				}
			}
		}
		if f.at.Before(from) || !f.at.Before(to) {
			continue
		}
		switch f.dir {
		case request:
			t.requests[f.op]++
		case event:
			t.events++
		case reply:
			if f.failed {
				t.failed += map[bool]int{true: 1}[slices.Contains(writeOps, f.op)]
				continue
			}
			t.ok[f.op]++
			t.names += f.names
			t.namesBytes += f.namesBytes
			t.data += f.data
		}
	}
	return t
}

// edge is how much the capture's time of a frame may differ from the client's.
const edge = 2 * time.Millisecond

var writeOps = []int32{opCreate, opCreate2, opContainer, opDelete, opSetData, opMulti}

// tally is what a capture saw within a time.
type tally struct {
	requests map[int32]int // by type
	ok       map[int32]int // replies without an error, by type
	edge     map[int32]int // requests within a moment of an end of the time
	events   int
	failed   int // writeOps that were refused
	names    int
	// bytes of names listed, 4 and the length of each, and of data read
	namesBytes, data int
}

// of returns the number of requests of these types.
func (t tally) of(ops ...int32) float64 {
	n := 0
	for _, op := range ops {
		n += t.requests[op]
	}
	return float64(n)
}
