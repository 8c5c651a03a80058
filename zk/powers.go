package zk

import (
	"context"
	"hash/fnv"
)

// Killer is the optional ability to end a session without closing it, as a client's crash or an expiry would. Find it with AsKiller, which looks through Observe and Within.
type Killer interface {
	// Crash ends the session as the death of its process would: the connection is gone and the servers are not told, so they keep its ephemeral
	// znodes until the session timeout, rounded up to their next tick, has passed. When it returns, Done is closed and Err is ErrClosed; calls in
	// flight fail as with Close.
	Crash() error
	// Expire makes the servers end the session immediately without the client's knowledge: when it returns nil, the ephemeral znodes are gone, and
	// the client gets ErrSessionExpired when it reconnects. After an error the session may or may not have ended.
	Expire(ctx context.Context) error
}

// AsKiller returns the Killer of s, or false.
func AsKiller(s Session) (Killer, bool) {
	m, ok := s.(Killer)
	if w, wrapped := s.(wrapper); wrapped {
		return AsKiller(w.Unwrap())
	}
	return m, ok
}

// Disconnected returns a channel that is closed when the session has no connection to a server, or has ended. After a reconnect, a call returns a new
// channel. For an engine that does not report disconnections, it is the channel of Lease.
func Disconnected(s Session) <-chan struct{} {
	if w, wrapped := s.(wrapper); wrapped {
		return Disconnected(w.Unwrap())
	}
	if d, ok := s.(interface{ Disconnected() <-chan struct{} }); ok {
		return d.Disconnected()
	}
	return s.Lease()
}

// Identity is what a session has proved to a server: a scheme of authentication, such as sasl, digest, x509 or ip, and its identity in that scheme.
type Identity struct{ Scheme, ID string }

func (i Identity) String() string { return i.Scheme + ":" + i.ID }

// Introspector is a Session that can ask its server which identities it has.
type Introspector interface {
	// WhoAmI returns the identities on the current connection. Servers before ZooKeeper 3.7 answer ErrUnimplemented.
	WhoAmI(ctx context.Context) ([]Identity, error)
}

// AsIntrospector returns the Introspector of s, or false.
func AsIntrospector(s Session) (Introspector, bool) {
	m, ok := s.(Introspector)
	if w, wrapped := s.(wrapper); wrapped {
		return AsIntrospector(w.Unwrap())
	}
	return m, ok
}

// Fingerprint returns a hash of the password that the servers gave the session, by which passwords can be told apart without revealing them; false if the
// engine does not report it, or the session has no password.
func Fingerprint(s Session) (uint64, bool) {
	if w, wrapped := s.(wrapper); wrapped {
		return Fingerprint(w.Unwrap())
	}
	p, ok := s.(interface{ Password() []byte })
	if !ok {
		return 0, false
	}
	secret := p.Password()
	h := fnv.New64a()
	h.Write(secret)
	return h.Sum64(), len(secret) > 0
}
