package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// Config says which servers the proxy fronts.
type Config struct {
	Upstreams []string // host:port of the servers; the first is server 1
	Listen    []string // host:port to listen at for each of them; nil: the loopback interface, with free ports
	Tap       Tap      // nil: none
	Seed      uint64   // for the jitter
	// Encrypted says that connections are forwarded unread: only the faults Cut and Reset of all connections are possible, and nothing is known about sessions.
	Encrypted bool
}

// Tap is shown what passes, before any fault applies to it. Connections are numbered. Both methods are called from the goroutines that read connections, several at a time, and
// what follows on the connection waits until they return.
type Tap interface {
	// Frame is called with a frame and its bytes, which are valid until it returns. Of a frame of more than 8 KiB these are the first 8 KiB, but of a request and of the reply to a multi all, up
	// to 16 MiB. The call for a request returns before the server has all of it, so that the call for its reply comes later.
	Frame(conn uint64, f Frame, body []byte)
	// Ended is called when a connection is over, after all its frames.
	Ended(conn uint64)
}

// mostTapped is the longest frame that a Tap is shown as a whole, in bytes.
const mostTapped = 16 << 20

// Proxy listens at one address of this machine for each server. All methods may be called concurrently.
type Proxy struct {
	cfg       Config
	listeners []net.Listener
	latency   [2]atomic.Pointer[Latency] // by direction
	running   sync.WaitGroup
	quit      context.CancelFunc
	ctx       context.Context // ends with Close, not with a caller's context

	mu       sync.Mutex
	closed   bool
	faults   []*Fault
	conns    map[*conn]struct{}
	accepted uint64
	sessions map[int64]*session
	watching map[int64]func(Frame) // by session
	swept    time.Time             // when sessions that cannot come back were last forgotten
}

type session struct {
	jute.Connect // what is needed to resume it
	server       int
	conn         *conn     // nil while disconnected
	lost         time.Time // when it was disconnected
}

// Start starts to listen. ctx is not used after Start returns.
func Start(ctx context.Context, cfg Config) (*Proxy, error) {
	if len(cfg.Upstreams) == 0 {
		return nil, errors.New("proxy: no upstreams")
	}
	if len(cfg.Listen) > 0 && len(cfg.Listen) != len(cfg.Upstreams) {
		return nil, fmt.Errorf("proxy: %d addresses to listen at for %d servers (expected one for each)", len(cfg.Listen), len(cfg.Upstreams))
	}
	p := &Proxy{cfg: cfg, conns: map[*conn]struct{}{}, sessions: map[int64]*session{}, watching: map[int64]func(Frame){}}
	p.cfg.Upstreams = slices.Clone(cfg.Upstreams)
	p.ctx, p.quit = context.WithCancel(context.WithoutCancel(ctx))
	for i := range cfg.Upstreams {
		address := "127.0.0.1:0"
		if len(cfg.Listen) > 0 {
			address = cfg.Listen[i]
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("proxy: %w", err)
		}
		p.listeners = append(p.listeners, l)
	}
	for i, l := range p.listeners {
		p.running.Go(func() { p.accept(l, i+1) })
	}
	return p, nil
}

// Addresses returns the addresses for clients, in the order of the upstreams.
func (p *Proxy) Addresses() []string {
	addresses := make([]string, len(p.listeners))
	for i, l := range p.listeners {
		addresses[i] = l.Addr().String()
	}
	return addresses
}

// Close ends all connections and waits for all goroutines. It may be called more than once.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	faults := slices.Clone(p.faults)
	p.mu.Unlock()
	p.quit()
	for _, f := range faults {
		f.Remove()
	}
	for _, l := range p.listeners {
		l.Close()
	}
	p.end(0, false)
	p.running.Wait()
	return nil
}

func (p *Proxy) accept(l net.Listener, server int) {
	for {
		client, err := l.Accept()
		if err != nil {
			if p.ctx.Err() != nil {
				return
			}
			time.Sleep(time.Millisecond) // most likely out of file descriptors: do as net/http does
			continue
		}
		p.running.Go(func() { p.serve(client.(*net.TCPConn), server) })
	}
}

// serve forwards one connection until it ends.
func (p *Proxy) serve(client *net.TCPConn, server int) {
	upstream, err := new(net.Dialer).DialContext(p.ctx, "tcp", p.cfg.Upstreams[server-1])
	if err != nil {
		client.SetLinger(0) // as if nobody listened
		client.Close()
		return
	}
	c := p.newConn(client, upstream.(*net.TCPConn), server)
	if c == nil {
		client.Close()
		upstream.Close()
		return
	}
	c.run()
	if p.cfg.Tap != nil {
		p.cfg.Tap.Ended(c.number)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	if s := p.sessions[c.session.Load()]; s != nil && s.conn == c {
		s.conn, s.lost = nil, time.Now()
	}
}

func (p *Proxy) newConn(client, upstream *net.TCPConn, server int) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.accepted++
	c := newConn(p, client, upstream, server, p.accepted)
	p.conns[c] = struct{}{}
	return c
}

