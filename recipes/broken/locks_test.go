package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// contended is the load under which most defects show by themselves.
var contended = load{sessions: 5, length: 10 * time.Second, hold: 10 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}

// staged is the loads of the defects that need something to happen.
func staged(name string) load {
	l := contended
	switch name {
	case "broken-no-recheck", "broken-keeps-place": // waiters give up in the middle of the queue
		l.deadline = 40 * time.Millisecond
	case "broken-gone-holds": // the waiter before goes at the very moment at which it is to be watched
		l.stage = func(_ context.Context, st *stage) {
			st.Hook(func(op zktest.Op) zktest.Action {
				if q := st.queue(); op.Kind == zk.KindGet && op.Watch && !op.Applied && len(q) > 1 && op.Path != q[0] {
					st.expireOwner(op.Path)
				}
				return zktest.Action{}
			})
		}
	case "broken-lost-watch": // waiters lose their sessions
		l.stage = func(ctx context.Context, st *stage) { every(ctx, time.Second, func() { st.expire(2) }) }
	case "broken-blind-holder": // holders do
		l.stage = func(ctx context.Context, st *stage) { every(ctx, time.Second, func() { st.expire(0) }) }
	case "broken-number-order": // the server's counter wraps, again and again: a newcomer may be listed before the next in line has looked
		l.stage = func(ctx context.Context, st *stage) {
			every(ctx, 300*time.Millisecond, func() { st.SetSequence(st.lock, 1<<31-5) })
		}
	case "broken-missing-first": // a server that lags does not list the newest
		var lists atomic.Int64
		l.stage = func(_ context.Context, st *stage) {
			st.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindChildren && op.Applied && lists.Add(1)%37 == 0 {
					return zktest.Action{Names: []string{}}
				}
				return zktest.Action{}
			})
		}
	case "broken-sequence-token": // nobody waits, and the directory is recreated
		l.sessions = 1
		l.stage = func(ctx context.Context, st *stage) { every(ctx, 3*time.Second, func() { st.SetSequence(st.lock, 0) }) }
	case "broken-forgets-some": // three wait in vain, and however they are spread, somebody on their host goes on, who tells that they still wait
		l.sessions = 8
	case "broken-newest-first": // two take turns, the others wait in vain, and however they are spread, one of these is on the host of one of those
		l.sessions = 8
	case "broken-waits-for-the-gone": // the holder releases just when the only other one comes
		l.sessions, l.hold = 2, 3*time.Millisecond
	case "broken-persistent": // the run ends while somebody waits
		l.cut = true
	case "broken-no-guid": // a reply is lost
		var creates atomic.Int64
		l.stage = func(_ context.Context, st *stage) {
			st.Hook(func(op zktest.Op) zktest.Action {
				return zktest.Action{Lose: op.Kind == zk.KindCreate && op.Applied && creates.Add(1)%50 == 0}
			})
		}
	}
	return l
}

// Each is caught on one host, and with its sessions spread over several whose clocks have nothing in common.
func TestEachDefectIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Locks {
		t.Run(d.Name, func(t *testing.T) {
			var also []string
			if d.Name == "broken-sequence-token" { // the place that it tells across hosts is no transaction
				also = append(also, "fifo")
			}
			verdicts := staged(d.Name).run(t, d.Variant)
			several := func() check.Verdict { // what is found after the load has one verdict
				if v, some := verdicts[d.Caught+across]; some {
					return v
				}
				return verdicts[d.Caught]
			}
			for try := uint64(1); several().Answer == check.Unknown && try < 10; try++ { // where sessions were lost, others have to write in time
				l := staged(d.Name)
				l.seed = try
				verdicts = l.run(t, d.Variant)
			}
			if v := several(); v.Answer == check.Unknown {
				t.Errorf("%s is not caught across hosts: %s", d.Caught, v.Detail)
			}
			caught(t, d.Caught, verdicts, also...)
		})
	}
}

// right is the catalogue's locks that keep their promises when sessions expire and waiters give up.
func right() []recipes.Variant[recipes.Lock] {
	var all []recipes.Variant[recipes.Lock]
	for _, v := range lock.Variants() {
		if !v.Unsafe {
			all = append(all, v)
		}
	}
	return all
}

// The same checks that catch every defect say nothing against the right locks, whatever the latencies and with lost sessions, lost
// replies and waiters that give up: 50 runs, spread over the catalogue.
func TestTheChecksRaiseNoFalseAlarm(t *testing.T) {
	variants := right()
	for seed := range uint64(50) {
		v := variants[seed%uint64(len(variants))]
		r := rand.New(rand.NewPCG(seed, 1))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 2 + r.IntN(12), length: 6 * time.Second, hold: time.Millisecond + upTo(10*time.Millisecond),
			request: upTo(5 * time.Millisecond), event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			// A deadline below what a hand-off through the queue takes is a load under which really nobody is served: all give up
			// before the news of those that gave up before them arrives.
			l.deadline = time.Duration(l.sessions)*(l.event+4*l.request) + upTo(200*time.Millisecond)
		}
		if r.IntN(2) == 0 {
			place := r.IntN(l.sessions)
			l.stage = func(ctx context.Context, st *stage) { every(ctx, 700*time.Millisecond, func() { st.expire(place) }) }
		}
		t.Run(fmt.Sprintf("%s with seed %d", v.Name, seed), func(t *testing.T) {
			for name, verdict := range l.run(t, v) {
				if verdict.Answer == check.Violated {
					t.Errorf("%s: %s\nwitness %+v\nload %+v", name, verdict.Detail, verdict.Witness, l)
				}
			}
		})
	}
}

// A defect must be told from the recipes that one may use, and by its name.
func TestTheCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range broken.Locks {
		if !strings.HasPrefix(d.Name, "broken-") || d.Doc == "" || !d.Unsafe || seen[d.Name] {
			t.Errorf("entry %+v: want a name of its own that begins with broken-, a Doc that names the defect, and Unsafe", d)
		}
		seen[d.Name] = true
		if _, ok := recipes.Find(lock.Variants(), d.Name); ok {
			t.Errorf("%s is in the catalogue of recipes", d.Name)
		}
	}
	if got, want := len(broken.Variants(broken.Locks)), len(broken.Locks); got != want {
		t.Errorf("Variants() gives %d recipes, want %d", got, want)
	}
}
