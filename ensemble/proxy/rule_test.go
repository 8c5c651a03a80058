package proxy

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
)

func TestMatches(t *testing.T) {
	create := Frame{On: Request, Server: 2, Session: 7, Op: jute.OpCreate, Path: "/locks/a"}
	created := Frame{On: Reply, Server: 2, Session: 7, Op: jute.OpCreate, Path: "/locks/a"}
	ping := Frame{On: Request, Server: 2, Session: 7, Op: jute.OpPing}
	connect := Frame{On: Request, Server: 2, Op: jute.OpConnect}
	event := Frame{On: Notification, Server: 2, Session: 7, Path: "/locks/a"}
	for _, c := range []struct {
		what  string
		rule  Rule
		frame Frame
		want  bool
	}{
		{"the zero rule is about requests", Rule{}, create, true},
		{"but not about replies", Rule{}, created, false},
		{"nor about pings", Rule{}, ping, false},
		{"nor about handshakes", Rule{}, connect, false},
		{"pings when asked for", Rule{Ops: []jute.Op{jute.OpPing}}, ping, true},
		{"handshakes when asked for", Rule{Ops: []jute.Op{jute.OpConnect}}, connect, true},
		{"the operation", Rule{Ops: []jute.Op{jute.OpDelete, jute.OpCreate}}, create, true},
		{"another operation", Rule{Ops: []jute.Op{jute.OpDelete}}, create, false},
		{"the reply of the operation", Rule{On: Reply, Ops: []jute.Op{jute.OpCreate}}, created, true},
		{"the path", Rule{Path: regexp.MustCompile("^/locks/")}, create, true},
		{"another path", Rule{Path: regexp.MustCompile("^/queue/")}, create, false},
		{"the server", Rule{Server: 2}, create, true},
		{"another server", Rule{Server: 1}, create, false},
		{"the session", Rule{Session: 7}, create, true},
		{"another session", Rule{Session: 8}, create, false},
		{"a notification by its path", Rule{On: Notification, Path: regexp.MustCompile("a$")}, event, true},
		{"a notification is no reply", Rule{On: Reply}, event, false},
		{"everything to the server", Rule{On: ToServer}, ping, true},
		{"nothing to the client", Rule{On: ToServer}, created, false},
		{"everything to the client", Rule{On: ToClient}, event, true},
	} {
		if got := c.rule.matches(c.frame); got != c.want {
			t.Errorf("%s: %+v matches %+v: %v, want %v", c.what, c.rule, c.frame, got, c.want)
		}
	}
}

func TestSkipAndTimes(t *testing.T) {
	for _, c := range []struct {
		skip, times int
		want        string
	}{
		{0, 0, "xxxxx"},
		{2, 0, "..xxx"},
		{0, 2, "xx..."},
		{1, 1, ".x..."},
	} {
		f := &Fault{rule: Rule{Skip: c.skip, Times: c.times}}
		var got []byte
		for range 5 {
			got = append(got, ".x"[map[bool]int{true: 1}[f.claim(Frame{Op: jute.OpCreate})]])
		}
		if string(got) != c.want {
			t.Errorf("Skip %d, Times %d takes %s, want %s", c.skip, c.times, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(jute.Connect{Session: 1}.Request()[4:])
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 14, 0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, '/'})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		if r := parseRequest(b); len(r.Path) > len(b) {
			t.Errorf("a path of %d bytes from %d", len(r.Path), len(b))
		}
		parseReply(b)
		if !bytes.Equal(b, before) {
			t.Error("the frame was changed")
		}
	})
}
