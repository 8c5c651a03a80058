package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/traffic/trace"
)

// wire shows a recorder what a client and a server say.
type wire struct {
	*Recorder
	out bytes.Buffer
}

// recorded returns a line for each event that is recorded of what do shows, in time that passes at once.
func recorded(t *testing.T, do func(w *wire)) (lines []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		var err error
		if w.Recorder, err = New(&w.out, Config{Names: true}); err != nil {
			t.Fatal(err)
		}
		do(w)
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		lines = w.lines(t)
	})
	return lines
}

func (w *wire) lines(t *testing.T) (lines []string) {
	r, err := trace.NewReader(&w.out)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("%v s%d kind=%d", e.At, e.Session, e.Kind)
		if e.Kind == trace.Request {
			s = fmt.Sprintf("%v s%d op=%d%s", e.At, e.Session, e.Op, details(e))
		} else if e.Kind == trace.Notify {
			s += details(e)
		}
		for i := range e.Ops {
			s += fmt.Sprintf(" [op=%d%s]", e.Ops[i].Op, details(&e.Ops[i]))
		}
		if e.Timeout > 0 {
			s += " timeout=" + e.Timeout.String()
		}
		if e.Took > 0 {
			s += " took=" + e.Took.String()
		}
		lines = append(lines, s)
	}
}

func details(e *trace.Event) (s string) {
	for _, p := range []string{e.Path, e.Got} {
		if p != "" {
			s += " " + p
		}
	}
	return s + fmt.Sprintf(" %dB flags=%d v=%d ttl=%v code=%d", e.Size, e.Flags, e.Version, e.TTL, e.Code)
}

func (w *wire) open(conn uint64, asked, id int64) {
	w.Frame(conn, proxy.Frame{On: proxy.Request, Op: jute.OpConnect, Session: asked}, nil)
	b := jute.AppendInt64(jute.AppendInt32(jute.AppendInt32(nil, 0), 4000), id)
	f := proxy.Frame{On: proxy.Reply, Op: jute.OpConnect, Session: id}
	if id == 0 {
		f.Err, f.Session = jute.CodeExpired, asked
	}
	w.Frame(conn, f, append(jute.AppendBuffer(b, make([]byte, 16)), 0))
}

func (w *wire) send(conn uint64, xid int32, op jute.Op, parts ...[]byte) {
	b := append(jute.AppendInt32(jute.AppendInt32(nil, xid), int32(op)), slices.Concat(parts...)...)
	w.Frame(conn, proxy.Frame{On: proxy.Request, Op: op, Xid: xid, Session: 1}, b)
}

func (w *wire) answer(conn uint64, xid int32, op jute.Op, code int32, parts ...[]byte) {
	b := append(jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, xid), 1), code), slices.Concat(parts...)...)
	w.Frame(conn, proxy.Frame{On: proxy.Reply, Op: op, Xid: xid, Err: code, Session: 1}, b)
}

func (w *wire) ask(op jute.Op, code int32, request []byte, reply ...[]byte) {
	w.send(1, 7, op, request)
	w.answer(1, 7, op, code, reply...)
}

func number(n int32) []byte { return jute.AppendInt32(nil, n) }
func text(s string) []byte  { return jute.AppendString(nil, s) }
func data(n int) []byte     { return jute.AppendBuffer(nil, make([]byte, n)) }
func header(op jute.Op, done bool) []byte {
	return jute.AppendInt32(jute.AppendBool(number(int32(op)), done), -1)
}

var (
	world = []byte(jute.World)
	stat  = make([]byte, jute.StatLength)
)

func equal(t *testing.T, got []string, want string) {
	t.Helper()
	if all := strings.Join(got, "\n"); all != strings.TrimSpace(want) {
		t.Errorf("recorded\n%s\n\nwant\n%s", all, want)
	}
}

