package workloads

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zkelection "github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// electionLoad is an election in a bubble.
type electionLoad struct {
	external[recipes.Election]
	rounds   int
	timeout  time.Duration
	disturb  func(ens *zktest.Ensemble)
	history  *metrics.History
	fanout   *metrics.Fanout
	replaced int
	work     Workload
}

func candidates(v recipes.Variant[recipes.Election], by Failover, n, rounds int) *electionLoad {
	return &electionLoad{external: external[recipes.Election]{variant: v, Load: Load{Dir: "/elections", Sessions: n, Stall: time.Minute,
		Values: profiles.Values{"failover": string(by), "hold": constant(time.Second)}}}, rounds: rounds, timeout: 4 * time.Second}
}

// run lets every seat lead that many rounds.
func (l *electionLoad) run(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{Timeout: l.timeout, OpLatency: time.Millisecond})
		admin := ens.DialTimeout(time.Hour)
		l.work = l.of(NewElection)
		if err := l.work.Setup(t.Context(), admin); err != nil {
			t.Fatal(err)
		}
		l.history, l.fanout = metrics.NewHistory(1, nil), metrics.NewFanout(1)
		origin := metrics.NewOrigin(time.Now())
		time.Sleep(time.Second)
		var seats sync.WaitGroup
		var mu sync.Mutex
		for i := range l.Sessions {
			seat := Seat{ID: uint32(i), Recorder: l.history.Shard(0), Fanout: l.fanout.Shard(0), Origin: origin,
				Rand: rand.New(rand.NewPCG(1, uint64(i))), Session: ens.Dial()}
			step := l.work.Join(seat)
			seats.Go(func() {
				for range l.rounds {
					err := step.Do(t.Context(), origin.Now())
					if err == nil {
						continue
					}
					if mu.Lock(); errors.Is(err, ErrEnded) {
						l.replaced++
					}
					mu.Unlock()
					seat.Session.Close()
					seat.Session = ens.Dial()
					step = l.work.Join(seat)
				}
				seat.Session.Close()
			})
			time.Sleep(10 * time.Millisecond) // each queues behind the one before it
		}
		if l.disturb != nil {
			l.disturb(ens)
		}
		seats.Wait()
		if err := l.work.Inspect(t.Context(), admin, l.history.Shard(0)); err != nil {
			t.Fatal(err)
		}
		for _, s := range ens.Sessions() {
			s.Close()
		}
	})
}

func (l *electionLoad) count(op metrics.Op, o metrics.Outcome) int {
	n := 0
	for s := range l.history.All() {
		if s.Op == op && s.Outcome == o {
			n++
		}
	}
	return n
}

// holds fails the test unless every promise holds.
func (l *electionLoad) holds(t *testing.T) {
	t.Helper()
	for _, c := range l.work.Checks() {
		if v := c.Judge(l.history.All(), nil); v.Answer != check.Holds {
			t.Errorf("%s is %v: %s", c.Name, v.Answer, v.Detail)
		}
	}
}

func eachFailover(t *testing.T, test func(*testing.T, recipes.Variant[recipes.Election], Failover)) {
	for _, v := range zkelection.Variants() {
		for _, by := range []Failover{ByResign, ByExpiry, ByCrash} {
			t.Run(v.Name+"/"+string(by), func(t *testing.T) { test(t, v, by) })
		}
	}
}

// The cost of a term, in the middle of a load in which every candidate always stands, is what Cost says.
func TestTheCostOfATermIsTheTheory(t *testing.T) {
	const n = 6
	eachFailover(t, func(t *testing.T, v recipes.Variant[recipes.Election], by Failover) {
		short, long := candidates(v, by, n, 3), candidates(v, by, n, 7)
		short.run(t)
		long.run(t)
		terms := float64(long.count(metrics.Campaign, metrics.OK) - short.count(metrics.Campaign, metrics.OK))
		if terms != 4*n {
			t.Fatalf("%v terms, want %d", terms, 4*n)
		}
		measured := CostOf(long.fanout.Snapshot().Sub(short.fanout.Snapshot())) // the start and the end are the same for both
		theory := long.work.(Costed).Cost()
		for _, of := range slices.Sorted(maps.Keys(theory)) {
			if got := measured[of] / terms; got != theory[of] {
				t.Errorf("%v %s a term, the theory says %v", got, of, theory[of])
			}
		}
	})
}

