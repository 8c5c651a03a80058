package gozk_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestConformance(t *testing.T) {
	conform(t, startProxy(t, servers.Get(t, 1)))
}

// The suite on the servers of each version.
func TestConformanceOfVersions(t *testing.T) {
	tier.Long(t, "starts servers of three versions; TestConformance")
	for _, version := range ensembletest.Versions() {
		t.Run(version, func(t *testing.T) {
			conform(t, startProxy(t, ensembletest.Start(t, 1, ensembletest.OfVersion(t, version))))
		})
	}
}

func conform(t *testing.T, net *network) {
	zktest.Conformance(t, func(t *testing.T, cfg zktest.DialConfig) zk.Session {
		return net.dial(t, cfg.Timeout)
	}, zktest.Powers{
		Servers:    zk.PowersOf(net.version),
		Expire:     func(s zk.Session) { net.expire(t, s) },
		Disconnect: func(s zk.Session) { net.disconnect(s) },
		Reconnect:  net.reconnect,
	})
}

// The suite over TLS, on servers that refuse every request without a digest credential. The library supports no other scheme, and TLS only
// through a custom dialer.
func TestConformanceOverTLSAndDigest(t *testing.T) {
	near := ensembletest.Start(t, 1, func(cfg *local.Config) {
		cfg.Secure, cfg.Tick = ensemble.SecureDigest, 500*time.Millisecond
	})
	text, err := os.ReadFile(near.Credentials().Auth)
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.TrimPrefix(strings.TrimSpace(string(text)), "digest ")
	dial := func(t *testing.T, timeout time.Duration, d *gate, digests ...string) (*gozk.Session, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), zktest.WaitLimit)
		defer cancel()
		cfg := gozk.Config{Servers: near.Addresses(), Timeout: timeout, Seed: 1, Connect: d.dial}
		for _, one := range digests {
			cfg.Digests = append(cfg.Digests, []byte(one))
		}
		return gozk.Dial(ctx, cfg)
	}
	zktest.Conformance(t, func(t *testing.T, cfg zktest.DialConfig) zk.Session {
		d := &gate{open: near.Dial, through: map[net.Conn]bool{}}
		s, err := dial(t, cfg.Timeout, d, digest)
		if err != nil {
			t.Fatal(err)
		}
		return &gated{s, d}
	}, zktest.Powers{
		Expire: func(s zk.Session) {
			ctx, cancel := context.WithTimeout(t.Context(), zktest.WaitLimit)
			defer cancel()
			if err := s.(*gated).Expire(ctx); err != nil {
				t.Error(err)
			}
		},
		Disconnect: func(s zk.Session) { s.(*gated).set(true) },
		Reconnect:  func(s zk.Session) { s.(*gated).set(false) },
	})

	stranger, err := dial(t, 6*time.Second, &gate{open: near.Dial, through: map[net.Conn]bool{}})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, _, err := stranger.Get(t.Context(), "/"); !errors.Is(err, zk.ErrAuthRequired) {
		t.Errorf("Get of a session without a credential = %v, want ErrAuthRequired", err)
	}
}

// When the context of Dial ends, its error says why no connection could be opened.
func TestDialReportsWhyItCouldNotConnect(t *testing.T) {
	refusal := errors.New("wants a certificate")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tries := 0
	_, err := gozk.Dial(ctx, gozk.Config{Servers: []string{"127.0.0.1:1", "127.0.0.1:2"}, Connect: func(context.Context, string, string) (net.Conn, error) {
		if tries++; tries == 2 { // the first refusal has been noted
			cancel()
		}
		return nil, refusal
	}})
	if !errors.Is(err, refusal) || !errors.Is(err, context.Canceled) {
		t.Errorf("Dial() = %v, want the end of its context and %v", err, refusal)
	}
}

// gate makes the connections of one session and can cut them off: a proxy cannot tell the encrypted connections of several sessions apart.
type gate struct {
	open ensemble.Dialer

	mu      sync.Mutex
	closed  bool
	through map[net.Conn]bool
}

// gated is a session with its gate.
type gated struct {
	*gozk.Session
	*gate
}

func (d *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		c.Close()
		return nil, errors.New("the gate is closed")
	}
	d.through[c] = true
	return c, nil
}

// set closes the gate, which breaks all connections and refuses new ones, or opens it again.
func (d *gate) set(closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = closed
	for c := range d.through {
		if closed {
			c.Close()
			delete(d.through, c)
		}
	}
}

// network is the proxy between the sessions of a test and one real server.
type network struct {
	*proxy.Proxy
	version string // of the server
	mu      sync.Mutex
	away    map[int64]*proxy.Fault
}

func startProxy(t *testing.T, e *local.Local) *network {
	t.Helper()
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: e.Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return &network{Proxy: p, version: e.Describe().Version, away: map[int64]*proxy.Fault{}}
}

// dial opens a session through the proxy. It works in a test's cleanup too, after the test's context has ended.
func (n *network) dial(t *testing.T, timeout time.Duration) *gozk.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), zktest.WaitLimit)
	defer cancel()
	s, err := gozk.Dial(ctx, gozk.Config{Servers: n.Addresses(), Timeout: timeout, Seed: 1, NoContainers: !zk.PowersOf(n.version).Has(zk.PowerContainers)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (n *network) expire(t *testing.T, s zk.Session) {
	t.Helper()
	if err := n.Expire(t.Context(), s.ID()); err != nil {
		t.Error(err)
	}
}

// disconnect cuts the session off. The fault is injected again at every attempt to reconnect.
func (n *network) disconnect(s zk.Session) *proxy.Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	away := n.KeepAway(s.ID())
	n.away[s.ID()] = away
	return away
}

func (n *network) reconnect(s zk.Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away[s.ID()].Remove()
	delete(n.away, s.ID())
}
