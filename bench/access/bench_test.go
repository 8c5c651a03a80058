package access_test

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/zk/wire"
)

// BenchmarkOpen opens and closes sessions, one after the other, and reports what each used of the CPUs here and at the server. It reports CPU time because
// that hardly changes on a machine that does other work. docs/security.md has a result.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct {
		name, secure string
		resume       bool
	}{{"plain", "", false}, {"tls", ensemble.SecureTLS, false}, {"tls-resumed", ensemble.SecureTLS, true}, {"mtls", ensemble.SecureMTLS, false},
		{"mtls-resumed", ensemble.SecureMTLS, true}, {"sasl", ensemble.SecureSASL, false}, {"sasl-resumed", ensemble.SecureSASL, true}} {
		b.Run(c.name, func(b *testing.B) {
			e := ensembletest.Start(b, 1, func(cfg *local.Config) { cfg.Secure = c.secure })
			set := access.Settings{}.With(e.Credentials())
			set.TLS.Resume = c.resume
			if c.secure == "" {
				set.Chroot = "/zookeeper" // for an access without any other setting
			}
			a, err := access.Load(set, 1)
			if err != nil {
				b.Fatal(err)
			}
			id := a.Session(0)
			cfg := wire.Config{Servers: e.Addresses(), Dialer: id.Dial}
			if id.User != "" {
				cfg.SASL = &wire.SASL{User: id.User, Password: id.Password}
			}
			open := func() {
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				defer cancel()
				s, err := wire.Dial(ctx, cfg)
				if err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
			for range 2000 { // until Java has compiled what it needs
				open()
			}
			server, here := e.Usage()[0].CPU, own()
			for b.Loop() {
				open()
			}
			n := float64(b.N) * float64(time.Microsecond)
			b.ReportMetric(float64(own()-here)/n, "here-µs/op")
			b.ReportMetric(float64(e.Usage()[0].CPU-server)/n, "server-µs/op")
		})
	}
}

// own returns the CPU time of this process.
func own() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPlain compares sessions whose connections are counted, as all of a run are, with sessions of the client alone, in one run. It reports the CPU time
// per request here, as the ratio of the medians of alternating rounds. Both kinds of session are plain, and share a transport.
func BenchmarkPlain(b *testing.B) {
	const sessions, requests, rounds = 100, 20, 5
	e := ensembletest.Start(b, 1)
	id := access.Plain(sessions).Session(1)
	sides := [2]wire.Config{{Servers: e.Addresses()}, {Servers: e.Addresses(), Dialer: id.Dial, Opened: id.Opened}}
	var all [2][]*wire.Client
	for side, cfg := range sides {
		for range sessions {
			c, err := wire.Dial(b.Context(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			all[side] = append(all[side], c)
		}
	}
	round := func(side int) time.Duration {
		before := own()
		var ended sync.WaitGroup
		for _, c := range all[side] {
			ended.Go(func() {
				for range requests {
					if _, _, err := c.Exists(b.Context(), "/zookeeper"); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		ended.Wait()
		return own() - before
	}
	var took [2][]time.Duration
	for b.Loop() {
		for range rounds {
			for side := range took {
				took[side] = append(took[side], round(side))
			}
		}
	}
	median := func(side int) float64 {
		slices.Sort(took[side])
		return float64(took[side][len(took[side])/2])
	}
	b.ReportMetric(median(1)/median(0), "counted/plain")
	b.ReportMetric(median(0)/(sessions*requests*float64(time.Microsecond)), "plain-µs/request")
}
