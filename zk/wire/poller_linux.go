package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// poller reads the sockets of many sessions with one goroutine, one epoll set and one buffer. It waits by having the Go runtime watch the epoll
// descriptor, so it needs no thread of its own, and it yields after every few replies: the callers that it has woken write their next requests, which
// it sends together, and which are often answered by the time it polls again.
type poller struct {
	eng   *engine
	file  *os.File // the epoll descriptor, watched by the runtime
	raw   syscall.RawConn
	ep    int
	quit  atomic.Bool
	done  chan struct{}
	burst burst

	mu    sync.Mutex
	links []*epollLink // by slot, nil for a free slot
	free  []int32
	turns int32 // counts registrations, to recognize events of a slot's earlier user
}

const (
	readBuffer = 128 << 10 // of a poller; larger frames get memory of their own
	batch      = 32        // events taken at a time, after which the woken callers run while their memory is cached
	maxReads   = 8         // of one socket in a row, so that no server can starve the others
)

func newPoller(e *engine) (*poller, error) { return startPoller(e, newReader(readBuffer)) }

func startPoller(e *engine, r *reader) (*poller, error) {
	ep, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := syscall.SetNonblock(ep, true); err != nil { // otherwise the runtime would not watch it
		syscall.Close(ep)
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &poller{eng: e, ep: ep, file: os.NewFile(uintptr(ep), "epoll"), done: make(chan struct{})}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.file.Close()
		return nil, err
	}
	go p.run(r)
	return p, nil
}

// stop ends run. Only run closes the descriptor, because once closed its number may be reused for another file.
func (p *poller) stop() {
	p.quit.Store(true)
	p.file.SetReadDeadline(time.Unix(1, 0))
	<-p.done
}

func (p *poller) run(r *reader) {
	defer close(p.done)
	defer p.file.Close()
	events := make([]syscall.EpollEvent, batch)
	ready := make([]*epollLink, batch)
	var again []*epollLink // read maxReads times, and possibly not empty
	n := 0
	look := func(uintptr) bool {
		n = p.poll(events)
		return n != 0
	}
	for !p.quit.Load() {
		if n = p.poll(events); n == 0 && len(again) == 0 {
			if err := p.raw.Read(look); err != nil {
				return
			}
		}
		if n < 0 {
			return
		}
		p.burst.begin()
		now := p.eng.now()
		more := again
		again = nil
		for _, l := range more {
			if !l.drain(r, now, syscall.EPOLLIN) {
				again = append(again, l)
			}
		}
		for i, l := range p.resolve(events[:n], ready[:0]) {
			if !l.drain(r, now, events[i].Events) {
				again = append(again, l)
			}
		}
		clear(ready)
		runtime.Gosched()
		for _, l := range p.burst.end() {
			l.flush()
		}
	}
}

// burst holds back what is written while a poller hands out replies, until the callers that it has woken have run. The requests then reach the servers
// one right after the other, however long the callers take between a reply and the next request, and threads that a server wakes for the first of them
// handle many: with 1,000 sessions and three servers on two CPUs, a quarter more reads (docs/performance.md). With a single reply nothing waits but for
// its caller.
type burst struct {
	mu    sync.Mutex
	open  bool
	links []*epollLink // with something to send in out
	spare []*epollLink // memory for the next links
}

func (b *burst) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
}

// add reports whether what a link writes now is to be sent at the end. Called with Client.wmu held.
func (b *burst) add(l *epollLink) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.links = append(b.links, l)
	}
	return b.open
}

// end returns the links to be flushed. The slice is valid until the next end.
func (b *burst) end() []*epollLink {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare)
	b.open, b.links, b.spare = false, b.spare[:0], b.links
	return b.spare
}

// poll fetches events without waiting. It returns -1 if the descriptor is no longer usable.
func (p *poller) poll(events []syscall.EpollEvent) int {
	for {
		n, _, e := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.ep), uintptr(unsafe.Pointer(&events[0])),
			uintptr(len(events)), 0, 0, 0)
		switch e {
		case 0:
			return int(n)
		case syscall.EINTR:
		default:
			return -1
		}
	}
}

// resolve appends the links of events to ready, and moves these events to the front; events of links that have been closed are left out.
func (p *poller) resolve(events []syscall.EpollEvent, ready []*epollLink) []*epollLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		if l := p.links[e.Fd]; l != nil && l.turn == e.Pad {
			events[len(ready)] = e
			ready = append(ready, l)
		}
	}
	return ready
}

// add registers a link, edge-triggered, for reading and writing: with edge triggering an idle socket costs nothing in either direction.
func (p *poller) add(l *epollLink) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		l.slot, p.free = p.free[last], p.free[:last]
	} else {
		l.slot, p.links = int32(len(p.links)), append(p.links, nil)
	}
	p.turns++
	l.turn = p.turns
	p.links[l.slot] = l
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | edge, Fd: l.slot, Pad: l.turn}
	if err := syscall.EpollCtl(p.ep, syscall.EPOLL_CTL_ADD, l.fd, &ev); err != nil {
		p.links[l.slot], p.free = nil, append(p.free, l.slot)
		return os.NewSyscallError("epoll_ctl", err)
	}
	return nil
}

