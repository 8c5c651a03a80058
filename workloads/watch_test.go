package workloads

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// watchStand returns a stand for a way of watching, with that many watchers.
func watchStand(t *testing.T, cfg zktest.Config, v Variant, watchers int, open bool) *stand {
	t.Helper()
	w, err := v.New(Load{Dir: "/cell", Sessions: 1 + watchers, Stall: 20 * time.Second, Open: open, Values: profiles.Values{"payload": 10}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newStand(t, cfg, w, 1+watchers)
}

// watched lets the watchers watch during do, and a minute longer. A watcher whose session is lost joins again with another.
func (st *stand) watched(do func()) {
	ctx, cut := context.WithCancel(st.t.Context())
	var watchers sync.WaitGroup
	for i := range st.steps[1:] {
		seat := i + 1
		watchers.Go(func() {
			for ctx.Err() == nil {
				if st.steps[seat].Do(ctx, st.origin.Now()) != nil && ctx.Err() == nil {
					st.seats[seat].Session = st.ens.Dial()
					st.steps[seat] = st.work.Join(st.seats[seat])
				}
			}
		})
	}
	time.Sleep(time.Second)
	do()
	time.Sleep(time.Minute)
	cut()
	watchers.Wait()
}

// change makes that many changes.
func (st *stand) change(times int) {
	st.t.Helper()
	for range times {
		if err := st.steps[0].Do(st.t.Context(), st.origin.Now()); err != nil {
			st.t.Error(err)
		}
	}
}

// accounted asserts the account, and that the check says what follows from it.
func (st *stand) accounted(want check.Account) {
	st.t.Helper()
	w := st.work.(*watchLoad)
	got := check.AccountOf(st.history.All(), w.once, w.Stall)
	if got != want {
		st.t.Errorf("%s: account %+v, want %+v", w.doc, got, want)
	}
	if sum := got.Delivered + got.Coalesced + got.Missed + got.Lost + got.Undecided; sum != got.Due {
		st.t.Errorf("%s: %d of %d due are accounted for", w.doc, sum, got.Due)
	}
	if got.Lost+got.Duplicated > 0 {
		st.violates("notifications")
	} else {
		st.holds(map[string]int{"notifications": got.Delivered})
	}
}

// ways runs a test for each way of watching, on servers that send the zxids of events and on servers that do not.
func ways(t *testing.T, do func(t *testing.T, cfg zktest.Config, v Variant)) {
	for _, v := range Watchers().Variants {
		for name, version := range map[string]string{"": "", " before 3.9": "3.8.0"} {
			t.Run(v.Name+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := latency
					cfg.Version = version
					do(t, cfg, v)
				})
			})
		}
	}
}

// Each change reaches each watcher, as soon as half a write and an event take, at the theoretical cost.
func TestWatchersAreToldOfEachChange(t *testing.T) {
	const watchers, times = 5, 6
	ways(t, func(t *testing.T, cfg zktest.Config, v Variant) {
		st := watchStand(t, cfg, v, watchers, false)
		var spent Cost
		st.watched(func() {
			st.change(2) // the first one finds out the state of the znode
			time.Sleep(time.Second)
			at := st.fanout.Snapshot()
			st.change(times)
			time.Sleep(time.Second)
			spent = CostOf(st.fanout.Snapshot().Sub(at))
		})
		st.costs(spent, times)
		n := counts(st.end())
		all := times + 2
		if n[metrics.Change] != all || n[metrics.Deliver] != all*watchers || n[metrics.FirstEvent] != all || n[metrics.MedianEvent] != all || n[metrics.LastEvent] != all {
			t.Errorf("samples %v", n)
		}
		arms := watchers
		if !v.Persistent {
			arms *= 1 + all
		}
		if n[metrics.Arm] != arms {
			t.Errorf("armed %d times, want %d", n[metrics.Arm], arms)
		}
		for s := range st.history.All() {
			if want := cfg.OpLatency/2 + cfg.EventLatency; s.Op == metrics.LastEvent && s.Service() != want {
				t.Errorf("told after %v, want %v", s.Service(), want)
			}
		}
		st.accounted(check.Account{Watchers: watchers, Changes: all, Due: all * watchers, Delivered: all * watchers})
	})
}

// Changes that come faster than a one-shot watch is re-armed coalesce; a persistent watch reports each.
func TestChangesThatComeTogether(t *testing.T) {
	ways(t, func(t *testing.T, cfg zktest.Config, v Variant) {
		cfg.EventLatency = 11 * time.Millisecond // more than five writes
		st := watchStand(t, cfg, v, 3, true)
		st.watched(func() { st.change(10) })
		st.end()
		want := check.Account{Watchers: 3, Changes: 10, Due: 30, Delivered: 30}
		if !v.Persistent {
			got := check.AccountOf(st.history.All(), true, time.Minute)
			if want.Delivered, want.Coalesced = got.Delivered, 30-got.Delivered; got.Delivered < 3 || got.Delivered > 9 {
				t.Errorf("%d of 30 events, want a few for each watcher", got.Delivered)
			}
		}
		st.accounted(want)
	})
}

