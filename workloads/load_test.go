package workloads

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	locks "github.com/zkbench/zkbench/recipes/lock"
	zkqueue "github.com/zkbench/zkbench/recipes/queue"
	zksemaphore "github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
)

// A custom recipe may have no theory: then there is none, and nothing panics. One that cannot make a handle is reported.
func TestARecipeWithoutATheory(t *testing.T) {
	bare := func(zk.Session, string, recipes.Options) recipes.Lock { return nil }
	l := Load{Dir: "/cell", Sessions: 4}
	for name, w := range map[string]Workload{
		"lock":           NewLock(recipes.Variant[recipes.Lock]{Name: "mine", New: bare}, recipes.Options{}, l),
		"read-write":     NewReadWrite(recipes.Variant[recipes.RWLock]{Name: "mine"}, recipes.Options{}, l),
		"semaphore":      NewSemaphore(recipes.Variant[recipes.Semaphore]{Name: "mine"}, recipes.Options{}, l),
		"election":       NewElection(recipes.Variant[recipes.Election]{Name: "mine"}, recipes.Options{}, l),
		"double-barrier": NewDoubleBarrier(recipes.Variant[recipes.DoubleBarrier]{Name: "mine"}, recipes.Options{}, l),
		"rendezvous":     NewRendezvous(recipes.Variant[recipes.Rendezvous]{Name: "mine"}, recipes.Options{}, l),
		"commit":         NewCommit(recipes.Variant[recipes.Commit]{Name: "mine"}, recipes.Options{}, l),
	} {
		if r, some := w.(Releasing); some {
			if release, arrival := r.Theory(); release != 0 || arrival != 0 {
				t.Errorf("%s: %v and %v events, want none", name, release, arrival)
			}
		}
		if c, some := w.(Costed); some {
			for spent, n := range c.Cost() {
				if n != 0 && (spent == Events || spent == Lists) {
					t.Errorf("%s: %v %s in theory", name, n, spent)
				}
			}
		}
	}
	kind := Locks([]recipes.Variant[recipes.Lock]{{Name: "whole", New: bare}, {Name: "hollow"}})
	whole, _ := kind.Find("whole")
	hollow, _ := kind.Find("hollow")
	if whole.Broken != "" || hollow.Broken == "" {
		t.Errorf("broken: %q, %q", whole.Broken, hollow.Broken)
	}
}

// In a closed loop an operation starts when it is due, however late the test begins it; in an open loop it starts when it begins.
func TestOnlyAnOpenLoopIsLate(t *testing.T) {
	for _, open := range []bool{false, true} {
		for op, of := range map[metrics.Op]func(Load) Workload{
			metrics.Acquire: func(l Load) Workload { return NewLock(locks.Variants()[0], recipes.Options{}, l) },
			metrics.Put:     func(l Load) Workload { return NewQueue(zkqueue.Variants()[0], recipes.Options{}, l) },
			metrics.GetData: func(l Load) Workload { return newOperations(zk.Persistent, l) },
		} {
			synctest.Test(t, func(t *testing.T) {
				l := cell(2, profiles.Values{"mix": profiles.Shares("get 1"), "depth": 1, "fan_out": 1})
				l.Open = open
				st := newStand(t, latency, of(l), 2)
				time.Sleep(time.Second)
				if err := st.steps[0].Do(t.Context(), time.Millisecond); err != nil {
					t.Fatal(err)
				}
				all := slices.DeleteFunc(st.end(), func(s metrics.Sample) bool { return s.Op != op })
				if len(all) != 1 || all[0].Due != time.Millisecond || !open && all[0].Start != all[0].Due || open && all[0].Start < time.Second {
					t.Errorf("open %v: %v", open, all)
				}
			})
		}
	}
}

// Nobody waits for a release while an acquisition is recorded, unless it is held anyway, or, in an open loop, whether the servers keep up is decided meanwhile.
func TestAnAcquisitionIsRecordedAfterTheReleaseThatOthersWaitFor(t *testing.T) {
	for name, of := range map[string]func(Load) Workload{
		"lock":       func(l Load) Workload { return NewLock(locks.Variants()[0], recipes.Options{}, l) },
		"read-write": func(l Load) Workload { return NewReadWrite(locks.RWVariants()[0], recipes.Options{}, l) },
		"semaphore":  func(l Load) Workload { return NewSemaphore(zksemaphore.Variants()[0], recipes.Options{}, l) },
	} {
		for _, c := range []struct {
			sentence string
			hold     time.Duration
			open     bool
			want     order
		}{
			{"not held", 0, false, order{metrics.Release, metrics.Acquire}},
			{"held", time.Millisecond, false, order{metrics.Acquire, metrics.Release}},
			{"open loop", 0, true, order{metrics.Acquire, metrics.Release}},
		} {
			synctest.Test(t, func(t *testing.T) {
				l := cell(1, profiles.Values{"hold": constant(c.hold)})
				l.Open = c.open
				st := newStand(t, latency, of(l), 1)
				var got order
				st.seats[0].Recorder = &got
				if err := st.work.Join(st.seats[0]).Do(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				st.end()
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, %s: recorded %v, want %v", name, c.sentence, got, c.want)
				}
			})
		}
	}
}

// order is a recorder that keeps the operations in the order in which they are recorded.
type order []metrics.Op

func (o *order) Record(s metrics.Sample, _ ...metrics.Sample) { *o = append(*o, s.Op) }
