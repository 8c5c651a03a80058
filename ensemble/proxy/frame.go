package proxy

import "github.com/zkbench/zkbench/internal/jute"

// Frame is what a rule sees of one frame.
type Frame struct {
	On      Point   // Request, Reply or Notification
	Server  int     // number of the server, from 1
	Session int64   // 0 in the handshake of a new session
	Op      jute.Op // of the request, also in its reply; of no meaning in a notification
	Path    string
	Xid     int32
	Zxid    int64 // of a reply
	Err     int32 // of a reply: the error code
	Event   int32 // of a notification: its type
	Size    int   // bytes, without the four of the length
}

// inspected is how much of a frame is looked at.
const inspected = 8 << 10

// parseRequest reads xid, type and path of a request. What is missing of a frame that is shorter than its type says, or of one whose path
// is longer than what is looked at, is zero: its receiver deals with it.
func parseRequest(b []byte) Frame {
	d := jute.Decoder{B: b}
	f := Frame{On: Request, Xid: d.Int32(), Op: jute.Op(d.Int32())}
	switch f.Op {
	case jute.OpPing, jute.OpClose, jute.OpAuth, jute.OpSetWatches, jute.OpSetWatches2, jute.OpSASL:
		return f
	case jute.OpMulti, jute.OpMultiRead: // the path of the first operation, behind its header of type, done and error
		d.Take(9)
	}
	f.Path = d.String()
	return f
}

// parseReply reads the header of a reply, or a whole notification.
func parseReply(b []byte) Frame {
	d := jute.Decoder{B: b}
	h := d.Reply()
	f := Frame{On: Reply, Xid: h.Xid, Zxid: h.Zxid, Err: h.Code}
	if f.Xid == jute.XidNotification {
		f.On = Notification
		f.Event = d.Int32()
		d.Int32() // state of the session
		f.Path = d.String()
	}
	return f
}
