package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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

// staged returns the load under which a defect shows.
func staged(name string) load {
	l := contended
	switch name {
	case "broken-no-recheck", "broken-keeps-place": // waiters give up in the middle of the queue
		l.deadline = 40 * time.Millisecond
	case "broken-gone-holds": // the predecessor expires just before it is watched
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
	case "broken-blind-holder": // holders do, while waiters on every host write: they give up and come again
		l.hold, l.deadline, l.seeds = 200*time.Millisecond, 40*time.Millisecond, 10
		l.stage = func(ctx context.Context, st *stage) { every(ctx, time.Second, func() { st.expire(0) }) }
	case "broken-number-order": // the counter wraps again and again: a newcomer may be listed before the next in line has listed
		l.stage = func(ctx context.Context, st *stage) {
			every(ctx, 300*time.Millisecond, func() { st.SetSequence(st.lock, 1<<31-5) })
		}
	case "broken-string-order": // a newcomer with a smaller name arrives while another holds
		l.hold = 5 * time.Millisecond
		l.stage = func(_ context.Context, st *stage) {
			st.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindCreate && !op.Applied {
					time.Sleep(3 * time.Millisecond) // the waiters have listed meanwhile
				}
				return zktest.Action{}
			})
		}
	case "broken-missing-first": // a lagging server does not list the newest
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
	case "broken-forgets-some": // three wait forever; on each of their hosts another session makes progress, which proves that they wait
		l.sessions = 8
	case "broken-newest-first": // two take turns, the others wait forever; at least one of these shares a host with one of those
		l.sessions = 8
	case "broken-needs-a-word": // one holder expires, once, when somebody waits behind it
		l.stage = func(ctx context.Context, st *stage) {
			time.Sleep(time.Second)
			for ctx.Err() == nil {
				if queue := st.queue(); len(queue) > 0 && string(st.Tree()[queue[0]].Data) != "released" &&
					slices.ContainsFunc(st.Watches(), func(w zktest.Armed) bool { return w.Path == queue[0] }) {
					st.expire(0)
					return
				}
				time.Sleep(time.Millisecond)
			}
		}
	case "broken-waits-for-the-gone": // the holder releases just when the only other session arrives
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

// Each defect is caught on one host, and with its sessions spread over several whose clocks differ.
func TestEachDefectIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Locks {
		t.Run(d.Name, func(t *testing.T) {
			var also []string
			if d.Name == "broken-sequence-token" { // its token, which orders grants across hosts, is not a zxid
				also = append(also, "fifo")
			}
			verdicts := untilCaught(staged(d.Name), d.Caught, func(l load) map[string]check.Verdict { return l.run(t, d.Variant) })
			if several, judged := verdicts[d.Caught+across]; judged && several.Answer == check.Unknown { // what is found after the load has one verdict
				t.Errorf("%s is not caught across hosts: %s", d.Caught, several.Detail)
			}
			caught(t, d.Caught, verdicts, also...)
		})
	}
}

// sound returns the catalogue's locks that keep their promises when sessions expire and waiters give up.
func sound() []recipes.Variant[recipes.Lock] {
	var all []recipes.Variant[recipes.Lock]
	for _, v := range lock.Variants() {
		if !v.Unsafe {
			all = append(all, v)
		}
	}
	return all
}

// The checks that catch the defects do not convict the sound locks, whatever the latencies, with lost sessions and with waiters that give up:
// 50 runs, spread over the catalogue.
func TestTheChecksRaiseNoFalseAlarm(t *testing.T) {
	variants := sound()
	for seed := range uint64(50) {
		v := variants[seed%uint64(len(variants))]
		r := rand.New(rand.NewPCG(seed, 1))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := load{seed: seed, sessions: 2 + r.IntN(12), length: 6 * time.Second, hold: time.Millisecond + upTo(10*time.Millisecond),
			request: upTo(5 * time.Millisecond), event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			// With a deadline shorter than a hand-off through the whole queue nobody would be served: all would give up before they learn that
			// those before them have.
			l.deadline = time.Duration(l.sessions)*(l.event+4*l.request) + upTo(200*time.Millisecond)
		}
		if r.IntN(2) == 0 {
			place := r.IntN(l.sessions)
			l.stage = func(ctx context.Context, st *stage) { every(ctx, 700*time.Millisecond, func() { st.expire(place) }) }
		}
		t.Run(fmt.Sprintf("%s with seed %d", v.Name, seed), func(t *testing.T) {
			for name, verdict := range l.run(t, v) {
				if verdict.Answer == check.Violated {
					t.Errorf("%s: %s\ncounterexample %+v\nload %+v", name, verdict.Detail, verdict.Witness, l)
				}
			}
		})
	}
}

// Defects must not be mistaken for usable recipes.
func TestTheCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range broken.Locks {
		if !strings.HasPrefix(d.Name, "broken-") || d.Doc == "" || !d.Unsafe || seen[d.Name] {
			t.Errorf("entry %+v: want a unique name with the prefix broken-, a Doc that names the defect, and Unsafe", d)
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
