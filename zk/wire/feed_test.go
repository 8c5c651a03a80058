package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// dataReply encodes the reply to a getData.
func dataReply(xid int32, data []byte) []byte {
	return reply(xid, 9, 0, append(jute.AppendBuffer(nil, data), make([]byte, jute.StatLength)...)...)
}

// However a connection's bytes are split, each call gets its own data, and the connection keeps no buffer once all have arrived.
func TestRepliesInPiecesOfEverySize(t *testing.T) {
	all := [][]byte{[]byte("one"), bytes.Repeat([]byte("two"), 100<<10), nil, bytes.Repeat([]byte("four"), 30), []byte("five")}
	for _, size := range []int{1, 2, 3, 4, 5, 19, 20, 21, 107, 108, 4 << 10, keepFrame, 1 << 20} {
		u := unplug(t)
		var calls []*call
		var stream []byte
		for i, data := range all {
			calls = append(calls, u.request(u.get()))
			stream = append(stream, dataReply(int32(i+1), data)...)
		}
		cn, r := u.conn, newReader(size)
		for len(stream) > 0 {
			room := cn.room(r)
			n := copy(room, stream)
			if err := cn.feed(r, room[:n], 0); err != nil {
				t.Fatalf("pieces of %d bytes: %v", size, err)
			}
			stream = stream[n:]
		}
		clear(r.buf)
		for i, k := range calls {
			if !done(k) || k.err != nil || !bytes.Equal(k.data, all[i]) {
				t.Errorf("pieces of %d bytes: call %d has %d bytes, %v; want %d", size, i, len(k.data), k.err, len(all[i]))
			}
		}
		if cn.frame != nil || cn.need != 0 {
			t.Errorf("pieces of %d bytes: %d bytes of a frame of %d are kept", size, cap(cn.frame), cn.need)
		}
	}
}

func TestTheLengthsOfFrames(t *testing.T) {
	for _, c := range []struct {
		length int32
		fine   bool
	}{{-1, false}, {0, false}, {jute.ReplyHeader - 1, false}, {jute.ReplyHeader, true}, {1 << 20, true}, {1<<20 + 1, false}} { // MaxReply is 1 MiB
		u := unplug(t)
		if err := u.feed(jute.AppendInt32(nil, c.length)); c.fine != (err == nil) || !c.fine && !errors.Is(err, jute.ErrProtocol) {
			t.Errorf("a frame of %d bytes: %v, want an error: %v", c.length, err, !c.fine)
		}
	}
}

// If a frame was allocated for one reply, the reply's data aliases it. Data of other frames is copied.
func TestDataAliasesItsOwnFrame(t *testing.T) {
	for _, own := range []bool{false, true} {
		u := unplug(t)
		k := u.request(u.get())
		f := dataReply(1, []byte("data"))[4:]
		kept, err := u.conn.handle(u.r, f, own)
		if err != nil || kept != own || string(k.data) != "data" {
			t.Fatalf("handle() = %v, %v with %q, want %v and the data", kept, err, k.data, own)
		}
		if same := &k.data[0] == &f[jute.ReplyHeader+4]; same != own {
			t.Errorf("frame owned by the reply: %v; data aliases the frame: %v", own, same)
		}
	}
}

// A session that only pings allocates nothing and keeps no buffer for its connection.
func TestPingsTakeNoMemory(t *testing.T) {
	u := unplug(t)
	pong := reply(jute.XidPing, 0, 0)
	if n := testing.AllocsPerRun(100, func() { u.conn.feed(u.r, pong, 0) }); n != 0 {
		t.Errorf("the reply to a ping takes %v allocations", n)
	}
	if u.conn.frame != nil {
		t.Errorf("%d bytes are kept for a frame, want none between frames", cap(u.conn.frame))
	}
}

// A reader reuses buffers, except for frames that they are much too small for.
func TestBuffersOfFrames(t *testing.T) {
	for _, c := range []struct{ need, spare, want int }{
		{1, 0, leastFrame}, {leastFrame, 0, leastFrame}, {leastFrame + 1, 0, leastFrame + 1}, {keepFrame, 0, keepFrame}, {keepFrame + 1, 0, keepFrame},
		{5000, 6000, 6000}, {6000, 6000, 6000}, {6001, 6000, 6001}, {keepFrame + 1, keepFrame, keepFrame}, {keepFrame + 1, keepFrame - 1, keepFrame},
	} {
		r := newReader(1)
		if c.spare > 0 {
			r.giveBack(make([]byte, 0, c.spare))
		}
		if b := r.take(c.need); cap(b) != c.want || len(b) != 0 {
			t.Errorf("take(%d) with a spare of %d bytes: %d bytes, want %d", c.need, c.spare, cap(b), c.want)
		} else if reused := c.spare > 0 && c.want == c.spare; reused != (c.spare > 0 && len(r.spare) == 0) && c.want != keepFrame {
			t.Errorf("take(%d) with a spare of %d bytes leaves %d spares", c.need, c.spare, len(r.spare))
		}
	}
	for _, c := range []struct{ full, need, want int }{
		{leastFrame, 1 << 20, keepFrame}, {keepFrame, 1 << 20, 2 * keepFrame}, {keepFrame, keepFrame + 1, keepFrame + 1}, {100, 200, 200},
	} {
		r := newReader(1)
		full := bytes.Repeat([]byte{1}, c.full)
		if b := r.grow(full[:c.full:c.full], c.need); cap(b) != c.want || !bytes.Equal(b, full) || len(r.spare) != 1 {
			t.Errorf("grow of %d bytes for %d: %d of %d, %d spares; want %d, and the old one spare", c.full, c.need, len(b), cap(b), len(r.spare), c.want)
		}
	}
	r := newReader(1)
	if r.giveBack(make([]byte, keepSpare+1)); len(r.spare) != 0 {
		t.Error("a buffer that is too large is kept")
	}
	for range keepSpares + 1 {
		r.giveBack(make([]byte, keepSpare))
	}
	if len(r.spare) != keepSpares || len(r.spare[0]) != 0 {
		t.Errorf("%d buffers are kept, want %d", len(r.spare), keepSpares)
	}
}

