package proxy

import (
	"encoding/binary"
	"time"
)

// Op is the type of a request, with its number on the wire.
type Op int32

// The operations of ZooKeeper 3.8 (ZooDefs.OpCode). Connect is the handshake that opens or resumes a session.
const (
	Connect         Op = -10
	Close           Op = -11
	Create          Op = 1
	Delete          Op = 2
	Exists          Op = 3
	GetData         Op = 4
	SetData         Op = 5
	GetACL          Op = 6
	SetACL          Op = 7
	GetChildren     Op = 8
	Sync            Op = 9
	Ping            Op = 11
	GetChildren2    Op = 12
	Check           Op = 13
	Multi           Op = 14
	Create2         Op = 15
	Reconfig        Op = 16
	CheckWatches    Op = 17
	RemoveWatches   Op = 18
	CreateContainer Op = 19
	CreateTTL       Op = 21
	MultiRead       Op = 22
	Auth            Op = 100
	SetWatches      Op = 101
	SASL            Op = 102
	GetEphemerals   Op = 103
	SetWatches2     Op = 105
	AddWatch        Op = 106
)

// Frame is what a rule sees of one frame.
type Frame struct {
	On      Point // Request, Reply or Notification
	Server  int   // number of the server, from 1
	Session int64 // 0 in the handshake of a new session
	Op      Op    // of the request, also in its reply; of no meaning in a notification
	Path    string
	Xid     int32
	Zxid    int64 // of a reply
	Err     int32 // of a reply: the error code
	Event   int32 // of a notification: its type
	Size    int   // bytes, without the four of the length
}

// Xids that are no numbers of requests.
const (
	notificationXid = -1
	pingXid         = -2
)

// inspected is how much of a frame is looked at.
const inspected = 8 << 10

// body reads the records of a frame. Past the end it yields zeros: a frame that is shorter than its type says is the business
// of whoever receives it.
type body []byte

func (b *body) take(n int) []byte {
	n = min(max(n, 0), len(*b))
	head := (*b)[:n]
	*b = (*b)[n:]
	return head
}

func (b *body) int32() int32 {
	if len(*b) < 4 {
		*b = nil
		return 0
	}
	return int32(binary.BigEndian.Uint32(b.take(4)))
}

func (b *body) int64() int64 {
	if len(*b) < 8 {
		*b = nil
		return 0
	}
	return int64(binary.BigEndian.Uint64(b.take(8)))
}

func (b *body) string() string { return string(b.take(int(b.int32()))) }

// parseRequest reads xid, type and path of a request.
func parseRequest(b body) Frame {
	f := Frame{On: Request, Xid: b.int32(), Op: Op(b.int32())}
	switch f.Op {
	case Ping, Close, Auth, SetWatches, SetWatches2, SASL:
		return f
	case Multi, MultiRead: // the path of the first operation, behind its header of type, done and error
		b.take(9)
	}
	f.Path = b.string()
	return f
}

// parseReply reads the header of a reply, or a whole notification.
func parseReply(b body) Frame {
	f := Frame{On: Reply, Xid: b.int32(), Zxid: b.int64(), Err: b.int32()}
	if f.Xid == notificationXid {
		f.On = Notification
		f.Event = b.int32()
		b.int32() // state of the session
		f.Path = b.string()
	}
	return f
}

// credentials are what resumes a session.
type credentials struct {
	id       int64
	password []byte
	timeout  time.Duration
}

// parseConnect reads the session of a handshake's request: protocol version, last zxid, timeout, session, password.
func parseConnect(b body) int64 {
	b.take(4 + 8 + 4)
	return b.int64()
}

// parseConnected reads the answer: protocol version, timeout, session, password. The id is 0 when the session has expired.
func parseConnected(b body) credentials {
	b.take(4)
	c := credentials{timeout: time.Duration(b.int32()) * time.Millisecond, id: b.int64()}
	c.password = []byte(b.string())
	return c
}

// connectRequest is the frame that resumes a session.
func connectRequest(c credentials) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0) // length, filled in below
	b = binary.BigEndian.AppendUint32(b, 0)    // protocol version
	b = binary.BigEndian.AppendUint64(b, 0)    // last zxid seen
	b = binary.BigEndian.AppendUint32(b, uint32(c.timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.id))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.password)))
	b = append(b, c.password...)
	b = append(b, 0) // not read-only
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// closeRequest is the frame that ends a session.
func closeRequest(xid int32) []byte {
	b := binary.BigEndian.AppendUint32(nil, 8)
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	return binary.BigEndian.AppendUint32(b, 0xfffffff5) // -11
}
