package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// Disconnected returns a channel that is closed while the session has no connection, and when it has ended. After a reconnect, the next call returns a
// new channel.
func (c *Client) Disconnected() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	if c.down == nil {
		c.down = make(chan struct{})
	}
	return c.down
}

// cutOff notifies the callers that wait for a disconnection. Called with mu held.
func (c *Client) cutOff() {
	if c.down != nil {
		close(c.down)
		c.down = nil
	}
}

// Crash ends the session as the death of its process would: the servers are not told and expire it after its timeout. Close has nothing left to do
// afterwards.
func (c *Client) Crash() error {
	c.closing.Do(func() {
		c.end(zk.ErrClosed)
		c.release()
	})
	<-c.freed
	return nil
}

// Expire makes the servers end the session without the client's knowledge: a second connection presents the session's id and password, and closes the
// session. While servers are down or have no leader, it tries one after the other until the context ends.
func (c *Client) Expire(ctx context.Context) error {
	c.mu.Lock()
	hello := c.hello()
	c.mu.Unlock()
	within := claimed
	if cn := c.current(); cn != nil {
		if _, encrypted := cn.link.(*streamLink); encrypted {
			within = proving
		}
	}
	for i, host := -1, c.Server(); ; host = c.cfg.Servers[i] {
		i = (i + 1) % len(c.cfg.Servers)
		if host == "" {
			continue
		}
		err := closeElsewhere(ctx, func(ctx context.Context) (net.Conn, error) { return c.open(ctx, host) }, hello, c.prove, within)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(expirePause):
		case <-ctx.Done():
			return fmt.Errorf("expire 0x%x: %w", c.ID(), err)
		}
	}
}

// expirePause is the pause between two attempts to expire a session.
const expirePause = 200 * time.Millisecond

// CloseSession ends another client's session, given its id and password, through one server. It also returns nil if the session had already ended.
func CloseSession(ctx context.Context, server string, id int64, password []byte) error {
	return Config{}.CloseSession(ctx, server, id, password)
}

// CloseSession is like the function [CloseSession], for a server that requires encrypted connections or credentials. Of the config it uses only Dialer,
// TLS, SASL and Auth.
func (cfg Config) CloseSession(ctx context.Context, server string, id int64, password []byte) error {
	within := claimed
	if cfg.Dialer != nil || cfg.TLS != nil || cfg.SASL != nil {
		within = proving
	}
	cfg.Servers, cfg.Timeout = []string{server}, 10*time.Second
	cfg, err := cfg.complete()
	if err == nil {
		c := Client{id: id, secret: password, cfg: cfg} // used only to open the connection and write the requests
		err = closeElsewhere(ctx, func(ctx context.Context) (net.Conn, error) { return c.open(ctx, cfg.Servers[0]) }, c.hello(), c.prove, within)
	}
	if err != nil {
		return fmt.Errorf("close session 0x%x: %w", id, err)
	}
	return nil
}

// closeElsewhere takes over a session whose client keeps taking it back, because the client reconnects as soon as the session is taken over. The
// servers then close the connection of the previous owner, or, if the session has moved to another server, may leave a request unanswered. So the
// takeover is repeated, up to this many times, with this much time for each attempt.
const (
	claims  = 40
	claimed = 300 * time.Millisecond
	proving = 3 * time.Second // if the connection must be encrypted or authenticated first
)

func closeElsewhere(ctx context.Context, open func(context.Context) (net.Conn, error), hello []byte, prove func(net.Conn) error, within time.Duration) (err error) {
	claimedBack := []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}
	for range claims {
		once, cancel := context.WithTimeout(ctx, within)
		err = claim(once, open, hello, prove)
		late := once.Err() != nil
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && late {
			continue
		}
		if !slices.ContainsFunc(claimedBack, func(sign error) bool { return errors.Is(err, sign) }) {
			return err
		}
	}
	return err
}

// claim takes over a session on a separate connection, and closes the session.
func claim(ctx context.Context, open func(context.Context) (net.Conn, error), hello []byte, prove func(net.Conn) error) error {
	nc, err := open(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { nc.Close() })()
	if _, err := exchange(nc, hello, true); err != nil {
		if errors.Is(err, zk.ErrSessionExpired) {
			return nil
		}
		return err
	}
	if err := prove(nc); err != nil {
		return err
	}
	req := jute.BeginRequest(nil, jute.OpClose)
	const xid = 1
	jute.Seal(req, xid)
	if _, err := nc.Write(req); err != nil {
		return err
	}
	for {
		answer, err := jute.ReadFrame(nc, jute.ReplyHeader, defaultMaxReply)
		if err != nil || jute.Int32(answer) == xid {
			return err
		}
	}
}
