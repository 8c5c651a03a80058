package wire

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/lease"
)

// Secret is the password of a session, with which a second connection may claim it.
func (c *Client) Secret() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secret
}

// Sent counts the requests that wait for replies; once ctx has ended it is never 0.
func (c *Client) Sent(ctx context.Context) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for k := c.pending.head; k != nil; k = k.next {
		n++
	}
	if ctx.Err() != nil {
		n++
	}
	return n
}

// NewTransport makes a Transport whose clock is the given one, and whose schedule moves with Look alone.
func NewTransport(now func() time.Duration) *Transport { return &Transport{time: lease.NewClock(now)} }

// Look has the schedule do what is due by now.
func (t *Transport) Look() { t.eng.schedule.round() }

// LeaseUntil is the end of the lease as of the last reply.
func (c *Client) LeaseUntil() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease.Until()
}

// Watched says which watches CheckWatches asks for.
type Watched int32

// The kinds of watch that a server tells apart.
const (
	WatchedChildren Watched = 1
	WatchedData     Watched = 2
	WatchedAny      Watched = 3
)

// CheckWatches reports whether the server holds a watch of this session on path (servers from 3.6 on).
func (c *Client) CheckWatches(ctx context.Context, path string, which Watched) (bool, error) {
	k := newCall(jute.OpCheckWatches, zk.KindOther, path, shapeNone)
	k.req = jute.AppendInt32(putPath(k.req, c.root, path), int32(which))
	k.again = true
	err := c.plain(ctx, k)
	if errors.Is(err, zk.ErrNoWatcher) {
		return false, nil
	}
	return err == nil, err
}

// ExpireAt is Expire at one server, which need not be one of the session's own.
func (c *Client) ExpireAt(ctx context.Context, host string) error {
	c.mu.Lock()
	hello := c.hello()
	c.mu.Unlock()
	return closeElsewhere(ctx, func(ctx context.Context) (net.Conn, error) { return c.open(ctx, host) }, hello, c.prove, proving)
}
