package proxy

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// bench is a proxy, a client behind it and a client that talks to the server directly.
type bench struct {
	*testing.T
	p            *Proxy
	c, direct    *client
	path, server string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, server: servers.Get(t, 1).Addresses()[0]}
	base := runtime.NumGoroutine()
	p, err := Start(t.Context(), Config{Upstreams: []string{b.server}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		p.Close()
		for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > base; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("%d goroutines after Close, %d before Start", runtime.NumGoroutine(), base)
			}
		}
	})
	b.p = p
	b.c, b.direct = open(t, p.Addresses()[0], jute.Connect{}), open(t, b.server, jute.Connect{})
	b.path = "/" + rand.Text()
	b.direct.create(b.path)
	return b
}

func (b *bench) injected(f *Fault, n int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	if err := f.Wait(ctx, n); err != nil {
		b.Fatal(err)
	}
}

func TestEverythingPasses(t *testing.T) {
	b := newBench(t)
	large := strings.Repeat("0123456789", 90_000)
	b.c.set(b.path, large)
	_, got := b.c.reply(b.c.send(jute.OpGetData, b.path, false))
	if data := string((&jute.Decoder{B: got}).Buffer()); data != large {
		t.Errorf("read %d bytes, want the %d that were written", len(data), len(large))
	}
	b.c.reply(b.c.send(jute.OpPing))

	want := Session{ID: b.c.Session, Timeout: b.c.Timeout, Server: 1, Connected: true}
	if s := b.p.Sessions(); len(s) != 1 || s[0] != want {
		t.Errorf("Sessions() = %+v, want %+v", s, want)
	}
	b.c.reply(b.c.send(jute.OpClose))
	if s := b.p.Sessions(); len(s) != 0 {
		t.Errorf("after the close, Sessions() = %+v, want none", s)
	}
}

// A client that dies closes nothing: its session is forgotten once it must have expired, but a connected one is not.
func TestSessionsThatCrashedAreForgotten(t *testing.T) {
	b := newBench(t)
	var dead *client
	for range 3 {
		dead = open(t, b.p.Addresses()[0], jute.Connect{Timeout: 4 * time.Second})
		dead.conn.Close()
	}
	for deadline := time.Now().Add(2 * time.Minute); len(b.p.Sessions()) > 1; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Sessions() = %+v, want the connected one alone", b.p.Sessions())
		}
		b.c.reply(b.c.send(jute.OpPing))
	}
	if s := b.p.Sessions(); len(s) != 1 || s[0].ID != b.c.Session {
		t.Errorf("Sessions() = %+v, want the connected one", s)
	}
	if err := b.p.Expire(t.Context(), dead.Session); !errors.Is(err, ErrUnknownSession) {
		t.Errorf("Expire() of one that is forgotten = %v, want ErrUnknownSession", err)
	}
}

func TestFourLetterWordsPass(t *testing.T) {
	b := newBench(t)
	conn, err := net.Dial("tcp", b.p.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "srvr")
	answer, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil || !strings.Contains(string(answer), "Zookeeper version") {
		t.Errorf("srvr = %q, %v", answer, err)
	}
}

func TestCutBeforeTheReply(t *testing.T) {
	b := newBench(t)
	f := b.p.Add(Rule{On: Reply, Ops: []jute.Op{jute.OpCreate}, Path: regexp.MustCompile("/second$"), Times: 1, Do: Cut})
	b.c.create(b.path + "/first")
	b.c.sendCreate(b.path + "/second")
	if err := b.c.ended(); err != io.EOF {
		t.Errorf("the connection ends with %v, want EOF", err)
	}
	b.injected(f, 1)
	if !b.direct.exists(b.path + "/second") {
		t.Error("the server has not carried out the create")
	}
	again := open(t, b.p.Addresses()[0], b.c.Connect)
	if again.Session != b.c.Session {
		t.Errorf("resumed session 0x%x, want 0x%x", again.Session, b.c.Session)
	}
	again.create(b.path + "/second/second")
	if n := f.Injected(); n != 1 {
		t.Errorf("injected %d times, want 1", n)
	}
}

// Whoever has noticed that a connection was cut gets a count that contains the cut.
func TestCutsAreCountedBeforeTheyShow(t *testing.T) {
	b := newBench(t)
	f := b.p.Add(Rule{On: Request, Do: Cut})
	for i := range 300 {
		b.c.send(jute.OpSync, b.path)
		b.c.ended()
		if n := f.Injected(); n != i+1 {
			t.Fatalf("injected %d times, want %d", n, i+1)
		}
		b.c = open(t, b.p.Addresses()[0], b.c.Connect)
	}
}