// The parts of a fail-over add up to it, and a crash is detected when the session has timed out.
func TestAFailOverAndItsParts(t *testing.T) {
	eachFailover(t, func(t *testing.T, v recipes.Variant[recipes.Election], by Failover) {
		l := candidates(v, by, 4, 3)
		l.run(t)
		l.holds(t)
		if want := map[Failover]int{ByResign: 0, ByExpiry: 12, ByCrash: 12}[by]; l.replaced != want {
			t.Errorf("%d sessions were ended on purpose, want %d", l.replaced, want)
		}
		whole, parts := map[int64]time.Duration{}, map[int64]time.Duration{}
		for s := range l.history.All() {
			switch s.Op {
			case metrics.HandOff:
				whole[s.Token] += s.Service()
			case metrics.Detect:
				parts[s.Token] += s.Service()
				if late := s.Service() >= l.timeout; late != (by == ByCrash) {
					t.Errorf("detected after %v with a session timeout of %v", s.Service(), l.timeout)
				}
			case metrics.Elect:
				parts[s.Token] += s.Service()
			}
		}
		if len(whole) != 4*3-1 || !maps.Equal(whole, parts) {
			t.Errorf("fail-overs %v, their parts %v", whole, parts)
		}
	})
}

// A leader whose connection breaks for a moment stops leading and continues with the same term, and the history says so.
func TestASuspendedLeaderIsNoLeader(t *testing.T) {
	v, _ := recipes.Find(zkelection.Variants(), "predecessor")
	l := candidates(v, ByResign, 3, 1)
	l.disturb = func(ens *zktest.Ensemble) {
		leader := ens.Sessions()[1] // the first is the administrator's
		time.Sleep(100 * time.Millisecond)
		ens.Disconnect(leader)
		time.Sleep(200 * time.Millisecond)
		ens.Reconnect(leader)
	}
	l.run(t)
	l.holds(t)
	if elected, lost := l.count(metrics.Campaign, metrics.OK), l.count(metrics.Resign, metrics.Lost); elected != 4 || lost != 1 {
		t.Errorf("%d campaigns led to a term, %d terms were suspended, want 4 and 1", elected, lost)
	}
	led := time.Duration(0)
	begun := map[uint32]time.Duration{}
	for s := range l.history.All() {
		switch {
		case s.Op == metrics.Campaign && s.Outcome == metrics.OK:
			begun[s.Session] = s.End
		case s.Op == metrics.Resign && s.Session == 0:
			led += s.Start - begun[0]
		}
	}
	if led != time.Second {
		t.Errorf("the first led for %v, want one second, the suspension not counted", led)
	}
}

// A leader whose session the servers no longer know is reported, and its seat needs a new session.
func TestALeaderWhoseSessionExpiresByItself(t *testing.T) {
	v, _ := recipes.Find(zkelection.Variants(), "naive")
	l := candidates(v, ByResign, 3, 2)
	l.disturb = func(ens *zktest.Ensemble) { ens.Expire(ens.Sessions()[1]) }
	l.run(t)
	l.holds(t)
	if lost := l.count(metrics.Resign, metrics.Lost); lost != 1 || l.replaced != 0 {
		t.Errorf("%d terms were lost, %d sessions ended on purpose, want 1 and 0", lost, l.replaced)
	}
}

// immortal is a session that can only be closed.
type immortal struct{ zk.Session }

func TestAnEngineWithoutCrashesIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		for by, refused := range map[Failover]bool{ByResign: false, ByCrash: true, ByExpiry: true} {
			w := NewElection(zkelection.Variants()[0], recipes.Options{}, Load{Dir: "/" + string(by), Sessions: 2, Values: profiles.Values{"failover": string(by)}})
			if err := w.Setup(t.Context(), immortal{s}); (err != nil) != refused {
				t.Errorf("Setup() with failover %s = %v, want an error: %v", by, err, refused)
			}
		}
		s.Close()
	})
}

func TestFailOverSamples(t *testing.T) {
	elected := metrics.Sample{Op: metrics.Campaign, Token: 7, Start: 10, End: 100}
	for _, c := range []struct {
		name           string
		gone, received time.Duration
		want           map[metrics.Op][2]time.Duration
	}{
		{"an event told", 50, 80,
			map[metrics.Op][2]time.Duration{metrics.HandOff: {50, 100}, metrics.Detect: {50, 80}, metrics.Elect: {80, 100}}},
		{"the leader was gone before it was looked at", 50, 0, map[metrics.Op][2]time.Duration{metrics.HandOff: {50, 100}}},
		{"the last event was of somebody else", 50, 40, map[metrics.Op][2]time.Duration{metrics.HandOff: {50, 100}}},
		{"nobody led when it came", 5, 0, map[metrics.Op][2]time.Duration{}},
		{"the first of all", 0, 0, map[metrics.Op][2]time.Duration{}},
	} {
		got := map[metrics.Op][2]time.Duration{}
		for _, s := range handedOver(elected, c.gone, c.received) {
			got[s.Op] = [2]time.Duration{s.Start, s.End}
			if s.Due != s.Start || s.Token != 7 {
				t.Errorf("%s: %+v", c.name, s)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
