package wire_test

import (
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// What a server answers to a write of one session shows all that are connected to it that it is well; an answer to a read does not, nor does another server.
func TestSinceWrite(t *testing.T) {
	transport := &wire.Transport{}
	server := func() string {
		return impersonate(t, func(_ int, c net.Conn) {
			if welcome(c, time.Minute) {
				serve(c)
			}
		}).address()
	}
	here, there := server(), server()
	refusing := impersonate(t, func(_ int, c net.Conn) { // as a read-only server does, which has no quorum
		if !welcome(c, time.Minute) {
			return
		}
		for r, ok := next(c); ok; r, ok = next(c) {
			answer(c, r.xid, -119)
		}
	}).address()
	session := func(address string) *wire.Client {
		return dial(t, wire.Config{Servers: []string{address}, Timeout: time.Minute, Transport: transport})
	}
	one, other, elsewhere := session(here), session(here), session(there)
	expect := func(after string, known, unknown []zk.Session) {
		t.Helper()
		for _, s := range known {
			if _, wrote := zk.SinceWrite(s); !wrote {
				t.Errorf("%s: no write of %s is known", after, zk.ServerOf(s))
			}
		}
		for _, s := range unknown {
			if ago, wrote := zk.SinceWrite(s); wrote {
				t.Errorf("%s: a write of %s is known, %v ago", after, zk.ServerOf(s), ago)
			}
		}
	}
	expect("connecting", nil, []zk.Session{one, other, elsewhere})
	if _, _, err := one.Get(limited(t), "/a"); err != nil {
		t.Fatal(err)
	}
	if err := one.Sync(limited(t), "/a"); err != nil {
		t.Fatal(err)
	}
	expect("reading", nil, []zk.Session{one, other, elsewhere})
	begun := time.Now()
	if err := one.Delete(limited(t), "/a", zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	expect("writing", []zk.Session{one, zk.Within(other, "/a")}, []zk.Session{elsewhere})
	time.Sleep(20 * time.Millisecond)
	if ago, _ := zk.SinceWrite(other); ago < 20*time.Millisecond || ago > time.Since(begun) {
		t.Errorf("the write was %v ago, want between 20 ms and %v", ago, time.Since(begun))
	}
	refused := session(refusing)
	if err := refused.Delete(limited(t), "/a", zk.AnyVersion); err == nil {
		t.Error("a refused delete has no error")
	}
	expect("being refused", nil, []zk.Session{refused})
	one.Close()
	expect("closing", []zk.Session{other}, []zk.Session{one, elsewhere})
}
