package workloads

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zkqueue "github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk/zktest"
)

// queueCase is a queue as tests describe it.
type queueCase struct {
	external[recipes.Queue]
	make func(recipes.Variant[recipes.Queue], recipes.Options, Load) Workload
}

// queueVariants are the queues with the options that change what an item costs.
func queueVariants() map[string]queueCase {
	fifo, claim, priority, delay := zkqueue.Variants()[0], zkqueue.Variants()[1], zkqueue.PriorityVariants()[0], zkqueue.DelayVariants()[0]
	of := func(make func(recipes.Variant[recipes.Queue], recipes.Options, Load) Workload, v recipes.Variant[recipes.Queue], o recipes.Options) queueCase {
		return queueCase{external[recipes.Queue]{variant: v, options: o, Load: Load{Values: profiles.Values{}}}, make}
	}
	bounded := of(NewQueue, fifo, recipes.Options{})
	bounded.Values["bound"] = 1000
	return map[string]queueCase{
		"fifo":             of(NewQueue, fifo, recipes.Options{}),
		"fifo exact":       of(NewQueue, fifo, recipes.Options{Exact: true}),
		"fifo bounded":     bounded,
		"fifo cached":      of(NewQueue, fifo, recipes.Options{List: recipes.ListCached}),
		"claim":            of(NewQueue, claim, recipes.Options{}),
		"priority":         of(NewPriorityQueue, priority, recipes.Options{}),
		"priority watched": of(NewPriorityQueue, priority, recipes.Options{List: recipes.ListWatched}),
		"delay":            of(NewDelayQueue, delay, recipes.Options{}),
		"delay watched":    of(NewDelayQueue, delay, recipes.Options{List: recipes.ListWatched}),
		"delay synced":     of(NewDelayQueue, delay, recipes.Options{List: recipes.ListSynced}),
		"priority synced":  of(NewPriorityQueue, priority, recipes.Options{List: recipes.ListSynced}),
	}
}

// join sets up a queue with one producer, one consumer and a few items, and returns their steps.
func join(t *testing.T, ens *zktest.Ensemble, c queueCase, r metrics.Recorder, fanout *metrics.Fanout) (w Workload, put, take Step) {
	t.Helper()
	c.Dir, c.Sessions, c.Stall, c.Values = "/cell", 2, time.Minute, maps.Clone(c.Values)
	c.Values["preload"] = 5
	w = c.of(c.make)
	admin := ens.Dial()
	if err := w.Setup(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	admin.Close()
	steps := make([]Step, 2)
	for i := range steps {
		steps[i] = w.Join(Seat{ID: uint32(i), Session: ens.Dial(), Recorder: r, Fanout: fanout.Shard(0), Origin: metrics.NewOrigin(time.Now()),
			Rand: rand.New(rand.NewPCG(1, uint64(i)))})
	}
	return w, steps[0], steps[1]
}

// With one producer, one consumer, and always an item, each item costs exactly the theoretical number of requests.
func TestTheCostOfAnItemIsTheTheory(t *testing.T) {
	for name, c := range queueVariants() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens, fanout, history := zktest.New(latency), metrics.NewFanout(1), metrics.NewHistory(1, nil)
				w, put, take := join(t, ens, c, history.Shard(0), fanout)
				const rounds = 20
				var before metrics.FanoutCounts
				for round := range 5 + rounds {
					if round == 5 { // markers exist and the preload has been taken
						before = fanout.Snapshot()
					}
					for _, step := range []Step{put, take} {
						if err := step.Do(t.Context(), 0); err != nil {
							t.Fatal(err)
						}
					}
				}
				measured, theory := CostOf(fanout.Snapshot().Sub(before)), w.(Costed).Cost()
				lists := measured[Lists] / rounds
				for spent, want := range theory {
					got := measured[spent] / rounds
					if spent == Reads && c.options.List == recipes.ListCached {
						got -= lists // one for several items
					}
					if got != want {
						t.Errorf("%s: %v for each item, want %v", spent, got, want)
					}
				}
				if c.options.List == recipes.ListCached && lists > 0.4 {
					t.Errorf("%v lists for each item of a cached list", lists)
				}
				closeAll(ens)
			})
		})
	}
}

func closeAll(ens *zktest.Ensemble) {
	for _, s := range ens.Sessions() {
		s.Close()
	}
}

