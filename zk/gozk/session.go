package gozk

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/background"
	"github.com/zkbench/zkbench/zk/internal/lease"
	native "github.com/zkbench/zkbench/zk/wire"
)

// Config says which ensemble to connect to.
type Config struct {
	Servers []string // host:port, at least one; without a port 2181
	// Timeout is the session timeout to ask for; 0 asks for 10 s. The servers move it into their limits, usually 2 to 20 ticks of
	// 2 s. Too short, and a pause of the garbage collector or of a server ends sessions; too long, and the znodes of a client
	// that died are in the way for as long.
	Timeout time.Duration
	// Seed decides the order in which the servers are tried and the pauses between attempts. Sessions should have different
	// ones, or all of them use the same server first.
	Seed uint64
	// Digests are credentials of the scheme digest, USER:PASSWORD, that every connection presents.
	Digests [][]byte
	// Owners may do everything with what the session creates, and nobody else; none: everybody may.
	Owners []zk.Identity
	// Connect opens a connection; nil is TCP. TLS goes here.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Session is a zk.Session over one connection of the library.
type Session struct {
	conn    *lib.Conn
	hosts   *hosts
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	auth    []native.Auth // the digests, as the own client presents them
	asked   time.Duration
	acl     []lib.ACL        // of what is created
	ended   <-chan lib.Event // closed when the library's goroutines have ended

	dialing    context.Context // ends with the session: not a caller's, but the library's dialling needs one
	stopDials  context.CancelFunc
	watches    watches
	zxids      zxids
	buffer     atomic.Int64 // size of the library's buffer for requests
	wantBuffer atomic.Int64 // size it shall have after the next write

	done      chan struct{}
	connected atomic.Bool   // a copy of up being closed
	granted   atomic.Int64  // the negotiated timeout
	id        atomic.Int64  // set by the first handshake, then constant
	shut      chan struct{} // closed when the library has ended
	running   sync.WaitGroup
	beside    background.Work
	abandoned atomic.Int64 // calls whose caller has left; changed under mu
	spare     atomic.Pointer[pending]
	tap       atomic.Pointer[tap]
	linked    atomic.Pointer[func(zk.Link, time.Time)]
	sent      atomic.Int64          // bytes
	received  atomic.Int64          // bytes
	refused   atomic.Pointer[error] // why no connection could be opened, the last time
	closeErr  error                 // written before shut is closed
	clock     lease.Clock

	mu      sync.Mutex
	err     error
	link    *link         // the newest connection
	up      chan struct{} // closed while connected
	cut     chan struct{} // closed while it is not, and when the session is over
	lease   lease.Lease   // on clock
	telling *time.Timer   // closes the lease's channel; nil before the first connection
	settled chan struct{} // closed when abandoned is 0 again; nil unless somebody waits
}

// Dial opens a session: it returns when a server has granted one, or at most a second after ctx ended. ctx has no meaning for the
// session after that.
func Dial(ctx context.Context, cfg Config) (*Session, error) {
	if len(cfg.Servers) == 0 {
		return nil, fmt.Errorf("dial: no servers: %w", zk.ErrBadArguments)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Timeout < time.Millisecond {
		return nil, fmt.Errorf("dial: timeout %v: %w", cfg.Timeout, zk.ErrBadArguments)
	}
	s := &Session{
		asked:   cfg.Timeout,
		connect: cfg.Connect,
		acl:     aclOf(cfg.Owners),
		watches: watches{paths: make(map[string]*watched)},
		zxids:   zxids{calls: make(map[asked]*heard)},
		done:    make(chan struct{}),
		up:      make(chan struct{}),
		cut:     make(chan struct{}),
		shut:    make(chan struct{}),
	}
	for _, digest := range cfg.Digests {
		s.auth = append(s.auth, native.Auth{Scheme: "digest", Credential: digest})
	}
	if s.connect == nil {
		s.connect = new(net.Dialer).DialContext
	}
	s.hosts = newHosts(s, lib.FormatServers(cfg.Servers), cfg.Seed)
	s.granted.Store(int64(cfg.Timeout))
	s.buffer.Store(firstBuffer)
	s.dialing, s.stopDials = context.WithCancel(context.Background())

	var err error
	s.mu.Lock() // the library's goroutines stop at Next until ended is set
	_, s.ended, err = lib.Connect(cfg.Servers, cfg.Timeout,
		func(c *lib.Conn) { s.conn = c }, // before the library starts to dial
		lib.WithDialer(s.dial), lib.WithHostProvider(s.hosts), lib.WithEventCallback(s.event),
		lib.WithMaxConnBufferSize(firstBuffer), lib.WithLogger(quiet{}), lib.WithLogInfo(false))
	s.mu.Unlock()
	if err != nil {
		s.stopDials()
		return nil, fmt.Errorf("dial: %w", err)
	}
	if err := s.connection(ctx); err != nil {
		if last := s.refused.Load(); last != nil {
			err = fmt.Errorf("%w (%w)", err, *last)
		}
		s.Close()
		return nil, fmt.Errorf("dial %v: %w", cfg.Servers, err)
	}
	for _, digest := range cfg.Digests { // the library presents them again on each connection
		if err := s.conn.AddAuth("digest", digest); err != nil {
			_, err = translate(err)
			s.Close()
			return nil, fmt.Errorf("dial %v: %w", cfg.Servers, err)
		}
	}
	return s, nil
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Server is the address of the server that the session is connected to, "" while it is disconnected.
func (s *Session) Server() string {
	if !s.connected.Load() {
		return ""
	}
	return s.conn.Server()
}

// ID is the session's number.
func (s *Session) ID() int64 { return s.id.Load() }

// Timeout is the one that the server granted at the last handshake.
func (s *Session) Timeout() time.Duration { return time.Duration(s.granted.Load()) }

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says why the session is over, nil while it lives.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Lease is closed when the session can no longer be relied on.
func (s *Session) Lease() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.Check(s.clock.Now())
}

// extend notes that the server has answered, on l, a request that was sent at sent.
func (s *Session) extend(l *link, sent time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l || !s.connected.Load() || s.err != nil {
		return
	}
	s.lease.Extend(sent, lease.Span(s.Timeout()))
	if !s.lease.Open() {
		now := s.clock.Now()
		s.lease.Reopen(now)
		s.telling.Reset(max(0, s.lease.Until()-now))
	}
}

// tell closes the channel of a lease that is over, and otherwise comes again when it will be: one timer for a session, which goes off as
// often as its lease is long. Called when that may be, on a timer of its own.
func (s *Session) tell() {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.Check(now); s.lease.Open() && s.err == nil {
		s.telling.Reset(s.lease.Until() - now)
	}
}

// Leaks is what the library could not give back.
type Leaks struct {
	Calls   int // abandoned by their callers and not answered yet
	Watches int // stopped, and still held by the library and the server
}

// Leaks counts them now. Both are 0 after Close.
func (s *Session) Leaks() Leaks {
	return Leaks{Calls: int(s.abandoned.Load()), Watches: s.watches.leaked()}
}

// event is the library's callback. It runs in the library's goroutines: it must not block nor call the library.
func (s *Session) event(e lib.Event) {
	switch {
	case e.Type > 0:
		at := time.Now()
		s.tellReceived(at)
		s.watches.fire(zk.Event{Type: zk.EventType(e.Type), Path: e.Path, At: at, Zxid: s.eventZxid()})
	case e.Type != lib.EventSession:
	case e.State == lib.StateHasSession:
		s.connectedTo()
	case e.State == lib.StateDisconnected:
		s.down(nil)
	case e.State == lib.StateExpired:
		s.end(zk.ErrSessionExpired)
	}
}

// eventZxid is the zxid of the event that the library is handing on, in the goroutine that has read it from the newest link.
func (s *Session) eventZxid() int64 {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	return max(l.wire.events, 0)
}

// use makes l the newest connection, unless the session is over.
func (s *Session) use(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.link = l
	return true
}

// connectedTo notes that the handshake on the newest connection has succeeded.
func (s *Session) connectedTo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link.live, s.link.heard = true, time.Now()
	s.id.CompareAndSwap(0, s.conn.SessionID()) // only reads an atomic
	s.granted.Store(int64(s.link.greeting().Timeout))
	if s.err != nil {
		return
	}
	now := s.clock.Now()
	s.lease.Begin(s.link.asked, lease.Span(s.Timeout()), now)
	if again := max(0, s.lease.Until()-now); s.telling == nil {
		s.telling = time.AfterFunc(again, s.tell)
	} else {
		s.telling.Reset(again)
	}
	if isClosed(s.cut) {
		s.cut = make(chan struct{})
	}
	s.connected.Store(true)
	close(s.up)
	s.tellLink(zk.LinkMade)
}

// down notes that a connection is gone: l, or whichever it was.
func (s *Session) down(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.connected.Load() || l != nil && l != s.link || s.err != nil {
		return
	}
	s.connected.Store(false)
	s.up = make(chan struct{})
	close(s.cut)
	s.tellLink(zk.LinkLost)
}

// connection waits until a server is connected.
func (s *Session) connection(ctx context.Context) error {
	for !s.connected.Load() {
		s.mu.Lock()
		up := s.up
		s.mu.Unlock()
		select {
		case <-up:
			return nil
		case <-s.done:
			return s.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// end makes the session over because of err, once, and shuts the library down in the background.
func (s *Session) end(err error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = err
	if s.telling != nil {
		s.telling.Stop()
	}
	s.lease.End()
	wasUp := s.connected.Swap(false)
	if !isClosed(s.cut) {
		close(s.cut)
	}
	close(s.done)
	s.mu.Unlock()
	s.watches.end(err)
	if !wasUp {
		s.stopDials()
	}
	go s.shutDown(wasUp && err == zk.ErrClosed)
}

// shutDown ends the library's goroutines. live says that a server is there to close the session.
func (s *Session) shutDown(live bool) {
	s.conn.Close() // waits a second for the server's answer
	s.stopDials()
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.Conn.Close() // the library waits for the next byte of a server that does not answer
	}
	for range s.ended {
	}
	if live && l.broken.Load() { // the library stops reading when it has the answer
		s.closeErr = fmt.Errorf("close session 0x%x: %w", s.ID(), zk.ErrMaybeApplied)
	}
	close(s.shut)
}

// Go carries f out beside the callers of the session, and Close waits for its end.
func (s *Session) Go(f func()) { s.beside.Go(f) }

// Close ends the session on the server and frees everything. It takes up to a second when the server does not answer, which is
// ErrMaybeApplied, or is not connected: then nothing is sent, and the servers expire the session.
func (s *Session) Close() error {
	s.end(zk.ErrClosed)
	s.beside.Wait()
	<-s.shut
	s.running.Wait()
	s.settle(context.Background()) // the library has answered them all
	return s.closeErr
}

// spawn runs f in a goroutine that Close waits for; false, and f is not run, when the session is over.
func (s *Session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.running.Go(f)
	return true
}
