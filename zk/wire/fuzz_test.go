package wire

import (
	"runtime"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// nowhere is a link that discards what is written and never delivers anything.
type nowhere struct{}

func (nowhere) start() error       { return nil }
func (nowhere) write([]byte) error { return nil }
func (nowhere) close()             {}

// offline returns a session with a connection to nowhere and one pending request of each shape.
func offline() *Client {
	c := &Client{eng: &engine{}, near: new(servers), done: make(chan struct{})}
	c.lease.Begin(0, time.Hour, 0)
	c.cfg.MaxReply = 1 << 20
	c.conn = &conn{c: c, link: nowhere{}, peer: new(peer)}
	for i, s := range []shape{shapeNone, shapeStat, shapeDataStat, shapePathStat, shapeNamesStat, shapeBody, shapeDataStat, shapeNamesStat} {
		k := newCall(jute.OpGetData, zk.KindGet, "/a", s)
		if i > 5 {
			c.arming(k, armData)
		}
		c.enlist(k)
	}
	return c
}

// replies frames the bodies as replies to the requests of offline.
func replies(bodies ...[]byte) []byte {
	var b []byte
	for i, body := range bodies {
		b = jute.AppendInt32(b, int32(jute.ReplyHeader+len(body)))
		b = jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(b, int32(i+1)), 9), 0)
		b = append(b, body...)
	}
	return b
}

// FuzzFeed feeds arbitrary bytes to a connection in pieces of arbitrary size. It must not panic, nor reserve more memory than a small multiple
// of what has arrived.
func FuzzFeed(f *testing.F) {
	stat := make([]byte, jute.StatLength)
	good := replies(nil, stat, append(jute.AppendBuffer(nil, []byte("data")), stat...), append(jute.AppendString(nil, "/a"), stat...),
		append(jute.AppendString(jute.AppendInt32(nil, 1), "name"), stat...))
	f.Add(good, uint8(255))
	f.Add(good, uint8(1))
	f.Add([]byte{0, 0, 0, 20, 0xff, 0xff, 0xff, 0xff}, uint8(3))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff}, uint8(9))
	f.Add(jute.AppendInt32(nil, 1<<20), uint8(2))
	f.Add(jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(jute.AppendInt32(nil, 16), jute.XidAuth), 0), -115), uint8(16))
	event := jute.AppendString(jute.AppendInt32(jute.AppendInt32(nil, 3), 3), "/a")
	frame := jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(jute.AppendInt32(nil, int32(16+len(event))), -1), -1), 0)
	f.Add(append(frame, event...), uint8(50))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		c := offline()
		cn := c.conn
		r := newReader(1 + int(piece))
		for len(b) > 0 {
			room := cn.room(r)
			n := copy(room, b)
			if cap(cn.frame) > 2*(keepFrame+len(b)+len(cn.frame)) {
				t.Fatalf("%d bytes are reserved for a frame of which %d have arrived", cap(cn.frame), len(cn.frame))
			}
			b = b[n:]
			if err := cn.feed(r, room[:n], 1); err != nil {
				break
			}
		}
	})
}

// FuzzDecoders gives arbitrary reply bodies to the decoders. They must not panic, nor allocate much more than the body.
func FuzzDecoders(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 2, 'a', 'b'}, 1)
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff}, 3)
	f.Add(putMultiHeader(nil, jute.OpError, true), 0)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		jute.Strings(string(b))
		parseMulti(b, n)
		parseGreeting(b, n > 0)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(1<<20+64*len(b)) {
			t.Errorf("%d bytes were allocated for a body of %d", took, len(b))
		}
	})
}

// FuzzAuthReply decodes arbitrary replies to SASL and whoAmI requests.
func FuzzAuthReply(f *testing.F) {
	head := jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, 1), 0), 0)
	f.Add(jute.AppendBuffer(head, []byte("rspauth=0")))
	f.Add(jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, 1), 0), jute.CodeAuthRequired))
	f.Add(jute.AppendString(jute.AppendString(jute.AppendInt32(head, 1), "sasl"), "ada"))
	f.Add(jute.AppendInt32(head, 1<<30))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if token, err := parseToken(frame, 1); err == nil && len(token) > len(frame) {
			t.Error("a token longer than its frame")
		}
		if all, err := parseIdentities(frame); err == nil && len(all) > len(frame)/8 {
			t.Errorf("%d identities in %d bytes", len(all), len(frame))
		}
	})
}
