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

// Client is a session over zkbench's own implementation of ZooKeeper's client protocol; make it with Dial. Beside Session
// and PersistentWatcher it has the requests that recipes do not need, and may be used by many goroutines.
//
// The caller of a request writes it to the socket itself, with one system call; a poller that all sessions of a Transport
// share reads the replies and wakes the callers. An idle session has no goroutine, no buffer and no timer.
type Client struct {
	// What every request touches comes first: with thousands of sessions its cache lines have gone cold since the last one.

	// wmu keeps the order of queue and wire equal: it is held from the choice of a request's place until its bytes are with
	// the link, which never blocks. It also guards the socket against being closed under a write. Taken before mu.
	wmu sync.Mutex

	mu      sync.Mutex // guards what follows, down to cancel
	conn    *conn      // nil while disconnected
	pending queue      // sent, in the order in which the server answers
	err     error
	eng     *engine // not guarded: it does not change, as root and limit do not
	root    string  // the chroot, "" for none
	limit   int     // of a request, in bytes
	xid     int32
	shut    bool          // Close has begun
	limited bool          // the server is read-only
	zxid    int64         // of the last reply: where setWatches begins to look for changes
	lease   lease.Lease   // on the engine's clock
	span    time.Duration // of the lease from the sending of a request on; 0 while the server is read-only
	sites   sites
	waiting queue // to be sent when connected again
	id      int64
	secret  []byte
	timeout time.Duration
	down    chan struct{}      // closed by the next disconnection; nil until somebody asks
	cancel  context.CancelFunc // ends the reconnection; nil while connected
	tap     tap

	traffic traffic

	trouble atomic.Pointer[error] // why the connection was lost last, or not made

	cfg    Config
	lines  *journal // nil without a Logger
	acl    string   // what Create gives a znode, encoded
	shared *Transport
	done   chan struct{}

	// Used by one goroutine at a time: the one that connects.
	hosts []string
	next  int // the host to try next
	fails int // connections in a row that came to nothing; guarded by mu once connected
	rand  *rand.Rand

	work     sync.WaitGroup // goroutines of this session: reconnection, and readers that are not shared
	closing  sync.Once
	freed    chan struct{} // closed when everything is freed
	unclosed error         // why Close does not know that the servers have ended the session; written before freed is closed
	beside   background.Work
}

// Dial opens a session and waits for it. When ctx ends first, its error and the last reason for not being connected are
// returned, and nothing is left behind; a session that a server has made by then expires there.
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
	if err := c.connect(ctx); err != nil {
		c.end(err)
		c.release()
		return nil, fmt.Errorf("dial %v: %w", cfg.Servers, err)
	}
	return c, nil
}

// ID is the session's number.
func (c *Client) ID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Password is what the server gave the session, which presents it on each new connection; it belongs to the caller.
func (c *Client) Password() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.secret)
}

// Timeout is the session timeout as the server has set it.
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

// Server is the address of the server that the session is connected to, "" while it is disconnected.
func (c *Client) Server() string {
	if cn := c.current(); cn != nil {
		return cn.addr
	}
	return ""
}

// Done is closed when the session is over.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the session is over, nil while it lives.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Lease is closed when the session can no longer be relied on; see Session.
func (c *Client) Lease() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease.Check(time.Duration(c.eng.exact()))
}

// extend notes that the server has answered a request that was sent at sent. Called with mu held.
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

// close frees the socket; no write is under way then and none follows.
func (cn *conn) close() {
	cn.c.wmu.Lock()
	defer cn.c.wmu.Unlock()
	cn.link.close()
}

// Trouble is why the session lost its connection last, or could not get one; nil if it did not.
func (c *Client) Trouble() error {
	if why := c.trouble.Load(); why != nil {
		return *why
	}
	return nil
}

// broken ends a connection: requests whose replies are lost fail or wait to be sent again, and a goroutine looks for another
// server. Only the first call for a connection counts; it never blocks, so that the reader of the sockets may call it.
func (cn *conn) broken(cause error) {
	c := cn.c
	c.mu.Lock()
	if c.conn != cn {
		c.mu.Unlock()
		return
	}
	c.conn = nil
	if cn.spoke.Load() {
		c.fails = 0
	}
	failed := c.unsend()
	c.cutOff()
	if !c.shut {
		c.tap.tellLink(zk.LinkLost)
	}
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

// unsend sorts the requests whose replies are lost: those that may be sent again go before the ones that wait already, those
// that nobody waits for go, the others are returned. Called with mu held.
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

// end makes the session over: err is final, every call and every watch is told. The first call counts.
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
	c.log(slog.LevelInfo, "session over", "cause", err) // before a Close that finds the end made can wait for the line
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

// Go carries f out beside the callers of the session, and Close waits for its end.
func (c *Client) Go(f func()) { c.beside.Go(f) }

// closeWait is how long Close waits for the server, at most.
func closeWait(timeout time.Duration) time.Duration { return min(2*time.Second, timeout/3) }

// Close ends the session on the server and waits for its answer, for at most two seconds or a third of the session timeout;
// calls that wait fail with ErrClosed. Then it frees everything that the session holds. It may be called more than once.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.unclosed = c.hangUp()
		c.end(zk.ErrClosed)
		c.release()
	})
	<-c.freed
	return c.unclosed
}

// hangUp sends the last request of the session and waits for its reply, on a new connection when the present one breaks. The error says that no
// server has answered it: the session may live until it expires. A session that was over is closed.
func (c *Client) hangUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait(c.Timeout()))
	defer cancel()
	c.mu.Lock()
	c.shut = true
	c.mu.Unlock()
	k := newBare(jute.OpClose, zk.KindClose, shapeNone)
	k.again = true // a session that is over already cannot be closed twice
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

// release waits for the goroutines of the session and lets go of what it shares.
func (c *Client) release() {
	c.beside.Wait()
	c.work.Wait()
	c.shared.release()
	close(c.freed)
}
