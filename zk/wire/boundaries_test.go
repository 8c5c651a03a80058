package wire

import (
	"errors"
	"net"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// Settings that are given are kept; the others get their defaults.
func TestCompleteConfig(t *testing.T) {
	dialer, transport := (&net.Dialer{}).DialContext, &Transport{}
	given := Config{Servers: []string{"a:1"}, Timeout: time.Second, MaxRequest: 1000, MaxReply: 2000, Dialer: dialer, Transport: transport}
	got, err := given.complete()
	if err != nil || got.Timeout != time.Second || got.MaxRequest != 1000 || got.MaxReply != 2000 || got.Transport != transport ||
		reflect.ValueOf(got.Dialer).Pointer() != reflect.ValueOf(dialer).Pointer() {
		t.Errorf("complete() = %+v, %v, want the given settings", got, err)
	}
	got, err = Config{Servers: []string{"a", "b:1", "[::1]:3", "[::1]"}}.complete()
	if err != nil || got.Timeout != defaultTimeout || got.MaxRequest != defaultMaxRequest || got.MaxReply != defaultMaxReply || got.Dialer == nil ||
		got.Transport != shared || !slices.Equal(got.Servers, []string{"a:2181", "b:1", "[::1]:3", "[::1]:2181"}) {
		t.Errorf("complete() = %+v, %v, want the defaults", got, err)
	}
	for _, wrong := range []Config{
		{}, {Servers: []string{"a:1/app"}}, {Servers: []string{"a:1"}, Timeout: -1}, {Servers: []string{"a:1"}, MaxRequest: -1}, {Servers: []string{"a:1"}, MaxReply: -1},
		{Servers: []string{":1"}}, {Servers: []string{"a/b:1"}}, {Servers: []string{"a:1"}, Chroot: "a"}, {Servers: []string{"a:1"}, Chroot: "/a/"},
		{Servers: []string{"a:1"}, Chroot: "/a//b"},
	} {
		if _, err := wrong.complete(); err == nil {
			t.Errorf("complete() of %+v: no error", wrong)
		}
	}
}

// greetingOf encodes a connect response.
func greetingOf(timeout int32, id int64, rest ...byte) []byte {
	b := jute.AppendInt32(jute.AppendInt32(nil, 0), timeout)
	b = jute.AppendInt32(jute.AppendInt32(b, int32(id>>32)), int32(id))
	return append(jute.AppendBuffer(b, []byte("secret")), rest...)
}

func TestParseGreeting(t *testing.T) {
	for _, c := range []struct {
		sentence string
		answer   []byte
		again    bool
		fails    bool
		want     error // nil with fails: any error but ErrSessionExpired
		readOnly bool
	}{
		{"a session", greetingOf(1, 7, 0), false, false, nil, false},
		{"a session of a read-only server", greetingOf(1, 7, 1), false, false, nil, true},
		{"a session of a server that does not say", greetingOf(1, 7), true, false, nil, false},
		{"the session has expired", greetingOf(0, 0, 0), true, true, zk.ErrSessionExpired, false},
		{"no new session", greetingOf(0, 0, 0), false, true, nil, false},
		{"no new session: timeout 0", greetingOf(0, 7), false, true, nil, false},
		{"no new session: id 0", greetingOf(4000, 0), false, true, nil, false},
		{"truncated in the id", greetingOf(4000, 7)[:12], false, true, jute.ErrProtocol, false},
		{"truncated in the password", greetingOf(4000, 7)[:20], false, true, jute.ErrProtocol, false},
		{"a read-only server without local sessions", jute.AppendInt32(make([]byte, 12), -119), false, true, zk.ErrReadOnly, false},
		{"another error in the header of a reply", jute.AppendInt32(make([]byte, 12), -115), false, true, nil, false},
	} {
		g, err := parseGreeting(c.answer, c.again)
		switch {
		case (err != nil) != c.fails || c.want != nil && !errors.Is(err, c.want) || c.want == nil && errors.Is(err, zk.ErrSessionExpired):
			t.Errorf("%s: %v, want %v, and an error: %v", c.sentence, err, c.want, c.fails)
		case err == nil && (g.Session != 7 || g.Timeout != time.Millisecond || string(g.Password) != "secret" || g.ReadOnly != c.readOnly):
			t.Errorf("%s: %+v", c.sentence, g)
		}
	}
}

// multiHeader encodes the header of one result of a multi.
func multiHeader(op jute.Op, done byte) []byte {
	return jute.AppendInt32(append(jute.AppendInt32(nil, int32(op)), done), 0)
}

func TestParseMulti(t *testing.T) {
	failed := func(code int32) []byte { return jute.AppendInt32(multiHeader(jute.OpError, 0), code) }
	path := func(op jute.Op) []byte { return append(multiHeader(op, 0), jute.AppendString(nil, "/a")...) }
	deleted, set, end := multiHeader(jute.OpDelete, 0), multiHeader(jute.OpSetData, 0), multiHeader(jute.OpError, 1)
	for _, c := range []struct {
		sentence string
		body     []byte
		n        int
		failed   int
		bad      bool
	}{
		{"two deletes", slices.Concat(deleted, deleted, end), 2, -1, false},
		{"four kinds", slices.Concat(path(jute.OpCreate), set, statOf(5), deleted, multiHeader(jute.OpCheck, 0), end), 4, -1, false},
		{"a create with its Stat", slices.Concat(path(jute.OpCreate2), statOf(5), end), 1, -1, false},
		{"the first of two failed", slices.Concat(failed(-101), failed(-2), end), 2, 0, false},
		{"the second failed", slices.Concat(failed(0), failed(-110), failed(-2), end), 3, 1, false},
		{"two failed: the first is reported", slices.Concat(failed(-101), failed(-110), end), 2, 0, false},
		{"all were rolled back, none gives a reason", slices.Concat(failed(-2), failed(-2), end), 2, -1, false},
		{"one too many", slices.Concat(deleted, deleted, end), 1, -1, true},
		{"one too few", slices.Concat(deleted, end), 2, -1, true},
		{"no end", deleted, 1, -1, true},
		{"an unknown result", slices.Concat(multiHeader(77, 0), end), 1, -1, true},
		{"nothing", nil, 0, -1, true},
		{"truncated in a header", slices.Concat(deleted, deleted[:7]), 2, -1, true},
		{"truncated in the last body", slices.Concat(deleted, set, []byte{1, 2, 3}), 2, -1, true},
		{"truncated in the last body of too few", slices.Concat(set, []byte{1, 2, 3}), 1, -1, true},
	} {
		res, failed, err := parseMulti(c.body, c.n)
		if (err != nil) != c.bad || err == nil && (failed != c.failed || len(res) != c.n) {
			t.Errorf("%s: %d results, %d failed, %v; want %d, %d, an error: %v", c.sentence, len(res), failed, err, c.n, c.failed, c.bad)
		}
	}
}

func TestTakeStat(t *testing.T) {
	short := jute.Decoder{B: make([]byte, jute.StatLength-1)}
	st := zk.Stat{Version: 3}
	if takeStat(&short, &st); !short.Bad || st.Version != 3 {
		t.Errorf("a truncated stat: bad %v, %+v", short.Bad, st)
	}
	whole := jute.Decoder{B: append(make([]byte, jute.StatLength-1), 9)}
	if takeStat(&whole, &st); whole.Bad || st.Pzxid != 9 {
		t.Errorf("a complete stat: bad %v, %+v", whole.Bad, st)
	}
}
