package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"

	"github.com/zkbench/zkbench/zk/internal/lease"
)

// The pause after all servers have been tried without success doubles from the first value to the last, and is drawn uniformly between zero and that
// limit (full jitter), so that thousands of sessions do not reconnect simultaneously.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// pause returns the upper limit of the pause after this many consecutive failed connections; 0 (no pause) until every server has been tried. It is at
// most a sixth of the session timeout, so that a session does not expire while it sleeps.
func pause(fails, servers int, timeout time.Duration) time.Duration {
	if fails == 0 || fails%servers != 0 {
		return 0
	}
	return min(firstPause<<min(fails/servers-1, 10), lastPause, timeout/6)
}

// dialTimeout returns how long one server may take to accept a connection and answer: short enough to try all of them within two thirds of the session
// timeout, but at most 10 s and at least 250 ms.
func dialTimeout(timeout time.Duration, servers int) time.Duration {
	return max(250*time.Millisecond, min(10*time.Second, timeout*2/3/time.Duration(servers)))
}

// reconnect finds the session a new server after its connection broke. If a server says that the session has expired, it ends it.
func (c *Client) reconnect(ctx context.Context, old *conn) {
	defer c.work.Done()
	old.close()
	err := c.connect(ctx)
	switch {
	case errors.Is(err, zk.ErrAuthFailed):
		c.end(err)
	case errors.Is(err, zk.ErrSessionExpired):
		cause := zk.ErrSessionExpired
		c.mu.Lock()
		if c.shut { // closeSession was carried out but its reply was lost
			cause = zk.ErrClosed
		}
		c.mu.Unlock()
		c.end(cause)
	}
}

// connect tries the servers in turn until the session is connected. It fails when ctx ends, the session has expired or its identity is rejected.
func (c *Client) connect(ctx context.Context) error {
	var last error
	for {
		if most := pause(c.fails, len(c.hosts), c.Timeout()); most > 0 {
			if err := sleep.For(ctx, time.Duration(c.rand.Int64N(int64(most)))); err != nil {
				return because(err, last)
			}
		}
		host := c.hosts[c.next]
		c.next = (c.next + 1) % len(c.hosts)
		c.fails++ // reset by the first reply, see broken
		err := c.try(ctx, host)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return because(ctx.Err(), last)
		case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrAuthFailed):
			return err
		}
		last = err
		c.trouble.Store(&err)
		c.log(slog.LevelDebug, "cannot connect", "server", host, "cause", err)
	}
}

func because(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w (%w)", err, last)
}

// try opens one connection, presents the session on it and adopts it.
func (c *Client) try(ctx context.Context, host string) error {
	leave, ok := c.eng.place(ctx.Done())
	if !ok {
		return ctx.Err()
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout(c.Timeout(), len(c.hosts)))
	defer cancel()
	nc, err := c.open(ctx, host)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	start := time.Now()
	shaking := metered{nc, &c.traffic}
	g, err := c.greet(shaking)
	greeted := time.Now()
	if err == nil {
		err = c.authenticate(shaking)
	}
	proved := time.Now()
	if !stop() {
		err = cmp.Or(err, ctx.Err())
	}
	if err == nil {
		err = c.attach(nc, host, g)
	}
	if err != nil {
		nc.Close()
		return fmt.Errorf("%s: %w", host, err)
	}
	if c.cfg.Opened != nil {
		sasl := time.Duration(0)
		if c.cfg.SASL != nil {
			sasl = proved.Sub(greeted)
		}
		c.cfg.Opened(greeted.Sub(start), sasl)
	}
	return nil
}

