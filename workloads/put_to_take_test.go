package workloads

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zkqueue "github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// of returns the samples of one operation of a history.
func of(history *metrics.History, op metrics.Op) (all []metrics.Sample) {
	for s := range history.All() {
		if s.Op == op {
			all = append(all, s)
		}
	}
	return all
}

// An item's put-to-take time lasts from when its put was due to the end of its take, once for each item, except preloaded ones. An item still there
// at the end has waited at least that long.
func TestTheWayOfAnItemThroughAQueue(t *testing.T) {
	for name, c := range queueVariants() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens, history := zktest.New(latency), metrics.NewHistory(1, nil)
				c.Open = true
				w, put, take := join(t, ens, c, history.Shard(0), metrics.NewFanout(1))
				time.Sleep(time.Second)
				for _, step := range []Step{put, put, take, put, take, take, take, take, take} { // five of the items were there before
					if err := step.Do(t.Context(), 500*time.Millisecond); err != nil {
						t.Fatal(err)
					}
				}
				puts, takes, ways := of(history, metrics.Put), of(history, metrics.Take), of(history, metrics.PutToTake)
				puts = slices.DeleteFunc(puts, func(s metrics.Sample) bool { return s.Due == s.Start }) // the preload
				taken := map[int64]metrics.Sample{}
				for _, s := range takes {
					taken[s.Value] = s
				}
				var rest int
				for _, p := range puts {
					i := slices.IndexFunc(ways, func(s metrics.Sample) bool { return s.Value == p.Value })
					end, was := taken[p.Value]
					if was != (i >= 0) {
						t.Errorf("item %x was taken: %v, and its way is told: %v", p.Value, was, i >= 0)
					}
					if rest++; i < 0 {
						continue
					}
					rest--
					if s := ways[i]; s.Due != 500*time.Millisecond || s.Start != p.Start || s.End != end.End || s.Outcome != metrics.OK || s.Start < time.Second {
						t.Errorf("way %+v of put %+v and take %+v", s, p, end)
					}
				}
				if len(puts) != 3 || len(ways)+rest != 3 {
					t.Errorf("%d puts, %d ways, %d left", len(puts), len(ways), rest)
				}
				seen := metrics.NewHistory(1, nil)
				at := time.Hour
				w.(Waiting).StillWaiting(at, seen.Shard(0))
				left := of(seen, metrics.PutToTake)
				for _, s := range left {
					if s.Outcome != metrics.Unfinished || s.End != at || s.Due != 500*time.Millisecond || s.Start < time.Second {
						t.Errorf("what is still there is %+v", s)
					}
				}
				if len(left) != rest {
					t.Errorf("%d items are still there, want %d", len(left), rest)
				}
				closeAll(ens)
			})
		})
	}
}

// The put-to-take time starts when the put is due, not when the producer learns that it is done: a consumer may have the item earlier.
func TestAnItemThatIsTakenBeforeItsPutHasEnded(t *testing.T) {
	var q inQueue
	put := metrics.Sample{Op: metrics.Put, Value: 7, Due: 1, Start: 2}
	q.begin(put)
	if got := q.all(); len(got) != 0 {
		t.Errorf("%+v is in the queue before anybody knows that it is", got)
	}
	if got, first := q.take(7); !first || got != put {
		t.Errorf("take = %+v, %v, want %+v", got, first, put)
	}
	put.End = 9
	q.end(put, false)
	if _, again := q.take(7); again || len(q.all()) != 0 {
		t.Error("an item that was taken is in the queue again when its put has ended")
	}
}

// It is not known whether an item is there whose put was lost; one whose put has failed is not.
func TestPutsThatDidNotSucceedAreNotWaitedFor(t *testing.T) {
	for outcome, there := range map[metrics.Outcome]bool{metrics.OK: true, metrics.Failed: false, metrics.Lost: true, metrics.InDoubt: true, metrics.Timeout: true,
		metrics.Unfinished: true} {
		var q inQueue
		put := metrics.Sample{Op: metrics.Put, Value: 7, Outcome: outcome}
		q.begin(put)
		q.end(put, false)
		if got := len(q.all()) == 1; got != (outcome == metrics.OK) {
			t.Errorf("%v: surely in the queue: %v", outcome, got)
		}
		if _, took := q.take(7); took != there {
			t.Errorf("%v: it can be taken: %v", outcome, took)
		}
		q.begin(put)
		q.end(put, true)
		if got := len(q.all()) == 1; got != (outcome != metrics.Failed) {
			t.Errorf("%v, cut by the end of the run: it would have to come: %v", outcome, got)
		}
	}
}

// An item that may have been taken by a consumer that did not learn of it had not been taken by then, and is not said to be waiting still.
func TestAnItemThatIsInDoubtDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens, history := zktest.New(latency), metrics.NewHistory(1, nil)
		w, put, take := join(t, ens, queueVariants()["fifo"], history.Shard(0), metrics.NewFanout(1))
		for range 5 { // preloaded items
			if err := take.Do(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := put.Do(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindDelete && op.Applied {
				cancel()
			}
			return zktest.Action{}
		})
		if err := take.Do(ctx, 0); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		last := of(history, metrics.Take)[5]
		seen := metrics.NewHistory(1, nil)
		w.(Waiting).StillWaiting(time.Hour, seen.Shard(0))
		if last.Outcome == metrics.OK || last.Value == 0 || seen.Len() != 0 {
			t.Errorf("the take %+v, and %d items wait", last, seen.Len())
		}
		if ways := of(history, metrics.PutToTake); len(ways) != 1 || ways[0].Outcome != metrics.Unfinished || ways[0].End != last.End {
			t.Errorf("ways %+v, want one that was not over at %v", ways, last.End)
		}
		closeAll(ens)
	})
}

// A queue that is only filled, or only emptied, has no put-to-take time; its operations are timed instead.
func TestWhatIsTimed(t *testing.T) {
	for share, want := range map[float64][]metrics.Op{0: {metrics.Take}, 0.5: {metrics.PutToTake}, 1: {metrics.Put}} {
		w := NewQueue(zkqueue.Variants()[0], recipes.Options{}, Load{Sessions: 4, Values: profiles.Values{"producers": int(100 * share)}})
		if got := Timed(w); !slices.Equal(got, want) {
			t.Errorf("producers %v: %v are timed, want %v", share, got, want)
		}
	}
	if got := Timed(NewLock(recipes.Variant[recipes.Lock]{}, recipes.Options{}, Load{})); !slices.Equal(got, []metrics.Op{metrics.Acquire}) {
		t.Errorf("of a lock %v is timed", got)
	}
}
