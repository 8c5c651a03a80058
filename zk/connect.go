package zk

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"
)

// The pause after all servers were tried in vain doubles from the first to the last, and is drawn evenly from nothing up to
// it (full jitter), so that thousands of sessions do not come back at once.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// pause is the upper limit of the pause after so many rounds in vain, for a session timeout: a session must not sleep its
// life away.
func pause(rounds int, timeout time.Duration) time.Duration {
	return min(firstPause<<min(rounds, 10), lastPause, timeout/6)
}

// patience is how long one server may take to accept a connection and answer: all of them can be tried within two thirds of
// the session timeout, but none gets more than 10 s or less than 250 ms.
func patience(timeout time.Duration, servers int) time.Duration {
	return max(250*time.Millisecond, min(10*time.Second, timeout*2/3/time.Duration(servers)))
}

// reconnect finds the session a server after its connection broke.
func (c *Client) reconnect(ctx context.Context, old *conn) {
	defer c.work.Done()
	old.close()
	if err := c.connect(ctx); errors.Is(err, ErrSessionExpired) {
		c.end(ErrSessionExpired)
	}
}

// connect tries the servers in turn until the session has one. It fails when ctx ends or the session has expired.
func (c *Client) connect(ctx context.Context) error {
	var last error
	for {
		if c.fails > 0 && c.fails%len(c.hosts) == 0 {
			most := pause(c.fails/len(c.hosts)-1, c.Timeout())
			if err := sleep(ctx, time.Duration(c.rand.Int64N(int64(most)))); err != nil {
				return because(err, last)
			}
		}
		host := c.hosts[c.next]
		c.next = (c.next + 1) % len(c.hosts)
		c.fails++ // taken back by the first reply, see broken
		err := c.try(ctx, host)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return because(ctx.Err(), last)
		case errors.Is(err, ErrSessionExpired):
			return err
		}
		last = err
		c.log(slog.LevelDebug, "cannot connect", "server", host, "cause", err)
	}
}

func because(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w (%w)", err, last)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try opens one connection, presents the session on it and puts it to use.
func (c *Client) try(ctx context.Context, host string) error {
	leave, ok := c.eng.place(ctx.Done())
	if !ok {
		return ctx.Err()
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, patience(c.Timeout(), len(c.hosts)))
	defer cancel()
	nc, err := c.open(ctx, host)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	g, err := c.greet(nc)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.attach(nc, host, g)
	}
	if err != nil {
		nc.Close()
		return fmt.Errorf("%s: %w", host, err)
	}
	return nil
}

func (c *Client) open(ctx context.Context, host string) (net.Conn, error) {
	nc, err := c.cfg.Dialer(ctx, "tcp", host)
	if err != nil || c.cfg.TLS == nil {
		return nc, err
	}
	conf := c.cfg.TLS
	if conf.ServerName == "" && !conf.InsecureSkipVerify {
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
	timeout  time.Duration
	id       int64
	password []byte
	readOnly bool
}

// greet sends the connect request, which has neither xid nor opcode, and reads the answer and nothing after it.
func (c *Client) greet(nc net.Conn) (greeting, error) {
	c.mu.Lock()
	b := c.hello()
	again := c.id != 0
	c.mu.Unlock()
	return exchange(nc, b, again)
}

// hello is the connect request, to begin a session or to go on with it. Called with mu held.
func (c *Client) hello() []byte {
	b := make([]byte, 4, 64)
	b = putInt32(b, 0) // protocol version
	b = putInt64(b, c.zxid)
	b = putInt32(b, int32(c.cfg.Timeout.Milliseconds()))
	b = putInt64(b, c.id)
	secret := c.secret
	if c.id == 0 {
		secret = make([]byte, 16)
	}
	b = putBool(putBuffer(b, secret), c.cfg.ReadOnly)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// exchange sends a connect request and reads its answer; again says that the session has been connected before.
func exchange(nc net.Conn, hello []byte, again bool) (greeting, error) {
	if _, err := nc.Write(hello); err != nil {
		return greeting{}, err
	}
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return greeting{}, err
	}
	n := int32(binary.BigEndian.Uint32(size[:]))
	if n < replyHeader || n > 64+maxPassword {
		return greeting{}, fmt.Errorf("%w: a greeting of %d bytes", errProtocol, n)
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(nc, answer); err != nil {
		return greeting{}, err
	}
	return parseGreeting(answer, again)
}

// parseGreeting reads a connect response. A timeout that is not positive says that the session is over, if there was one. A read-only
// server that cannot make the session answers with the bare header of a reply instead: since ZooKeeper 3.6 it makes local sessions alone
// (localSessionsEnabled).
func parseGreeting(answer []byte, again bool) (greeting, error) {
	d := decoder{b: answer}
	if len(answer) == replyHeader {
		return greeting{}, fmt.Errorf("the server refuses the session: %w", FromCode(int32(binary.BigEndian.Uint32(answer[12:]))))
	}
	d.int32()
	g := greeting{timeout: time.Duration(d.int32()) * time.Millisecond, id: d.int64()}
	g.password = append([]byte(nil), d.buffer()...)
	if len(d.b) > 0 { // servers before 3.4 do not send it
		g.readOnly = d.bool()
	}
	switch {
	case d.bad:
		return g, errProtocol
	case g.timeout <= 0 && again:
		return g, ErrSessionExpired
	case g.timeout <= 0 || g.id == 0:
		return g, errors.New("the server refuses a new session")
	}
	return g, nil
}

// attach makes a connection the session's own. In this order, which the server keeps: credentials, the watches, requests
// that wait.
func (c *Client) attach(nc net.Conn, host string, g greeting) error {
	cn, err := newConn(c, host, nc)
	if err != nil {
		return err
	}
	out, err := c.adopt(cn, g)
	if err == nil {
		c.begin(cn, out)
		c.log(slog.LevelInfo, "connected", "server", host, "timeout", g.timeout)
	}
	return err
}

// adopt makes cn the session's connection, and returns what it has to carry first with wmu held, so that nothing overtakes
// it. The error is why the session is over.
func (c *Client) adopt(cn *conn, g greeting) ([]byte, error) {
	now := c.eng.now()
	cn.heard.Store(now)
	cn.sent.Store(now)
	c.wmu.Lock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		cn.link.close()
		c.wmu.Unlock()
		return nil, c.err
	}
	c.id, c.secret, c.timeout, c.limited = g.id, g.password, g.timeout, g.readOnly
	c.conn, c.cancel = cn, nil // from here on it is broken that ends the connection, and nobody ends this connecting
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	if !c.leased {
		c.lease, c.leased = make(chan struct{}), true
	}
	return c.backlog(), nil
}

// begin starts a connection that was adopted, and releases wmu.
func (c *Client) begin(cn *conn, out []byte) {
	c.eng.schedule.add(cn, cn.sent.Load()+int64(c.Timeout())/3)
	err := cn.link.start()
	if err == nil && len(out) > 0 {
		err = cn.link.write(out)
	}
	c.wmu.Unlock()
	if err != nil {
		cn.broken(err)
	}
}

// backlog is everything that a new connection has to carry first. Called with wmu and mu held.
func (c *Client) backlog() []byte {
	var out []byte
	for _, a := range c.cfg.Auth {
		b := putInt32(beginRequest(nil, opAuth), 0)
		b = putBuffer(putString(b, a.Scheme), a.Credential)
		seal(b, xidAuth)
		out = append(out, b...)
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
