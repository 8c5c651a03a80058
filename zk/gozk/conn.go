package gozk

import (
	"context"
	"fmt"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk"
)

// longestRequest is the largest request that servers accept by default (jute.maxbuffer), and that the library has room for without help.
const longestRequest = 1 << 20

// Conn returns the library's own connection of a session of this package, for code that is written against the library. It looks through Observe and
// Within.
//
// Requests made on it go through the session's socket: they are counted there ([zk.Tapped], [zk.TrafficOf]) and extend the session's lease. They do
// not get what this package adds: calls take no context, and a lost reply is [lib.ErrConnectionClosed]. The connection never becomes another session:
// once the session has ended, calls fail. Observe and Within do not see these requests. The session closes the connection; do not close it yourself.
func Conn(ctx context.Context, s zk.Session) (*lib.Conn, error) {
	switch of := s.(type) {
	case *Session:
		if err := of.grow(ctx, longestRequest+4<<10); err != nil {
			return nil, fmt.Errorf("make room for the requests of others: %w", err)
		}
		return of.conn, nil
	case interface{ Unwrap() zk.Session }:
		return Conn(ctx, of.Unwrap())
	}
	return nil, fmt.Errorf("%T is not a session of go-zookeeper/zk: %w", s, zk.ErrUnimplemented)
}
