package zk

import "time"

// Link is an event in the life of a session's connection.
type Link uint8

// What can happen to a connection.
const (
	LinkLost  Link = iota // the client knows that it is gone; not reported for a session that is closed or has ended
	LinkTried             // a handshake is sent to a server
	LinkMade              // a server has granted the session again
)

// OnLink makes s call notify for each event of its connection from now on, in order, from goroutines that must not be delayed: notify must neither
// block nor use the session. The last call replaces earlier ones. It returns false if the engine does not report these events.
func OnLink(s Session, notify func(Link, time.Time)) bool {
	if w, wrapped := s.(wrapper); wrapped {
		return OnLink(w.Unwrap(), notify)
	}
	l, ok := s.(interface {
		OnLink(notify func(Link, time.Time))
	})
	if ok {
		l.OnLink(notify)
	}
	return ok
}

// Traffic counts what has gone over the connections of a session, in bytes of the protocol: frames and handshakes, without what TLS and TCP add.
type Traffic struct{ Sent, Received int64 }

// TrafficOf returns the traffic of s so far; false if the engine does not report it. It is safe for concurrent use.
func TrafficOf(s Session) (Traffic, bool) {
	if w, wrapped := s.(wrapper); wrapped {
		return TrafficOf(w.Unwrap())
	}
	t, ok := s.(interface{ Traffic() Traffic })
	if !ok {
		return Traffic{}, false
	}
	return t.Traffic(), true
}

// SinceWrite returns how long ago, or a little longer, the server of a session carried out a write of this or another session of the process: it was in touch with
// the leader then, and the leader with a quorum. It returns false if there was no write, if the session has no connection, or if the engine does not report it.
func SinceWrite(s Session) (time.Duration, bool) {
	if w, wrapped := s.(wrapper); wrapped {
		return SinceWrite(w.Unwrap())
	}
	if c, ok := s.(interface{ SinceWrite() (time.Duration, bool) }); ok {
		return c.SinceWrite()
	}
	return 0, false
}
