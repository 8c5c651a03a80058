package wire

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"

	"github.com/zkbench/zkbench/zk/internal/background"
	"github.com/zkbench/zkbench/zk/internal/lease"
)

// Client is a session over zkbench's own implementation of ZooKeeper's client protocol; create it with Dial. In addition to Session and
// PersistentWatcher it has the requests that recipes do not need. It is safe for concurrent use.
//
// The caller of a request writes it to the socket itself, with one system call. A poller shared by all sessions of a Transport reads the replies and
// wakes the callers. An idle session has no goroutine, no buffer and no timer.
type Client struct {
	// The fields that every request uses come first: with thousands of sessions, their cache lines are cold by the time the next request is made.

	// wmu keeps the order of the queue and of the wire the same: it is held from when a request gets its place in the queue until its bytes are with
	// the link, which never blocks. It also keeps the socket from being closed during a write. It is acquired before mu.
	wmu sync.Mutex

	mu      sync.Mutex // guards the fields below, up to and including cancel
	conn    *conn      // nil while disconnected
	pending queue      // sent, in the order in which the server will answer
	err     error
	eng     *engine // not guarded: constant, as are near, root and limit
	near    *servers
	root    string // the chroot, "" if there is none
	limit   int    // largest request, in bytes
	xid     int32
	shut    bool          // Close has been called
	limited bool          // the server is read-only
	halted  bool          // Interrupt has been called
	zxid    int64         // of the last reply: setWatches reports changes after it
	lease   lease.Lease   // on the engine's clock
	span    time.Duration // how long the lease lasts after a request is sent; 0 while the server is read-only
	tap     tap
	traffic traffic // not guarded
	sites   sites
	waiting queue // to be sent once reconnected
	id      int64
	secret  []byte
	timeout time.Duration
	down    chan struct{}      // closed at the next disconnection; nil until somebody asks for it
	cancel  context.CancelFunc // stops the reconnection; nil while connected

	trouble atomic.Pointer[error] // why the last connection was lost or could not be made

	cfg    Config
	lines  *journal // nil if there is no Logger
	acl    string   // the ACL that Create sets, encoded
	shared *Transport
	done   chan struct{}

	// Used only by the goroutine that connects, of which there is at most one.
	hosts []string
	next  int // the host to try next
	fails int // consecutive connections that failed; guarded by mu once connected
	rand  *rand.Rand

	work     sync.WaitGroup // goroutines of this session: reconnection, and readers that are not shared
	closing  sync.Once
	freed    chan struct{} // closed when everything has been freed
	unclosed error         // why Close cannot know whether the servers have ended the session; written before freed is closed
	beside   background.Work
}

// Dial opens a session and waits until it is established. If ctx ends first, Dial returns its error together with the last reason for not being
// connected, and leaves nothing behind; a session that a server has created by then expires there.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	c := &Client{cfg: cfg, root: cfg.Chroot, limit: cfg.MaxRequest, acl: cfg.encodedACL(), shared: cfg.Transport,
		timeout: cfg.Timeout, hosts: cfg.Servers,
		rand: rand.New(rand.NewPCG(cfg.Seed, 0)),
		done: make(chan struct{}), freed: make(chan struct{})}
	if cfg.Logger != nil {
		c.lines = &journal{to: cfg.Logger}
	}
	c.rand.Shuffle(len(c.hosts), func(i, j int) { c.hosts[i], c.hosts[j] = c.hosts[j], c.hosts[i] })
	if c.eng, err = c.shared.acquire(); err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	c.near = c.eng.knows(cfg.Servers)
	if cfg.Before35 {
		c.near.old.Store(true)
	}
	if err := c.connect(ctx); err != nil {
		c.end(err)
		c.release()
		return nil, fmt.Errorf("dial %v: %w", cfg.Servers, err)
	}
	return c, nil
}

// ID returns the session id.
func (c *Client) ID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Password returns the password that the server gave the session, which is presented on each new connection. The caller owns the slice.
func (c *Client) Password() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.secret)
}

// Timeout returns the session timeout granted by the server.
func (c *Client) Timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeout
}

// ReadOnly reports whether the session's server is a read-only one, cut off from the ensemble (see Config.ReadOnly).
func (c *Client) ReadOnly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limited
}

// Server returns the address of the server that the session is connected to, "" while it is disconnected.
func (c *Client) Server() string {
	if cn := c.current(); cn != nil {
		return cn.addr
	}
	return ""
}

// SinceWrite returns how long ago the session's server last answered a write of any session of its Transport; see [zk.SinceWrite].
func (c *Client) SinceWrite() (time.Duration, bool) {
	cn := c.current()
	if cn == nil {
		return 0, false
	}
	at := cn.peer.wrote.Load()
	return time.Duration(c.eng.now() - at), at > 0
}

// Done returns a channel that is closed when the session has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the session has ended, nil while it is alive.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Lease returns a channel that is closed when the session can no longer be relied on; see Session.
func (c *Client) Lease() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease.Check(time.Duration(c.eng.exact()))
}