// edge is EPOLLET, which package syscall defines as a negative number.
const edge = 1 << 31

// remove unregisters a link, which may never have been added.
func (p *poller) remove(l *epollLink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(l.slot) < len(p.links) && p.links[l.slot] == l {
		p.links[l.slot], p.free = nil, append(p.free, l.slot)
	}
}

// epollLink is a plain socket that a poller reads. It is allocated together with its conn, and the fields that every request uses fill the first two
// cache lines: with thousands of sessions, they are cold by the time the next request is made.
type epollLink struct {
	fd      int
	reading sync.Mutex  // held during a read, so that the descriptor is not closed under it
	turn    int32       // see poller.turns
	backlog atomic.Bool // the socket did not accept all of out
	slot    int32
	closed  bool // changed with reading and Client.wmu held
	ended   bool // the server has sent its last byte, which edge triggering reports only once; used by the poller alone
	p       *poller
	out     []byte // what a burst holds back or the socket did not accept; guarded by Client.wmu
	conn
}

// newConn takes over nc. A plain TCP socket goes to a poller, everything else gets goroutines.
func newConn(c *Client, addr string, nc net.Conn) (*conn, error) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return newStreamConn(c, addr, nc), nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	// The duplicate is not in the runtime's own epoll set, which would otherwise be woken for every reply as well.
	if cerr := raw.Control(func(s uintptr) {
		r, _, e := syscall.Syscall(syscall.SYS_FCNTL, s, syscall.F_DUPFD_CLOEXEC, 0)
		if fd = int(r); e != 0 {
			fd, err = -1, os.NewSyscallError("fcntl", e)
		}
	}); cerr != nil || err != nil {
		return nil, errors.Join(cerr, err)
	}
	tcp.Close()
	l := &epollLink{fd: fd, p: c.eng.poller()}
	l.c, l.addr, l.peer, l.link = c, addr, c.eng.peer(addr), l
	return &l.conn, nil
}

func (l *epollLink) start() error { return l.p.add(l) }

// drain reads what one event announces. It returns false if there may be more to read.
func (l *epollLink) drain(r *reader, now int64, events uint32) bool {
	if l.backlog.Load() {
		l.flush()
	}
	if events&^syscall.EPOLLOUT == 0 {
		return true
	}
	l.ended = l.ended || events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0
	for range maxReads {
		room := l.room(r)
		n, err := l.read(room)
		if err == syscall.EAGAIN {
			return true
		}
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err == nil {
			err = l.feed(r, room[:n], now)
		}
		if err != nil {
			l.broken(err)
			return true
		}
		if n < len(room) && !l.ended { // a short read has emptied the socket; whatever comes later triggers a new edge
			return true
		}
	}
	return false
}

var errUnlinked = errors.New("link closed")

func (l *epollLink) read(b []byte) (int, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.closed {
		return 0, errUnlinked
	}
	n, _, e := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(l.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		syscall.MSG_DONTWAIT, 0, 0)
	switch e {
	case 0:
		return int(n), nil
	case syscall.EAGAIN:
		return 0, syscall.EAGAIN
	}
	return 0, e
}

// write sends as much of p as the socket accepts immediately, or leaves it to the end of a burst.
func (l *epollLink) write(p []byte) error {
	if l.closed {
		return errUnlinked
	}
	if len(l.out) > 0 || l.p.burst.add(l) {
		l.out = append(l.out, p...)
		return nil
	}
	n, err := l.send(p)
	if err != nil || n == len(p) {
		return err
	}
	l.out = append(l.out, p[n:]...)
	return l.sendOut() // again: the socket may have become writable before the poller could know that there is something to send
}

// flush sends what earlier writes did not, now that a burst ends or the socket accepts more.
func (l *epollLink) flush() {
	c := l.c
	c.wmu.Lock()
	err := l.sendOut()
	c.wmu.Unlock()
	if err != nil {
		l.broken(err)
	}
}

func (l *epollLink) sendOut() error {
	l.backlog.Store(true) // now, because the poller learns only once that the socket has become writable
	n, err := l.send(l.out)
	if l.out = l.out[n:]; len(l.out) == 0 {
		l.out = reusable(l.out, keepRequest) // only what is left of its memory: the start of it would be cold by the next burst
		l.backlog.Store(false)
	}
	return err
}

// send writes until the socket accepts no more.
func (l *epollLink) send(p []byte) (sent int, err error) {
	if l.closed {
		return 0, errUnlinked
	}
	for sent < len(p) {
		rest := p[sent:]
		n, _, e := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(l.fd), uintptr(unsafe.Pointer(&rest[0])), uintptr(len(rest)),
			syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
		switch e {
		case 0:
			sent += int(n)
		case syscall.EINTR:
		case syscall.EAGAIN:
			return sent, nil
		default:
			return sent, e
		}
	}
	return sent, nil
}

// close shadows conn.close, which calls it.
func (l *epollLink) close() {
	l.reading.Lock()
	defer l.reading.Unlock()
	if !l.closed {
		l.p.remove(l)
		syscall.Close(l.fd) // which also removes it from the epoll set
		l.closed = true
	}
	l.out = nil
}
