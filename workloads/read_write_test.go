package workloads

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	zklock "github.com/zkbench/zkbench/recipes/lock"
)

func shared(v recipes.Variant[recipes.RWLock], sessions int, readers float64, values profiles.Values) external[recipes.RWLock] {
	d := external[recipes.RWLock]{variant: v, Load: cell(sessions, values)}
	d.Values["readers"] = int(100 * readers)
	return d
}

// Every grant is evidence, for readers and for writers. Promises that only writers make are not checked for readers alone.
func TestReadWriteKeepsItsPromises(t *testing.T) {
	const sessions, times = 6, 10
	for _, v := range zklock.RWVariants() {
		for _, readers := range []float64{0, 0.5, 0.9, 1} {
			t.Run(v.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := newStand(t, latency, shared(v, sessions, readers, nil).of(NewReadWrite), sessions)
					st.drive(times, seats(sessions)...)
					n := counts(st.end())
					grants := n[metrics.Acquire] + n[metrics.ReadAcquire]
					if grants != sessions*times || n[metrics.Release] != n[metrics.Acquire] || n[metrics.ReadRelease] != n[metrics.ReadAcquire] {
						t.Errorf("%v, want %d grants, each released by its side", n, sessions*times)
					}
					want := map[string]int{"reader-writer-exclusion": grants, "liveness": grants, "nothing-left": 1}
					if readers < 1 {
						want["token-order"], want["fifo"] = grants, some
					} else {
						want["reader-writer-exclusion"] = uncontended
					}
					st.holds(want)
				})
			})
		}
	}
}

// Each session draws for its own acquisitions, so the same seed gives every variant the same readers.
func TestTheSplitOfReadersAndWriters(t *testing.T) {
	const sessions, times, readers = 4, 25, 0.3
	for _, v := range zklock.RWVariants() {
		synctest.Test(t, func(t *testing.T) {
			st := newStand(t, latency, shared(v, sessions, readers, profiles.Values{"objects": 2}).of(NewReadWrite), sessions)
			st.drive(times, seats(sessions)...)
			got := map[uint32]int{}
			for _, s := range st.end() {
				if s.Op == metrics.ReadAcquire {
					got[s.Session]++
				}
				if s.Op == metrics.ReadAcquire && s.Object != s.Session%2 {
					t.Errorf("session %d reads lock %d", s.Session, s.Object)
				}
			}
			for i := range uint32(sessions) {
				r, want := rand.New(rand.NewPCG(1, uint64(i))), 0
				for range times {
					if r.Float64() < readers {
						want++
					}
				}
				if got[i] != want || want == 0 || want == times {
					t.Errorf("%s: session %d read %d times of %d, want %d", v.Name, i, got[i], times, want)
				}
			}
		})
	}
	for readers, want := range map[float64][]metrics.Op{0: {metrics.Acquire}, 0.5: {metrics.Acquire, metrics.ReadAcquire}, 1: {metrics.ReadAcquire}} {
		w := shared(zklock.RWVariants()[0], 1, readers, nil).of(NewReadWrite)
		if ops := Ops(w); len(ops) != len(want) || ops[0] != want[0] {
			t.Errorf("with %v readers the operations are %v, want %v", readers, ops, want)
		}
	}
}

// roles assigns each seat of a read/write workload a side, instead of the draw.
func roles(st *stand, sides ...float64) {
	for i, side := range sides {
		w := *st.work.(*readWrite)
		w.readers = side
		st.steps[i] = w.Join(st.seats[i])
	}
}

