package wire

import (
	"cmp"
	"net"
	"sync"
)

// streamLink is a connection that no poller can read: TLS, one from a custom Dialer, or on a system without epoll. One goroutine reads and another
// writes, so that a caller whose context ends is never stuck in a write.
type streamLink struct {
	cn *conn
	nc net.Conn

	mu   sync.Mutex
	out  []byte
	shut bool
	more chan struct{} // capacity 1: out has bytes, or the link was closed
}

// streamBuffer is the size in bytes of the buffer that a streamLink reads into; larger frames get memory of their own.
const streamBuffer = 4 << 10

func newStreamConn(c *Client, addr string, nc net.Conn) *conn {
	cn := &conn{c: c, addr: addr, peer: c.eng.peer(addr)}
	cn.link = &streamLink{cn: cn, nc: nc, more: make(chan struct{}, 1)}
	return cn
}

// start is called while the session's WaitGroup counts its reconnection, so a concurrent Wait cannot see a count of zero too early.
func (l *streamLink) start() error {
	l.cn.c.work.Add(2)
	go l.read()
	go l.send()
	return nil
}

func (l *streamLink) read() {
	defer l.cn.c.work.Done()
	r := newReader(streamBuffer)
	for {
		room := l.cn.room(r)
		n, err := l.nc.Read(room)
		if err = cmp.Or(l.cn.feed(r, room[:n], l.cn.c.eng.now()), err); err != nil {
			l.cn.broken(err)
			return
		}
	}
}

func (l *streamLink) send() {
	defer l.cn.c.work.Done()
	var spare []byte
	for range l.more {
		l.mu.Lock()
		b, shut := l.out, l.shut
		l.out = spare
		l.mu.Unlock()
		if shut {
			return
		}
		if _, err := l.nc.Write(b); err != nil {
			l.cn.broken(err)
			return
		}
		spare = reusable(b, keepFrame)
	}
}

func (l *streamLink) write(p []byte) error {
	l.mu.Lock()
	l.out = append(l.out, p...)
	l.mu.Unlock()
	l.signal()
	return nil
}

func (l *streamLink) signal() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *streamLink) close() {
	l.mu.Lock()
	l.shut = true
	l.mu.Unlock()
	l.nc.Close()
	l.signal()
}
