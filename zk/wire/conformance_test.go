package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
	"github.com/zkbench/zkbench/zk/zktest"
)

var servers ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// words enables all four-letter words, from which tests learn how many watches a server holds.
func words(cfg *local.Config) {
	cfg.Tick = 500 * time.Millisecond
	cfg.Extra = map[string]string{"4lw.commands.whitelist": "*"}
}

func TestConformance(t *testing.T) {
	e := ensembletest.Start(t, 1, words)
	conform(t, e.Addresses(), zk.PowersOf(e.Describe().Version), nil, nil)
}

// Pollers cannot read TLS connections, so this run of the suite covers stream connections too.
func TestConformanceOverTLSAndSASL(t *testing.T) {
	near := ensembletest.Start(t, 1, words, func(cfg *local.Config) { cfg.Secure = ensemble.SecureSASL })
	files := near.Credentials()
	text, err := os.ReadFile(files.Auth)
	if err != nil {
		t.Fatal(err)
	}
	user, password, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(text)), "sasl "), ":")
	who := &wire.SASL{User: user, Password: password}
	conform(t, near.Addresses(), zk.PowersOf(near.Describe().Version), who, near.Dial)
	costOfASession(t, wire.Config{Servers: near.Addresses(), SASL: who, Dialer: near.Dial})

	stranger, err := wire.Dial(limited(t), wire.Config{Servers: near.Addresses(), Dialer: near.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, _, err := stranger.Get(limited(t), "/"); !errors.Is(err, zk.ErrAuthRequired) {
		t.Errorf("Get of a session without SASL = %v, want ErrAuthRequired", err)
	}
	_, err = wire.Dial(limited(t), wire.Config{Servers: near.Addresses(), Dialer: near.Dial, SASL: &wire.SASL{User: user, Password: "no" + password}})
	if !errors.Is(err, zk.ErrAuthFailed) || strings.Contains(err.Error(), password) {
		t.Errorf("Dial with a wrong password = %v, want ErrAuthFailed without the password", err)
	}
	s := dial(t, wire.Config{Servers: near.Addresses(), SASL: who, Dialer: near.Dial})
	all, err := s.WhoAmI(limited(t))
	if err != nil || !slices.Contains(all, zk.Identity{Scheme: "sasl", ID: user}) {
		t.Errorf("WhoAmI() = %v, %v, want sasl:%s", all, err, user)
	}
	if err := s.Expire(limited(t)); err != nil {
		t.Errorf("Expire: %v", err)
	}
	if <-s.Done(); !errors.Is(s.Err(), zk.ErrSessionExpired) {
		t.Errorf("after Expire, Err() = %v, want ErrSessionExpired", s.Err())
	}
}

// costOfASession checks that an idle session over TLS takes little heap and stack in this process.
func costOfASession(t *testing.T, cfg wire.Config) {
	const n, most = 64, 40 << 10
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := memory()
	for seed := range uint64(n) {
		cfg.Seed = seed
		s := dial(t, cfg)
		if _, _, err := s.Get(limited(t), "/"); err != nil {
			t.Fatal(err)
		}
	}
	if each := (memory() - before) / n; each > most {
		t.Errorf("an idle session over TLS takes %d bytes, want at most %d", each, most)
	} else {
		t.Logf("an idle session over TLS takes %d bytes", each)
	}
}

func TestConformanceOnThreeServers(t *testing.T) {
	e := ensembletest.Start(t, 3, words)
	conform(t, e.Addresses(), zk.PowersOf(e.Describe().Version), nil, nil)
}

// The suite on the servers of each version, alone and as an ensemble. Those of 3.9 must send the zxid of each event.
func TestConformanceOfVersions(t *testing.T) {
	tier.Long(t, "starts servers of three versions; TestAClientLearnsThatServersAreOld")
	for _, version := range ensembletest.Versions() {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d", version, n), func(t *testing.T) {
				e := ensembletest.Start(t, n, words, ensembletest.OfVersion(t, version))
				if got := e.Powers(t.Context()); got != zk.PowersOf(version) {
					t.Errorf("Powers() = %+v, want those of %s", got, version)
				}
				conform(t, e.Addresses(), zk.PowersOf(version), nil, nil)
			})
		}
	}
}

// plain dials connections that a poller cannot read, like those of TLS.
func plain(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{c}, nil
}

// conform runs the suite with each session behind its own proxies.
func conform(t *testing.T, addresses []string, knows zk.Powers, who *wire.SASL, dialer ensemble.Dialer) {
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), zktest.WaitLimit)
		defer cancel()
		var ps []*proxy
		var near []string
		for _, a := range addresses {
			p := newProxy(t, a)
			ps, near = append(ps, p), append(near, p.address())
		}
		seed++
		s, err := wire.Dial(ctx, wire.Config{Servers: near, Timeout: cfg.Timeout, Seed: seed, SASL: who, Dialer: dialer})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		behind[s] = ps
		mu.Unlock()
		return &proxied{s, ps}
	}
	below := func(s zk.Session) zk.Session { return s.(*proxied).Client }
	powers := zktest.Powers{
		Persistent: knows.Has(zk.PowerAddWatch),
		Create2:    true, // the czxid, also from a server without create2
		Servers:    knows,
		EventZxids: knows.Has(zk.PowerEventZxids),
		Expire: func(s zk.Session) {
			each(below(s), (*proxy).block) // or the client would reclaim the session
			if who == nil {
				claim(t, addresses[0], below(s).(*wire.Client))
			} else if err := claimProved(t, addresses[0], below(s).(*wire.Client)); err != nil {
				t.Error(err)
			}
			each(below(s), (*proxy).unblock)
		},
		Disconnect: func(s zk.Session) { each(below(s), (*proxy).block) },
		Reconnect:  func(s zk.Session) { each(below(s), (*proxy).unblock) },
	}
	if knows.Has(zk.PowerRemoveWatches) {
		powers.ServerWatches = func(string) int { return watchCount(t, addresses, dialer) }
	}
	zktest.Conformance(t, dial, powers)
}

// proxied closes the proxies with the session, so that the suite can count goroutines.
type proxied struct {
	*wire.Client
	proxies []*proxy
}

func (p *proxied) Close() error {
	err := p.Client.Close()
	for _, x := range p.proxies {
		x.close()
	}
	return err
}

// claim ends a session by taking it over on a second connection and closing it there.
func claim(t *testing.T, address string, session *wire.Client) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := jute.Connect{Timeout: 10 * time.Second, Session: session.ID(), Password: session.Secret()}.Request()
	bye := jute.BeginRequest(nil, jute.OpClose)
	jute.Seal(bye, 1)
	b = append(b, bye...)
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, c)
}

// claimProved is claim for a server that requires credentials. It connects to the server itself, not to a proxy.
func claimProved(t *testing.T, address string, session *wire.Client) error {
	return session.ExpireAt(limited(t), address)
}

// watchCount returns how many watches the servers hold, according to mntr.
func watchCount(t *testing.T, addresses []string, dialer ensemble.Dialer) int {
	n := 0
	for _, a := range addresses {
		for line := range strings.Lines(word(t, a, "mntr", dialer)) {
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

// word returns a server's answer to a four-letter word.
func word(t *testing.T, address, word string, dialer ensemble.Dialer) string {
	t.Helper()
	if dialer == nil {
		dialer = new(net.Dialer).DialContext
	}
	c, err := dialer(t.Context(), "tcp", address)
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
