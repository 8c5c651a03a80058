package wire

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

func TestCheckPath(t *testing.T) {
	for _, c := range []struct {
		path string
		ok   bool
	}{
		{"/", true}, {"/a", true}, {"/a/b", true}, {"/a.b/..c/...", true}, {"/é/日本", true},
		{"", false}, {"a", false}, {"//", false}, {"/a/", false}, {"/a//b", false}, {"/.", false}, {"/a/..", false}, {"/./a", false},
		{"/a\x00", false}, {"/\x1f", false}, {"/\x7f", false}, {"/a\u0085", false}, {"/\ue000", false}, {"/\U0001F600", false},
		{"/\xff", false}, {"/é/", false}, {"/é//a", false},
	} {
		if err := zk.CheckPath(c.path); (err == nil) != c.ok {
			t.Errorf("checkPath(%q) = %v, want ok %v", c.path, err, c.ok)
		}
	}
	if err := zk.CheckCreate("/a/", zk.EphemeralSequential); err != nil {
		t.Errorf("a sequential create may end in a slash: %v", err)
	}
	if err := zk.CheckCreate("/a/", zk.Ephemeral); err == nil {
		t.Error("a create may not end in a slash")
	}
	if err := zk.CheckCreate("/a", zk.Mode(9)); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

func TestPutPath(t *testing.T) {
	for _, c := range []struct{ root, path, want string }{
		{"", "/a", "/a"}, {"", "/", "/"}, {"/app", "/", "/app"}, {"/app", "/a", "/app/a"},
	} {
		d := jute.Decoder{B: putPath(nil, c.root, c.path)}
		if got := d.String(); got != c.want || d.Bad {
			t.Errorf("putPath(%q, %q) writes %q, want %q", c.root, c.path, got, c.want)
		}
	}
}

func TestSurplus(t *testing.T) {
	all := holdData | holdChild | holdStream
	for _, c := range []struct {
		why           string
		armed, wanted hold
		remove        []int32
		left          hold
	}{
		{"nothing armed", 0, holdData, nil, 0},
		{"all wanted", holdData | holdChild, holdData | holdChild, nil, holdData | holdChild},
		{"a data watch that nobody wants", holdData | holdChild, holdChild, []int32{removeData}, holdChild},
		{"a child watch that nobody wants", holdData | holdChild, holdData, []int32{removeChild}, holdData},
		{"both", holdData | holdChild, 0, []int32{removeData, removeChild}, 0},
		{"one-shot watches under a stream stay, for a removal would take the stream too", all, holdStream, nil, all},
		{"a stream over wanted one-shot watches stays for the same reason", all, holdData, nil, all},
		{"a stream that is the last", holdStream, 0, []int32{removeAny}, 0},
		{"a stream and what was left under it", all, 0, []int32{removeAny}, 0},
	} {
		if remove, left := surplus(c.armed, c.wanted); !slices.Equal(remove, c.remove) || left != c.left {
			t.Errorf("%s: surplus(%b, %b) = %v, %b, want %v, %b", c.why, c.armed, c.wanted, remove, left, c.remove, c.left)
		}
	}
}

func TestPauses(t *testing.T) {
	for _, c := range []struct {
		fails, servers int
		timeout        time.Duration
		want           time.Duration
	}{
		{0, 3, time.Minute, 0}, {1, 3, time.Minute, 0}, {2, 3, time.Minute, 0}, {3, 3, time.Minute, 50 * time.Millisecond}, {4, 3, time.Minute, 0},
		{6, 3, time.Minute, 100 * time.Millisecond}, {12, 3, time.Minute, 400 * time.Millisecond}, {1, 1, time.Minute, 50 * time.Millisecond},
		{90, 3, time.Minute, 2 * time.Second}, {90, 3, 6 * time.Second, time.Second}, {1000, 1, time.Minute, 2 * time.Second},
	} {
		if got := pause(c.fails, c.servers, c.timeout); got != c.want {
			t.Errorf("pause(%d, %d, %v) = %v, want %v", c.fails, c.servers, c.timeout, got, c.want)
		}
	}
	for timeout, want := range map[time.Duration]time.Duration{3 * time.Second: time.Second, 6 * time.Second: 2 * time.Second, time.Minute: 2 * time.Second} {
		if got := closeWait(timeout); got != want {
			t.Errorf("closeWait(%v) = %v, want %v", timeout, got, want)
		}
	}
	for _, c := range []struct {
		timeout time.Duration
		servers int
		want    time.Duration
	}{
		{30 * time.Second, 3, 20 * time.Second / 3}, {time.Hour, 3, 10 * time.Second}, {time.Second, 7, 250 * time.Millisecond},
	} {
		if got := patience(c.timeout, c.servers); got != c.want {
			t.Errorf("patience(%v, %d) = %v, want %v", c.timeout, c.servers, got, c.want)
		}
	}
}

func TestParseGreeting(t *testing.T) {
	answer := func(timeout int32, id int64, tail ...byte) []byte {
		b := jute.AppendInt64(jute.AppendInt32(jute.AppendInt32(nil, 0), timeout), id)
		return append(jute.AppendBuffer(b, []byte("secret")), tail...)
	}
	for _, c := range []struct {
		why    string
		answer []byte
		again  bool
		err    error
		read   bool
	}{
		{"a session", answer(4000, 7, 0), false, nil, false},
		{"a session on a read-only server", answer(4000, 7, 1), false, nil, true},
		{"a session on a server that does not say", answer(4000, 7), true, nil, false},
		{"the session is over", answer(0, 0, 0), true, zk.ErrSessionExpired, false},
		{"a read-only server without local sessions", jute.AppendInt32(make([]byte, 12), -119), false, zk.ErrReadOnly, false},
		{"an answer that breaks off", answer(4000, 7)[:20], false, jute.ErrProtocol, false},
	} {
		g, err := parseGreeting(c.answer, c.again)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error is %v, want %v", c.why, err, c.err)
		}
		if err == nil && (g.Session != 7 || g.Timeout != 4*time.Second || string(g.Password) != "secret" || g.ReadOnly != c.read) {
			t.Errorf("%s: greeting is %+v", c.why, g)
		}
	}
	if _, err := parseGreeting(answer(0, 0, 0), false); err == nil || errors.Is(err, zk.ErrSessionExpired) {
		t.Errorf("a refused new session: error is %v, want one that is not expiry", err)
	}
}

