package gozk_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk/gozk"
)

// BenchmarkGet compares the bare library with a session on top of it, with contexts that can be cancelled and contexts that cannot. What matters is
// the CPU time of this process per operation; the servers run in other processes.
func BenchmarkGet(b *testing.B) {
	const sessions = 64
	b.Run("library", func(b *testing.B) {
		conns := make([]*lib.Conn, sessions)
		for i := range conns {
			c, events, err := lib.Connect(servers.Get(b, 1).Addresses(), 10*time.Second, lib.WithLogger(silent{}), lib.WithLogInfo(false))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			for e := range events {
				if e.State == lib.StateHasSession {
					break
				}
			}
			conns[i] = c
		}
		load(b, sessions, func(i int) error { _, _, err := conns[i].Get("/zookeeper"); return err })
	})
	ended := map[string]func(context.Context) (context.Context, context.CancelFunc){
		"context/endless": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.Background(), func() {}
		},
		"context/cancellable": context.WithCancel,
	}
	for name, derive := range ended {
		b.Run(name, func(b *testing.B) {
			ctx, cancel := derive(b.Context())
			defer cancel()
			all := make([]*gozk.Session, sessions)
			for i := range all {
				all[i] = dial(b)
			}
			load(b, sessions, func(i int) error { _, _, err := all[i].Get(ctx, "/zookeeper"); return err })
		})
	}
}

// load makes each session carry out its share of b.N operations in a closed loop.
func load(b *testing.B, sessions int, op func(session int) error) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu()
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			for range b.N/sessions + 1 {
				if err := op(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
