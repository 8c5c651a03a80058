package workloads

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// BenchmarkRecording measures what recording costs for each acquisition and release: the difference of the two. The servers are in memory and answer
// at once, so the shares are far above those of a run; for a real acquisition the difference should be at most 2 %.
func BenchmarkRecording(b *testing.B) {
	v, _ := recipes.Find(zklock.Variants(), "predecessor")
	setup := func(b *testing.B) (*zktest.Ensemble, Load, Workload) {
		e := zktest.New(zktest.Config{})
		c := Load{Dir: "/cell", Sessions: 1}
		w := NewLock(v, recipes.Options{}, c)
		if err := w.Setup(b.Context(), e.Dial()); err != nil {
			b.Fatal(err)
		}
		return e, c, w
	}
	b.Run("bare", func(b *testing.B) {
		e, c, _ := setup(b)
		l := v.New(e.Dial(), c.Dir+"/lock-0", recipes.Options{})
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.Acquire(ctx); err != nil {
				b.Fatal(err)
			}
			if err := l.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("recorded", func(b *testing.B) {
		e, _, w := setup(b)
		recorded(b, e, w)
	})
}

// BenchmarkReading measures the same for a read of the workload 'operations'.
func BenchmarkReading(b *testing.B) {
	setup := func(b *testing.B) (*zktest.Ensemble, *operations) {
		e := zktest.New(zktest.Config{})
		w := newOperations(zk.Persistent, Load{Dir: "/cell", Sessions: 1, Values: profiles.Values{"mix": profiles.Shares("get 100"), "depth": 1, "fan_out": 100, "outstanding": 1}})
		if err := w.Setup(b.Context(), e.Dial()); err != nil {
			b.Fatal(err)
		}
		return e, w
	}
	b.Run("bare", func(b *testing.B) {
		e, w := setup(b)
		s, path, ctx := e.Dial(), w.leaf(7), context.Background()
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Get(ctx, path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("recorded", func(b *testing.B) {
		e, w := setup(b)
		recorded(b, e, w)
	})
}

// recorded measures the steps of a seat whose session is observed and which records as in a cell.
func recorded(b *testing.B, e *zktest.Ensemble, w Workload) {
	collector, history, fanout := metrics.NewCollector(0), metrics.NewHistory(0, nil), metrics.NewFanout(0)
	origin := metrics.NewOrigin(time.Now())
	trips := metrics.NewLongTrips(nil)
	session := zk.Observe(e.Dial(), &zk.Trace{Call: func(c *zk.Call) {
		trips.Keep(metrics.Trip{Start: origin.At(c.Start), End: origin.At(c.End)})
	}})
	step := w.Join(Seat{Session: session, Rand: rand.New(rand.NewPCG(1, 1)), Recorder: metrics.Tee(collector.Shard(0), history.Shard(0)), Fanout: fanout.Shard(0), Origin: origin})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := step.Do(ctx, origin.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkJudging measures what judging costs per sample, for a history of a million samples with 250 thousand grants in turn.
func BenchmarkJudging(b *testing.B) {
	v, _ := recipes.Find(zklock.Variants(), "predecessor")
	w := NewLock(v, recipes.Options{}, Load{Dir: "/cell", Sessions: 100, Stall: time.Minute})
	const samples, each = 1_000_000, 4 * time.Millisecond
	h := metrics.NewHistory(2, nil)
	for i := range samples / 4 {
		at := time.Duration(i) * each
		s := metrics.Sample{Session: uint32(i % 100), Token: int64(i + 1), Due: at, Start: at, End: at + each/4, Op: metrics.Enqueue}
		h.Shard(i).Record(s)
		s.Op, s.End, s.Zxid = metrics.Acquire, at+each/2, int64(2*i+1)
		h.Shard(i).Record(s)
		s.Op = metrics.List
		h.Shard(i).Record(s)
		s.Op, s.Start, s.End, s.Zxid = metrics.Release, at+each*3/4, at+each, int64(2*i+3)
		h.Shard(i).Record(s)
	}
	for range h.All() {
		break
	}
	for _, k := range w.Checks() {
		b.Run(k.Name, func(b *testing.B) {
			for b.Loop() {
				k.Judge(h.All(), nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/samples, "ns/sample")
		})
	}
}
