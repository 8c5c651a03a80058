package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"
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
		if err := checkPath(c.path); (err == nil) != c.ok {
			t.Errorf("checkPath(%q) = %v, want ok %v", c.path, err, c.ok)
		}
	}
	if err := checkCreate("/a/", EphemeralSequential); err != nil {
		t.Errorf("a sequential create may end in a slash: %v", err)
	}
	if err := checkCreate("/a/", Ephemeral); err == nil {
		t.Error("a create may not end in a slash")
	}
	if err := checkCreate("/a", Mode(9)); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

func TestPutPath(t *testing.T) {
	for _, c := range []struct{ root, path, want string }{
		{"", "/a", "/a"}, {"", "/", "/"}, {"/app", "/", "/app"}, {"/app", "/a", "/app/a"},
	} {
		d := decoder{b: putPath(nil, c.root, c.path)}
		if got := d.string(); got != c.want || d.bad {
			t.Errorf("putPath(%q, %q) writes %q, want %q", c.root, c.path, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	vector := func(names ...string) string {
		b := putInt32(nil, int32(len(names)))
		for _, n := range names {
			b = putString(b, n)
		}
		return string(b)
	}
	for _, c := range []struct {
		why  string
		body string
		want []string
		ok   bool
	}{
		{"three names", vector("a", "", "ccc"), []string{"a", "", "ccc"}, true},
		{"no names", vector(), nil, true},
		{"a null vector", "\xff\xff\xff\xff", nil, true},
		{"more than the vector", vector("a") + "rest", nil, false},
		{"a count that the body cannot hold", "\x7f\xff\xff\xff", nil, false},
		{"a negative count", "\xff\xff\xff\xfe", nil, false},
		{"a name longer than the body", "\x00\x00\x00\x01\x00\x00\x00\x09abc", nil, false},
		{"a name of negative length", "\x00\x00\x00\x01\xff\xff\xff\xff", nil, false},
		{"half a count", "\x00\x00", nil, false},
	} {
		got, err := names(c.body)
		if !slices.Equal(got, c.want) || (err == nil) != c.ok {
			t.Errorf("%s: names(%q) = %q, %v, want %q, ok %v", c.why, c.body, got, err, c.want, c.ok)
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
		rounds  int
		timeout time.Duration
		want    time.Duration
	}{
		{0, time.Minute, 50 * time.Millisecond}, {1, time.Minute, 100 * time.Millisecond}, {3, time.Minute, 400 * time.Millisecond},
		{30, time.Minute, 2 * time.Second}, {30, 6 * time.Second, time.Second},
	} {
		if got := pause(c.rounds, c.timeout); got != c.want {
			t.Errorf("pause(%d, %v) = %v, want %v", c.rounds, c.timeout, got, c.want)
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
		b := putInt64(putInt32(putInt32(nil, 0), timeout), id)
		return append(putBuffer(b, []byte("secret")), tail...)
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
		{"the session is over", answer(0, 0, 0), true, ErrSessionExpired, false},
		{"a read-only server without local sessions", putInt32(make([]byte, 12), -119), false, ErrReadOnly, false},
		{"an answer that breaks off", answer(4000, 7)[:20], false, errProtocol, false},
	} {
		g, err := parseGreeting(c.answer, c.again)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error is %v, want %v", c.why, err, c.err)
		}
		if err == nil && (g.id != 7 || g.timeout != 4*time.Second || string(g.password) != "secret" || g.readOnly != c.read) {
			t.Errorf("%s: greeting is %+v", c.why, g)
		}
	}
	if _, err := parseGreeting(answer(0, 0, 0), false); err == nil || errors.Is(err, ErrSessionExpired) {
		t.Errorf("a refused new session: error is %v, want one that is not expiry", err)
	}
}

func TestParseMulti(t *testing.T) {
	var stat [statLength]byte
	binary.BigEndian.PutUint32(stat[32:], 5)
	result := func(op opcode, body ...byte) []byte { return append(putMultiHeader(nil, op, false), body...) }
	failure := func(code int32) []byte { return result(opError, putInt32(nil, code)...) }
	last := putMultiHeader(nil, opError, true)
	for _, c := range []struct {
		why    string
		body   []byte
		n      int
		failed int
		ok     bool
	}{
		{"all four kinds", slices.Concat(result(opCreate, putString(nil, "/a")...), result(opSetData, stat[:]...), result(opDelete), result(opCheck), last), 4, -1, true},
		{"a create with its Stat", slices.Concat(result(opCreate2, append(putString(nil, "/a"), stat[:]...)...), last), 1, -1, true},
		{"the second refused", slices.Concat(failure(0), failure(-101), failure(-2), last), 3, 1, true},
		{"fewer results than operations", slices.Concat(result(opDelete), last), 2, 0, false},
		{"more results than operations", slices.Concat(result(opDelete), result(opDelete), last), 1, 0, false},
		{"no end", result(opDelete), 1, 0, false},
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

func TestSealWritesLengthAndXid(t *testing.T) {
	req := putInt32(beginRequest([]byte("old"), opGetData), 42)
	seal(req, 7)
	if want := []byte{0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 42}; !bytes.Equal(req, want) {
		t.Errorf("request is %v, want %v", req, want)
	}
}