// Every item is in the history, with what the checks need, and the checks hold.
func TestTheHistoryOfAQueue(t *testing.T) {
	for name, c := range queueVariants() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens, history := zktest.New(latency), metrics.NewHistory(1, nil)
				w, put, take := join(t, ens, c, history.Shard(0), metrics.NewFanout(1))
				for i := range 30 {
					step := put
					if i%2 == 1 { // few items are left: the check for linearizability tries all orders of them
						step = take
					}
					if err := step.Do(t.Context(), 0); err != nil {
						t.Fatal(err)
					}
				}
				admin := ens.Dial()
				for _, s := range ens.Sessions() {
					if s != admin {
						s.Close()
					}
				}
				if err := w.Inspect(t.Context(), admin, history.Shard(0)); err != nil {
					t.Fatal(err)
				}
				admin.Close()
				count := map[string]int{}
				for s := range history.All() {
					key := s.Op.String()
					if s.Op == metrics.Remain && s.Value == 0 {
						key = "looked"
					}
					count[key]++
					if s.Outcome != metrics.OK || s.Value == 0 && s.Op != metrics.Left && key != "looked" || s.Token == 0 && s.Op != metrics.Left && s.Op != metrics.PutToTake && !c.options.Exact {
						t.Errorf("sample %+v", s)
					}
				}
				if count["put"] != 5+15 || count["take"] != 15 || count["remain"] != 5 || count["looked"] != 1 {
					t.Errorf("samples %v, want 20 puts, 15 takes, 5 items left", count)
				}
				checks := w.Checks()
				if c.variant.FIFO {
					checks = append(checks, check.LinearizableQueue(time.Minute))
				}
				for _, k := range checks {
					if v := k.Judge(history.All(), nil); v.Answer != check.Holds {
						t.Errorf("%s = %v: %s", k.Name, v.Answer, v.Detail)
					}
				}
			})
		})
	}
}

// A consumer that is cut while it waits is unfinished, one whose deadline passes is a timeout, and neither has an item.
func TestAConsumerThatGetsNothing(t *testing.T) {
	for _, deadline := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ens, history := zktest.New(latency), metrics.NewHistory(1, nil)
			_, _, take := join(t, ens, queueCase{external[recipes.Queue]{variant: zkqueue.Variants()[0], Load: Load{Deadline: deadline, Values: profiles.Values{}}}, NewQueue}, history.Shard(0), metrics.NewFanout(1))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			for range 6 {
				if err := take.Do(ctx, 0); err != nil {
					t.Fatal(err)
				}
			}
			closeAll(ens)
			want := map[time.Duration]metrics.Outcome{0: metrics.Unfinished, time.Second: metrics.Timeout}[deadline]
			var last metrics.Sample
			for s := range history.All() {
				if s.Op == metrics.Take {
					last = s
				}
			}
			if last.Outcome != want || last.Value != 0 {
				t.Errorf("the last take is %+v, want %v", last, want)
			}
		})
	}
}

func TestWhoProduces(t *testing.T) {
	for _, tt := range []struct {
		sessions, queues int
		share            float64
		want             string // roles of the sessions in turn
	}{
		{1, 1, 0.5, "p"},
		{2, 1, 0.5, "pc"},
		{2, 1, 0.01, "pc"},
		{2, 1, 0.99, "pc"},
		{4, 1, 0, "cccc"},
		{4, 1, 1, "pppp"},
		{10, 1, 0.2, "ppcccccccc"},
		{4, 2, 0.5, "ppcc"},
		{5, 2, 0.5, "ppp" + "cc"}, // three sessions at the first queue, two at the second
	} {
		w := NewQueue(zkqueue.Variants()[0], recipes.Options{}, Load{Sessions: tt.sessions,
			Values: profiles.Values{"objects": tt.queues, "producers": int(100 * tt.share)}}).(*queue)
		got := ""
		for _, id := range w.sessions() {
			got += map[bool]string{true: "p", false: "c"}[w.produces(id)]
		}
		if got != tt.want {
			t.Errorf("%d sessions at %d queues, share %v: %s, want %s", tt.sessions, tt.queues, tt.share, got, tt.want)
		}
		external := slices.ContainsFunc(w.sessions(), w.IsPaced)
		puts, takes := strings.Contains(got, "p"), strings.Contains(got, "c")
		if !external || slices.Contains(Offered(w), metrics.Put) != puts || slices.Contains(Ops(w), metrics.Take) != takes || slices.Contains(Ops(w), metrics.Put) != puts {
			t.Errorf("%s: driven %v, offered %v, operations %v", got, external, Offered(w), Ops(w))
		}
	}
}