// Session is a session that was opened or resumed through the proxy and has not been closed. A session that has been disconnected for twice its timeout
// has expired, or lives without the proxy: it is forgotten until it comes back.
type Session struct {
	ID        int64
	Timeout   time.Duration // as negotiated
	Server    int           // the last one to which it was connected
	Connected bool
}

// Sessions lists the sessions by id.
func (p *Proxy) Sessions() []Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(time.Now())
	var list []Session
	for _, s := range p.sessions {
		list = append(list, Session{ID: s.Connect.Session, Timeout: s.Timeout, Server: s.server, Connected: s.conn != nil})
	}
	slices.SortFunc(list, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// opened records that a handshake has succeeded. A session resumed from another connection now belongs to this one.
func (p *Proxy) opened(c *conn, cr jute.Connect) {
	c.session.Store(cr.Session)
	p.mu.Lock()
	defer p.mu.Unlock()
	cr.Password = bytes.Clone(cr.Password) // it is in the buffer of the connection
	p.sessions[cr.Session] = &session{Connect: cr, server: c.server, conn: c}
	if now := time.Now(); now.Sub(p.swept) > time.Second {
		p.sweep(now)
	}
}

// sweep forgets the sessions that have been disconnected for so long that they must have expired: nothing else reports those of a dead client.
func (p *Proxy) sweep(now time.Time) {
	p.swept = now
	maps.DeleteFunc(p.sessions, func(_ int64, s *session) bool { return s.conn == nil && now.Sub(s.lost) > 2*s.Timeout })
}

// over forgets a session that has been closed or has expired.
func (p *Proxy) over(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, id)
}

// Observe calls see with every frame of a session but the handshake that opens it, before any rule applies to it, until stop is called. It calls from the goroutine that
// reads the connection: what follows the frame waits until see returns. A session has one observer.
func (p *Proxy) Observe(session int64, see func(Frame)) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watching[session] = see
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watching, session)
	}
}

// see passes a frame to the observer of its session.
func (p *Proxy) see(fr Frame) {
	p.mu.Lock()
	see := p.watching[fr.Session]
	p.mu.Unlock()
	if see != nil {
		see(fr)
	}
}

// KeepAway disconnects a session and keeps it from coming back until the fault is removed, by cutting each attempt.
func (p *Proxy) KeepAway(session int64) *Fault {
	f := p.Add(Rule{On: Request, Ops: []jute.Op{jute.OpConnect}, Session: session, Do: Cut})
	p.Cut(session)
	return f
}

// Cut closes the connections of a session, of all sessions for 0, and returns how many there were. Clients may reconnect at once.
func (p *Proxy) Cut(session int64) int { return p.end(session, false) }

// Reset is like Cut, but resets the connections (RST).
func (p *Proxy) Reset(session int64) int { return p.end(session, true) }

func (p *Proxy) end(session int64, reset bool) int {
	p.mu.Lock()
	var ending []*conn
	for c := range p.conns {
		if session == 0 || c.session.Load() == session {
			ending = append(ending, c)
		}
	}
	p.mu.Unlock()
	for _, c := range ending {
		c.tear(reset)
	}
	return len(ending)
}

// ErrUnknownSession says that no such session was opened through the proxy, or that it is over.
var ErrUnknownSession = errors.New("unknown session")

// Expire ends a session on the servers as its expiry would, without its client's knowledge: it resumes the session over its
// own connection, bypassing all faults, and closes it. The server closes the client's connection; the client learns of the
// expiry when it reconnects. It also returns ErrUnknownSession if the session is already over.
func (p *Proxy) Expire(ctx context.Context, id int64) error {
	// The client loses its connection when the session is resumed elsewhere, and would take the session back.
	away := p.add(0, Rule{On: Request, Ops: []jute.Op{jute.OpConnect}, Session: id, Do: Hold})
	defer away.Remove()
	err := p.expire(ctx, id)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		err = p.expire(ctx, id) // a handshake got past the rule
	}
	if err != nil {
		return fmt.Errorf("proxy: expire 0x%x: %w", id, err)
	}
	p.over(id)
	return nil
}

func (p *Proxy) expire(ctx context.Context, id int64) error {
	p.mu.Lock()
	s := p.sessions[id]
	p.mu.Unlock()
	if s == nil {
		return ErrUnknownSession
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.cfg.Upstreams[s.server-1])
	if err != nil {
		return err
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := closeSession(server, s.Connect); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return err
	}
	return nil
}

// closeSession resumes a session and closes it.
func closeSession(server net.Conn, c jute.Connect) error {
	c.ReadOnly = false // it describes the server, and would request a read-only one
	if _, err := server.Write(c.Request()); err != nil {
		return err
	}
	answer, err := jute.ReadFrame(server, 0, inspected)
	if err != nil {
		return err
	}
	if got, _ := jute.ParseConnectReply(answer); got.Session != c.Session {
		return ErrUnknownSession
	}
	const xid = 1
	bye := jute.BeginRequest(nil, jute.OpClose)
	jute.Seal(bye, xid)
	if _, err := server.Write(bye); err != nil {
		return err
	}
	for {
		answer, err := jute.ReadFrame(server, 0, inspected)
		if err != nil {
			return err
		}
		if f := parseReply(answer); f.On == Reply && f.Xid == xid {
			return nil
		}
	}
}