// A watcher without a connection is notified as the guarantees say: a watch that was armed by a read reports the first change, if it can still be
// seen; a persistent one reports none, nor what came and went.
func TestAWatcherWithoutAConnection(t *testing.T) {
	ways(t, func(t *testing.T, cfg zktest.Config, v Variant) {
		st := watchStand(t, cfg, v, 2, true)
		st.watched(func() {
			st.change(2)
			time.Sleep(time.Second)
			st.ens.Disconnect(st.seats[1].Session)
			st.change(2)
			time.Sleep(time.Second)
			st.ens.Reconnect(st.seats[1].Session)
			time.Sleep(time.Second)
			st.change(2)
		})
		st.end()
		got := check.AccountOf(st.history.All(), !v.Persistent, time.Minute)
		want := check.Account{Watchers: 2, Changes: 6, Due: 12, Delivered: 10, Missed: 2}
		if !v.Persistent {
			want = got
			if got.Due != 12 || got.Lost+got.Duplicated+got.Undecided > 0 || got.Delivered < 5 {
				t.Errorf("account %+v", got)
			}
		}
		st.accounted(want)
	})
}

// A session that ends takes its watch with it; changes until the next one has armed another watch are due to nobody.
func TestAWatcherWhoseSessionExpires(t *testing.T) {
	ways(t, func(t *testing.T, cfg zktest.Config, v Variant) {
		st := watchStand(t, cfg, v, 2, false)
		st.watched(func() {
			st.change(2)
			st.ens.Expire(st.seats[1].Session)
			time.Sleep(time.Second)
			st.change(2)
		})
		st.end()
		st.accounted(check.Account{Watchers: 2, Changes: 4, Due: 8, Delivered: 8})
	})
}

// Changes that are due to nobody are reported, so that the numbers of a note add up to all changes of all watchers.
func TestTheNoteTellsOfWatchersWithoutAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := watchStand(t, latency, Watchers().Variants[0], 2, false)
		var away atomic.Bool
		watch := st.steps[1]
		st.steps[1] = StepFunc(func(ctx context.Context, due time.Duration) error {
			if away.Load() {
				time.Sleep(time.Minute)
				return nil
			}
			if err := watch.Do(ctx, due); !away.Load() {
				return err
			}
			return nil
		})
		st.watched(func() {
			st.change(2)
			away.Store(true)
			st.seats[1].Session.Close()
			time.Sleep(time.Second)
			st.change(2)
		})
		st.end()
		notes := st.work.(*watchLoad).Notes(st.history.All(), nil)
		if want := ", 2 not due, to watchers without a watch at the time"; len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("%q, want %q", notes, want)
		}
	})
}

// A change whose reply was lost is resolved: made or not.
func TestAChangeInDoubt(t *testing.T) {
	for _, applied := range []bool{false, true} {
		ways(t, func(t *testing.T, cfg zktest.Config, v Variant) {
			st := watchStand(t, cfg, v, 2, false)
			st.watched(func() {
				st.change(2)
				var once sync.Once
				st.ens.Hook(func(op zktest.Op) (a zktest.Action) {
					if k := op.Kind; (k == zk.KindSet || k == zk.KindCreate || k == zk.KindDelete) && op.Applied == applied {
						once.Do(func() { a.Lose = true })
					}
					return a
				})
				st.change(2)
			})
			n := counts(st.end())
			made := 3
			if applied {
				made = 4
			}
			if n[metrics.Change] != made {
				t.Errorf("%d changes were made, want %d", n[metrics.Change], made)
			}
			st.accounted(check.Account{Watchers: 2, Changes: made, Due: 2 * made, Delivered: 2 * made})
		})
	}
}

// A request that the end of the run cuts off may still be carried out: it is in doubt, whatever it is counted as, so that nobody takes its effects for
// somebody else's.
func TestARequestAtTheCut(t *testing.T) {
	stands := map[metrics.Op]func(t *testing.T) *stand{
		metrics.Change:  func(t *testing.T) *stand { return watchStand(t, latency, Watchers().Variants[0], 1, false) },
		metrics.SetData: func(t *testing.T) *stand { return operationsStand(t, 2, "set 1") },
	}
	for op, of := range stands {
		t.Run(op.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := of(t)
				ctx, cut := context.WithCancel(t.Context())
				defer cut()
				st.ens.Hook(func(o zktest.Op) zktest.Action {
					if o.Kind == zk.KindSet {
						cut()
					}
					return zktest.Action{}
				})
				st.steps[0].Do(ctx, st.origin.Now())
				time.Sleep(time.Minute)
				n := 0
				for _, s := range st.end() {
					if s.Op == op && s.Outcome == metrics.InDoubt {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%d requests in doubt, want 1", n)
				}
			})
		})
	}
}

