package zk

import (
	"context"
	"hash/fnv"
)

// Killer is the optional power to end a session without closing it: as a crashed client's ends, or one that expires. Find it with AsKiller,
// which looks through Observe and Within.
type Killer interface {
	// Crash ends the session as the death of its process does: the connection is gone and the servers are told nothing, so they keep
	// its ephemeral znodes until the session timeout, rounded up to their next tick, has passed. Done is closed and Err is ErrClosed
	// when it returns; calls under way fail as with Close.
	Crash() error
	// Expire has the servers end the session at once while its client knows nothing: its ephemeral znodes are gone when it returns
	// nil, and the client hears of it when it is connected again, with ErrSessionExpired. After an error the session may be over or
	// not.
	Expire(ctx context.Context) error
}

// AsKiller returns the power of s, or false.
func AsKiller(s Session) (Killer, bool) {
	m, ok := s.(Killer)
	if w, wrapped := s.(wrapper); wrapped {
		return AsKiller(w.Unwrap())
	}
	return m, ok
}

// Disconnected is closed when the session has no connection to a server, or is over. After the connection has come back, a call
// returns a new channel. An engine that cannot tell gives its Lease.
func Disconnected(s Session) <-chan struct{} {
	if w, wrapped := s.(wrapper); wrapped {
		return Disconnected(w.Unwrap())
	}
	if d, ok := s.(interface{ Disconnected() <-chan struct{} }); ok {
		return d.Disconnected()
	}
	return s.Lease()
}

// Identity is what a session has proved to a server: a scheme of authentication, such as sasl, digest, x509 or ip, and who it is in that scheme.
type Identity struct{ Scheme, ID string }

func (i Identity) String() string { return i.Scheme + ":" + i.ID }

// Introspector is a Session that can ask its server who it is taken for.
type Introspector interface {
	// WhoAmI are the identities on the present connection. ErrUnimplemented from servers before ZooKeeper 3.7.
	WhoAmI(ctx context.Context) ([]Identity, error)
}

// AsIntrospector returns the power of s, or false.
func AsIntrospector(s Session) (Introspector, bool) {
	m, ok := s.(Introspector)
	if w, wrapped := s.(wrapper); wrapped {
		return AsIntrospector(w.Unwrap())
	}
	return m, ok
}

// Fingerprint is a hash of the password that the servers have given the session, which tells passwords apart without telling them; false where the
// engine does not tell, or the session has none.
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
