package jute

import (
	"encoding/binary"
	"errors"
)

// Lengths on the wire, in bytes.
const (
	RequestHeader = 12 // length, xid, type
	ReplyHeader   = 16 // xid, zxid, error; the length is not counted
	StatLength    = 68
	null          = -1 // the length of a null string, buffer or vector
)

// ErrProtocol: what a server has sent is no frame or record of its protocol.
var ErrProtocol = errors.New("the server's bytes are not ZooKeeper's protocol")

// World is the ACL that lets everybody do everything: one entry, all permissions, world:anyone.
const World = "\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone"

// AppendInt32 writes an int.
func AppendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendInt64 writes a long.
func AppendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendBool writes a boolean.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendString writes a ustring.
func AppendString(b []byte, s string) []byte {
	return append(AppendInt32(b, int32(len(s))), s...)
}

// AppendBuffer writes a buffer. One without bytes is written as empty, not as null.
func AppendBuffer(b, data []byte) []byte {
	return append(AppendInt32(b, int32(len(data))), data...)
}

// Int32 reads the int at the start of b, which must have 4 bytes.
func Int32(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }

// Int64 reads the long at the start of b, which must have 8 bytes.
func Int64(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// Decoder reads records off the front of B, in place. The first read past the end sets Bad, and every later one yields zero, so that
// a frame is checked once, after its last field.
type Decoder struct {
	B   []byte
	Bad bool
}

// Take reads n bytes, which stay where they are; nil past the end.
func (d *Decoder) Take(n int) []byte {
	if d.Bad || n < 0 || n > len(d.B) {
		d.Bad = true
		return nil
	}
	p := d.B[:n]
	d.B = d.B[n:]
	return p
}

// Int32 reads an int.
func (d *Decoder) Int32() int32 {
	if p := d.Take(4); p != nil {
		return Int32(p)
	}
	return 0
}

// Int64 reads a long.
func (d *Decoder) Int64() int64 {
	if p := d.Take(8); p != nil {
		return Int64(p)
	}
	return 0
}

// Bool reads a boolean.
func (d *Decoder) Bool() bool {
	p := d.Take(1)
	return p != nil && p[0] != 0
}

// Buffer reads a buffer, whose bytes stay where they are; a null buffer is nil.
func (d *Decoder) Buffer() []byte {
	n := int(d.Int32())
	if n == null {
		return nil
	}
	return d.Take(n)
}

// String reads a ustring; a null one is empty.
func (d *Decoder) String() string { return string(d.Buffer()) }

// Err is ErrProtocol when a read went past the end.
func (d *Decoder) Err() error {
	if d.Bad {
		return ErrProtocol
	}
	return nil
}

// Count reads the length of a vector whose elements take at least size bytes each, so that a hostile length cannot make the
// caller allocate more than the frame could hold. A null vector has none.
func (d *Decoder) Count(size int) int {
	n := int(d.Int32())
	if n == null {
		return 0
	}
	if n < 0 || n > len(d.B)/size {
		d.Bad = true
		return 0
	}
	return n
}

// Strings reads a vector of ustrings that is all of body, which has been copied once: the strings share body's memory. The error
// is ErrProtocol where body is anything else. A vector that is empty or null is nil.
func Strings(body string) ([]string, error) {
	n, body, ok := cutInt32(body)
	if !ok || n < null || n > len(body)/4 {
		return nil, ErrProtocol
	}
	var all []string
	if n > 0 {
		all = make([]string, n)
	}
	at := 0
	for i := range all {
		if len(body)-at < 4 {
			return nil, ErrProtocol
		}
		l := int(int32(uint32(body[at])<<24 | uint32(body[at+1])<<16 | uint32(body[at+2])<<8 | uint32(body[at+3])))
		if at += 4; l < 0 || l > len(body)-at {
			return nil, ErrProtocol
		}
		all[i] = body[at : at+l]
		at += l
	}
	if at != len(body) {
		return nil, ErrProtocol
	}
	return all, nil
}

func cutInt32(s string) (int, string, bool) {
	if len(s) < 4 {
		return 0, "", false
	}
	n := int32(s[0])<<24 | int32(s[1])<<16 | int32(s[2])<<8 | int32(s[3])
	return int(n), s[4:], true
}
