package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// root creates a znode for this test alone.
func root(t *testing.T, s zk.Session) string {
	t.Helper()
	c, err := s.Create(limited(t), "/"+strings.ReplaceAll(t.Name(), "/", "-")+"-", nil, zk.PersistentSequential)
	if err != nil {
		t.Fatal(err)
	}
	return c.Path
}

// addresses returns those of a real server that all tests share. A test calls it first, instead of clean.
func addresses(t *testing.T) []string {
	t.Helper()
	near := servers.Get(t, 1).Addresses()
	clean(t)
	return near
}

func TestChroot(t *testing.T) {
	near := addresses(t)
	whole := dial(t, wire.Config{Servers: near})
	ctx, dir := limited(t), root(t, whole)
	s := dial(t, wire.Config{Servers: near, Chroot: dir})
	w, err := s.AddWatch(ctx, "/", true)
	if err != nil {
		t.Fatal(err)
	}
	_, _, once, err := s.ChildrenW(ctx, "/")
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Create(ctx, "/a-", nil, zk.PersistentSequential)
	if err != nil || made.Path != "/a-0000000000" {
		t.Errorf("Create gives %q, %v", made.Path, err)
	}
	res, err := s.Multi(ctx, zk.CreateOp("/b", nil, zk.Persistent), zk.SetOp("/b", []byte("x"), 0))
	if err != nil || res[0].Path != "/b" {
		t.Errorf("Multi gives %v, %v", res, err)
	}
	names, _, err := whole.Children(ctx, dir)
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"a-0000000000", "b"}) {
		t.Errorf("children of the chroot: %q, %v", names, err)
	}
	if e := wait(t, once); e.Path != "/" || e.Type != zk.EventChildrenChanged {
		t.Errorf("event is %v of %q", e.Type, e.Path)
	}
	e, err := w.Next(ctx)
	if errors.Is(e.Err, zk.ErrWatchLost) { // a one-shot watch at the same path causes a gap
		e, err = w.Next(ctx)
	}
	if err != nil || e.Path != "/a-0000000000" || e.Type != zk.EventCreated {
		t.Errorf("event is %v of %q, %v", e.Type, e.Path, err)
	}
}

func TestDigest(t *testing.T) {
	near := addresses(t)
	mine := []wire.ACL{{Perms: wire.PermAll, Scheme: "auth"}}
	s := dial(t, wire.Config{Servers: near, ACL: mine, Auth: []wire.Auth{{Scheme: "digest", Credential: []byte("ada:secret")}}})
	other := dial(t, wire.Config{Servers: near})
	ctx, dir := limited(t), root(t, s)
	if _, _, err := other.Get(ctx, dir); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("Get without the credential = %v, want ErrNoAuth", err)
	}
	acl, st, err := s.GetACL(ctx, dir)
	if err != nil || len(acl) != 1 || acl[0].Scheme != "digest" || !strings.HasPrefix(acl[0].ID, "ada:") || acl[0].Perms != wire.PermAll {
		t.Errorf("GetACL gives %v, %v", acl, err)
	}
	open := []wire.ACL{{Perms: wire.PermRead, Scheme: "world", ID: "anyone"}, {Perms: wire.PermAll, Scheme: "auth"}}
	if st, err = s.SetACL(ctx, dir, open, st.Aversion); err != nil || st.Aversion != 1 {
		t.Errorf("SetACL gives version %d, %v", st.Aversion, err)
	}
	if _, err = s.SetACL(ctx, dir, open, 0); !errors.Is(err, zk.ErrBadVersion) {
		t.Errorf("SetACL of an old version: %v", err)
	}
	if _, err = s.SetACL(ctx, dir, nil, zk.AnyVersion); !errors.Is(err, zk.ErrInvalidACL) {
		t.Errorf("SetACL of nothing: %v", err)
	}
	if _, _, err := other.Get(ctx, dir); err != nil {
		t.Errorf("Get without the credential after SetACL = %v, want nil", err)
	}
	if err := s.Delete(ctx, dir, zk.AnyVersion); err != nil {
		t.Error(err)
	}
}

