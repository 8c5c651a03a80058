package recipes_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	zkpublished "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
	"github.com/zkbench/zkbench/zk/wire"
)

var servers ensembletest.Shared

// fresh returns a directory that no test has used: with 'go test -count' the ensemble keeps what earlier rounds left.
func fresh() string { return fmt.Sprintf("/real-%d", used.Add(1)) }

var used atomic.Int64

// limit bounds waits for something that must happen, even on a busy machine.
const limit = 2 * time.Minute

// awaited receives from a channel within limit.
func awaited[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		t.Fatalf("%s: nothing in %v", what, limit)
	}
	return v
}

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// powers is what the servers can do: those of another version if ZOOKEEPER_HOME names it.
func powers(t *testing.T) zk.Powers {
	t.Helper()
	return servers.Get(t, 3).Powers(t.Context())
}

// engines open sessions on real servers.
var engines = map[string]func(t *testing.T, addresses []string) (zk.Session, error){
	"native": func(t *testing.T, addresses []string) (zk.Session, error) {
		return wire.Dial(t.Context(), wire.Config{Servers: addresses, Timeout: 10 * time.Second, Before35: !powers(t).Has(zk.PowerCreate2)})
	},
	"go-zookeeper": func(t *testing.T, addresses []string) (zk.Session, error) {
		return gozk.Dial(t.Context(), gozk.Config{Servers: addresses, Timeout: 10 * time.Second, NoContainers: !powers(t).Has(zk.PowerContainers)})
	},
}

func dialer(addresses []string, open func(*testing.T, []string) (zk.Session, error)) func(*testing.T) zk.Session {
	return func(t *testing.T) zk.Session {
		t.Helper()
		s, err := open(t, addresses)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

func TestLocksOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range append(lock.Variants(), zkpublished.Locks()[0]) {
			if v.Persistent && (engine == "go-zookeeper" || !powers(t).Has(zk.PowerAddWatch)) {
				continue // the library has no addWatch, or the servers
			}
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.LockOn(t, v, dialer(addresses, open), fresh()+"/"+engine+"-"+v.Name)
			})
		}
	}
}

// The library's own Lock and our locks share one queue, as the layouts promise: one holder at a time.
func TestOurLocksContendWithTheLibrarysOwn(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for _, v := range append(lock.Variants(), zkpublished.Locks()[0]) {
		if !v.FIFO || v.Persistent && !powers(t).Has(zk.PowerAddWatch) {
			continue // it does not queue, or not on these servers
		}
		t.Run(v.Name, func(t *testing.T) {
			path := fresh() + "/" + v.Name
			var holders, grants atomic.Int64
			hold := func() {
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders at once", n)
				}
				grants.Add(1)
				holders.Add(-1)
			}
			const contenders, rounds = 10, 5
			var all sync.WaitGroup
			dial := dialer(addresses, engines["native"])
			for range contenders {
				ours := v.New(dial(t), path, recipes.Options{})
				conn, _, err := lib.Connect(addresses, 10*time.Second, lib.WithLogInfo(false))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(conn.Close)
				theirs := lib.NewLock(conn, path, lib.WorldACL(lib.PermAll))
				all.Go(func() {
					for range rounds {
						if _, err := ours.Acquire(t.Context()); err != nil {
							t.Errorf("ours: %v", err)
							return
						}
						hold()
						if err := ours.Release(t.Context()); err != nil {
							t.Errorf("ours: %v", err)
						}
					}
				})
				all.Go(func() {
					for range rounds {
						if err := theirs.Lock(); err != nil {
							t.Errorf("theirs: %v", err)
							return
						}
						hold()
						if err := theirs.Unlock(); err != nil {
							t.Errorf("theirs: %v", err)
						}
					}
				})
			}
			all.Wait()
			if got, want := grants.Load(), int64(2*contenders*rounds); got != want {
				t.Errorf("%d grants, want %d", got, want)
			}
		})
	}
}

// Our znodes have names of the same form as the library's.
func TestTheLayoutIsTheLibrarys(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	conn, _, err := lib.Connect(addresses, 10*time.Second, lib.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	dir := fresh()
	if err := lib.NewLock(conn, dir+"/theirs", lib.WorldACL(lib.PermAll)).Lock(); err != nil {
		t.Fatal(err)
	}
	s := dialer(addresses, engines["native"])(t)
	theirs, _, err := s.Children(t.Context(), dir+"/theirs")
	if err != nil || len(theirs) != 1 {
		t.Fatalf("children %v, %v", theirs, err)
	}
	v, _ := recipes.Find(lock.Variants(), "predecessor")
	g, err := v.New(s, dir+"/ours", recipes.Options{}).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// everything but the guid
	shape := func(name string) string { return name[:3] + name[35:] }
	ours := g.Path[strings.LastIndexByte(g.Path, '/')+1:]
	if len(ours) != len(theirs[0]) || shape(ours) != shape(theirs[0]) {
		t.Errorf("our child is called %s, the library's %s", ours, theirs[0])
	}
}
