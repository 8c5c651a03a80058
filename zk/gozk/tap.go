package gozk

import (
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// Tap implements zk.Tapped: the observer is told of what the library writes to the socket, and of events by the library's callback.
func (s *Session) Tap(by zk.WireObserver) { s.tap.Store(&by) }

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
	if by := s.tap.Load(); by != nil {
		(*by).Receives(at)
	}
}

// tellSent reports that a frame is about to be written: length, xid, type.
func (l *link) tellSent(b []byte) {
	handshake := !l.greeted
	l.greeted = true
	if handshake {
		l.s.tellLink(zk.LinkTried)
	}
	by := l.s.tap.Load()
	if by == nil {
		return
	}
	kind := zk.KindConnect
	if !handshake {
		kind = kindOf(b)
	}
	(*by).Sends(kind, time.Now())
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
