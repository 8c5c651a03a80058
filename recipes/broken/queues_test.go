package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	zkqueue "github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// queueLoad is a load of few producers and many consumers, so that the lists stay short.
type queueLoad struct {
	load
	producers           float64
	preload, priorities int
	bound               int
	delay               profiles.Distribution
	o                   recipes.Options
}

var market = queueLoad{producers: 0.2, load: load{seeds: 10, sessions: 6, length: 2 * time.Second, hold: 2 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}}

// losing is a stage on which every n-th reply of a kind is lost.
func losing(n int64, kinds ...zk.Kind) func(context.Context, *stage) {
	var seen atomic.Int64
	return func(_ context.Context, st *stage) {
		st.Hook(func(op zktest.Op) zktest.Action {
			for _, k := range kinds {
				if op.Kind == k && op.Applied && op.Err == nil && !strings.HasSuffix(op.Path, "/queue-0") && seen.Add(1)%n == 0 {
					return zktest.Action{Lose: true}
				}
			}
			return zktest.Action{}
		})
	}
}

// expiring is a stage on which sessions expire, except the first, which inspects.
func expiring(d time.Duration) func(context.Context, *stage) {
	return func(ctx context.Context, st *stage) {
		n := 0
		every(ctx, d, func() {
			all := st.Sessions()
			if n++; len(all) > 1 {
				st.Expire(all[1+n%(len(all)-1)])
			}
		})
	}
}

// meeting delays each put until a consumer has found the queue empty and is about to arm its watch.
func meeting(ctx context.Context, st *stage) {
	arming, put := make(chan struct{}), make(chan struct{})
	meet := func(c chan struct{}, send bool) {
		if send {
			select {
			case c <- struct{}{}:
			case <-ctx.Done():
			}
			return
		}
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
	st.Hook(func(op zktest.Op) zktest.Action {
		switch {
		case op.Kind == zk.KindChildren && op.Watch && !op.Applied:
			meet(arming, true)
			meet(put, false)
		case op.Kind == zk.KindCreate:
			meet(map[bool]chan struct{}{false: arming, true: put}[op.Applied], op.Applied)
		}
		return zktest.Action{}
	})
}

// stagedQueue returns the load under which a defect shows.
func stagedQueue(name string) queueLoad {
	l := market
	switch name {
	case "broken-drops-doubt", "broken-keeps-doubt":
		l.stage = losing(20, zk.KindDelete)
		if name == "broken-keeps-doubt" { // the request is lost, not the reply
			l.stage = func(_ context.Context, st *stage) {
				var seen atomic.Int64
				st.Hook(func(op zktest.Op) zktest.Action {
					return zktest.Action{Lose: op.Kind == zk.KindDelete && !op.Applied && seen.Add(1)%20 == 0}
				})
			}
		}
	case "broken-protected-name": // a reply is lost, and the consumers are faster than the producer
		l.stage = func(_ context.Context, st *stage) {
			var seen, late atomic.Int64
			st.Hook(func(op zktest.Op) zktest.Action {
				switch {
				case op.Kind == zk.KindCreate && op.Applied && seen.Add(1)%20 == 0:
					late.Store(op.Session.ID())
					return zktest.Action{Lose: true}
				case op.Kind == zk.KindChildren && !op.Applied && op.Session.ID() == late.Load():
					late.Store(0)
					time.Sleep(100 * time.Millisecond)
				}
				return zktest.Action{}
			})
		}
	case "broken-finishes-in-two": // the others are faster than the second delete
		l.stage = func(_ context.Context, st *stage) {
			st.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindDelete && !op.Applied && strings.Contains(op.Path, "/entries/") {
					time.Sleep(50 * time.Millisecond)
				}
				return zktest.Action{}
			})
		}
	case "broken-deletes-first", "broken-ephemeral-items":
		l.stage = expiring(53 * time.Millisecond)
	case "broken-blind-claim":
		l.stage = expiring(300 * time.Millisecond) // often enough that some of them work on an item
		l.hold, l.length = 50*time.Millisecond, 6*time.Second
	case "broken-persistent-claim": // only items that expired sessions had claimed are left
		l.stage = func(ctx context.Context, st *stage) {
			brief, stop := context.WithTimeout(ctx, 300*time.Millisecond)
			defer stop()
			expiring(50*time.Millisecond)(brief, st)
		}
		l.preload, l.producers, l.hold, l.length = 30, 0, 50*time.Millisecond, 8*time.Second
	case "broken-text-order": // the server's counter wraps
		l.preload = 10
		l.stage = func(_ context.Context, st *stage) { st.SetSequence("/locks/queue-0", 1<<31-50) }
	case "broken-watches-blindly": // an item is put between the list and the watch, and no other after it
		l.sessions, l.length = 2, 8*time.Second
		l.stage = meeting
	case "broken-sleeps-past": // the first item is due long after all others, and the only one for a while
		l.delay = profiles.Distribution{Kind: profiles.Uniform, Min: time.Millisecond, Max: 20 * time.Second}
		fallthrough
	case "broken-watches-the-directory", "broken-never-lists-again", "broken-forgets-some": // producers are slow, so that the consumers wait
		l.length = 8 * time.Second
		if l.delay == (profiles.Distribution{}) {
			l.preload = 3
		}
		l.stage = func(_ context.Context, st *stage) {
			st.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindCreate && !op.Applied {
					time.Sleep(100 * time.Millisecond)
				}
				return zktest.Action{}
			})
		}
	case "broken-stale-list", "broken-no-width", "broken-no-sign":
		l.preload = 30
		l.o.List = recipes.ListSynced
	}
	return l
}

