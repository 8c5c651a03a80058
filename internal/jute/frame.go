package jute

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// BeginRequest overwrites b with room for the header of a request, which Seal completes.
func BeginRequest(b []byte, op Op) []byte {
	b = append(b[:0], 0, 0, 0, 0, 0, 0, 0, 0)
	return AppendInt32(b, int32(op))
}

// Seal writes length and xid into a request whose body is complete.
func Seal(req []byte, xid int32) {
	seal(req)
	binary.BigEndian.PutUint32(req[4:], uint32(xid))
}

// seal writes the length of a frame into its first four bytes.
func seal(frame []byte) { binary.BigEndian.PutUint32(frame, uint32(len(frame)-4)) }

// ReadFrame reads one frame and returns it without its length. A length outside of least to most is ErrProtocol, so that a peer that speaks
// something else costs no memory; nothing behind the frame is read.
func ReadFrame(r io.Reader, least, most int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int(Int32(size[:]))
	if n < least || n > most {
		return nil, fmt.Errorf("%w: a frame of %d bytes (expected %d to %d)", ErrProtocol, n, least, most)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// Reply is the header of a reply.
type Reply struct {
	Xid  int32
	Zxid int64
	Code int32 // the error; 0 for none
}

// Reply reads the header of a reply.
func (d *Decoder) Reply() Reply { return Reply{Xid: d.Int32(), Zxid: d.Int64(), Code: d.Int32()} }

// Connect is the handshake of a connection: what opens a session, or resumes one, and what the server answers.
type Connect struct {
	Zxid     int64         // of a request: the last one seen
	Timeout  time.Duration // of the session, in milliseconds on the wire; in an answer it is not positive when the session has expired
	Session  int64         // 0 in a request for a new session
	Password []byte        // of the session; nil in a request for a new one
	ReadOnly bool          // in a request: a read-only server will do; in an answer: this is one
}

const passwordLength = 16

// Request is the whole frame that opens or resumes the session.
func (c Connect) Request() []byte {
	b := make([]byte, 4, 64)
	b = AppendInt32(b, 0) // protocol version
	b = AppendInt64(b, c.Zxid)
	b = AppendInt32(b, int32(c.Timeout.Milliseconds()))
	b = AppendInt64(b, c.Session)
	if c.Password == nil {
		c.Password = make([]byte, passwordLength)
	}
	b = AppendBool(AppendBuffer(b, c.Password), c.ReadOnly)
	seal(b)
	return b
}

// ParseConnectRequest reads the frame of a Request, without its length. The password stays where it is.
func ParseConnectRequest(frame []byte) (c Connect, err error) {
	d := Decoder{B: frame}
	d.Int32() // protocol version
	c = Connect{Zxid: d.Int64(), Timeout: time.Duration(d.Int32()) * time.Millisecond, Session: d.Int64(), Password: d.Buffer()}
	c.ReadOnly = len(d.B) > 0 && d.Bool()
	return c, d.Err()
}

// ParseConnectReply reads the server's answer, without its length. The password stays where it is. Servers before ZooKeeper 3.4 do not say
// whether they are read-only.
func ParseConnectReply(frame []byte) (c Connect, err error) {
	d := Decoder{B: frame}
	d.Int32() // protocol version
	c = Connect{Timeout: time.Duration(d.Int32()) * time.Millisecond, Session: d.Int64(), Password: d.Buffer()}
	c.ReadOnly = len(d.B) > 0 && d.Bool()
	return c, d.Err()
}
