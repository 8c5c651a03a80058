package workloads

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	locks "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// latency makes requests and events take time, and a bubble exact.
var latency = zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond}

// stand is a workload on an ensemble in memory, with its sessions. It belongs in a bubble.
type stand struct {
	t       *testing.T
	ens     *zktest.Ensemble
	work    Workload
	origin  metrics.Origin
	fanout  *metrics.Fanout
	history *metrics.History
	seats   []Seat
	steps   []Step
}

// external is a workload as a test describes it.
type external[T any] struct {
	variant recipes.Variant[T]
	options recipes.Options
	Load
}

func (d external[T]) of(make func(recipes.Variant[T], recipes.Options, Load) Workload) Workload {
	return make(d.variant, d.options, d.Load)
}

// cell returns a load in which a grant is held for 20 ms, or for what the values say.
func cell(sessions int, values profiles.Values) Load {
	l := Load{Dir: "/cell", Sessions: sessions, Stall: time.Minute, Values: profiles.Values{"hold": constant(20 * time.Millisecond)}}
	maps.Copy(l.Values, values)
	return l
}

// lockStand returns a stand of the lock workload.
func lockStand(t *testing.T, cfg zktest.Config, l Load, variant string) *stand {
	t.Helper()
	v, ok := recipes.Find(slices.Concat(locks.Variants(), published.Locks()), variant)
	if !ok {
		t.Fatalf("no variant %s", variant)
	}
	return newStand(t, cfg, NewLock(v, recipes.Options{}, l), l.Sessions)
}

func newStand(t *testing.T, cfg zktest.Config, w Workload, sessions int) *stand {
	t.Helper()
	st := &stand{t: t, ens: zktest.New(cfg), work: w, fanout: metrics.NewFanout(1), history: metrics.NewHistory(1, nil)}
	admin := st.ens.Dial()
	defer admin.Close()
	if err := st.work.Setup(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	st.origin = metrics.NewOrigin(time.Now())
	for i := range sessions {
		seat := Seat{ID: uint32(i), Session: st.ens.Dial(), Recorder: st.history.Shard(0), Fanout: st.fanout.Shard(0), Origin: st.origin,
			Rand: rand.New(rand.NewPCG(1, uint64(i))), Open: func(context.Context) (zk.Session, error) { return st.ens.Dial(), nil }}
		st.seats, st.steps = append(st.seats, seat), append(st.steps, st.work.Join(seat))
	}
	return st
}

func constant(d time.Duration) profiles.Distribution {
	return profiles.Distribution{Kind: profiles.Constant, Mean: d}
}

func upTo(d time.Duration) profiles.Distribution {
	return profiles.Distribution{Kind: profiles.Uniform, Max: d}
}

// start lets a seat do that many units of work in the background, starting after a pause.
func (st *stand) start(wait *sync.WaitGroup, seat, times int, pause time.Duration) {
	wait.Go(func() {
		time.Sleep(pause)
		for range times {
			if err := st.steps[seat].Do(context.Background(), st.origin.Now()); err != nil {
				st.t.Errorf("seat %d: %v", seat, err)
			}
		}
	})
}

// drive lets seats do that many units of work each, concurrently, with a millisecond between their starts.
func (st *stand) drive(times int, seats ...int) {
	var wait sync.WaitGroup
	for i, seat := range seats {
		st.start(&wait, seat, times, time.Duration(i)*time.Millisecond)
	}
	wait.Wait()
}

// end closes the sessions, inspects what is left and returns the samples.
func (st *stand) end() []metrics.Sample {
	st.t.Helper()
	for _, s := range st.seats {
		s.Session.Close()
	}
	admin := st.ens.Dial()
	defer admin.Close()
	if err := st.work.Inspect(st.t.Context(), admin, st.history.Shard(0)); err != nil {
		st.t.Error(err)
	}
	var all []metrics.Sample
	for s := range st.history.All() {
		all = append(all, s)
	}
	return all
}

// counts returns how many samples of each operation ended OK.
func counts(all []metrics.Sample) map[metrics.Op]int {
	n := map[metrics.Op]int{}
	for _, s := range all {
		if s.Outcome == metrics.OK {
			n[s.Op]++
		}
	}
	return n
}

// judged returns the verdicts by name.
func (st *stand) judged() map[string]check.Verdict {
	verdicts := map[string]check.Verdict{}
	for _, k := range st.work.Checks() {
		verdicts[k.Name] = k.Judge(st.history.All(), nil)
	}
	return verdicts
}

// some stands for any evidence at all.
const some = -1

// uncontended stands for an answer that only the lack of contention leaves open.
const uncontended = -3

// unsettled stands for an answer that such a short history leaves open.
const unsettled = -2

// holds asserts that every check holds, with that much evidence; checks whose names are missing in want must not be judged.
func (st *stand) holds(want map[string]int) {
	st.t.Helper()
	got := st.judged()
	for name, v := range got {
		evidence, expected := want[name]
		if evidence == unsettled && v.Answer == check.Unknown {
			continue
		}
		if evidence == uncontended && v.Answer == check.Unknown && v.Uncontended {
			continue
		}
		if v.Answer != check.Holds || !expected || v.Evidence != evidence && evidence != some {
			st.t.Errorf("%s is %v with evidence %d: %s; want that it holds with %d", name, v.Answer, v.Evidence, v.Detail, evidence)
		}
	}
	for name := range want {
		if _, judged := got[name]; !judged {
			st.t.Errorf("%s is not judged", name)
		}
	}
}

// violates asserts that a check is violated, with a counterexample.
func (st *stand) violates(name string) {
	st.t.Helper()
	if v := st.judged()[name]; v.Answer != check.Violated || v.Count == 0 || len(v.Witness) == 0 {
		st.t.Errorf("%s is %v, %d times, with witness %v: %s; want that it is violated", name, v.Answer, v.Count, v.Witness, v.Detail)
	}
}

// seats returns the numbers of the first n seats.
func seats(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// defect returns the broken recipe with that name.
func defect[T any](t *testing.T, all []broken.Defect[T], name string) broken.Defect[T] {
	t.Helper()
	i := slices.IndexFunc(all, func(d broken.Defect[T]) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("there is no defect %s", name)
	}
	return all[i]
}
