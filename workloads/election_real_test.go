package workloads

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zkelection "github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
)

// Leaders resign, expire and crash on real servers: every promise holds, and a crash is detected by the session timeout alone.
func TestLeadersEndOnRealServers(t *testing.T) {
	const tick, candidates = 500 * time.Millisecond, 3
	addresses := ensembletest.Start(t, 3, func(c *local.Config) { c.Tick = tick }).Addresses()
	ctx := context.WithoutCancel(t.Context())
	engines := map[string]func(timeout time.Duration) (zk.Session, error){
		"native": func(timeout time.Duration) (zk.Session, error) {
			return wire.Dial(ctx, wire.Config{Servers: addresses, Timeout: timeout})
		},
		"go-zookeeper": func(timeout time.Duration) (zk.Session, error) {
			return gozk.Dial(ctx, gozk.Config{Servers: addresses, Timeout: timeout})
		},
	}
	for engine, open := range engines {
		for i, by := range []Failover{ByResign, ByExpiry, ByCrash} {
			t.Run(engine+"/"+string(by), func(t *testing.T) {
				t.Parallel()                  // most of the time they wait for a session to time out
				timeout, rounds := 20*tick, 2 // a busy machine must not end a session
				if by == ByCrash {
					timeout, rounds = 8*tick, 1 // each crash waits that long
				}
				dial := func() zk.Session {
					s, err := open(timeout)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				w := NewElection(zkelection.Variants()[i], recipes.Options{}, Load{Dir: "/" + engine + "-" + string(by), Sessions: candidates,
					Stall: 30 * time.Second, Values: profiles.Values{"failover": string(by), "hold": constant(tick)}})
				admin := dial()
				defer admin.Close()
				if err := w.Setup(ctx, admin); err != nil {
					t.Fatal(err)
				}
				history, origin := metrics.NewHistory(1, nil), metrics.NewOrigin(time.Now())
				var seats sync.WaitGroup
				all := make([]Seat, candidates)
				for i := range all {
					id := uint32(i)
					all[i] = Seat{ID: id, Recorder: history.Shard(0), Fanout: metrics.NewFanout(1).Shard(0), Origin: origin,
						Rand: rand.New(rand.NewPCG(1, uint64(id))), Session: dial()}
				}
				for range rounds { // all are present while the first leads, so that each except the last has a successor
					for i := range all {
						seat := &all[i]
						seats.Go(func() {
							if err := w.Join(*seat).Do(ctx, origin.Now()); err != nil {
								if !errors.Is(err, ErrEnded) {
									t.Errorf("a session was lost: %v", err)
								}
								seat.Session.Close()
								seat.Session = dial()
							}
						})
					}
					seats.Wait()
				}
				for _, seat := range all {
					seat.Session.Close()
				}
				if err := w.Inspect(ctx, admin, history.Shard(0)); err != nil {
					t.Fatal(err)
				}
				for _, c := range w.Checks() {
					if v := c.Judge(history.All(), nil); v.Answer == check.Violated {
						t.Errorf("%s: %s; witness %+v", c.Name, v.Detail, v.Witness)
					}
				}
				terms, failovers := 0, 0
				for s := range history.All() {
					switch {
					case s.Op == metrics.Campaign && s.Outcome == metrics.OK:
						terms++
					case s.Op == metrics.HandOff:
						if failovers++; by == ByCrash && s.Service() < timeout/2 { // the servers count from when they last heard from it
							t.Errorf("a crash was found out after %v, with a session timeout of %v", s.Service(), timeout)
						}
					}
				}
				if terms != candidates*rounds || failovers < terms/2 {
					t.Errorf("%d terms and %d fail-overs of %d candidates in %d rounds", terms, failovers, candidates, rounds)
				}
			})
		}
	}
}
