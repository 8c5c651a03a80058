package workloads

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// Every item is accounted for although a consumer's session expires while it works, and the leader is killed afterwards.
func TestAQueueConservesItsItemsThroughFaults(t *testing.T) {
	local := ensembletest.Start(t, 3)
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: local.Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	dial := func() zk.Session {
		s, err := wire.Dial(context.WithoutCancel(t.Context()), wire.Config{Servers: p.Addresses(), Timeout: 4 * time.Second})
		if err != nil {
			t.Error(err)
		}
		return s
	}
	all := queueVariants()
	for _, name := range []string{"fifo", "fifo exact", "claim"} {
		c := all[name]
		t.Run(name, func(t *testing.T) {
			const sessions = 5
			c.Dir, c.Sessions, c.Stall = "/"+c.variant.Name, sessions, 2*time.Minute
			if c.options.Exact {
				c.Dir += "-exact"
			}
			c.Values = profiles.Values{"producers": 40, "bound": 50, "hold": constant(2 * time.Millisecond)}
			w := c.of(c.make)
			admin := dial()
			defer admin.Close()
			if err := w.Setup(t.Context(), admin); err != nil {
				t.Fatal(err)
			}
			history, origin := metrics.NewHistory(1, nil), metrics.NewOrigin(time.Now())
			consumer := new(atomic.Int64) // the session of one consumer
			var taken atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			stop := make(chan struct{})
			var seats sync.WaitGroup
			for i := range uint32(sessions) {
				seats.Go(func() {
					for !closed(stop) {
						s := dial()
						if i == sessions-1 {
							consumer.Store(s.ID())
						}
						step := w.Join(Seat{ID: i, Session: s, Recorder: received{history.Shard(0), &taken}, Fanout: metrics.NewFanout(1).Shard(0), Origin: origin,
							Rand: rand.New(rand.NewPCG(1, uint64(i)))})
						for !closed(stop) && ctx.Err() == nil && step.Do(ctx, origin.Now()) == nil {
						}
						s.Close()
					}
				})
			}
			until := func(n int64) {
				for deadline := time.Now().Add(5 * time.Minute); taken.Load() < n; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("%d items taken in five minutes, want %d", taken.Load(), n)
					}
				}
			}
			until(50)
			if err := p.Expire(t.Context(), consumer.Load()); err != nil {
				t.Fatal(err)
			}
			until(taken.Load() + 50)
			leader, err := local.Leader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := local.Kill(t.Context(), leader); err != nil {
				t.Fatal(err)
			}
			until(taken.Load() + 50)
			close(stop)
			cancel() // for the session that waits for an item
			seats.Wait()
			if err := local.Restart(t.Context(), leader); err != nil {
				t.Fatal(err)
			}
			if err := local.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.Inspect(t.Context(), admin, history.Shard(0)); err != nil {
				t.Fatal(err)
			}
			doubts := 0
			for s := range history.All() {
				if s.Outcome == metrics.InDoubt {
					doubts++
				}
			}
			checks := w.Checks()
			if c.variant.FIFO { // short enough for the model
				checks = append(checks, check.LinearizableQueue(10*time.Second))
			}
			for _, k := range checks {
				v := k.Judge(history.All(), nil)
				t.Logf("%s: %v, %d operations, %d in doubt", k.Name, v.Answer, v.Evidence, doubts)
				if v.Answer == check.Violated || k.Name == "conservation" && (v.Answer != check.Holds || v.Evidence < 150) {
					t.Errorf("%s = %v with %d operations: %s %v", k.Name, v.Answer, v.Evidence, v.Detail, v.Witness)
				}
			}
		})
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// received is a recorder that counts the items that were taken.
type received struct {
	metrics.Recorder
	taken *atomic.Int64
}

func (r received) Record(s metrics.Sample, parts ...metrics.Sample) {
	if s.Op == metrics.Take && s.Outcome == metrics.OK {
		r.taken.Add(1)
	}
	r.Recorder.Record(s)
}
