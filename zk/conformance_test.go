package zk_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

var servers ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// words lets tests ask servers for their watches.
func words(cfg *ensemble.LocalConfig) {
	cfg.Tick = 500 * time.Millisecond
	cfg.Extra = map[string]string{"4lw.commands.whitelist": "*"}
}

func TestConformance(t *testing.T) {
	local := ensembletest.Start(t, 1, words)
	t.Run("poller", func(t *testing.T) { conform(t, local.Addresses(), nil) })
	t.Run("stream", func(t *testing.T) { conform(t, local.Addresses(), plain) })
}

func TestConformanceOnThreeServers(t *testing.T) {
	conform(t, ensembletest.Start(t, 3, words).Addresses(), nil)
}

// plain dials connections that a poller cannot read, as TLS ones are.
func plain(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{c}, nil
}

// conform runs the suite with every session behind proxies of its own.
func conform(t *testing.T, addresses []string, dialer func(context.Context, string, string) (net.Conn, error)) {
	var mu sync.Mutex
	behind := map[zk.Session][]*proxy{}
	each := func(s zk.Session, do func(*proxy)) {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range behind[s] {
			do(p)
		}
	}
	seed := uint64(0)
	dial := func(t *testing.T, cfg zktest.DialConfig) zk.Session {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), zktest.Patience)
		defer cancel()
		var ps []*proxy
		var near []string
		for _, a := range addresses {
			p := newProxy(t, a)
			ps, near = append(ps, p), append(near, p.address())
		}
		seed++
		s, err := zk.Dial(ctx, zk.Config{Servers: near, Timeout: cfg.Timeout, Seed: seed, Dialer: dialer})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		behind[s] = ps
		mu.Unlock()
		return &proxied{s, ps}
	}
	below := func(s zk.Session) zk.Session { return s.(*proxied).Client }
	zktest.Conformance(t, dial, zktest.Powers{
		Persistent: true,
		Create2:    true,
		Expire: func(s zk.Session) {
			each(below(s), (*proxy).block) // or the session would be claimed back
			claim(t, addresses[0], below(s).(*zk.Client))
			each(below(s), (*proxy).unblock)
		},
		Disconnect:    func(s zk.Session) { each(below(s), (*proxy).block) },
		Reconnect:     func(s zk.Session) { each(below(s), (*proxy).unblock) },
		ServerWatches: func(string) int { return watchCount(t, addresses) },
	})
}

// proxied closes the proxies after the session, so that the suite can count goroutines.
type proxied struct {
	*zk.Client
	proxies []*proxy
}

func (p *proxied) Close() error {
	err := p.Client.Close()
	for _, x := range p.proxies {
		x.close()
	}
	return err
}

// claim ends a session by claiming it on a second connection and closing it there.
func claim(t *testing.T, address string, session *zk.Client) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	secret := session.Secret()
	b := make([]byte, 4+28, 64)
	binary.BigEndian.PutUint32(b, uint32(28+len(secret)))
	binary.BigEndian.PutUint32(b[16:], 10000)
	binary.BigEndian.PutUint64(b[20:], uint64(session.ID()))
	binary.BigEndian.PutUint32(b[28:], uint32(len(secret)))
	b = append(b, secret...)
	b = binary.BigEndian.AppendUint32(b, 8)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, 0xfffffff5) // closeSession
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, c)
}

// watchCount is how many watches the servers hold, from their mntr.
func watchCount(t *testing.T, addresses []string) int {
	n := 0
	for _, a := range addresses {
		for line := range strings.Lines(word(t, a, "mntr")) {
			if value, ok := strings.CutPrefix(line, "zk_watch_count\t"); ok {
				held, err := strconv.Atoi(strings.TrimSpace(value))
				if err != nil {
					t.Error(err)
				}
				n += held
			}
		}
	}
	return n
}

func word(t *testing.T, address, word string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	fmt.Fprint(c, word)
	text, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
