//go:build !linux

package wire

import "net"

// poller is empty on systems without epoll: every session reads its own socket.
type poller struct{}

func newPoller(*engine) (*poller, error) { return &poller{}, nil }

func (*poller) stop() {}

func newConn(c *Client, addr string, nc net.Conn) (*conn, error) {
	return newStreamConn(c, addr, nc), nil
}
