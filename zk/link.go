package zk

import "time"

// Link is what happens to the connection of a session.
type Link uint8

// What happens to a connection.
const (
	LinkLost  Link = iota // the client knows that it is gone; not told of a session that is closed, or over
	LinkTried             // a handshake goes to a server
	LinkMade              // a server has granted the session again
)

// OnLink has told called with what happens to the connection of s from now on, in order, by goroutines that must not be held up: told must
// neither block nor use the session. The last call counts. It returns false where the engine does not tell.
func OnLink(s Session, told func(Link, time.Time)) bool {
	if w, wrapped := s.(wrapper); wrapped {
		return OnLink(w.Unwrap(), told)
	}
	l, ok := s.(interface {
		OnLink(told func(Link, time.Time))
	})
	if ok {
		l.OnLink(told)
	}
	return ok
}

// Traffic is what has gone over the connections of a session, in bytes of the protocol: frames and handshakes, without what TLS and TCP add.
type Traffic struct{ Sent, Received int64 }

// TrafficOf is the traffic of s so far; false where the engine does not tell. It may be called from many goroutines.
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
