package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
	"github.com/zkbench/zkbench/drivers/stores"
)

// program is the driver as its users build it.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "zkbench-redis-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "driver")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// started starts servers for the test.
func started(t *testing.T, n int) *stores.Servers {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("ZKBENCH_REQUIRE_PACKAGES") == "1" {
			t.Fatal(err)
		}
		t.Skip(err, "(make drivers)")
	}
	s, err := stores.Start(t.Context(), stores.Redis, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// The kit passes drivers with each way to take, to release and to wait. TestKeys checks the other differences between the stages.
func TestConforms(t *testing.T) {
	servers := started(t, 3).Addresses()
	for _, args := range []string{"-stage lua", "-stage fenced -wait pubsub", "-stage redsync -servers 3"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			n := 0
			drivers.Check(t.Context(), drivers.Conformance{Command: append([]string{program}, strings.Fields(args)...), Servers: servers,
				Dir: "/" + strings.ReplaceAll(args, " ", ""), Timeout: 3 * time.Second, AnswerTimeout: time.Minute}, func(f drivers.Finding) {
				if n++; f.Err != nil || f.Skipped != "" {
					t.Error(f)
				}
			})
			if n != 10 {
				t.Errorf("%d findings, want 10", n)
			}
		})
	}
}

// What the server stores while a lock is held, and that every stage takes, excludes and releases it. A key without an expiry stays forever when its holder dies.
func TestKeys(t *testing.T) {
	servers := started(t, 1).Addresses()
	for name := range stages {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			all, _ := clients(t, servers, 2, time.Hour, "-stage", name)
			g, err := all[0].Acquire(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			c := all[0].(*client)
			if left := c.redis.PTTL(ctx, name).Val(); (left > 0) != (name != "setnx") {
				t.Errorf("it expires in %v", left)
			}
			blind := name == "setnx" || name == "setnx-expire" || name == "set-nx-ex"
			if value := c.redis.Get(ctx, name).Val(); blind && value != "1" || !blind && value != c.id {
				t.Errorf("the value is %q, the id %q", value, c.id)
			}
			if (g.Token > 0) != (name == "fenced") || g.Node != name {
				t.Errorf("%+v", g)
			}
			if _, err := all[1].TryAcquire(ctx, name); err != serve.ErrHeld {
				t.Errorf("a try while it is held: %v", err)
			}
			if err := all[1].Release(ctx, name); err != serve.ErrNotHeld {
				t.Errorf("a release of what another one holds: %v", err)
			}
			if err := all[0].Release(ctx, name); err != nil {
				t.Error(err)
			}
			if g, err := all[1].TryAcquire(ctx, name); err != nil || name == "fenced" && g.Token != 2 {
				t.Errorf("a try when it is free: %+v, %v", g, err)
			}
		})
	}
}

// clients returns clients of one stage with the given options.
func clients(t *testing.T, servers []string, n int, ttl time.Duration, args ...string) (all []serve.Client, events chan string) {
	t.Helper()
	o, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	events = make(chan string, 100)
	for range n {
		c, _, err := o.library().Open(t.Context(), serve.Opening{Servers: strings.Join(servers, ","), Timeout: ttl, Event: func(e string) { events <- e }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		all = append(all, c)
	}
	return all, events
}

// What happens to a lock that a holder releases after its time has passed and another client has taken it: each stage fixes a flaw of the previous one.
func TestALateRelease(t *testing.T) {
	servers := started(t, 1).Addresses()
	for _, c := range []struct {
		args  string
		freed bool // the lock of the second holder is gone
		late  error
	}{
		{"set-nx-ex", true, nil}, {"get-del", false, serve.ErrNotHeld}, {"lua", false, serve.ErrNotHeld}, {"redsync", false, serve.ErrNotHeld},
	} {
		t.Run(c.args, func(t *testing.T) {
			ctx, key := t.Context(), "/late/"+c.args
			all, _ := clients(t, servers, 3, 200*time.Millisecond, "-stage", c.args)
			if _, err := all[0].Acquire(ctx, key); err != nil {
				t.Fatal(err)
			}
			long, _ := clients(t, servers, 1, time.Hour, "-stage", c.args)
			if _, err := long[0].Acquire(ctx, key); err != nil { // granted when the first one's time is over
				t.Fatal(err)
			}
			if err := all[0].Release(ctx, key); err != c.late {
				t.Errorf("the late release: %v, want %v", err, c.late)
			}
			if _, err := all[2].TryAcquire(ctx, key); (err == nil) != c.freed {
				t.Errorf("a third client: %v", err)
			}
		})
	}
}

// A holder that renews keeps its lock beyond its time; if the lock is lost nevertheless, the holder says so, and tokens grow.
func TestRenewal(t *testing.T) {
	servers := started(t, 1)
	all, events := clients(t, servers.Addresses(), 2, 2*time.Second, "-stage", "fenced", "-wait", "pubsub")
	first, err := all[0].Acquire(t.Context(), "/renewed")
	if err != nil || first.Token != 1 {
		t.Fatal(first, err)
	}
	limited, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := all[1].Acquire(limited, "/renewed"); err != context.DeadlineExceeded {
		t.Fatalf("beyond the time of a holder that renews: %v", err)
	}
	c := all[0].(*client)
	if err := c.redis.Del(t.Context(), "/renewed").Err(); err != nil {
		t.Fatal(err)
	}
	second, err := all[1].Acquire(t.Context(), "/renewed")
	if err != nil || second.Token != 2 {
		t.Fatal(second, err)
	}
	if e := <-events; e != drivers.EventSuspended {
		t.Errorf("a holder whose lock is gone: %s", e)
	}
	if err := all[0].Release(t.Context(), "/renewed"); err != serve.ErrNotHeld {
		t.Errorf("its release: %v", err)
	}
	if e := <-events; e != drivers.EventConnected {
		t.Errorf("after its release: %s", e)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range []string{"-stage x", "-wait x", "-servers 0", "-servers 5", "-stage redsync -wait pubsub", "-stage redsync -id a", "-poll 0s", "-ttl 1ms", "more"} {
		var says strings.Builder
		if _, err := parse(strings.Fields(args), &says); err == nil || says.Len() == 0 {
			t.Errorf("%s: %v, %q", args, err, &says)
		}
	}
}
