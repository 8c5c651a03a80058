package workloads

import (
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// meter observes a session: it counts all requests and events on the wire, and the contents of replies.
type meter struct {
	session zk.Observed // what it observes
	origin  metrics.Origin
	fanout  *metrics.FanoutShard
	calls   Calls // is told of each call, too; nil: nobody is
	seat    uint32
}

// Calls is told of each call of the sessions of several seats, as a [zk.Observer] is.
type Calls interface {
	Begins()
	Ends(seat uint32, c *zk.Call)
}

// meter returns what counts for the seat's session.
func (s *Seat) meter() meter {
	return meter{origin: s.Origin, fanout: s.Fanout, calls: s.Calls, seat: s.ID}
}

// observe returns the session observed by the meter, or by what it is part of.
func (k *meter) observe(s zk.Session, by zk.Observer) zk.Session { return k.session.Observe(s, by) }

// observed returns the seat's session, of which only the cost is counted, without the phases of an acquisition.
func (s *Seat) observed() zk.Session {
	k := s.meter()
	return k.observe(s.Session, &k)
}

// Begins tells that a call begins.
func (k *meter) Begins() {
	if k.calls != nil {
		k.calls.Begins()
	}
}

// Ends counts the names, data or refusal in the reply of a request, at the time of the reply.
func (k *meter) Ends(c *zk.Call) {
	if k.calls != nil {
		k.calls.Ends(k.seat, c)
	}
	at := k.origin.At(c.End)
	switch {
	case c.Kind == zk.KindChildren && c.Err == nil:
		k.fanout.List(at, len(c.Names), c.Bytes)
	case c.Kind == zk.KindGet && c.Err == nil:
		k.fanout.Read(at, c.Bytes)
	case c.Kind.Writes() && zk.Classify(c.Err) == zk.ClassDefiniteNo:
		k.fanout.FailedWrite(at)
	}
}

// Sends counts a request.
func (k *meter) Sends(kind zk.Kind, at time.Time) { k.fanout.Request(k.origin.At(at), int(kind)) }

// Receives counts an event.
func (k *meter) Receives(at time.Time) { k.fanout.Event(k.origin.At(at)) }
