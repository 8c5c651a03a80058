package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

func TestXids(t *testing.T) {
	u := unplug(t)
	for _, want := range []int32{1, 2, math.MaxInt32, 1} {
		if want == math.MaxInt32 {
			u.xid = want - 1
		}
		if u.request(u.get()); u.asked().xid != want {
			t.Errorf("the next request does not have xid %d", want)
		}
	}
}

// A request of exactly the maximum size is sent; a larger one is refused by the client.
func TestTheLargestRequest(t *testing.T) {
	u := unplug(t)
	u.limit = len(newBare(jute.OpDelete, zk.KindDelete, shapeNone).req) + 4 + len("/a") + 4
	result := make(chan error)
	go func() { result <- u.Delete(t.Context(), "/a", 0) }()
	<-u.out
	u.feed(reply(1, 1, 0))
	if err := <-result; err != nil {
		t.Errorf("a request of %d bytes: %v", u.limit, err)
	}
	if err := u.Delete(t.Context(), "/aa", 0); !errors.Is(err, zk.ErrBadArguments) || len(u.out) > 0 {
		t.Errorf("a request of %d bytes: %v, want ErrBadArguments", u.limit+1, err)
	}
}

// A session that is closing or has ended sends no requests.
func TestRequestsAfterTheEnd(t *testing.T) {
	u := unplug(t)
	u.shut = true
	if err := u.Sync(t.Context(), "/a"); !errors.Is(err, zk.ErrClosed) || len(u.out) > 0 {
		t.Errorf("while it is closing: %v, want ErrClosed", err)
	}
	if u.request(newBare(jute.OpClose, zk.KindClose, shapeNone)); u.asked().op != jute.OpClose {
		t.Error("the closeSession was not sent")
	}
	u.end(zk.ErrSessionExpired)
	if err := u.Sync(t.Context(), "/a"); !errors.Is(err, zk.ErrSessionExpired) {
		t.Errorf("after it has expired: %v, want ErrSessionExpired", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := unplug(t).Sync(ended, "/a"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v, want Canceled", err)
	}
}

// When the session ends, all pending requests fail, and writes that were sent are in doubt.
func TestPendingRequestsAtTheEnd(t *testing.T) {
	u := unplug(t)
	failed := make(chan error, 1)
	write, read := u.request(newBare(jute.OpDelete, zk.KindDelete, shapeNone)), u.request(u.get())
	u.post(func() []*call {
		return []*call{own(jute.OpAddWatch, zk.KindAddWatch, func(err error) { failed <- err })}
	})
	u.end(zk.ErrSessionExpired)
	for _, c := range []struct {
		name    string
		err     error
		inDoubt bool
	}{{"a write", write.err, true}, {"a read", read.err, false}, {"a request of the client itself", <-failed, false}} {
		if !errors.Is(c.err, zk.ErrSessionExpired) || errors.Is(c.err, zk.ErrMaybeApplied) != c.inDoubt {
			t.Errorf("%s: %v, want it in doubt: %v", c.name, c.err, c.inDoubt)
		}
	}
}

// Stopping the last watch of a kind at a path removes it from the server.
func TestStoppedWatchesAreRemoved(t *testing.T) {
	u := unplug(t)
	watch := func() *zk.Watch {
		k := u.get()
		w := u.arming(k, armData)
		u.request(k)
		if err := u.feed(dataReply(u.asked().xid, nil)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	first, second := watch(), watch()
	if first.Stop(); len(u.out) > 0 {
		t.Error("the server's watch was removed while another one needs it")
	}
	second.Stop()
	r := u.asked()
	if want := jute.AppendInt32(jute.AppendString(nil, "/a"), removeData); r.op != jute.OpRemoveWatches || !slices.Equal(r.body, want) || len(u.sites.at) != 0 {
		t.Errorf("request %d %q, want the removal of the watch", r.op, r.body)
	}
	u.feed(reply(r.xid, 1, 0))
	u.unwatch(first, "/unknown")
	third := watch()
	u.conn.broken(io.EOF)
	if third.Stop(); len(u.sites.at) != 0 || len(u.out) > 0 {
		t.Error("a watch stopped without a connection is kept, or a removal was sent")
	}
	u.plug()
	fourth := watch()
	u.writes = io.ErrClosedPipe
	if fourth.Stop(); u.Server() != "" || !errors.Is(u.Trouble(), io.ErrClosedPipe) {
		t.Errorf("after a failed write Server() = %q, Trouble() = %v, want none and ErrClosedPipe", u.Server(), u.Trouble())
	}
}

// After the write of one of its own requests has failed, the client does not write the next one.
func TestRequestsAfterAFailedWrite(t *testing.T) {
	u := unplug(t)
	u.writes = io.ErrClosedPipe
	u.post(func() []*call { return []*call{own(jute.OpPing, zk.KindPing, nil), own(jute.OpPing, zk.KindPing, nil)} })
	if len(u.out) != 1 {
		t.Errorf("%d requests were written, want the one that failed", len(u.out))
	}
}

// The encoding of the ACL of new znodes.
func TestACLs(t *testing.T) {
	for _, c := range []struct {
		acl  []ACL
		want string
	}{
		{nil, "\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone"},
		{[]ACL{{PermRead, "auth", ""}}, "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x04auth\x00\x00\x00\x00"},
	} {
		if got := (Config{ACL: c.acl}).encodedACL(); got != c.want {
			t.Errorf("the ACL %v is %q, want %q", c.acl, got, c.want)
		}
	}
}

func TestBecause(t *testing.T) {
	if err := because(context.Canceled, nil); err != context.Canceled {
		t.Errorf("without a reason: %v", err)
	}
	if err := because(context.Canceled, io.EOF); err.Error() != "context canceled (EOF)" || !errors.Is(err, io.EOF) || !errors.Is(err, context.Canceled) {
		t.Errorf("with a reason: %v", err)
	}
}

func TestHowManyPollers(t *testing.T) {
	for cpus, want := range map[int]int{1: 1, 2: 1, 8: 1, 9: 2, 16: 2, 17: 3} {
		if got := pollers(cpus); got != want {
			t.Errorf("pollers(%d) = %d, want %d", cpus, got, want)
		}
	}
}

// said is a log handler that keeps messages.
type said struct{ lines *[]string }

func (said) Enabled(context.Context, slog.Level) bool { return true }
func (s said) Handle(_ context.Context, r slog.Record) error {
	*s.lines = append(*s.lines, r.Message)
	return nil
}
func (s said) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s said) WithGroup(string) slog.Handler      { return s }

// When too many log lines wait, further ones are dropped and counted.
func TestDroppedLogLines(t *testing.T) {
	for more := range 3 {
		var lines []string
		j := &journal{to: slog.New(said{&lines}), running: true} // the test writes, not a goroutine
		c := Client{lines: j}
		for i := range mostLines + more {
			c.log(slog.LevelInfo, fmt.Sprint("line ", i))
		}
		j.write(7)
		last := lines[len(lines)-1]
		switch {
		case more == 0 && (len(lines) != mostLines || last != "line 63"):
			t.Errorf("%d lines, the last is %q", len(lines), last)
		case more > 0 && (len(lines) != mostLines+1 || !strings.HasSuffix(last, fmt.Sprintf(": %d lines are missing", more))):
			t.Errorf("%d lines, the last is %q; want %d missing", len(lines), last, more)
		case j.running:
			t.Error("the journal is still marked as running")
		}
	}
}