// flawed is a session whose watches break their promise: lose says which events, by number, are dropped, and repeat which come twice.
type flawed struct {
	zk.Session
	lose, repeat func(event int64) bool
	events       *atomic.Int64
}

func (f *flawed) Unwrap() zk.Session { return f.Session }

// pass passes an event on as often as it should.
func (f *flawed) pass(e zk.Event, fire func(zk.Event)) {
	n := int64(0)
	if e.Err == nil {
		n = f.events.Add(1)
	}
	if n > 0 && f.lose != nil && f.lose(n) {
		return
	}
	if fire(e); n > 0 && f.repeat != nil && f.repeat(n) {
		fire(e)
	}
}

func (f *flawed) watch(w *zk.Watch) *zk.Watch {
	if w == nil {
		return nil
	}
	out := zk.NewWatch(w.Stop)
	go func() {
		f.pass(<-w.C(), out.Fire)
	}()
	return out
}

func (f *flawed) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	data, st, w, err := f.Session.GetW(ctx, path)
	return data, st, f.watch(w), err
}

func (f *flawed) ExistsW(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
	st, there, w, err := f.Session.ExistsW(ctx, path)
	return st, there, f.watch(w), err
}

func (f *flawed) ChildrenW(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	names, st, w, err := f.Session.ChildrenW(ctx, path)
	return names, st, f.watch(w), err
}

// streaming is flawed for persistent watches.
type streaming struct{ *flawed }

func (f streaming) AddWatch(ctx context.Context, path string, recursive bool) (*zk.Stream, error) {
	p, _ := zk.AsPersistentWatcher(f.flawed.Session)
	in, err := p.AddWatch(ctx, path, recursive)
	if err != nil {
		return nil, err
	}
	out := zk.NewStream(in.Stop)
	go func() {
		for {
			e, err := in.Next(context.Background())
			if err != nil {
				return
			}
			if f.pass(e, out.Fire); e.Err != nil && !errors.Is(e.Err, zk.ErrWatchLost) {
				return
			}
		}
	}()
	return out, nil
}

// Events that are lost, and events that come twice, are counted as such.
func TestWatchesThatDoNotKeepTheirPromise(t *testing.T) {
	const watchers, times = 3, 8
	due := watchers * times
	at := func(n int64) func(int64) bool { return func(event int64) bool { return event == n } }
	for name, c := range map[string]struct {
		lose, repeat func(int64) bool
		once         check.Account // of one-shot watches
		persistent   check.Account
	}{
		"the first is lost": {at(1), nil, check.Account{Delivered: due - 1, Lost: 1}, check.Account{Delivered: due - 1, Lost: 1}},
		"the last is lost":  {at(times), nil, check.Account{Delivered: due - 1, Lost: 1}, check.Account{Delivered: due - 1, Lost: 1}},
		"one comes twice":   {nil, at(4), check.Account{Delivered: due}, check.Account{Delivered: due, Duplicated: 1}},
		"all come twice":    {nil, func(int64) bool { return true }, check.Account{Delivered: due}, check.Account{Delivered: due, Duplicated: times}},
	} {
		t.Run(name, func(t *testing.T) {
			ways(t, func(t *testing.T, cfg zktest.Config, v Variant) {
				st := watchStand(t, cfg, v, watchers, false)
				f := &flawed{Session: st.seats[1].Session, lose: c.lose, repeat: c.repeat, events: new(atomic.Int64)}
				st.seats[1].Session = f
				if v.Persistent {
					st.seats[1].Session = streaming{f}
				}
				st.steps[1] = st.work.Join(st.seats[1])
				st.watched(func() { st.change(times) })
				st.end()
				want := c.once
				if v.Persistent {
					want = c.persistent
				}
				want.Watchers, want.Changes, want.Due = watchers, times, due
				st.accounted(want)
			})
		})
	}
}

// The event that a watch waits for may have been received when the run cuts the wait: it is not an additional event, but a second one is.
func TestAnEventAtTheCut(t *testing.T) {
	for received, want := range []int64{0, 0, 2} {
		history := metrics.NewHistory(1, nil)
		j := &watcherSeat{Seat: Seat{Recorder: history.Shard(0), Origin: metrics.NewOrigin(time.Now())}, w: &watchLoad{}}
		j.w.once = true
		j.received.Store(int64(received))
		j.await(metrics.Unfinished, zk.Event{At: time.Now()}, false)
		for s := range history.All() {
			if s.Value != want {
				t.Errorf("%d events received: %+v, want a Value of %d", received, s, want)
			}
		}
		if history.Close(); history.Err() != nil {
			t.Fatal(history.Err())
		}
	}
}
