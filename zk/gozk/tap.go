package gozk

import (
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// tap holds the callbacks that report what goes over the wire.
type tap struct {
	sent     func(zk.Kind, time.Time)
	received func(time.Time)
}

// Tap implements zk.Tapped: sent is called for what the library writes to the socket, received from the library's callback for events.
func (s *Session) Tap(sent func(zk.Kind, time.Time), received func(time.Time)) {
	s.tap.Store(&tap{sent, received})
}

// OnLink makes the session call notify for each event of its connection; see [zk.OnLink].
func (s *Session) OnLink(notify func(zk.Link, time.Time)) { s.linked.Store(&notify) }

// Traffic counts what has gone over the connections of the session; see [zk.TrafficOf].
func (s *Session) Traffic() zk.Traffic {
	return zk.Traffic{Sent: s.sent.Load(), Received: s.received.Load()}
}

func (s *Session) tellLink(what zk.Link) {
	if notify := s.linked.Load(); notify != nil && *notify != nil {
		(*notify)(what, time.Now())
	}
}

func (s *Session) tellReceived(at time.Time) {
	if t := s.tap.Load(); t != nil && t.received != nil {
		t.received(at)
	}
}

// tellSent reports that a frame is about to be written: length, xid, type.
func (l *link) tellSent(b []byte) {
	handshake := !l.greeted
	l.greeted = true
	if handshake {
		l.s.tellLink(zk.LinkTried)
	}
	t := l.s.tap.Load()
	if t == nil || t.sent == nil {
		return
	}
	kind := zk.KindConnect
	if !handshake {
		kind = kindOf(b)
	}
	t.sent(kind, time.Now())
}

// kindOf returns the kind of a request from its frame.
func kindOf(b []byte) zk.Kind {
	if len(b) >= jute.RequestHeader {
		if known, ok := kindsOf[jute.Op(jute.Int32(b[8:]))]; ok {
			return known
		}
	}
	return zk.KindOther
}

// kindsOf are the kinds of the requests that the library makes, by their type on the wire.
var kindsOf = map[jute.Op]zk.Kind{
	jute.OpCreate: zk.KindCreate, jute.OpCreate2: zk.KindCreate, jute.OpCreateContainer: zk.KindCreate, jute.OpCreateTTL: zk.KindCreate,
	jute.OpDelete: zk.KindDelete, jute.OpExists: zk.KindExists, jute.OpGetData: zk.KindGet, jute.OpSetData: zk.KindSet,
	jute.OpGetChildren: zk.KindChildren, jute.OpGetChildren2: zk.KindChildren, jute.OpSync: zk.KindSync, jute.OpPing: zk.KindPing,
	jute.OpMulti: zk.KindMulti, jute.OpRemoveWatches: zk.KindRemoveWatches, jute.OpAuth: zk.KindAuth, jute.OpSetWatches: zk.KindSetWatches,
	jute.OpSetWatches2: zk.KindSetWatches, jute.OpAddWatch: zk.KindAddWatch, jute.OpClose: zk.KindClose,
}
