package recipes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
	"github.com/zkbench/zkbench/zk/wire"
)

const (
	roundsVariable = "ZKBENCH_LEASE_ROUNDS"
	atOnce         = 25 // rounds that run in parallel, each with its own sessions and lock
	lossTimeout    = 4 * time.Second
)

// TestNoTwoHoldersAtTheEndOfALease lets holders on real servers lose their sessions while another client waits for the lock, in the three ways in
// which servers and client learn of the end of a session at different times. It counts the rounds in which the holder, by its lease, still relied
// on its grant when the other client was granted.
//
// ZKBENCH_LEASE_ROUNDS is the number of rounds for each way, engine and lock; 2 by default.
func TestNoTwoHoldersAtTheEndOfALease(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv(roundsVariable))
	if err != nil {
		rounds = 2
	}
	local := ensembletest.Start(t, 1, func(c *local.Config) { c.Tick = lossTimeout / 20 }) // expiries are rounded up to a tick
	var all sync.WaitGroup
	for _, c := range []struct{ engine, lock string }{{"native", "predecessor"}, {"native", "persistent"}, {"go-zookeeper", "predecessor"}} {
		if c.lock == "persistent" && !powers(t).Has(zk.PowerAddWatch) {
			continue
		}
		all.Go(func() { // in parallel, because most of the time is waiting
			for name, way := range map[string]func(*lossRounds){
				"replies late, then cut": (*lossRounds).lateThenCut, "servers deaf, events come": (*lossRounds).deaf,
				"process stopped": (*lossRounds).stopped,
			} {
				t.Run(c.engine+"/"+c.lock+"/"+name, func(t *testing.T) {
					lossTest(&lossRounds{T: t, direct: local.Addresses(), engine: c.engine, lock: c.lock}, way, rounds)
				})
			}
		})
	}
	all.Wait()
}

// lossTest runs all rounds of one way.
func lossTest(r *lossRounds, way func(*lossRounds), rounds int) {
	sum := &r.tally
	for r.from = 0; sum.rounds < rounds && r.from < 2*rounds; r.from += r.n { // some rounds are void
		var err error
		if r.p, err = proxy.Start(r.Context(), proxy.Config{Upstreams: r.direct}); err != nil {
			r.Fatal(err)
		}
		r.n = min(atOnce, rounds-sum.rounds)
		way(r)
		r.p.Close()
	}
	r.Logf("%d rounds: two holders in %d, for at most %v; the channel closed at most %v after the grant; %d rounds were void", sum.rounds, sum.two,
		sum.worst, sum.latest, sum.void)
	if sum.two > 0 {
		r.Errorf("two holders in %d of %d rounds", sum.two, sum.rounds)
	}
	if sum.rounds == 0 {
		r.Error("all rounds were void")
	}
}

// lossRounds are rounds that run in parallel.
type lossRounds struct {
	*testing.T
	direct       []string
	p            *proxy.Proxy
	engine, lock string
	from, n      int
	tally        lossTally
}

type lossTally struct {
	mu                sync.Mutex
	rounds, two, void int
	worst, latest     time.Duration // latest is negative if all channels closed before the grants
}

// count adds a round: when the holder last found that it held, when its channel closed, and when the other client was granted.
func (s *lossTally) count(held, notified, granted time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rounds++; held.After(granted) {
		s.two++
		s.worst = max(s.worst, held.Sub(granted))
	}
	if late := notified.Sub(granted); s.rounds == 1 || late > s.latest {
		s.latest = late
	}
}

func (s *lossTally) invalid() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.void++
}

func (r *lossRounds) path(i int) string {
	return fmt.Sprintf("/%s-%s-%x/%d", r.engine, r.lock, r.Name()[len(r.Name())-6:], r.from+i)
}

// lossDial opens a session with a timeout of lossTimeout.
func lossDial(ctx context.Context, engine string, addresses []string) (zk.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if engine == "native" {
		return wire.Dial(ctx, wire.Config{Servers: addresses, Timeout: lossTimeout})
	}
	return gozk.Dial(ctx, gozk.Config{Servers: addresses, Timeout: lossTimeout})
}

func lossLock(s zk.Session, name, path string) recipes.Lock {
	v, _ := recipes.Find(lock.Variants(), name)
	return v.New(s, path, recipes.Options{})
}

