package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/lease"
)

// Secret returns the password of the session, with which a second connection can take it over.
func (c *Client) Secret() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secret
}

// Sent counts the requests that wait for replies, and one more once ctx has ended.
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

// Until waits until cond holds, for half a minute at most.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// NewTransport returns a Transport that uses the given clock and runs its schedule only in Look.
func NewTransport(now func() time.Duration) *Transport { return &Transport{time: lease.NewClock(now)} }

// Look runs what is due in the schedule by now.
func (t *Transport) Look() { t.eng.schedule.round() }

// LeaseUntil returns the end of the lease as of the last reply.
func (c *Client) LeaseUntil() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease.Until()
}

// Watched says which watches CheckWatches asks for.
type Watched int32

// The kinds of watches that servers distinguish.
const (
	WatchedChildren Watched = 1
	WatchedData     Watched = 2
	WatchedAny      Watched = 3
)

// CheckWatches reports whether the server holds a watch of this session on path. It needs ZooKeeper 3.6 or later.
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
