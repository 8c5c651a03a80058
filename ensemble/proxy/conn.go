package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// conn is one connection of a client, forwarded to its server.
//
// Each direction has a goroutine that reads frames and decides, and one that writes (line). A direction that ends
// closes only the socket it writes to: the end must not overtake data in transit, nor get through a partition of the
// other direction.
type conn struct {
	p      *Proxy
	server int
	number uint64 // among all connections
	client *net.TCPConn
	up     *net.TCPConn
	lines  [2]*line // by direction

	session atomic.Int64
	text    atomic.Bool   // a four-letter word and its answer instead of frames
	torn    chan struct{} // closed by tear: everything ends at once
	once    sync.Once
	running sync.WaitGroup // asides

	mu      sync.Mutex
	pending map[int32]Frame // requests that await their reply, by xid
	asides  []*aside        // notifications held outside the stream, in the order in which the server sent them
}

// aside is a notification that has been taken out of the stream.
type aside struct {
	fault *Fault        // the fault that took it; nil: it waits for others
	done  chan struct{} // closed when it is back in the stream, or the connection is torn
}

// Direction is the direction of a byte.
type Direction int

// The directions.
const (
	Upstream   Direction = iota // from the client to the server
	Downstream                  // from the server to the client
)

func newConn(p *Proxy, client, up *net.TCPConn, server int, number uint64) *conn {
	c := &conn{p: p, server: server, number: number, client: client, up: up, torn: make(chan struct{}), pending: map[int32]Frame{}}
	c.lines[Upstream] = newLine(c, up, Upstream, number)
	c.lines[Downstream] = newLine(c, client, Downstream, number)
	return c
}

func (c *conn) run() {
	var both sync.WaitGroup
	both.Go(c.lines[Upstream].run)
	both.Go(c.lines[Downstream].run)
	both.Go(func() { c.read(c.client, Upstream) })
	both.Go(func() { c.read(c.up, Downstream) })
	both.Wait()
	c.tear(false)
	c.running.Wait()
}

// tear ends the connection on both sides at once.
func (c *conn) tear(reset bool) {
	c.once.Do(func() {
		if reset {
			c.client.SetLinger(0)
			c.up.SetLinger(0)
		}
		close(c.torn)
		c.client.Close()
		c.up.Close()
	})
}

// read reads one direction frame by frame.
func (c *conn) read(from net.Conn, d Direction) {
	in := bufio.NewReaderSize(from, 4+inspected)
	l := c.lines[d]
	switch {
	case c.p.cfg.Encrypted:
		c.unread(in, d)
	case !c.words(in, d):
		for handshake := true; ; handshake = false {
			if !c.frame(in, d, handshake) {
				break
			}
		}
	}
	c.held(d)
	l.end()
}

// words forwards a connection that starts with four letters instead of a length: it asks a four-letter word, and the
// answer is text.
func (c *conn) words(in *bufio.Reader, d Direction) bool {
	head, err := in.Peek(4)
	if err != nil {
		return false
	}
	if d == Upstream {
		c.text.Store(len(bytes.Trim(head, "abcdefghijklmnopqrstuvwxyz")) == 0)
	}
	if !c.text.Load() { // the answer cannot arrive before the question has been inspected
		return false
	}
	c.unread(in, d)
	return true
}

// unread forwards everything without inspection, until the end of the direction.
func (c *conn) unread(in *bufio.Reader, d Direction) {
	for {
		if _, err := in.Peek(1); err != nil || !c.forward(in, in.Buffered(), d, 0) {
			return
		}
	}
}

// frame forwards one frame, or applies a fault to it; it returns false at the end of the direction.
func (c *conn) frame(in *bufio.Reader, d Direction, handshake bool) bool {
	head, err := in.Peek(4)
	if err != nil {
		return false
	}
	size := int(uint32(jute.Int32(head)))
	head, err = in.Peek(4 + min(size, inspected))
	if err != nil {
		return false
	}
	fr := c.look(head[4:], d, handshake)
	fr.Size = size
	c.p.see(fr)
	if c.p.cfg.Tap != nil {
		if in = c.tap(fr, in, head[4:], d); in == nil {
			return false
		}
	}
	f := c.p.decide(fr)
	if f == nil {
		if fr.On == Notification && 4+size <= in.Size() && c.isBehind() {
			return c.aside(nil, in, 4+size, d)
		}
		return c.forward(in, 4+size, d, 0)
	}
	if f.rule.Notify != nil {
		f.rule.Notify(fr)
	}
	return c.inject(f, in, 4+size, d)
}

// tap shows a frame to the tap, and returns from where to read it; nil at the end of the direction.
func (c *conn) tap(fr Frame, in *bufio.Reader, head []byte, d Direction) *bufio.Reader {
	if whole := 4 + fr.Size; len(head) < fr.Size && fr.Size <= mostTapped && (d == Upstream || fr.Op == jute.OpMulti) {
		var b bytes.Buffer // grows only with what is there
		if _, err := io.CopyN(&b, in, int64(whole)); err != nil {
			return nil
		}
		in, head = bufio.NewReaderSize(bytes.NewReader(b.Bytes()), in.Size()), b.Bytes()[4:]
	}
	c.p.cfg.Tap.Frame(c.number, fr, head)
	return in
}