func TestEachKindOfRequest(t *testing.T) {
	equal(t, recorded(t, func(w *wire) {
		w.open(1, 0, 1)
		create := func(op jute.Op, mode int32, got string, more ...byte) {
			w.ask(op, 0, slices.Concat(text("/a-"), data(5), world, number(mode), more), text(got), stat)
		}
		create(jute.OpCreate, 0, "/a-")
		create(jute.OpCreate2, 3, "/a-0000000001")
		create(jute.OpCreateContainer, 4, "/a-")
		create(jute.OpCreateTTL, 6, "/a-0000000002", jute.AppendInt64(nil, 60_000)...)
		create(jute.OpCreate, 9, "/a-") // a mode that does not exist
		w.ask(jute.OpDelete, -101, slices.Concat(text("/a"), number(3)))
		w.ask(jute.OpSetData, 0, slices.Concat(text("/a"), data(9), number(-1)), stat)
		w.ask(jute.OpSetACL, 0, slices.Concat(text("/a"), world, number(2)), stat)
		w.ask(jute.OpGetData, 0, append(text("/a"), 1), data(77), stat)
		w.ask(jute.OpGetData, -101, append(text("/a"), 0))
		w.ask(jute.OpExists, 0, append(text("/a"), 1), stat)
		w.ask(jute.OpGetChildren, 0, append(text("/a"), 0), number(0))
		w.ask(jute.OpGetChildren2, 0, append(text("/a"), 0), number(0), stat)
		w.ask(jute.OpGetACL, 0, text("/a"), world, stat)
		w.ask(jute.OpSync, 0, text("/a"), text("/a"))
		w.ask(jute.OpCheckWatches, -121, append(text("/a"), number(1)...))
		w.ask(jute.OpCheck, 0, append(text("/a"), number(1)...)) // only in a multi
		w.ask(jute.OpDelete, -8, append(text("a"), number(1)...))
		w.ask(jute.OpDelete, -5, text("/a"))
		w.ask(jute.OpPing, 0, nil)
		w.send(1, jute.XidAuth, jute.OpAuth, text("digest"), text("user:secret"))
		w.answer(1, jute.XidAuth, jute.OpAuth, 0)
		w.send(1, jute.XidSetWatches, jute.OpSetWatches, text("/secret"))
		w.answer(1, jute.XidSetWatches, jute.OpSetWatches, 0)
		w.Frame(1, proxy.Frame{On: proxy.Notification, Path: "/a", Event: 3}, nil)
		ops := slices.Concat(header(jute.OpCheck, false), text("/a"), number(4), header(jute.OpCreate2, false), text("/s-"), data(3), world, number(2),
			header(jute.OpSetData, false), text("/a"), data(8), number(5), header(jute.OpDelete, false), text("/b"), number(-1), header(jute.OpError, true))
		w.ask(jute.OpMulti, 0, ops, header(jute.OpCheck, false), header(jute.OpCreate, false), text("/s-0000000009"), header(jute.OpSetData, false), stat, header(jute.OpDelete, false), header(jute.OpError, true))
		failed := func(code int32) []byte { return append(header(jute.OpError, false), number(code)...) }
		w.ask(jute.OpMulti, 0, ops, failed(0), failed(-110), failed(-2), failed(-2), header(jute.OpError, true))
		w.ask(jute.OpMulti, 0, slices.Concat(header(jute.OpGetData, false), text("/a")))
		w.send(1, 8, jute.OpClose)
		w.answer(1, 8, jute.OpClose, 0)
		w.Ended(1)
		if got, want := w.Counts(), (Counts{Sessions: 1, Requests: 22, Events: 1, Unknown: 6}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}), `
0s s0 kind=1 timeout=4s
0s s0 op=1 /a- 5B flags=0 v=0 ttl=0s code=0
0s s0 op=1 /a- /a-0000000001 5B flags=3 v=0 ttl=0s code=0
0s s0 op=1 /a- 5B flags=4 v=0 ttl=0s code=0
0s s0 op=1 /a- /a-0000000002 5B flags=10 v=0 ttl=1m0s code=0
0s s0 op=12 0B flags=0 v=0 ttl=0s code=1
0s s0 op=2 /a 0B flags=0 v=3 ttl=0s code=-101
0s s0 op=3 /a 9B flags=32 v=-1 ttl=0s code=0
0s s0 op=4 /a 0B flags=0 v=2 ttl=0s code=0
0s s0 op=7 /a 77B flags=16 v=0 ttl=0s code=0
0s s0 op=7 /a 0B flags=0 v=0 ttl=0s code=-101
0s s0 op=8 /a 0B flags=16 v=0 ttl=0s code=0
0s s0 op=9 /a 0B flags=0 v=0 ttl=0s code=0
0s s0 op=9 /a 0B flags=0 v=0 ttl=0s code=0
0s s0 op=10 /a 0B flags=0 v=0 ttl=0s code=0
0s s0 op=11 /a 0B flags=0 v=0 ttl=0s code=0
0s s0 op=12 0B flags=0 v=0 ttl=0s code=17
0s s0 op=12 0B flags=0 v=0 ttl=0s code=13
0s s0 op=12 0B flags=0 v=0 ttl=0s code=2
0s s0 op=12 0B flags=0 v=0 ttl=0s code=2
0s s0 kind=6 /a 0B flags=0 v=0 ttl=0s code=3
0s s0 op=6 0B flags=0 v=0 ttl=0s code=0 [op=5 /a 0B flags=0 v=4 ttl=0s code=0] [op=1 /s- /s-0000000009 3B flags=2 v=0 ttl=0s code=0] [op=3 /a 8B flags=0 v=5 ttl=0s code=0] [op=2 /b 0B flags=32 v=-1 ttl=0s code=0]
0s s0 op=6 0B flags=0 v=0 ttl=0s code=-110 [op=5 /a 0B flags=0 v=4 ttl=0s code=0] [op=1 /s- 3B flags=2 v=0 ttl=0s code=-110] [op=3 /a 8B flags=0 v=5 ttl=0s code=-2] [op=2 /b 0B flags=32 v=-1 ttl=0s code=-2]
0s s0 op=12 0B flags=0 v=0 ttl=0s code=14
0s s0 kind=3`)
}

// Events are in the order of their times, whenever their replies come; what got none says so.
func TestOrderAndSessions(t *testing.T) {
	get := append(text("/a"), 0)
	equal(t, recorded(t, func(w *wire) {
		w.open(1, 0, 10)
		w.open(2, 20, 20) // there was one before
		w.send(1, 1, jute.OpGetData, get)
		time.Sleep(time.Second)
		w.send(2, 1, jute.OpGetData, get)
		w.answer(2, 1, jute.OpGetData, 0, data(3))
		w.send(2, 2, jute.OpGetData, get)
		time.Sleep(time.Second)
		w.answer(1, 1, jute.OpGetData, 0, data(1))
		w.answer(1, 99, jute.OpGetData, 0) // of nothing
		w.Ended(2)                         // it comes back in time
		time.Sleep(3 * time.Second)
		w.open(3, 20, 20)
		w.Ended(3) // it comes back late, but not too late: servers may give it longer
		time.Sleep(6 * time.Second)
		w.open(4, 20, 20)
		w.Ended(4) // and at last not at all: expired after its timeout
		w.Ended(1)
		time.Sleep(3 * time.Second)
		w.open(5, 10, 0) // expired, as the servers say, whatever the timeout is
		time.Sleep(10 * time.Second)
		w.open(6, 20, 20) // it was another one's, then
		w.open(7, 30, 0)  // never seen
		w.Ended(7)
		w.Frame(8, proxy.Frame{On: proxy.Request, Op: jute.OpConnect}, nil)
		w.Ended(8)
		w.Ended(9)
		if c := w.Counts(); c.Sessions != 3 || c.Expired != 2 || c.Unanswered != 1 {
			t.Errorf("%+v", c)
		}
	}), `
0s s0 kind=1 timeout=4s
0s s1 kind=2 timeout=4s
0s s0 op=7 /a 1B flags=0 v=0 ttl=0s code=0 took=2s
1s s1 op=7 /a 3B flags=0 v=0 ttl=0s code=0
1s s1 op=7 /a 0B flags=0 v=0 ttl=0s code=1
14s s0 kind=4
15s s1 kind=4
24s s2 kind=2 timeout=4s`)
}

// A request that gets no reply keeps a bounded number of others waiting.
func TestARequestWithoutAReplyHoldsBackNotTooMany(t *testing.T) {
	lines := recorded(t, func(w *wire) {
		w.open(1, 0, 1)
		w.send(1, 1, jute.OpSync, text("/slow"))
		for range mostWaiting + 10*atOnce {
			w.ask(jute.OpSync, 0, text("/a"))
		}
		synctest.Wait()
		w.mu.Lock()
		held := len(w.queue)
		w.mu.Unlock()
		if held > mostWaiting+atOnce {
			t.Errorf("%d events are held", held)
		}
		w.answer(1, 1, jute.OpSync, 0)
		if c := w.Counts(); c.Late != 1 {
			t.Errorf("%+v", c)
		}
	})
	if len(lines) != mostWaiting+10*atOnce+2 || !strings.Contains(lines[1], "/slow 0B flags=0 v=0 ttl=0s code=1") {
		t.Errorf("%d lines, of which the second is %s", len(lines), lines[1])
	}
}

// full is a disk that is full after some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(&full{100}, Config{Salt: "salt"})
		if err != nil {
			t.Fatal(err)
		}
		w := &wire{Recorder: r}
		w.open(1, 0, 1)
		for i := range 100_000 {
			w.ask(jute.OpSync, 0, text(fmt.Sprintf("/%d", i*i)))
		}
		time.Sleep(2 * flushed)
		<-r.Failed()
		w.ask(jute.OpSync, 0, text("/a")) // does not wait for anybody
		w.Ended(1)
		if err := r.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Close() = %v", err)
		}
	})
	if _, err := New(&full{3}, Config{}); err == nil {
		t.Error("New on a full disk")
	}
}