// extend notes that the server has answered a request that was sent at time sent. Called with mu held.
func (c *Client) extend(sent int64) {
	c.lease.Extend(time.Duration(sent), c.span)
	if !c.lease.Open() {
		c.lease.Reopen(time.Duration(c.eng.exact()))
		c.eng.schedule.add(c.conn, int64(c.lease.Until()))
	}
}

func (c *Client) current() *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

// close frees the socket; no write is in progress then and none follows.
func (cn *conn) close() {
	cn.c.wmu.Lock()
	defer cn.c.wmu.Unlock()
	cn.link.close()
}

// Trouble returns why the session last lost its connection or could not get one; nil if neither has happened.
func (c *Client) Trouble() error {
	if why := c.trouble.Load(); why != nil {
		return *why
	}
	return nil
}

// broken ends a connection: requests whose replies are lost fail or wait to be resent, and a goroutine looks for another server. Only the first call
// for a connection has an effect. It never blocks, so the reader of the sockets may call it.
func (cn *conn) broken(cause error) {
	c := cn.c
	c.mu.Lock()
	if c.conn != cn {
		c.mu.Unlock()
		return
	}
	c.conn = nil
	repeated := c.blame()
	if cn.spoke.Load() && !repeated {
		c.fails = 0
	}
	failed := c.unsend()
	c.cutOff()
	c.tellLink(zk.LinkLost)
	c.sites.disconnect()
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.work.Add(1)
	c.mu.Unlock()

	why := fmt.Errorf("%s: %w", cn.addr, cause)
	c.trouble.Store(&why)
	c.log(slog.LevelInfo, "disconnected", "server", cn.addr, "cause", cause)
	go c.reconnect(ctx, cn)
	for _, k := range failed {
		k.finish(lost{cause})
	}
}

// maxResent is how many connections may break one after the other on the same request before it fails: servers answer some requests by closing the connection.
const maxResent = 10

// blame counts the connections that broke before the oldest request was answered, which may be the cause, and reports whether this was not the first. Called
// with mu held.
func (c *Client) blame() (repeated bool) {
	k := c.pending.head
	if k == nil {
		return false
	}
	if k.broke++; k.broke == maxResent {
		k.again = false
	}
	return k.broke > 1
}

// unsend sorts the requests whose replies are lost: those that may be resent go ahead of the ones already waiting, those without a waiting caller are
// dropped, the others are returned. Called with mu held.
func (c *Client) unsend() (failed []*call) {
	later := c.waiting.take()
	for _, k := range c.pending.take() {
		switch {
		case k.ready == nil:
		case k.fate.Load() == callAbandoned || !k.again:
			failed = append(failed, k)
		default:
			c.waiting.push(k)
		}
	}
	for _, k := range later {
		c.waiting.push(k)
	}
	return failed
}

// end ends the session: err is final, and is delivered to every call and every watch. Only the first call has an effect.
func (c *Client) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	cn := c.conn
	c.conn = nil
	sent, unsent := c.pending.take(), c.waiting.take()
	watches := c.sites.clear()
	c.lease.End()
	c.cutOff()
	if c.cancel != nil {
		c.cancel()
	}
	close(c.done)
	c.log(slog.LevelInfo, "session over", "cause", err) // logged before a Close that finds the session ended can wait for the line
	c.mu.Unlock()

	if cn != nil {
		cn.close()
	}
	for _, k := range sent {
		if k.ready != nil && !k.again {
			k.finish(lost{err})
		} else {
			k.finish(err)
		}
	}
	for _, k := range unsent {
		k.finish(err)
	}
	for _, f := range watches {
		f.tell(zk.Event{Type: zk.EventLost, At: time.Now(), Err: err})
	}
}

// Go runs f in the background; Close waits for it to return.
func (c *Client) Go(f func()) { c.beside.Go(f) }

// closeWait returns the longest time that Close waits for the server.
func closeWait(timeout time.Duration) time.Duration { return min(2*time.Second, timeout/3) }

// Close ends the session on the server and waits for the reply, for at most two seconds or a third of the session timeout, whichever is shorter;
// pending calls fail with ErrClosed. It then frees everything that the session holds. It may be called more than once.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.unclosed = c.hangUp()
		c.end(zk.ErrClosed)
		c.release()
	})
	<-c.freed
	return c.unclosed
}

// hangUp sends the session's last request and waits for the reply, on a new connection if the current one breaks. An error means that no server has
// answered, so the session may live until it expires. A session that had already ended counts as closed.
func (c *Client) hangUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait(c.Timeout()))
	defer cancel()
	c.mu.Lock()
	c.shut = true
	c.mu.Unlock()
	k := newBare(jute.OpClose, zk.KindClose, shapeNone)
	k.again = true // closing a session twice does no harm
	err := c.do(ctx, k)
	switch {
	case err == nil:
		k.free()
		return nil
	case c.Err() != nil:
		return nil
	}
	return fmt.Errorf("close session 0x%x: %w: %w", c.ID(), zk.ErrMaybeApplied, err)
}

// release waits for the goroutines of the session and releases what it shares with others.
func (c *Client) release() {
	c.beside.Wait()
	c.work.Wait()
	c.shared.release()
	close(c.freed)
}
