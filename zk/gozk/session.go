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
	// Timeout is the session timeout to request; 0 requests 10 s. The servers bound it, usually to between 2 and 20 ticks of 2 s. If it is too short,
	// a pause of the garbage collector or of a server ends sessions; if it is too long, the ephemeral znodes of a dead client remain as long.
	Timeout time.Duration
	// Seed determines the order in which the servers are tried and the pauses between attempts. Sessions should have different seeds, or all of them use the same server first.
	Seed uint64
	// Digests are credentials of the digest scheme, USER:PASSWORD, that every connection presents.
	Digests [][]byte
	// Owners are the only identities with access to what the session creates; if there are none, everybody has access.
	Owners []zk.Identity
	// Connect opens a connection; nil means plain TCP. Use it for TLS.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
	// NoContainers says that the servers know no containers (before ZooKeeper 3.5.1): such a create fails with ErrUnimplemented without being sent, which would
	// cost the session its connection.
	NoContainers bool
}

// Session is a zk.Session over one connection of the library.
type Session struct {
	conn    *lib.Conn
	hosts   *hosts
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	auth    []native.Auth // the digests, as the native client presents them
	asked   time.Duration
	acl     []lib.ACL        // of created znodes
	noBoxes bool             // Config.NoContainers
	ended   <-chan lib.Event // closed when the library's goroutines have stopped

	dialing    context.Context // ends with the session; not a caller's: the library's dialling needs one
	stopDials  context.CancelFunc
	watches    watches
	zxids      zxids
	buffer     atomic.Int64 // size of the library's buffer for requests
	wantBuffer atomic.Int64 // size that it should have after the next write

	done      chan struct{}
	connected atomic.Bool   // whether up is closed
	granted   atomic.Int64  // the negotiated timeout
	id        atomic.Int64  // set by the first handshake, then constant
	shut      chan struct{} // closed when the library has stopped
	running   sync.WaitGroup
	beside    background.Work
	abandoned atomic.Int64 // calls whose caller has returned; changed with mu held
	spare     atomic.Pointer[pending]
	tap       atomic.Pointer[zk.WireObserver]
	linked    atomic.Pointer[func(zk.Link, time.Time)]
	sent      atomic.Int64          // bytes
	received  atomic.Int64          // bytes
	refused   atomic.Pointer[error] // why the last connection could not be opened
	closeErr  error                 // written before shut is closed
	clock     lease.Clock

	mu      sync.Mutex
	err     error
	link    *link         // the newest connection
	up      chan struct{} // closed while connected
	cut     chan struct{} // closed while it is not connected, and when the session has ended
	lease   lease.Lease   // on clock
	telling *time.Timer   // closes the lease's channel; nil before the first connection
	settled chan struct{} // closed when abandoned is 0 again; nil unless somebody waits
}

// Dial opens a session: it returns when a server has granted one, or at most a second after ctx ended. The session does not use ctx afterwards.
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
		noBoxes: cfg.NoContainers,
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

// Server returns the address of the server that the session is connected to, "" while it is disconnected.
func (s *Session) Server() string {
	if !s.connected.Load() {
		return ""
	}
	return s.conn.Server()
}

// ID returns the session id.
func (s *Session) ID() int64 { return s.id.Load() }

// Timeout returns the timeout that the server granted at the last handshake.
func (s *Session) Timeout() time.Duration { return time.Duration(s.granted.Load()) }

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session has ended, nil while it is alive.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Lease returns a channel that is closed when the session can no longer be relied on.
func (s *Session) Lease() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.Check(s.clock.Now())
}

// extend notes that the server has answered, on l, a request that was sent at time sent.
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

// tell closes the channel of a lease that has ended, and otherwise schedules itself for when it will: each session has one timer, which fires once
// per lease. It is called by that timer.
func (s *Session) tell() {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.Check(now); s.lease.Open() && s.err == nil {
		s.telling.Reset(s.lease.Until() - now)
	}
}

// Leaks counts what the library could not release.
type Leaks struct {
	Calls   int // abandoned by their callers and not yet answered
	Watches int // stopped, but still held by the library and the server
}

// Leaks returns the current counts. Both are 0 after Close.
func (s *Session) Leaks() Leaks {
	return Leaks{Calls: int(s.abandoned.Load()), Watches: s.watches.leaked()}
}

// event is the library's callback. It runs in the library's goroutines: it must neither block nor call the library.
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

// eventZxid returns the zxid of the event that the library is delivering, in the goroutine that has read it from the newest link.
func (s *Session) eventZxid() int64 {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	return max(l.wire.events, 0)
}

// use makes l the newest connection, unless the session has ended.
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
	rearms := s.watches.held() && len(s.auth) == 0 // with credentials, the library waits for the answers to those first
	s.mu.Lock()
	defer s.mu.Unlock()
	if rearms {
		s.link.arming = make(chan struct{})
	}
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

// down notes that a connection was lost: l, or if l is nil the current one.
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

// end ends the session because of err, once, and shuts the library down in the background.
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

// shutDown stops the library's goroutines. live says that a server is connected and can close the session.
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
	if live && l.broken.Load() && s.closeAgain() != nil { // the library stops reading once it has the answer
		s.closeErr = fmt.Errorf("close session 0x%x: %w", s.ID(), zk.ErrMaybeApplied)
	}
	close(s.shut)
}

// Go runs f in the background; Close waits for it to return.
func (s *Session) Go(f func()) { s.beside.Go(f) }

// closeAgain closes the session over a new connection, taking up to a second. The library does not do this when the answer is lost, and servers were seen to
// end an encrypted connection before their answer had arrived.
func (s *Session) closeAgain() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.Expire(ctx)
}

// Close ends the session on the server and frees everything. If the server does not answer, Close takes up to two seconds and returns ErrMaybeApplied.
// If no server is connected, nothing is sent, and the servers expire the session.
func (s *Session) Close() error {
	s.end(zk.ErrClosed)
	s.beside.Wait()
	<-s.shut
	s.running.Wait()
	s.settle(context.Background()) // the library has answered them all
	return s.closeErr
}

// spawn runs f in a goroutine that Close waits for. If the session has ended it returns false without running f.
func (s *Session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.running.Go(f)
	return true
}