// Whatever arrives on a former connection is ignored: it completes no call and does not extend the lease.
func TestAFormerConnection(t *testing.T) {
	u := unplug(t)
	former := u.conn
	k := u.request(u.get())
	former.pings = []int64{int64(time.Second)}
	former.broken(io.ErrUnexpectedEOF)
	u.plug()
	for _, f := range [][]byte{dataReply(1, nil), dataReply(2, nil), event(zk.EventDataChanged, "/a")} {
		if err := former.feed(u.r, f, 0); !errors.Is(err, io.EOF) || done(k) {
			t.Errorf("a reply on a former connection: %v, want EOF; it completed the call: %v", err, done(k))
		}
	}
	if former.feed(u.r, reply(jute.XidPing, 0, 0), 0); u.LeaseUntil() != 9*time.Second {
		t.Errorf("the reply to a ping on a former connection extends the lease to %v", u.LeaseUntil())
	}
	u.asked()
	u.asked()
	if former.ping(0); u.asked().op != 0 {
		t.Error("a former connection pings")
	}
	if err := u.feed(dataReply(2, []byte("x"))); err != nil || !done(k) || string(k.data) != "x" {
		t.Errorf("the reply on the new connection: %v, %q", err, k.data)
	}
	if err := former.feed(u.r, dataReply(3, nil), 0); !errors.Is(err, io.EOF) {
		t.Errorf("a reply on a former connection without pending calls: %v, want EOF", err)
	}
}

func TestRepliesOutOfTurn(t *testing.T) {
	for name, f := range map[string][]byte{"to the second request": dataReply(2, nil), "to no request": dataReply(77, nil)} {
		u := unplug(t)
		k, next := u.request(u.get()), u.request(u.get())
		if err := u.feed(f); !errors.Is(err, jute.ErrProtocol) || done(k) || done(next) {
			t.Errorf("a reply %s: %v, want ErrProtocol and no completed call", name, err)
		}
	}
	if err := unplug(t).feed(dataReply(1, nil)); !errors.Is(err, jute.ErrProtocol) {
		t.Errorf("a reply without pending calls: %v, want ErrProtocol", err)
	}
}

func TestWhichRepliesExtendTheLease(t *testing.T) {
	for code, until := range map[int32]time.Duration{0: ten, codeNoNode: ten, jute.CodeExpired: 9 * time.Second, jute.CodeMoved: 9 * time.Second} {
		u := unplug(t)
		u.clock.Store(int64(time.Second))
		u.eng.now()
		u.request(newBare(jute.OpSync, zk.KindSync, shapeNone))
		if err := u.feed(reply(1, 1, code)); err != nil || u.LeaseUntil() != until {
			t.Errorf("a reply with code %d: the lease is until %v, want %v (%v)", code, u.LeaseUntil(), until, err)
		}
	}
}

// A new connection presents the last zxid that a reply carried.
func TestTheLastZxid(t *testing.T) {
	u := unplug(t)
	for i, c := range []struct{ zxid, want int64 }{{5, 5}, {0, 5}, {-1, 5}, {7, 7}} {
		u.request(newBare(jute.OpSync, zk.KindSync, shapeNone))
		if err := u.feed(reply(int32(i+1), c.zxid, 0)); err != nil {
			t.Fatal(err)
		}
		d := jute.Decoder{B: u.hello()[8:]}
		if got := d.Int64(); got != c.want {
			t.Errorf("after a reply with zxid %d a new connection presents %d, want %d", c.zxid, got, c.want)
		}
	}
}

// Replies with an error code. Only those of a multi may carry results too.
func TestRepliesWithErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		op    jute.Op
		shape shape
		body  []byte
		want  error
		body2 string
	}{
		{"a read, with a body", jute.OpGetData, shapeDataStat, []byte{1}, zk.ErrNoNode, ""},
		{"a multi that is refused as a whole", jute.OpMulti, shapeBody, nil, zk.ErrNoNode, ""},
		{"a multi with its results", jute.OpMulti, shapeBody, []byte("results"), nil, "results"},
	} {
		u := unplug(t)
		k := u.request(newBare(c.op, zk.KindOther, c.shape))
		if err := u.feed(reply(1, 1, codeNoNode, c.body...)); err != nil || !done(k) || k.err != c.want || k.body != c.body2 || k.code != codeNoNode {
			t.Errorf("%s: %v with code %d and body %q (%v); want %v and %q", c.name, k.err, k.code, k.body, err, c.want, c.body2)
		}
	}
}

// A reused call keeps the buffer of its request, unless it is large.
func TestTheMemoryOfACall(t *testing.T) {
	for size, kept := range map[int]int{jute.RequestHeader: jute.RequestHeader, keepRequest: keepRequest, keepRequest + 1: 0} {
		k := newBare(jute.OpSync, zk.KindSync, shapeNone)
		k.req = make([]byte, 0, size)
		if k.free(); cap(k.req) != kept {
			t.Errorf("a request of %d bytes leaves a buffer of %d, want %d", size, cap(k.req), kept)
		}
	}
}
