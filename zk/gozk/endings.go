package gozk

import (
	"context"
	"fmt"
	"net"

	native "github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/zk"
)

var _ zk.Killer = (*Session)(nil)

// Disconnected returns a channel that is closed while the session has no connection, and when it has ended.
func (s *Session) Disconnected() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// Crash ends the session as the death of its process would: the servers are not told and expire it after its timeout. The library would close the
// session on the server, so its connection is broken first; the library may then take a second to stop.
func (s *Session) Crash() error {
	s.stopDials()
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	l.Conn.Close()
	select {
	case <-s.Disconnected():
	case <-s.done:
	}
	return s.Close()
}

// Expire makes the servers end the session without the client's knowledge: a second connection presents its id and password, and closes it.
func (s *Session) Expire(ctx context.Context) error {
	password, l := s.claim()
	if password == nil {
		return fmt.Errorf("expire 0x%x: %w", s.ID(), zk.ErrNotSent)
	}
	cfg := native.Config{Auth: s.auth}
	if _, plain := l.Conn.(*net.TCPConn); !plain { // encrypted, which takes longer
		cfg.Dialer = s.connect
	}
	return cfg.CloseSession(ctx, l.server, s.ID(), password)
}

// claim returns the password and the connection of the session, with which it can be taken over; nil while it has none.
func (s *Session) claim() (password []byte, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || !s.link.live {
		return nil, nil
	}
	return append(password, s.link.greeting().Password...), s.link
}

// Password returns the password that the server gave the session, nil while it has no connection.
func (s *Session) Password() []byte {
	password, _ := s.claim()
	return password
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