func TestParseMulti(t *testing.T) {
	var stat [jute.StatLength]byte
	stat[35] = 5 // the version
	result := func(op jute.Op, body ...byte) []byte { return append(putMultiHeader(nil, op, false), body...) }
	failure := func(code int32) []byte { return result(jute.OpError, jute.AppendInt32(nil, code)...) }
	last := putMultiHeader(nil, jute.OpError, true)
	for _, c := range []struct {
		why    string
		body   []byte
		n      int
		failed int
		ok     bool
	}{
		{"all four kinds", slices.Concat(result(jute.OpCreate, jute.AppendString(nil, "/a")...), result(jute.OpSetData, stat[:]...), result(jute.OpDelete), result(jute.OpCheck), last), 4, -1, true},
		{"a create with its Stat", slices.Concat(result(jute.OpCreate2, append(jute.AppendString(nil, "/a"), stat[:]...)...), last), 1, -1, true},
		{"the second refused", slices.Concat(failure(0), failure(-101), failure(-2), last), 3, 1, true},
		{"fewer results than operations", slices.Concat(result(jute.OpDelete), last), 2, 0, false},
		{"more results than operations", slices.Concat(result(jute.OpDelete), result(jute.OpDelete), last), 1, 0, false},
		{"no end", result(jute.OpDelete), 1, 0, false},
		{"an unknown result", slices.Concat(result(77), last), 1, 0, false},
		{"nothing", nil, 0, 0, false},
	} {
		res, failed, err := parseMulti(c.body, c.n)
		if (err == nil) != c.ok || c.ok && (failed != c.failed || len(res) != c.n) {
			t.Errorf("%s: parseMulti gives %d results, %d failed, %v; want %d, %d, ok %v", c.why, len(res), failed, err, c.n, c.failed, c.ok)
		}
	}
}

func TestConfig(t *testing.T) {
	good, err := Config{Servers: []string{"a", "b:1", "[::1]:3", "[::1]"}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a:2181", "b:1", "[::1]:3", "[::1]:2181"}; !slices.Equal(good.Servers, want) {
		t.Errorf("servers are %q, want %q", good.Servers, want)
	}
	for why, cfg := range map[string]Config{
		"no servers":            {},
		"no host":               {Servers: []string{":1"}},
		"a chroot in the list":  {Servers: []string{"a:1/app"}},
		"a relative chroot":     {Servers: []string{"a"}, Chroot: "app"},
		"a chroot with a slash": {Servers: []string{"a"}, Chroot: "/app/"},
		"a negative timeout":    {Servers: []string{"a"}, Timeout: -1},
	} {
		if _, err := cfg.complete(); err == nil {
			t.Errorf("%s: no error", why)
		}
	}
}

func TestQueue(t *testing.T) {
	var q queue
	a, b, c := new(call), new(call), new(call)
	for _, k := range []*call{a, b, c} {
		q.push(k)
	}
	q.remove(b)
	if b.in != nil || q.pop() != a || q.pop() != c || q.pop() != nil || q.head != nil || q.tail != nil {
		t.Error("the queue has lost its order")
	}
}
