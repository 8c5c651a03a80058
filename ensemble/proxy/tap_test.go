package proxy

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
)

// tap notes what it is shown.
type tap struct {
	mu    sync.Mutex
	lines []string
	ended chan struct{}
}

func (p *tap) Frame(conn uint64, f Frame, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := map[Point]string{Request: "request", Reply: "reply", Notification: "event"}[f.On]
	p.lines = append(p.lines, fmt.Sprintf("%d %s %d: %d bytes of %d, %d of them x", conn, what, f.Op, len(body), f.Size, bytes.Count(body, []byte("x"))))
}

func (p *tap) Ended(conn uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, fmt.Sprintf("%d ended", conn))
	close(p.ended)
}

// A tap is shown every frame, before a fault takes it: requests as a whole, however long, and of long replies the start. What it is shown passes unchanged.
func TestATapIsShownEverything(t *testing.T) {
	seen := &tap{ended: make(chan struct{})}
	p, err := Start(t.Context(), Config{Upstreams: servers.Get(t, 1).Addresses(), Tap: seen})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := open(t, p.Addresses()[0], jute.Connect{})
	path, large := "/"+strings.ReplaceAll(rand.Text(), "x", "y"), strings.Repeat("x", 100_000)
	c.create(path)
	c.set(path, large)
	if _, got := c.reply(c.send(jute.OpGetData, path, false)); string((&jute.Decoder{B: got}).Buffer()) != large {
		t.Errorf("read %d bytes", len(got))
	}
	dropped := p.Add(Rule{On: Request, Ops: []jute.Op{jute.OpExists}, Times: 1, Do: Drop})
	c.send(jute.OpExists, path, false)
	if err := dropped.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	c.reply(c.send(jute.OpDelete, path, -1))
	c.conn.Close()
	<-seen.ended
	n := len(path)
	set := 8 + 4 + n + 4 + 100_000 + 4
	stat := jute.ReplyHeader + jute.StatLength
	get := stat + 4 + 100_000
	want := []string{
		fmt.Sprintf("1 request %d: 45 bytes of 45, 0 of them x", jute.OpConnect), fmt.Sprintf("1 reply %d: 37 bytes of 37, 0 of them x", jute.OpConnect),
		fmt.Sprintf("1 request 1: %d bytes of %[1]d, 0 of them x", 8+4+n+4+4+4+4+5+4+6+4), fmt.Sprintf("1 reply 1: %d bytes of %[1]d, 0 of them x", jute.ReplyHeader+4+n),
		fmt.Sprintf("1 request 5: %d bytes of %[1]d, 100000 of them x", set), fmt.Sprintf("1 reply 5: %d bytes of %[1]d, 0 of them x", stat),
		fmt.Sprintf("1 request 4: %d bytes of %[1]d, 0 of them x", 8+4+n+1), fmt.Sprintf("1 reply 4: %d bytes of %d, %d of them x", inspected, get, inspected-jute.ReplyHeader-4),
		fmt.Sprintf("1 request 3: %d bytes of %[1]d, 0 of them x", 8+4+n+1),
		fmt.Sprintf("1 request 2: %d bytes of %[1]d, 0 of them x", 8+4+n+4), fmt.Sprintf("1 reply 2: %d bytes of %[1]d, 0 of them x", jute.ReplyHeader),
		"1 ended",
	}
	// The bytes of a handshake's reply are the session's id and password, and those of a stat are times and zxids, which may be any.
	for i, line := range seen.lines {
		if strings.Contains(line, fmt.Sprintf("reply %d", jute.OpConnect)) || strings.Contains(line, fmt.Sprintf("of %d,", stat)) {
			seen.lines[i] = line[:strings.LastIndex(line, ", ")] + ", 0 of them x"
		}
	}
	if !slices.Equal(seen.lines, want) {
		t.Errorf("the tap was shown\n%s\n\nwant\n%s", strings.Join(seen.lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestListen(t *testing.T) {
	upstreams := []string{"127.0.0.1:1", "127.0.0.1:2"}
	p, err := Start(t.Context(), Config{Upstreams: upstreams, Listen: []string{"127.0.0.1:0", "127.0.0.2:0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if a := p.Addresses(); len(a) != 2 || !strings.HasPrefix(a[1], "127.0.0.2:") {
		t.Errorf("Addresses() = %q", a)
	}
	for _, listen := range [][]string{{"127.0.0.1:0"}, p.Addresses()} { // too few, and in use
		if other, err := Start(t.Context(), Config{Upstreams: upstreams, Listen: listen}); err == nil {
			other.Close()
			t.Errorf("Start with %q succeeded", listen)
		}
	}
}