func TestCutBeforeTheRequest(t *testing.T) {
	b := newBench(t)
	f := b.p.Add(Rule{On: Request, Ops: []jute.Op{jute.OpCreate}, Skip: 2, Do: Cut})
	b.c.create(b.path + "/1")
	b.c.create(b.path + "/2")
	b.c.sendCreate(b.path + "/3")
	b.c.ended()
	b.injected(f, 1)
	if b.direct.exists(b.path + "/3") {
		t.Error("the server has carried out the create")
	}
}

func TestRepliesBeforeTheCutArrive(t *testing.T) {
	b := newBench(t)
	b.p.SetLatency(Downstream, Latency{Constant: 20 * time.Millisecond})
	b.p.Add(Rule{On: Reply, Ops: []jute.Op{jute.OpCreate}, Do: Cut})
	sync := b.c.send(jute.OpSync, b.path)
	b.c.sendCreate(b.path + "/x")
	b.c.reply(sync)
	b.c.ended()
}

func TestReset(t *testing.T) {
	b := newBench(t)
	f := b.p.Add(Rule{On: Request, Ops: []jute.Op{jute.OpDelete}, Do: Reset})
	b.c.send(jute.OpDelete, b.path, -1)
	if err := b.c.ended(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ends with %v, want %v", err, syscall.ECONNRESET)
	}
	b.injected(f, 1)
	if !b.direct.exists(b.path) {
		t.Error("the server has carried out the delete")
	}
	other := open(t, b.p.Addresses()[0], jute.Connect{})
	if n := b.p.Reset(other.Session); n != 1 {
		t.Errorf("Reset = %d, want 1", n)
	}
	if err := other.ended(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ends with %v, want %v", err, syscall.ECONNRESET)
	}
}

// The proxy forwards what it cannot read, whatever it looks like, and can reset it.
func TestEncryptedConnectionsPassUnread(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go io.Copy(conn, conn)
		}
	}()
	p, err := Start(t.Context(), Config{Upstreams: []string{l.Addr().String()}, Encrypted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	for _, text := range []string{"\x16", "ruok", "\xff\xff\xff\xff", strings.Repeat("\x00x", 20_000)} {
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		back := make([]byte, len(text))
		if _, err := io.ReadFull(conn, back); err != nil || string(back) != text {
			t.Fatalf("of %d bytes came back others, %v", len(text), err)
		}
	}
	if n := p.Reset(0); n != 1 {
		t.Errorf("Reset = %d, want 1", n)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ends with %v, want %v", err, syscall.ECONNRESET)
	}
}

func TestExpire(t *testing.T) {
	b := newBench(t)
	b.c.reply(b.c.send(jute.OpCreate, b.path+"/e", "", 1, 31, "world", "anyone", 1))
	if err := b.p.Expire(t.Context(), b.c.Session); err != nil {
		t.Fatal(err)
	}
	b.c.ended()
	if b.direct.exists(b.path + "/e") {
		t.Error("the ephemeral znode is still there")
	}
	if again := open(t, b.p.Addresses()[0], b.c.Connect); again.Session != 0 {
		t.Errorf("resumed session 0x%x, want an expired one", again.Session)
	}
	if err := b.p.Expire(t.Context(), b.c.Session); !errors.Is(err, ErrUnknownSession) {
		t.Errorf("Expire again = %v, want %v", err, ErrUnknownSession)
	}
}

func TestKeepAway(t *testing.T) {
	b := newBench(t)
	away := b.p.KeepAway(b.c.Session)
	b.c.ended()
	if _, err := tryOpen(t, b.p.Addresses()[0], b.c.Connect); err == nil {
		t.Error("the session was resumed")
	}
	b.injected(away, 1)
	open(t, b.p.Addresses()[0], jute.Connect{})
	away.Remove()
	if again := open(t, b.p.Addresses()[0], b.c.Connect); again.Session != b.c.Session {
		t.Errorf("resumed session 0x%x, want 0x%x", again.Session, b.c.Session)
	}
}

func TestClosedServer(t *testing.T) {
	p, err := Start(t.Context(), Config{Upstreams: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := tryOpen(t, p.Addresses()[0], jute.Connect{}); err == nil {
		t.Error("opened a session without a server")
	}
}

// An observer sees the requests and replies of its session, with the paths of the znodes, until it is stopped.
func TestObserve(t *testing.T) {
	b := newBench(t)
	var seen []Frame // this client waits for each reply, so the observer's calls are apart
	stop := b.p.Observe(b.c.Session, func(f Frame) { seen = append(seen, f) })
	b.c.create(b.path + "/observed")
	stop()
	b.c.create(b.path + "/unobserved")
	if len(seen) != 2 || seen[0].On != Request || seen[1].On != Reply || seen[1].Created != b.path+"/observed" {
		t.Errorf("the observer saw %+v, want the request and the reply of one create", seen)
	}
}