// watchHolder checks a grant every few milliseconds until it is lost. held is a time right before the last check that found it held, notified when the
// channel closed.
func watchHolder(s zk.Session, g recipes.Grant) (held, notified time.Time) {
	var telling sync.WaitGroup
	telling.Go(func() { <-g.Lost; notified = time.Now() })
	for {
		now := time.Now()
		if s.Lease(); isLost(g) {
			telling.Wait()
			return held, notified
		}
		held = now
		time.Sleep(2 * time.Millisecond)
	}
}

func isLost(g recipes.Grant) bool {
	select {
	case <-g.Lost:
		return true
	default:
		return false
	}
}

// contend acquires the lock of a round over its own connection and returns when.
func (r *lossRounds) contend(i int) (granted time.Time, err error) {
	s, err := lossDial(r.Context(), "native", r.direct)
	if err != nil {
		return granted, err
	}
	defer s.Close()
	_, err = lossLock(s, r.lock, r.path(i)).Acquire(r.Context())
	return time.Now(), err
}

// each lets a holder lose its session in each round. lose injects the fault and returns a function that removes it.
func (r *lossRounds) each(prepare func(i int, s zk.Session) error, lose func(i int, s zk.Session) (restore func())) {
	var all sync.WaitGroup
	for i := range r.n {
		all.Go(func() {
			s, err := lossDial(r.Context(), r.engine, r.p.Addresses())
			if err != nil {
				r.tally.invalid()
				return
			}
			defer s.Close()
			g, err := lossLock(s, r.lock, r.path(i)).Acquire(r.Context())
			if err == nil && prepare != nil {
				err = prepare(i, s)
			}
			if err != nil {
				r.tally.invalid()
				return
			}
			var held, notified, granted time.Time
			var both sync.WaitGroup
			both.Go(func() { held, notified = watchHolder(s, g) })
			both.Go(func() { granted, err = r.contend(i) })
			time.Sleep(time.Second + rand.N(lossTimeout/3))
			restore := lose(i, s)
			lost := time.Now()
			both.Wait()
			restore()
			if err != nil || held.Before(lost) {
				r.Logf("round %d: %v, the lock was lost %v before the fault", i, err, lost.Sub(held))
				r.tally.invalid()
				return
			}
			r.tally.count(held, notified, granted)
		})
	}
	all.Wait()
}

// silence holds back both directions of a session.
func (r *lossRounds) silence(id int64) (restore func()) {
	a := r.p.Add(proxy.Rule{On: proxy.ToServer, Session: id, Do: proxy.Hold})
	b := r.p.Add(proxy.Rule{On: proxy.ToClient, Session: id, Do: proxy.Hold})
	return func() { a.Remove(); b.Remove() }
}

// lateThenCut delays replies by a second and cuts the network right after one.
func (r *lossRounds) lateThenCut() {
	r.each(nil, func(_ int, s zk.Session) func() {
		replies := make(chan time.Time, 1000)
		late := r.p.Add(proxy.Rule{On: proxy.ToClient, Session: s.ID(), Do: proxy.Delay, For: time.Second, Notify: func(f proxy.Frame) {
			if f.On == proxy.Reply {
				replies <- time.Now()
			}
		}})
		var last time.Time
		for range 2 + rand.N(3) {
			select {
			case last = <-replies:
			case <-s.Done(): // the lease ended before the fault: the round is void
				late.Remove()
				return func() {}
			}
		}
		time.Sleep(time.Until(last.Add(time.Second + 20*time.Millisecond)))
		late.Remove()
		return r.silence(s.ID())
	})
}

// deaf holds back what the holder sends, while events still reach it.
func (r *lossRounds) deaf() {
	const events = 40
	busy := func(i, n int) string { return fmt.Sprintf("%s-event-%d", r.path(i), n) }
	r.each(func(i int, s zk.Session) error {
		for n := range events {
			if _, _, _, err := s.ExistsW(r.Context(), busy(i, n)); err != nil {
				return err
			}
		}
		return nil
	}, func(i int, s zk.Session) func() {
		f := r.p.Add(proxy.Rule{On: proxy.ToServer, Session: s.ID(), Do: proxy.Hold})
		quit := make(chan struct{})
		var other sync.WaitGroup
		other.Go(func() {
			o, err := lossDial(r.Context(), "native", r.direct)
			if err != nil {
				return
			}
			defer o.Close()
			for n := range events {
				o.Create(r.Context(), busy(i, n), nil, zk.Ephemeral)
				select {
				case <-time.After(200 * time.Millisecond):
				case <-quit:
					return
				}
			}
		})
		return func() { close(quit); other.Wait(); f.Remove() }
	})
}