func TestAnItemOfSomebodyElseIsAStranger(t *testing.T) {
	w := NewPriorityQueue(zkqueue.PriorityVariants()[0], recipes.Options{}, Load{Sessions: 1}).(*queue)
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		it, value := w.item(r, 0, 0)
		if got := w.valueOf(it.Data); got != value || priorityOf(got) != it.Priority || got == 0 || len(it.Data) != 100 {
			t.Fatalf("item of priority %d with value %x is read as %x", it.Priority, value, got)
		}
	}
	for _, data := range [][]byte{nil, make([]byte, 8), make([]byte, 100)} {
		if got := w.valueOf(data); got != stranger {
			t.Errorf("valueOf(%d bytes of nobody) = %d, want the stranger", len(data), got)
		}
	}
}

// Processes that share a cell recognize each other's items, and no two items are the same.
func TestItemsOfAllProcessesAreToldApart(t *testing.T) {
	load := Load{Dir: "/run/cell-1", Sessions: 5, Shared: true}
	r, seen := rand.New(rand.NewPCG(1, 1)), map[int64]bool{}
	one, other := newQueue(zkqueue.Variants()[0], recipes.Options{}, load), newQueue(zkqueue.Variants()[0], recipes.Options{}, load)
	for id := range load.Sessions + 1 { // the last one makes the preloaded items
		w := []*queue{one, other}[id%2]
		for range 10 {
			it, value := w.item(r, id, 0)
			if one.valueOf(it.Data) != value || other.valueOf(it.Data) != value || seen[value] || value == 0 {
				t.Errorf("item %d of session %d is read as %d and %d, or came twice", value, id, one.valueOf(it.Data), other.valueOf(it.Data))
			}
			seen[value] = true
		}
	}
	load.Dir = "/run/cell-2"
	if it, _ := one.item(r, 0, 0); newQueue(zkqueue.Variants()[0], recipes.Options{}, load).valueOf(it.Data) != stranger {
		t.Error("an item of another cell is none of a stranger")
	}
}

func TestQueueOptions(t *testing.T) {
	kinds := map[string]Kind{"fifo": Queues(zkqueue.Variants()), "claim": Queues(zkqueue.Variants()), "priority": PriorityQueues(zkqueue.PriorityVariants())}
	for _, tt := range []struct{ variant, name, value, fault string }{
		{"fifo", "list", "cached", ""},
		{"fifo", "list", "synced", "not one of fresh, cached"},
		{"fifo", "window", "10", ""},
		{"fifo", "window", "0", "not a number of at least 1"},
		{"fifo", "offer", "exact", ""},
		{"fifo", "offer", "at-least-once", ""},
		{"fifo", "offer", "once", "not one of at-least-once, exact"},
		{"fifo", "ephemeral-items", "true", ""},
		{"claim", "list", "fresh", "unknown option"},
		{"claim", "window", "2", "unknown option"},
		{"priority", "list", "watched", ""},
		{"priority", "window", "2", "unknown option"},
	} {
		v, known := kinds[tt.variant].Find(tt.variant)
		if !known {
			t.Fatal("no variant " + tt.variant)
		}
		err := v.CheckOption(tt.name, tt.value)
		if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: option %s=%s: %v, want %q", tt.variant, tt.name, tt.value, err, tt.fault)
		}
	}
}

// No two items of a queue have the same Value, however many a session has put.
func TestItemsHaveValuesOfTheirOwn(t *testing.T) {
	w := newQueue(zkqueue.Variants()[0], recipes.Options{}, Load{Sessions: 3, Values: profiles.Values{"producers": 50, "payload": 16}})
	seen := map[int64]bool{}
	for _, made := range []int64{0, 1, 1 << 30, 1 << 40} { // by each session before
		for session := range w.items {
			w.items[session] = made
			_, value := w.item(rand.New(rand.NewPCG(1, 1)), session, 0)
			if seen[value] || value <= 0 {
				t.Errorf("item %d of session %d has the value %d of another one", made, session, value)
			}
			seen[value] = true
		}
	}
}