func TestNamesAreHashed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		w.Recorder, _ = New(&w.out, Config{Salt: "salt"})
		w.open(1, 0, 1)
		w.ask(jute.OpMulti, 0, slices.Concat(header(jute.OpCreate, false), text("/secret-"), data(3), world, number(2), header(jute.OpError, true)), header(jute.OpCreate, false), text("/secret-0000000001"))
		w.Frame(1, proxy.Frame{On: proxy.Notification, Path: "/secret-", Event: 3}, nil)
		w.Close()
		lines := strings.Join(w.lines(t), "\n")
		if name := trace.NewNames("salt").Path("/secret-"); strings.Contains(lines, "secret") || strings.Count(lines, name) != 3 || !strings.Contains(lines, name+"0000000001") {
			t.Errorf("recorded\n%s", lines)
		}
	})
}

// Whatever clients and servers send, the trace can be read.
func FuzzFrames(f *testing.F) {
	f.Add(int32(jute.OpCreate), slices.Concat(text("/a"), data(5), world, number(3)), text("/a0000000001"))
	f.Add(int32(jute.OpMulti), slices.Concat(header(jute.OpCheck, false), text("/a"), number(4), header(jute.OpError, true)), append(header(jute.OpError, false), number(-101)...))
	f.Add(int32(jute.OpGetData), append(text("/a"), 1), number(-1))
	f.Fuzz(func(t *testing.T, op int32, request, reply []byte) {
		w := &wire{}
		var err error
		if w.Recorder, err = New(&w.out, Config{}); err != nil {
			t.Fatal(err)
		}
		w.open(1, 0, 1)
		for _, o := range []jute.Op{jute.Op(op), jute.OpCreate, jute.OpCreateTTL, jute.OpMulti, jute.OpSetACL, jute.OpGetData} {
			w.send(1, 1, o, request)
			w.answer(1, 1, o, 0, reply)
		}
		w.Ended(1)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if lines := w.lines(t); len(lines) < 5 {
			t.Errorf("%d events", len(lines))
		}
	})
}

// BenchmarkRequest is a read of a znode and its reply.
func BenchmarkRequest(b *testing.B) {
	r, err := New(io.Discard, Config{Salt: "salt"})
	if err != nil {
		b.Fatal(err)
	}
	w := &wire{Recorder: r}
	w.open(1, 0, 1)
	requests := make([][]byte, 1000)
	for i := range requests {
		requests[i] = slices.Concat(number(7), number(int32(jute.OpGetData)), text(fmt.Sprintf("/app/locks/name-%010d", i)), []byte{1})
	}
	reply := slices.Concat(number(7), make([]byte, 12), data(100), stat)
	for i := 0; b.Loop(); i++ {
		w.Frame(1, proxy.Frame{On: proxy.Request, Op: jute.OpGetData, Xid: 7, Session: 1}, requests[i%1000])
		w.Frame(1, proxy.Frame{On: proxy.Reply, Op: jute.OpGetData, Xid: 7, Session: 1}, reply)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
