package zk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"
)

// Mortal is the optional power of a session to end as those of clients do that do not close them. Find it with AsMortal, which looks
// through Observe.
type Mortal interface {
	// Crash ends the session as the death of its process does: the connection is gone and the servers are told nothing, so they keep
	// its ephemeral znodes until the session timeout, rounded up to their next tick, has passed. Done is closed and Err is ErrClosed
	// when it returns; calls under way fail as with Close.
	Crash() error
	// Expire has the servers end the session at once while its client knows nothing: its ephemeral znodes are gone when it returns
	// nil, and the client hears of it when it is connected again, with ErrSessionExpired. After an error the session may be over or
	// not.
	Expire(ctx context.Context) error
}

// AsMortal returns the power of s, or false.
func AsMortal(s Session) (Mortal, bool) {
	m, ok := s.(Mortal)
	if o, wrapped := s.(*observed); wrapped {
		return AsMortal(o.Session)
	}
	return m, ok
}

// Disconnected is closed when the session has no connection to a server, or is over. After the connection has come back, a call
// returns a new channel. An engine that cannot tell gives its Lease, which a third of the session timeout passes before.
func Disconnected(s Session) <-chan struct{} {
	if o, wrapped := s.(*observed); wrapped {
		return Disconnected(o.Session)
	}
	if d, ok := s.(interface{ Disconnected() <-chan struct{} }); ok {
		return d.Disconnected()
	}
	return s.Lease()
}

// Disconnected is described at the function of that name.
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

// cutOff tells those who wait for a disconnection. Called with mu held.
func (c *Client) cutOff() {
	if c.down != nil {
		close(c.down)
		c.down = nil
	}
}

// Crash is described at Mortal. After it, Close has nothing to do.
func (c *Client) Crash() error {
	c.closing.Do(func() {
		c.end(ErrClosed)
		c.release()
	})
	<-c.freed
	return nil
}

// Expire is described at Mortal: a second connection presents the session's id and password, and closes it.
func (c *Client) Expire(ctx context.Context) error {
	host := c.Server()
	if host == "" {
		host = c.cfg.Servers[0]
	}
	c.mu.Lock()
	hello := c.hello()
	c.mu.Unlock()
	err := closeElsewhere(ctx, func(ctx context.Context) (net.Conn, error) { return c.open(ctx, host) }, hello)
	if err != nil {
		return fmt.Errorf("expire 0x%x: %w", c.ID(), err)
	}
	return nil
}

// CloseSession ends a session of somebody else, of whom it is enough to know id and password, at one server. It is a nil error also
// when the session was over before.
func CloseSession(ctx context.Context, server string, id int64, password []byte) error {
	c := Client{id: id, secret: password, cfg: Config{Timeout: 10 * time.Second}} // only to write the request
	var d net.Dialer
	err := closeElsewhere(ctx, func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", server) }, c.hello())
	if err != nil {
		return fmt.Errorf("close session 0x%x: %w", id, err)
	}
	return nil
}

// A session is claimed by closeElsewhere while its client claims it back: it reconnects when it is claimed, at once. The servers then close
// the connection of whoever had it before, or, when it has moved to another server, may leave a request without an answer. So it is claimed
// again, this often, and each time it has so long.
const (
	claims  = 40
	claimed = 300 * time.Millisecond
)

func closeElsewhere(ctx context.Context, open func(context.Context) (net.Conn, error), hello []byte) (err error) {
	claimedBack := []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}
	for range claims {
		once, cancel := context.WithTimeout(ctx, claimed)
		err = claim(once, open, hello)
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

// claim goes on with a session on a connection of its own, and closes it.
func claim(ctx context.Context, open func(context.Context) (net.Conn, error), hello []byte) error {
	nc, err := open(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { nc.Close() })()
	if _, err := exchange(nc, hello, true); err != nil {
		if errors.Is(err, ErrSessionExpired) {
			return nil
		}
		return err
	}
	req := beginRequest(nil, opCloseSession)
	seal(req, 1)
	if _, err := nc.Write(req); err != nil {
		return err
	}
	for {
		var head [20]byte // length, xid, zxid, error
		if _, err := io.ReadFull(nc, head[:]); err != nil {
			return err
		}
		if binary.BigEndian.Uint32(head[4:]) == 1 {
			return nil
		}
		if _, err := io.CopyN(io.Discard, nc, int64(binary.BigEndian.Uint32(head[:]))-16); err != nil {
			return err
		}
	}
}
