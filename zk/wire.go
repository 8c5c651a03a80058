package zk

import (
	"encoding/binary"
	"errors"
)

// opcode is the type of a request on the wire (ZooDefs.OpCode of Apache ZooKeeper).
type opcode int32

const (
	opCreate          opcode = 1
	opDelete          opcode = 2
	opExists          opcode = 3
	opGetData         opcode = 4
	opSetData         opcode = 5
	opGetACL          opcode = 6
	opSetACL          opcode = 7
	opGetChildren     opcode = 8
	opSync            opcode = 9
	opPing            opcode = 11
	opGetChildren2    opcode = 12
	opCheck           opcode = 13
	opMulti           opcode = 14
	opCreate2         opcode = 15
	opCheckWatches    opcode = 17
	opRemoveWatches   opcode = 18
	opCreateContainer opcode = 19
	opCreateTTL       opcode = 21
	opMultiRead       opcode = 22
	opAuth            opcode = 100
	opSetWatches      opcode = 101
	opAllChildren     opcode = 104
	opSetWatches2     opcode = 105
	opAddWatch        opcode = 106
	opCloseSession    opcode = -11
	opError           opcode = -1
)

// Transaction ids that the server treats apart from the ones that count requests.
const (
	xidNotification int32 = -1
	xidPing         int32 = -2
	xidAuth         int32 = -4
	xidSetWatches   int32 = -8
)

const (
	requestHeader = 12     // length, xid, opcode
	replyHeader   = 16     // xid, zxid, error; the length is not counted
	statLength    = 68     // a Stat on the wire
	nullLength    = -1     // the length of a null string or buffer
	maxPassword   = 1 << 8 // of a session; servers send 16 bytes
)

var errProtocol = errors.New("the server's bytes are not ZooKeeper's protocol")

// Appending to a request. The order of fields is that of zookeeper.jute.

func putInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func putInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func putBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func putString(b []byte, s string) []byte {
	return append(putInt32(b, int32(len(s))), s...)
}

func putBuffer(b, data []byte) []byte {
	return append(putInt32(b, int32(len(data))), data...)
}

// putPath writes root+path without joining them first. The root of a chroot is the chroot itself.
func putPath(b []byte, root, path string) []byte {
	if root != "" && path == "/" {
		path = ""
	}
	b = putInt32(b, int32(len(root)+len(path)))
	return append(append(b, root...), path...)
}

// beginRequest makes room for the header of a request in b, which seal fills in.
func beginRequest(b []byte, op opcode) []byte {
	b = append(b[:0], 0, 0, 0, 0, 0, 0, 0, 0)
	return putInt32(b, int32(op))
}

// seal writes length and xid into a request that is complete.
func seal(req []byte, xid int32) {
	binary.BigEndian.PutUint32(req, uint32(len(req)-4))
	binary.BigEndian.PutUint32(req[4:], uint32(xid))
}

// decoder reads a reply. The first read past the end makes it bad and every later one zero, so that a reply is checked once,
// after its last field.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) int32() int32 {
	if p := d.take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if p := d.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

func (d *decoder) bool() bool {
	p := d.take(1)
	return p != nil && p[0] != 0
}

// buffer returns the bytes in place; a null buffer is nil.
func (d *decoder) buffer() []byte {
	n := int(d.int32())
	if n == nullLength {
		return nil
	}
	return d.take(n)
}

func (d *decoder) string() string { return string(d.buffer()) }

// count reads the length of a vector whose elements take at least size bytes each, so that a hostile length cannot make the
// caller allocate more than the reply could hold.
func (d *decoder) count(size int) int {
	n := int(d.int32())
	if n == nullLength {
		return 0
	}
	if n < 0 || n > len(d.b)/size {
		d.bad = true
		return 0
	}
	return n
}

func (d *decoder) stat(st *Stat) {
	p := d.take(statLength)
	if p == nil {
		return
	}
	be := binary.BigEndian
	st.Czxid, st.Mzxid = int64(be.Uint64(p)), int64(be.Uint64(p[8:]))
	st.Ctime, st.Mtime = int64(be.Uint64(p[16:])), int64(be.Uint64(p[24:]))
	st.Version, st.Cversion, st.Aversion = int32(be.Uint32(p[32:])), int32(be.Uint32(p[36:])), int32(be.Uint32(p[40:]))
	st.EphemeralOwner = int64(be.Uint64(p[44:]))
	st.DataLength, st.NumChildren = int32(be.Uint32(p[52:])), int32(be.Uint32(p[56:]))
	st.Pzxid = int64(be.Uint64(p[60:]))
}

func (d *decoder) err() error {
	if d.bad {
		return errProtocol
	}
	return nil
}

// names reads a vector of strings out of a reply that has been copied once: all names share body's memory.
func names(body string) ([]string, error) {
	n, body, ok := cutInt32(body)
	if !ok || n < nullLength || n > len(body)/4 {
		return nil, errProtocol
	}
	if n <= 0 {
		return nil, nil
	}
	all := make([]string, n)
	for i := range all {
		var l int
		if l, body, ok = cutInt32(body); !ok || l < 0 || l > len(body) {
			return nil, errProtocol
		}
		all[i], body = body[:l], body[l:]
	}
	if body != "" {
		return nil, errProtocol
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