func TestUnknownSchemeOfCredentials(t *testing.T) {
	near := addresses(t)
	s, err := wire.Dial(limited(t), wire.Config{Servers: near, Auth: []wire.Auth{{Scheme: "nonsense", Credential: []byte("x")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	<-s.Done()
	if _, _, err := s.Get(limited(t), "/"); !errors.Is(err, zk.ErrAuthFailed) || !errors.Is(s.Err(), zk.ErrAuthFailed) {
		t.Errorf("errors are %v and %v, want ErrAuthFailed", err, s.Err())
	}
}

func TestContainers(t *testing.T) {
	near := addresses(t)
	s := dial(t, wire.Config{Servers: near})
	ctx, dir := limited(t), root(t, s)
	if made, err := s.Create(ctx, dir+"/box", nil, zk.Container); err != nil || made.Czxid == 0 {
		t.Errorf("Create of a container gives %v, %v", made, err)
	}
	if res, err := s.Multi(ctx, zk.CreateOp(dir+"/box2", nil, zk.Container)); err != nil || res[0].Stat.Czxid == 0 {
		t.Errorf("Multi of a container gives %v, %v", res, err)
	}
	if err := s.Sync(ctx, "/"); err != nil {
		t.Error(err)
	}
}

func TestLargePackets(t *testing.T) {
	near := addresses(t)
	for name, cfg := range map[string]wire.Config{"poller": {}, "stream": {Dialer: plain}} {
		t.Run(name, func(t *testing.T) {
			cfg.Servers = near
			s := dial(t, cfg)
			ctx, dir := limited(t), root(t, s)
			data := make([]byte, 900<<10)
			rand.Read(data)
			if _, err := s.Create(ctx, dir+"/big", data, zk.Persistent); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if got, st, err := s.Get(ctx, dir+"/big"); err != nil || !slices.Equal(got, data) || int(st.DataLength) != len(data) {
						t.Errorf("Get gives %d bytes, %v", len(got), err)
					}
				})
			}
			wg.Wait()
			if _, err := s.Set(ctx, dir+"/big", make([]byte, 1<<20), 0); !errors.Is(err, zk.ErrBadArguments) {
				t.Errorf("a request that is too large: %v, want ErrBadArguments", err)
			}
			var ops []zk.Op
			want := map[string]bool{}
			for i := range 3000 {
				name := fmt.Sprintf("child-%0200d", i)
				want[name] = true
				ops = append(ops, zk.CreateOp(dir+"/"+name, nil, zk.Persistent))
				if len(ops) == 1000 {
					if _, err := s.Multi(ctx, ops...); err != nil {
						t.Fatal(err)
					}
					ops = nil
				}
			}
			names, st, err := s.Children(ctx, dir)
			for _, n := range names {
				delete(want, n)
			}
			if err != nil || len(names) != 3001 || len(want) != 0 || st.NumChildren != 3001 {
				t.Errorf("Children gives %d names, %d missing, %v", len(names), len(want), err)
			}
			for some := range slices.Chunk(names, 1000) { // whatever inspects the servers in later tests reads everything that is left
				var gone []zk.Op
				for _, n := range some {
					gone = append(gone, zk.DeleteOp(dir+"/"+n, zk.AnyVersion))
				}
				if _, err := s.Multi(ctx, gone...); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestTLS puts a proxy that terminates TLS in front of a server without it.
func TestTLS(t *testing.T) {
	near := addresses(t)
	cert, roots := certificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	p := newProxyOn(l, near[0])
	t.Cleanup(p.close)
	s := dial(t, wire.Config{Servers: []string{p.address()}, TLS: &tls.Config{RootCAs: roots}})
	ctx, dir := limited(t), root(t, s)
	for range 3 {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, _, err := s.Get(ctx, dir); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		p.cut()
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := wire.Dial(short, wire.Config{Servers: []string{p.address()}, TLS: &tls.Config{}}); err == nil {
		t.Error("Dial accepted a certificate of an unknown authority")
	}
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
