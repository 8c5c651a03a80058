package wire_test

import (
	"net"
	"sync"
	"testing"
)

// proxy stands between sessions and a server, so that a test can cut connections, refuse new ones, or hold back bytes.
type proxy struct {
	listener net.Listener
	server   string
	done     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	shut  bool // refuse new connections
	hold  chan struct{}
}

func newProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newProxyOn(l, server)
}

func newProxyOn(l net.Listener, server string) *proxy {
	p := &proxy{listener: l, server: server, conns: map[net.Conn]bool{}}
	p.done.Go(p.accept)
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.listener.Close()
	p.release()
	p.cut()
	p.done.Wait()
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.server)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		shut := p.shut
		if !shut {
			p.conns[near], p.conns[far] = true, true
		}
		p.mu.Unlock()
		if shut {
			near.Close()
			far.Close()
			continue
		}
		p.done.Go(func() { p.pipe(near, far) })
		p.done.Go(func() { p.pipe(far, near) })
	}
}

func (p *proxy) pipe(to, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			hold := p.hold
			p.mu.Unlock()
			if hold != nil {
				<-hold
			}
			to.Write(buf[:n])
		}
		if err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	p.mu.Lock()
	delete(p.conns, to)
	delete(p.conns, from)
	p.mu.Unlock()
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0) // reset instead of closing in order
		}
		c.Close()
	}
}

// block breaks all connections and refuses new ones until unblock.
func (p *proxy) block() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.cut()
}

func (p *proxy) unblock() {
	p.mu.Lock()
	p.shut = false
	p.mu.Unlock()
}

// freeze holds back all bytes until release; the connections stay open.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold == nil {
		p.hold = make(chan struct{})
	}
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold != nil {
		close(p.hold)
		p.hold = nil
	}
}