// A writer's release lets all readers behind it in; the release of the last reader lets the writer behind them in. Readers do not let
// readers in.
func TestHandOffsOfAReadWriteLock(t *testing.T) {
	const writes, reads = 0, 1
	synctest.Test(t, func(t *testing.T) {
		st := newStand(t, latency, shared(zklock.RWVariants()[0], 5, 0.5, profiles.Values{"hold": constant(time.Second)}).of(NewReadWrite), 5)
		roles(st, writes, reads, reads, writes, reads)
		var wait sync.WaitGroup
		for i := range 4 { // W R R W
			st.start(&wait, i, 1, time.Duration(i)*100*time.Millisecond)
		}
		wait.Wait()
		time.Sleep(time.Minute)
		st.start(&wait, 1, 1, 0) // a reader together with a reader, long after the last writer
		st.start(&wait, 4, 1, 100*time.Millisecond)
		wait.Wait()
		releases, grants := map[uint32]time.Duration{}, map[uint32]metrics.Sample{}
		for _, s := range st.end() {
			switch {
			case s.Start > 30*time.Second && s.Op == metrics.HandOff:
				t.Errorf("a hand-off to session %d, which nobody let in", s.Session)
			case s.Op == metrics.Release || s.Op == metrics.ReadRelease:
				if _, known := releases[s.Session]; !known {
					releases[s.Session] = s.Start
				}
			case s.Op == metrics.HandOff:
				grants[s.Session] = s
			}
		}
		if len(grants) != 3 {
			t.Fatalf("%d hand-offs, want two from the first writer and one to the second", len(grants))
		}
		for session, from := range map[uint32]time.Duration{1: releases[0], 2: releases[0], 3: releases[2]} {
			if h := grants[session]; h.Start != from || h.Service() > 10*time.Millisecond {
				t.Errorf("the hand-off to session %d is from %v and takes %v, want from %v", session, h.Start, h.Service(), from)
			}
		}
	})
}

// A reader behind a writer, and a writer behind a reader, give up at their deadlines, and leave nothing.
func TestDeadlinesOfAReadWriteLock(t *testing.T) {
	for _, v := range zklock.RWVariants() {
		for _, first := range []float64{0, 1} {
			synctest.Test(t, func(t *testing.T) {
				c := shared(v, 2, 0.5, profiles.Values{"hold": constant(time.Second)})
				c.Deadline = 500 * time.Millisecond
				st := newStand(t, latency, c.of(NewReadWrite), 2)
				roles(st, first, 1-first)
				st.drive(1, 0, 1)
				st.steps[1].Do(context.Background(), st.origin.Now()) // free again
				var outcomes []metrics.Outcome
				for _, s := range st.end() {
					if s.Session == 1 && (s.Op == metrics.Acquire || s.Op == metrics.ReadAcquire) {
						outcomes = append(outcomes, s.Outcome)
						if s.Outcome == metrics.Timeout && s.Service() > c.Deadline+10*time.Millisecond {
							t.Errorf("%s: gave up after %v", v.Name, s.Service())
						}
					}
				}
				if len(outcomes) != 2 || outcomes[0] != metrics.Timeout || outcomes[1] != metrics.OK {
					t.Errorf("%s: behind the first the second ended %v, want a timeout and then a grant", v.Name, outcomes)
				}
				if left := st.judged()["nothing-left"]; left.Evidence != 1 || left.Count != 0 {
					t.Errorf("%s: nothing-left is %+v", v.Name, left)
				}
			})
		}
	}
}

func TestDefectsOfReadWriteLocksAreCaughtUnderLoad(t *testing.T) {
	for _, name := range []string{"broken-readers-walk-in", "broken-writers-see-writers", "broken-own-tokens", "broken-shared-persistent"} {
		t.Run(name, func(t *testing.T) {
			d := defect(t, broken.RWLocks, name)
			synctest.Test(t, func(t *testing.T) {
				c := shared(d.Variant, 6, 0.5, nil)
				c.Deadline = 50 * time.Millisecond
				st := newStand(t, latency, c.of(NewReadWrite), 6)
				st.drive(10, seats(6)...)
				st.end()
				st.violates(d.Caught)
			})
		})
	}
}

// Every event lets a session make progress, although not all that are woken hold: a writer behind readers goes on to the next of them.
func TestEveryWakeOfAReadWriteLockIsOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStand(t, latency, shared(zklock.RWVariants()[0], 10, 0.9, profiles.Values{"hold": upTo(100 * time.Millisecond)}).of(NewReadWrite), 10)
		st.drive(30, seats(10)...)
		st.end()
		if w := st.fanout.Snapshot(); w.AllEvents() == 0 || w.Moved != w.AllEvents() || w.Useful >= w.AllEvents() {
			t.Errorf("%+v, want that every event got somebody further, and not all of them to a grant", w)
		}
	})
}
