package gozk

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

var _ zk.Mortal = (*Session)(nil)

// Disconnected is closed while the session has no connection, and when it is over.
func (s *Session) Disconnected() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// Crash is described at zk.Mortal. The library would close the session on the server, so its connection goes first; it may then take a
// second to end.
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

// Expire is described at zk.Mortal.
func (s *Session) Expire(ctx context.Context) error {
	s.mu.Lock()
	var password []byte
	server := ""
	if s.link != nil && s.link.live {
		password, server = append(password, s.link.password()...), s.link.server
	}
	s.mu.Unlock()
	if password == nil {
		return fmt.Errorf("expire 0x%x: %w", s.ID(), zk.ErrNotSent)
	}
	return zk.CloseSession(ctx, server, s.ID(), password)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