func (l queueLoad) runQueue(t *testing.T, v recipes.Variant[recipes.Queue]) (verdicts map[string]check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		make, values := workloads.NewQueue, profiles.Values{"producers": int(100 * l.producers), "payload": 16, "preload": l.preload, "bound": l.bound}
		switch {
		case l.priorities > 0:
			make, values["priorities"] = workloads.NewPriorityQueue, l.priorities
		case l.delay != (profiles.Distribution{}):
			make, values["delay"] = workloads.NewDelayQueue, l.delay
		}
		verdicts = l.drive(t, make(v, l.o, l.cell("/locks", values)))
	})
	return verdicts
}

// untilCaught runs a queue's defect with further seeds until it shows.
func (l queueLoad) untilCaught(t *testing.T, d broken.Defect[recipes.Queue]) map[string]check.Verdict {
	return untilCaught(l.load, d.Caught, func(one load) map[string]check.Verdict {
		l.load = one
		return l.runQueue(t, d.Variant)
	})
}

var upToASecond = profiles.Distribution{Kind: profiles.Uniform, Max: time.Second - 1}

func TestEachDefectOfAQueueIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.Queues {
		t.Run(d.Name, func(t *testing.T) {
			var also []string
			if d.Name == "broken-delivers-twice" { // a second delivery is out of order
				also = []string{"delivery-order"}
			}
			caught(t, d.Caught, stagedQueue(d.Name).untilCaught(t, d), also...)
		})
	}
	for _, d := range broken.PriorityQueues {
		t.Run(d.Name, func(t *testing.T) {
			l := stagedQueue(d.Name)
			l.priorities = 20
			caught(t, d.Caught, l.untilCaught(t, d))
		})
	}
	for _, d := range broken.DelayQueues {
		t.Run(d.Name, func(t *testing.T) {
			l := stagedQueue(d.Name)
			if l.delay == (profiles.Distribution{}) {
				l.delay = upToASecond
			}
			caught(t, d.Caught, l.untilCaught(t, d))
		})
	}
	for _, d := range broken.ClaimQueues {
		t.Run(d.Name, func(t *testing.T) {
			l := stagedQueue(d.Name)
			if d.Name != "broken-blind-claim" { // where a session has to end during the work on an item
				l.seeds = 1
			}
			var also []string
			if d.Name == "broken-persistent-claim" { // the claim is a znode that is left
				also = []string{"nothing-left"}
			}
			caught(t, d.Caught, l.untilCaught(t, d), also...)
		})
	}
}

// The checks that catch the defects do not convict the sound queues, whatever the latencies, with lost sessions and replies.
func TestTheQueueChecksRaiseNoFalseAlarm(t *testing.T) {
	all := []struct {
		v     recipes.Variant[recipes.Queue]
		o     recipes.Options
		bound int
	}{
		{v: zkqueue.Variants()[0]}, {v: zkqueue.Variants()[0], o: recipes.Options{List: recipes.ListCached}}, {v: zkqueue.Variants()[0], o: recipes.Options{Exact: true}},
		{v: zkqueue.Variants()[0], o: recipes.Options{Window: 5}, bound: 20}, {v: zkqueue.Variants()[1]}, {v: zkqueue.Variants()[1], o: recipes.Options{Exact: true}, bound: 5},
		{v: zkqueue.PriorityVariants()[0]}, {v: zkqueue.PriorityVariants()[0], o: recipes.Options{List: recipes.ListWatched}},
		{v: zkqueue.PriorityVariants()[0], o: recipes.Options{List: recipes.ListSynced}},
		{v: zkqueue.DelayVariants()[0]}, {v: zkqueue.DelayVariants()[0], o: recipes.Options{List: recipes.ListWatched, Exact: true}},
		{v: zkqueue.DelayVariants()[0], o: recipes.Options{List: recipes.ListSynced}},
	}
	for seed := range uint64(48) {
		k := all[seed%uint64(len(all))]
		if k.bound == 0 {
			k.bound = 30 // keeps the lists short
		}
		r := rand.New(rand.NewPCG(seed, 5))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		l := queueLoad{producers: 0.3, load: load{seed: seed, sessions: 2 + r.IntN(8), length: 2 * time.Second, hold: time.Millisecond + upTo(10*time.Millisecond),
			request: time.Millisecond + upTo(5*time.Millisecond), event: upTo(20 * time.Millisecond), cut: r.IntN(2) == 0}, preload: r.IntN(20), o: k.o, bound: k.bound}
		if strings.HasPrefix(k.v.Name, "priority") {
			l.priorities = 1 + r.IntN(20)
		}
		if k.v.Name == "delay" {
			l.delay = upToASecond
		}
		switch r.IntN(4) {
		case 0:
			l.stage = expiring(200 * time.Millisecond)
		case 1:
			l.stage = losing(15, zk.KindCreate, zk.KindDelete, zk.KindMulti)
		case 2:
			l.deadline = 50 * time.Millisecond
		}
		t.Run(fmt.Sprintf("%s with seed %d", k.v.Name, seed), func(t *testing.T) {
			for name, v := range l.runQueue(t, k.v) {
				if v.Answer == check.Violated || v.Answer == check.Unknown && name == "conservation" {
					t.Errorf("%s = %v: %s\ncounterexample %+v\nload %+v", name, v.Answer, v.Detail, v.Witness, l)
				}
			}
		})
	}
}
