package gozk

import (
	"context"
	"fmt"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk"
)

// longestRequest is what servers take by default (jute.maxbuffer), and what the library makes room for by itself.
const longestRequest = 1 << 20

// Conn is the library's own connection of a session of this package, for code that is written on it. It looks through Observe and Within.
//
// What is asked over it goes through the session's socket: it is counted there ([zk.Tapped], [zk.TrafficOf]), and keeps the session's lease. It does not have what
// this package mends: its calls take no context, and a lost reply is [lib.ErrConnectionClosed]. It never becomes another session: when the session is over, its calls
// fail. Observe and Within know nothing of these requests. The session closes it; do not close it yourself.
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