func (c *Client) open(ctx context.Context, host string) (net.Conn, error) {
	nc, err := c.cfg.Dialer(ctx, "tcp", host)
	if err != nil || c.cfg.TLS == nil {
		return nc, err
	}
	conf := c.cfg.TLS
	if conf.ServerName == "" {
		conf = conf.Clone()
		conf.ServerName, _, _ = net.SplitHostPort(host)
	}
	t := tls.Client(nc, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	return t, nil
}

// greeting is the server's answer to a connect request.
type greeting struct {
	jute.Connect
	asked int64 // when the connect request was sent, on the engine's clock
}

// greet sends the connect request, which has neither xid nor type, and reads exactly one response.
func (c *Client) greet(nc net.Conn) (greeting, error) {
	c.mu.Lock()
	b := c.hello()
	again := c.id != 0
	c.tap.tellSent(zk.KindConnect)
	c.tellLink(zk.LinkTried)
	c.mu.Unlock()
	asked := c.eng.now()
	g, err := exchange(nc, b, again)
	g.asked = asked
	return g, err
}

// hello returns the connect request, for a new session or an existing one. Called with mu held.
func (c *Client) hello() []byte {
	return jute.Connect{Zxid: c.zxid, Timeout: c.cfg.Timeout, Session: c.id, Password: c.secret, ReadOnly: c.cfg.ReadOnly}.Request()
}

// exchange sends a connect request and reads the response; again says that the session has been connected before.
func exchange(nc net.Conn, hello []byte, again bool) (greeting, error) {
	if _, err := nc.Write(hello); err != nil {
		return greeting{}, err
	}
	answer, err := jute.ReadFrame(nc, jute.ReplyHeader, 64+maxPassword)
	if err != nil {
		return greeting{}, err
	}
	return parseGreeting(answer, again)
}

// parseGreeting reads a connect response. If the session has been connected before, a timeout that is not positive means that it has expired. A
// read-only server that cannot create the session sends only a reply header instead: since ZooKeeper 3.6 it creates only local sessions
// (localSessionsEnabled).
func parseGreeting(answer []byte, again bool) (greeting, error) {
	if len(answer) == jute.ReplyHeader {
		return greeting{}, fmt.Errorf("the server refuses the session: %w", zk.FromCode(jute.Int32(answer[12:])))
	}
	said, err := jute.ParseConnectReply(answer)
	g := greeting{Connect: said}
	switch {
	case err != nil:
		return g, err
	case g.Timeout <= 0 && again:
		return g, zk.ErrSessionExpired
	case g.Timeout <= 0 || g.Session == 0:
		return g, errors.New("the server refuses a new session")
	}
	return g, nil
}

// attach makes a connection the session's own and sends, in this order, which the server preserves: credentials, the watches, and the waiting requests.
func (c *Client) attach(nc net.Conn, host string, g greeting) error {
	cn, err := newConn(c, host, nc)
	if err != nil {
		return err
	}
	out, err := c.adopt(cn, g)
	if err == nil {
		c.begin(cn, out)
		c.log(slog.LevelInfo, "connected", "server", host, "timeout", g.Timeout)
	}
	return err
}

// adopt makes cn the session's connection, and returns what must be sent on it first, with wmu held so that nothing overtakes it. The error is the
// reason why the session has ended.
func (c *Client) adopt(cn *conn, g greeting) ([]byte, error) {
	cn.heard.Store(c.eng.now())
	cn.sent.Store(g.asked)
	c.wmu.Lock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		cn.link.close()
		c.wmu.Unlock()
		return nil, c.err
	}
	c.id, c.secret, c.timeout, c.limited = g.Session, g.Password, g.Timeout, g.ReadOnly
	c.conn, c.cancel = cn, nil   // from here on broken ends the connection, and nothing cancels this attempt any more
	if c.span = 0; !g.ReadOnly { // replies of a read-only server do not show that the ensemble knows of the session
		c.span = lease.Span(g.Timeout)
		c.lease.Begin(time.Duration(g.asked), c.span, time.Duration(c.eng.exact()))
	}
	out := c.backlog()
	c.tellLink(zk.LinkMade) // what the new connection sends first has been reported
	return out, nil
}

// begin starts a connection that was adopted, and releases wmu.
func (c *Client) begin(cn *conn, out []byte) {
	c.eng.schedule.add(cn, cn.sent.Load()+int64(c.Timeout())/3)
	err := cn.link.start()
	if err == nil && len(out) > 0 {
		err = cn.send(out)
	}
	c.wmu.Unlock()
	if err != nil {
		cn.broken(err)
	}
}

// credentials appends the requests that present Config.Auth.
func (c *Client) credentials(out []byte) []byte {
	for _, a := range c.cfg.Auth {
		b := jute.AppendInt32(jute.BeginRequest(nil, jute.OpAuth), 0)
		b = jute.AppendBuffer(jute.AppendString(b, a.Scheme), a.Credential)
		jute.Seal(b, jute.XidAuth)
		out = append(out, b...)
	}
	return out
}

// backlog returns everything that a new connection must send first. Called with wmu and mu held.
func (c *Client) backlog() []byte {
	out := c.credentials(nil)
	for range c.cfg.Auth {
		c.tap.tellSent(zk.KindAuth)
	}
	for _, k := range c.rearm() {
		c.enlist(k)
		out = append(out, k.req...)
	}
	for _, k := range c.waiting.take() {
		c.enlist(k)
		out = append(out, k.req...)
	}
	return out
}
