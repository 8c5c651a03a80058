package wire

import (
	"errors"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// What the caller says stays, and what he does not say is filled in.
func TestACompleteConfig(t *testing.T) {
	dialer, transport := (&net.Dialer{}).DialContext, &Transport{}
	given := Config{Servers: []string{"a:1"}, Timeout: time.Second, MaxRequest: 1000, MaxReply: 2000, Dialer: dialer, Transport: transport}
	got, err := given.complete()
	if err != nil || got.Timeout != time.Second || got.MaxRequest != 1000 || got.MaxReply != 2000 || got.Transport != transport ||
		reflect.ValueOf(got.Dialer).Pointer() != reflect.ValueOf(dialer).Pointer() {
		t.Errorf("complete() = %+v, %v, want what is given", got, err)
	}
	got, err = Config{Servers: []string{"a"}}.complete()
	if err != nil || got.Timeout != defaultTimeout || got.MaxRequest != defaultMaxRequest || got.MaxReply != defaultMaxReply || got.Dialer == nil ||
		got.Transport != shared || got.Servers[0] != "a:"+defaultPort {
		t.Errorf("complete() = %+v, %v, want the defaults", got, err)
	}
	for _, wrong := range []Config{
		{}, {Servers: []string{"a:1"}, Timeout: -1}, {Servers: []string{"a:1"}, MaxRequest: -1}, {Servers: []string{"a:1"}, MaxReply: -1},
		{Servers: []string{":1"}}, {Servers: []string{"a/b:1"}}, {Servers: []string{"a:1"}, Chroot: "a"}, {Servers: []string{"a:1"}, Chroot: "/a/"},
		{Servers: []string{"a:1"}, Chroot: "/a//b"},
	} {
		if _, err := wrong.complete(); err == nil {
			t.Errorf("complete() of %+v: no error", wrong)
		}
	}
}

// greetingOf is a connect response.
func greetingOf(timeout int32, id int64, rest ...byte) []byte {
	b := jute.AppendInt32(jute.AppendInt32(nil, 0), timeout)
	b = jute.AppendInt32(jute.AppendInt32(b, int32(id>>32)), int32(id))
	return append(jute.AppendInt32(b, 0), rest...)
}

func TestWhatAConnectResponseSays(t *testing.T) {
	for _, c := range []struct {
		sentence string
		answer   []byte
		again    bool
		want     error // nil: fine
		any      bool  // any error
	}{
		{"a session", greetingOf(1, 7), false, nil, false},
		{"a session of a read-only server", greetingOf(1, 7, 1), false, nil, false},
		{"the session is over", greetingOf(0, 0), true, zk.ErrSessionExpired, false},
		{"no new session: no time", greetingOf(0, 7), false, nil, true},
		{"no new session: no id", greetingOf(4000, 0), false, nil, true},
		{"cut short", greetingOf(4000, 7)[:12], false, jute.ErrProtocol, false},
		{"an error in the header of a reply", append(make([]byte, 12), 0xff, 0xff, 0xff, 0x8d), false, nil, true},
	} {
		g, err := parseGreeting(c.answer, c.again)
		switch {
		case c.any && err == nil, !c.any && !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", c.sentence, err, c.want)
		case err == nil && (g.Session != 7 || g.Timeout != time.Millisecond || g.ReadOnly != (len(c.answer) == len(greetingOf(1, 7))+1)):
			t.Errorf("%s: %+v", c.sentence, g)
		}
	}
}

// results of a multi: each is a header and a body.
func multiHeader(op jute.Op, done byte) []byte {
	return jute.AppendInt32(append(jute.AppendInt32(nil, int32(op)), done), 0)
}

func TestTheResultsOfAMulti(t *testing.T) {
	failing := func(code int32) []byte { return jute.AppendInt32(multiHeader(jute.OpError, 0), code) }
	end := multiHeader(jute.OpError, 1)
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	deleted := multiHeader(jute.OpDelete, 0)
	for _, c := range []struct {
		sentence string
		body     []byte
		n        int
		failed   int
		bad      bool
	}{
		{"two deletes", join(deleted, deleted, end), 2, -1, false},
		{"the first of two failed", join(failing(-101), failing(-2), end), 2, 0, false},
		{"the second failed", join(failing(0), failing(-110), failing(-2), end), 3, 1, false},
		{"two failed, and the first is why", join(failing(-101), failing(-110), end), 2, 0, false},
		{"all were rolled back, and none says why", join(failing(-2), failing(-2), end), 2, -1, false},
		{"one too many", join(deleted, deleted, end), 1, -1, true},
		{"one too few", join(deleted, end), 2, -1, true},
		{"cut short in a header", join(deleted, deleted[:7]), 2, -1, true},
		{"cut short in the last body", join(deleted, multiHeader(jute.OpSetData, 0), []byte{1, 2, 3}), 2, -1, true},
		{"cut short in the last body of too few", join(multiHeader(jute.OpSetData, 0), []byte{1, 2, 3}), 1, -1, true},
	} {
		res, failed, err := parseMulti(c.body, c.n)
		if (err != nil) != c.bad || err == nil && (failed != c.failed || len(res) != c.n) {
			t.Errorf("%s: %d results, %d failed, %v; want %d, %d, an error: %v", c.sentence, len(res), failed, err, c.n, c.failed, c.bad)
		}
	}
}

func TestAStatOfAReply(t *testing.T) {
	short := jute.Decoder{B: make([]byte, jute.StatLength-1)}
	st := zk.Stat{Version: 3}
	if takeStat(&short, &st); !short.Bad || st.Version != 3 {
		t.Errorf("a stat that is cut short: bad %v, %+v", short.Bad, st)
	}
	whole := jute.Decoder{B: append(make([]byte, jute.StatLength-1), 9)}
	if takeStat(&whole, &st); whole.Bad || st.Pzxid != 9 {
		t.Errorf("a whole stat: bad %v, %+v", whole.Bad, st)
	}
}
