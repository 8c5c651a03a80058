package wire

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// BenchmarkRequest measures the client's work for one request and its reply, without the network: encode and enqueue the request, decode the
// reply from the read buffer.
func BenchmarkRequest(b *testing.B) {
	stat := make([]byte, jute.StatLength)
	for _, shape := range []struct {
		name  string
		begin func(c *Client) *call
		body  []byte
	}{
		{"getData", func(c *Client) *call { return c.read(jute.OpGetData, zk.KindGet, "/yardstick/a", shapeDataStat, false) },
			append(jute.AppendBuffer(nil, make([]byte, 100)), stat...)},
		{"exists", func(c *Client) *call { return c.read(jute.OpExists, zk.KindExists, "/yardstick/a", shapeStat, false) }, stat},
		{"create", func(c *Client) *call {
			k := newCall(jute.OpCreate2, zk.KindCreate, "/yardstick/a", shapePathStat)
			k.req = append(jute.AppendBuffer(putPath(k.req, c.root, k.path), nil), jute.World...)
			k.req = jute.AppendInt32(k.req, 0)
			return k
		}, append(jute.AppendString(nil, "/yardstick/a"), stat...)},
	} {
		b.Run(shape.name, func(b *testing.B) {
			b.ReportAllocs()
			c := offline()
			c.pending = queue{}
			c.lease.Begin(0, time.Hour, 0)
			r := newReader(4 << 10)
			reply := make([]byte, 0, 4<<10)
			for b.Loop() {
				k := shape.begin(c)
				c.enlist(k)
				reply = jute.AppendInt32(reply[:0], int32(jute.ReplyHeader+len(shape.body)))
				reply = jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(reply, k.xid), 9), 0)
				reply = append(reply, shape.body...)
				if err := c.conn.feed(r, reply, 1); err != nil {
					b.Fatal(err)
				}
				<-k.ready
				k.free()
			}
		})
	}
}
