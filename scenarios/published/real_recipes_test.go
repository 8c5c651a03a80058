package published_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
	"github.com/zkbench/zkbench/zk"
)

// real is ZooKeeper's own recipes on real servers, behind a proxy: what the transcriptions zookeeper-writelock and zookeeper-leader-election-support show must
// also be true of them.
type real struct {
	*testing.T
	p     *proxy.Proxy
	open  func(ctx context.Context, addresses []string) (zk.Session, error)
	admin zk.Session
	dir   string
}

func newReal(t *testing.T) real {
	t.Helper()
	tier.Long(t, "a virtual machine of Java for each test; TestScenariosInMemory plays the reproductions")
	t.Parallel()
	ensembletest.Need(t, "libzookeeper-java:/usr/share/java/zookeeper-recipes-lock.jar", "libjackson2-databind-java:/usr/share/java/jackson-databind.jar",
		"default-jdk-headless:javac")
	r := real{T: t, open: engines["native"]}
	var err error
	if r.p, err = proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.p.Close() })
	if r.admin, err = r.open(t.Context(), r.p.Addresses()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.admin.Close() })
	r.dir = fmt.Sprintf("/real-%x", r.admin.ID())
	r.create(r.dir)
	return r
}

func (r real) create(path string) {
	r.Helper()
	if _, err := r.admin.Create(r.Context(), path, nil, zk.Persistent); err != nil {
		r.Fatal(err)
	}
}

func driverOf(program string) ([]string, error) {
	name, arguments, _ := strings.Cut(program, " ")
	return append([]string{"../../drivers/" + name + "/driver.sh"}, strings.Fields(arguments)...), nil
}

// process starts a driver of the recipes.
func (r real) process(arguments string) *drivers.Process {
	r.Helper()
	command, _ := driverOf("zookeeper-recipes " + arguments)
	p, err := drivers.Start(r.Context(), command)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { p.Close() })
	return p
}

// client opens a session of the driver, and a handle on the lock.
func (r real) client(p *drivers.Process) (*drivers.Session, recipes.Lock) {
	r.Helper()
	s, err := p.Open(r.Context(), r.p.Addresses(), 20*time.Second)
	if err != nil {
		r.Fatal(err)
	}
	return s, drivers.NewLock(s, r.dir, recipes.Options{})
}

// Every scenario that can be staged for a driver, with the recipes themselves.
func TestZooKeepersOwnRecipes(t *testing.T) {
	r := newReal(t)
	found, err := published.Run(t.Context(), published.Config{Servers: published.Proxied{Proxy: r.p, Open: r.open}, Dir: r.dir,
		Drivers: &published.Drivers{Proxy: r.p, Open: r.open, Find: driverOf},
		Config:  scenarios.Config{Variants: []string{published.RealLock, published.RealElection}, Parallel: 10}})
	if err != nil {
		t.Fatal(err)
	}
	judge(t, found)
}

// A number after the wrap of the counter is negative to the library, and comes before all others: the client with number 0 waits behind it.
func TestWriteLockAfterTheWrap(t *testing.T) {
	r := newReal(t)
	r.create(r.dir + "/x-1--2147483648")
	_, lock := r.client(r.process(""))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if g, err := lock.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire() = %+v, %v: it does not wait behind --2147483648", g, err)
	}
	if err := r.admin.Delete(t.Context(), r.dir+"/x-1--2147483648", zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Acquire(t.Context()); err != nil { // it did wait for that, and for nothing else
		t.Error(err)
	}
}

// Each reconnection of a waiter multiplies its watches, and the requests that the next one costs.
func TestWriteLockMultipliesItsWatches(t *testing.T) {
	r := newReal(t)
	p := r.process("")
	_, holder := r.client(p)
	s, waiter := r.client(p)
	if _, err := holder.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	var looks, pings atomic.Int64
	defer r.p.Observe(s.ID(), func(f proxy.Frame) {
		switch {
		case f.On == proxy.Reply && f.Op == jute.OpExists && strings.HasPrefix(f.Path, r.dir+"/x-"):
			looks.Add(1)
		case f.On == proxy.Reply && f.Op == jute.OpPing:
			pings.Add(1)
		}
	})()
	go waiter.Acquire(t.Context())
	// quiet waits until the client has nothing left to ask: only then, it pings.
	quiet := func() int64 {
		for n := pings.Load(); pings.Load() == n; {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatal("no ping")
			}
		}
		return looks.Load()
	}
	counts := []int64{quiet()}
	for range 4 {
		r.p.Cut(s.ID())
		counts = append(counts, quiet())
	}
	t.Logf("looks at the predecessor until the first and after each of four reconnections: %v", counts)
	if counts[0] != 1 {
		t.Errorf("%d looks without a reconnection, want 1", counts[0])
	}
	for i := 2; i < len(counts); i++ {
		if before, now := counts[i-1]-counts[i-2], counts[i]-counts[i-1]; now < 2*before {
			t.Errorf("reconnection %d caused %d looks, the one before it %d: they do not multiply any more", i, now, before)
		}
	}
}
