package wire

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// tap holds who is told what goes over the wire; the zero value tells nobody. It is read and changed with Client.mu held.
type tap struct {
	by     zk.WireObserver
	linked func(zk.Link, time.Time)
}

// Tap implements Tapped.
func (c *Client) Tap(by zk.WireObserver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tap.by = by
}

// OnLink makes the session call notify for each event of its connection; see [zk.OnLink].
func (c *Client) OnLink(notify func(zk.Link, time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tap.linked = notify
}

// tellLink reports what happens to the connection, until the session is being closed: servers of 3.4 may close a connection before they have answered that, and
// the client then asks on another one. Called with Client.mu held.
func (c *Client) tellLink(what zk.Link) {
	if c.tap.linked != nil && !c.shut {
		c.tap.linked(what, time.Now())
	}
}

// tellSent reports that a request is about to be written to the socket. Called with Client.mu held.
func (t *tap) tellSent(k zk.Kind) {
	if t.by != nil {
		t.by.Sends(k, time.Now())
	}
}

// tellPing is like tellSent, for the ping, which is in no queue. Called without mu.
func (c *Client) tellPing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tap.tellSent(zk.KindPing)
}

// traffic counts the bytes of a session, over all its connections.
type traffic struct{ sent, received atomic.Int64 }

// Traffic counts what has gone over the connections of the session; see [zk.TrafficOf]. It includes what a broken connection did not send.
func (c *Client) Traffic() zk.Traffic {
	return zk.Traffic{Sent: c.traffic.sent.Load(), Received: c.traffic.received.Load()}
}

// metered is a connection that counts its bytes, used before it becomes a conn.
type metered struct {
	net.Conn
	traffic *traffic
}

func (m metered) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.traffic.received.Add(int64(n))
	return n, err
}

func (m metered) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.traffic.sent.Add(int64(n))
	return n, err
}