// look parses the relevant parts of a frame, and updates the state of the connection.
func (c *conn) look(b []byte, d Direction, handshake bool) Frame {
	var fr Frame
	switch {
	case d == Upstream && handshake:
		asked, _ := jute.ParseConnectRequest(b)
		fr = Frame{On: Request, Op: jute.OpConnect, Session: asked.Session}
		c.session.Store(fr.Session)
	case d == Upstream:
		fr = parseRequest(b)
		c.mu.Lock()
		c.pending[fr.Xid] = fr
		c.mu.Unlock()
	case handshake:
		fr = Frame{On: Reply, Op: jute.OpConnect}
		if cr, _ := jute.ParseConnectReply(b); cr.Session != 0 {
			c.p.opened(c, cr)
		} else {
			fr.Err = refused
			c.p.over(c.session.Load())
		}
	default:
		fr = parseReply(b)
		if fr.On == Reply {
			c.mu.Lock()
			asked := c.pending[fr.Xid]
			delete(c.pending, fr.Xid)
			c.mu.Unlock()
			fr.Op, fr.Path = asked.Op, asked.Path
			if (fr.Op == jute.OpCreate || fr.Op == jute.OpCreate2) && fr.Err == 0 {
				fr.Created = created(b)
			}
			if fr.Xid == jute.XidPing {
				fr.Op = jute.OpPing
			}
			if fr.Op == jute.OpClose {
				c.p.over(c.session.Load())
			}
		}
	}
	fr.Server, fr.Session = c.server, c.session.Load()
	return fr
}

// inject applies the fault to the next n bytes, which are a frame.
func (c *conn) inject(f *Fault, in *bufio.Reader, n int, d Direction) bool {
	switch f.rule.Do {
	case Cut, Reset:
		// Queued, so that everything before it arrives.
		tear := sync.OnceFunc(func() { f.execute(func() { c.tear(f.rule.Do == Reset) }) })
		if c.lines[d].put(item{then: tear}) {
			<-c.torn
		}
		tear()
		return false
	case Drop:
		_, err := io.CopyN(io.Discard, in, int64(n))
		f.count()
		return err == nil
	case Hold:
		if f.rule.aside() && n <= in.Size() {
			return c.aside(f, in, n, d)
		}
		f.count()
		c.wait(f.removed)
		return c.forward(in, n, d, 0)
	case Delay:
		if f.rule.aside() && n <= in.Size() {
			return c.aside(f, in, n, d)
		}
		f.count()
		return c.forward(in, n, d, f.rule.For)
	case Repeat:
		if n <= in.Size() {
			frame, err := in.Peek(n)
			if err != nil {
				return false
			}
			for range f.rule.Copies {
				c.lines[d].put(item{data: append([]byte(nil), frame...)})
			}
			f.count()
		}
	}
	return c.forward(in, n, d, 0)
}

// aside takes a notification out of the stream and puts it back later, at the stream's position then. Notifications taken by the same fault keep their order,
// as ZooKeeper promises it. None overtakes those whose fault has ended or takes a fixed time (Delay), because they would then arrive out of order.
func (c *conn) aside(f *Fault, in *bufio.Reader, n int, d Direction) bool {
	frame := make([]byte, n)
	if _, err := io.ReadFull(in, frame); err != nil {
		return false
	}
	c.mu.Lock()
	before, a := c.before(f), &aside{f, make(chan struct{})}
	c.asides = append(c.asides, a)
	c.mu.Unlock()
	read := time.Now()
	c.running.Go(func() {
		defer close(a.done)
		switch {
		case f == nil:
		case f.rule.Do == Hold:
			c.wait(f.removed)
		default:
			t := time.NewTimer(time.Until(read.Add(f.rule.For)))
			defer t.Stop()
			select {
			case <-t.C:
			case <-c.torn:
			}
		}
		for _, b := range before {
			c.wait(b.done)
		}
		l := c.lines[d]
		l.whole.Lock()
		l.put(item{data: frame})
		l.whole.Unlock()
		c.mu.Lock()
		c.asides = slices.DeleteFunc(c.asides, func(b *aside) bool { return b == a })
		c.mu.Unlock()
	})
	if f != nil {
		f.count()
	}
	return true
}

// before returns the asides that a notification taken by f (nil if no fault takes it) must not overtake: all except those that another active Hold
// keeps. Of the asides of one fault it returns only the last. c.mu must be held.
func (c *conn) before(f *Fault) (last []*aside) {
	for _, a := range c.asides {
		if a.fault != nil && a.fault != f && a.fault.rule.Do == Hold && !isClosed(a.fault.removed) {
			continue
		}
		if i := slices.IndexFunc(last, func(b *aside) bool { return b.fault == a.fault }); i >= 0 {
			last[i] = a
		} else {
			last = append(last, a)
		}
	}
	return last
}

// isBehind reports whether a notification that no fault takes must wait for others.
func (c *conn) isBehind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.before(nil)) > 0
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// forward puts the next n bytes on the line in pieces.
func (c *conn) forward(in *bufio.Reader, n int, d Direction, delay time.Duration) bool {
	l := c.lines[d]
	l.whole.Lock()
	defer l.whole.Unlock()
	for n > 0 {
		piece := make([]byte, min(n, inspected))
		if _, err := io.ReadFull(in, piece); err != nil {
			return false
		}
		if !l.put(item{data: piece, delay: delay}) {
			return false
		}
		n -= len(piece)
	}
	return true
}

// held waits while a partition keeps the end of the connection from getting through.
func (c *conn) held(d Direction) {
	fr := Frame{On: Request, Server: c.server, Session: c.session.Load()}
	if d == Downstream {
		fr.On = Reply
	}
	for {
		f := c.p.partition(fr)
		if f == nil || !c.wait(f.removed) {
			return
		}
	}
}

// wait waits for the channel or for the end of the connection.
func (c *conn) wait(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-c.torn:
		return false
	}
}
