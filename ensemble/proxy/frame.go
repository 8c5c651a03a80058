package proxy

import "github.com/zkbench/zkbench/internal/jute"

// Frame is what a rule sees of one frame.
type Frame struct {
	On      Point   // Request, Reply or Notification
	Server  int     // number of the server, from 1
	Session int64   // 0 in the handshake of a new session
	Op      jute.Op // of the request, also in its reply; meaningless in a notification
	Path    string
	Created string // for the reply of a create that succeeded: the path of the znode, with its number
	Xid     int32
	Zxid    int64 // for a reply
	Err     int32 // for a reply: the error code; for that of a handshake, session expired if it is refused
	Event   int32 // for a notification: its type
	Size    int   // bytes, without the four-byte length
}

// refused is the error code of a session that has expired.
const refused = -112

// inspected is how many bytes of a frame are inspected.
const inspected = 8 << 10

// parseRequest parses xid, type and path of a request. Fields are zero if the frame is shorter than its type requires, or if its path
// is longer than the inspected part: dealing with such a frame is up to its receiver.
func parseRequest(b []byte) Frame {
	d := jute.Decoder{B: b}
	f := Frame{On: Request, Xid: d.Int32(), Op: jute.Op(d.Int32())}
	switch f.Op {
	case jute.OpPing, jute.OpClose, jute.OpAuth, jute.OpSetWatches, jute.OpSetWatches2, jute.OpSASL:
		return f
	case jute.OpMulti, jute.OpMultiRead: // the path of the first operation, after its header of type, done and error
		d.Take(9)
	}
	f.Path = d.String()
	return f
}

// parseReply parses the header of a reply, or a whole notification.
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

// created returns the path in the reply of a create.
func created(b []byte) string {
	d := jute.Decoder{B: b}
	d.Reply()
	return d.String()
}
