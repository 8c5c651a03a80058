package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// watchedServers are sessions that go through a proxy to real servers: the first one changes a znode, the others watch it.
type watchedServers struct {
	proxy    *proxy.Proxy
	sessions []zk.Session
}

func startWatched(t *testing.T, watchers int) watchedServers {
	t.Helper()
	local := ensembletest.Start(t, 3)
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: local.Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	v := watchedServers{proxy: p}
	for i := range 1 + watchers {
		// Each has one server, so that a session that reconnects does not meet a server that lags behind, which would report what it has missed.
		to := p.Addresses()[i%len(local.Addresses())]
		s, err := wire.Dial(t.Context(), wire.Config{Servers: []string{to}, Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		v.sessions = append(v.sessions, s)
	}
	return v
}

// watchRun is a load of the workload 'watch' on real servers.
type watchRun struct {
	t        *testing.T
	w        *watchLoad
	origin   metrics.Origin
	history  *metrics.History
	writer   Step
	received []atomic.Int64 // events that each session has accounted for
	stop     func()
}

// tallied counts the events that a session accounts for.
type tallied struct {
	metrics.Recorder
	received *atomic.Int64
}

func (r tallied) Record(s metrics.Sample, parts ...metrics.Sample) {
	if r.Recorder.Record(s, parts...); s.Op == metrics.Await && s.Outcome == metrics.OK {
		r.received.Add(1)
	}
}

// run starts the watchers. No change is given up because of its age: the test says when (expel).
func (v watchedServers) run(t *testing.T, variant Variant, dir string) *watchRun {
	t.Helper()
	n := len(v.sessions)
	made, err := variant.New(Load{Dir: dir, Sessions: n, Stall: time.Hour, Open: true, Values: profiles.Values{"payload": 10}}, nil)
	if err == nil {
		err = made.Setup(t.Context(), v.sessions[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &watchRun{t: t, w: made.(*watchLoad), origin: metrics.NewOrigin(time.Now()), history: metrics.NewHistory(n, nil), received: make([]atomic.Int64, n)}
	ctx, cut := context.WithCancel(t.Context())
	var watchers sync.WaitGroup
	for i, s := range v.sessions {
		step := r.w.Join(Seat{ID: uint32(i), Session: s, Recorder: tallied{r.history.Shard(i), &r.received[i]}, Fanout: metrics.NewFanout(1).Shard(0), Origin: r.origin,
			Rand: rand.New(rand.NewPCG(1, uint64(i)))})
		if i == 0 {
			r.writer = step
			continue
		}
		watchers.Go(func() {
			for over := false; !over; { // once more after the cut: a step records what the watcher still waits for
				if over = ctx.Err() != nil; step.Do(ctx, r.origin.Now()) != nil {
					return
				}
			}
		})
	}
	r.stop = sync.OnceFunc(func() { cut(); watchers.Wait() })
	t.Cleanup(r.stop)
	return r
}

// change makes a change.
func (r *watchRun) change() {
	r.t.Helper()
	if err := r.writer.Do(r.t.Context(), r.origin.Now()); err != nil {
		r.t.Fatal(err)
	}
}

// settled waits until each watcher has accounted for that many events, or watches since a read of the last change.
func (r *watchRun) settled(events func(i int) int) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		waiting := -1
		r.w.mu.Lock()
		for i := 1; i < len(r.received) && waiting < 0; i++ {
			state := r.w.watchers[i]
			if n := events(i); n >= 0 && !(state.armed && state.token >= r.w.writer.zxid) && (r.w.once || int(r.received[i].Load()) < n) {
				waiting = i
			}
		}
		r.w.mu.Unlock()
		if waiting < 0 {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("watcher %d has accounted for %d events in two minutes, want %d", waiting, r.received[waiting].Load(), events(waiting))
		}
	}
}

// The account of each watcher is what the proxy did to its events: dropped events are lost, repeated events are duplicated, held or delayed events
// are delivered. If the proxy cut the connection instead of passing an event on, a one-shot watch reports the change on the next connection, and a
// persistent one misses it. Of every three watchers the first is spared, the second is affected once, the third twice.
func TestTheAccountIsWhatTheProxyDid(t *testing.T) {
	const watchers, changes = 30, 4
	on := startWatched(t, watchers)
	met := func(i int) int { return i % 3 }
	for _, c := range []struct {
		name string
		rule proxy.Rule
		// want is the account of a watcher of which the rule affected that many events.
		want func(once bool, taken int) check.Account
	}{
		{"drop", proxy.Rule{Do: proxy.Drop}, func(_ bool, taken int) check.Account {
			return check.Account{Delivered: changes - taken, Lost: taken}
		}},
		{"repeat", proxy.Rule{Do: proxy.Repeat, Copies: 2}, func(_ bool, taken int) check.Account {
			return check.Account{Delivered: changes, Duplicated: 2 * taken}
		}},
		{"delay", proxy.Rule{Do: proxy.Delay, For: 5 * time.Millisecond}, func(bool, int) check.Account {
			return check.Account{Delivered: changes}
		}},
		{"cut", proxy.Rule{Do: proxy.Cut}, func(once bool, taken int) check.Account {
			if once {
				return check.Account{Delivered: changes}
			}
			return check.Account{Delivered: changes - taken, Missed: taken}
		}},
	} {
		for _, v := range Watchers().Variants {
			t.Run(c.name+" "+v.Name, func(t *testing.T) {
				r := on.run(t, v, fmt.Sprintf("/%s-%s", c.name, v.Name))
				faults := make([]*proxy.Fault, 1+watchers)
				for i := 1; i <= watchers; i++ {
					rule := c.rule
					rule.On, rule.Session, rule.Times = proxy.Notification, on.sessions[i].ID(), met(i)
					if met(i) > 0 {
						faults[i] = on.proxy.Add(rule)
						defer faults[i].Remove()
					}
				}
				for n := 1; n <= changes; n++ {
					r.change()
					if c.rule.Do == proxy.Drop && r.w.once {
						for i, f := range faults { // nothing else would notify the watcher
							if f != nil && f.Wait(t.Context(), min(n, met(i))) != nil {
								t.Fatalf("watcher %d has no event to drop", i)
							}
						}
						r.settled(func(i int) int { // those whose events were not dropped
							if n <= met(i) {
								return -1
							}
							return n
						})
						r.w.expel(r.origin.Now(), r.w.watchers)
					}
					r.settled(func(i int) int {
						want := c.want(false, min(n, met(i)))
						if c.rule.Do == proxy.Cut && n <= met(i) {
							return changes + 1 // it is connected again and has read where the znode stands
						}
						return n - (changes - want.Delivered) + want.Duplicated
					})
				}
				bound := r.w.Stall
				if c.rule.Do == proxy.Drop {
					bound = time.Nanosecond // what has not arrived by the end is lost, because the test has waited for everything else
				}
				r.accounts(bound, func(i int) check.Account {
					taken := 0
					if faults[i] != nil {
						taken = faults[i].Injected()
					}
					if taken != met(i) {
						t.Errorf("the proxy took %d events of watcher %d, want %d", taken, i, met(i))
					}
					return c.want(r.w.once, taken)
				})
			})
		}
	}
	for _, v := range Watchers().Variants {
		t.Run("hold "+v.Name, func(t *testing.T) {
			r := on.run(t, v, "/hold-"+v.Name)
			faults := make([]*proxy.Fault, 1+watchers)
			for i := 1; i <= watchers; i++ {
				if met(i) > 0 {
					faults[i] = on.proxy.Add(proxy.Rule{On: proxy.Notification, Do: proxy.Hold, Session: on.sessions[i].ID()})
					defer faults[i].Remove()
				}
			}
			for n := 1; n <= changes; n++ {
				r.change()
				if n == 2 {
					for i, f := range faults {
						if f == nil {
							continue
						}
						err := f.Wait(t.Context(), held(r.w.once, 2))
						if err == nil { // and the read after the event sees the second change, if one event reports both
							err = zk.CatchUp(t.Context(), on.sessions[i], r.w.at())
						}
						if f.Remove(); err != nil {
							t.Fatal(err)
						}
					}
				}
				r.settled(func(i int) int {
					if n == 1 && met(i) > 0 {
						return -1
					}
					return n
				})
			}
			r.accounts(r.w.Stall, func(i int) check.Account {
				if faults[i] == nil || !r.w.once {
					return check.Account{Delivered: changes}
				}
				return check.Account{Delivered: changes - 1, Coalesced: 1} // the watch reported two changes once
			})
		})
	}
}

// held returns how many events of that many changes are held: a one-shot watch reports only the first.
func held(once bool, changes int) int {
	if once {
		return 1
	}
	return changes
}

// accounts ends the load and asserts the account of each watcher, and that the account of all is their sum.
func (r *watchRun) accounts(bound time.Duration, want func(i int) check.Account) {
	r.t.Helper()
	r.stop()
	var sum check.Account
	for i := 1; i < len(r.received); i++ {
		own := func(yield func(metrics.Sample) bool) {
			for s := range r.history.All() {
				if (s.Op != metrics.Await || s.Session == uint32(i)) && !yield(s) {
					return
				}
			}
		}
		w := want(i)
		w.Watchers, w.Changes, w.Due = 1, 4, 4
		if got := check.AccountOf(own, r.w.once, bound); got != w {
			r.t.Errorf("watcher %d: %+v, want %+v", i, got, w)
		}
		sum.Watchers, sum.Changes, sum.Due = sum.Watchers+1, w.Changes, sum.Due+w.Due
		sum.Delivered, sum.Lost, sum.Duplicated = sum.Delivered+w.Delivered, sum.Lost+w.Lost, sum.Duplicated+w.Duplicated
		sum.Coalesced, sum.Missed = sum.Coalesced+w.Coalesced, sum.Missed+w.Missed
	}
	if got := check.AccountOf(r.history.All(), r.w.once, bound); got != sum {
		r.t.Errorf("all: %+v, want %+v", got, sum)
	}
	v := check.Notifications(r.w.once, bound).Judge(r.history.All(), nil)
	if violated := sum.Lost+sum.Duplicated > 0; (v.Answer == check.Violated) != violated || v.Count != sum.Lost+sum.Duplicated || v.Evidence != sum.Delivered {
		r.t.Errorf("notifications is %v, %d times, with evidence %d; the account is %+v", v.Answer, v.Count, v.Evidence, sum)
	}
	r.history.Close()
}
