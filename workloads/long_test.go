package workloads

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/recipes"
	zklock "github.com/zkbench/zkbench/recipes/lock"
)

// BenchmarkJudgingOnDisk measures judging a history of ten million samples by all checks of a lock, one after the other: time, CPU time and peak memory.
func BenchmarkJudgingOnDisk(b *testing.B) {
	v, _ := recipes.Find(zklock.Variants(), "predecessor")
	w := NewLock(v, recipes.Options{}, Load{Dir: "/cell", Sessions: 100, Stall: time.Minute})
	const samples, each = 10_000_000, 200 * time.Microsecond
	for b.Loop() {
		var most atomic.Uint64
		quit, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			for tick := time.NewTicker(20 * time.Millisecond); ; {
				select {
				case <-quit:
					return
				case <-tick.C:
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapInuse))
			}
		}()
		room := spill.NewRoom(b.TempDir(), 0)
		h := metrics.NewHistory(2, room)
		begun := cpu(b)
		for i := range samples / 4 {
			at := time.Duration(i) * each
			asked := max(at-each, 0) // while the one before holds
			s := metrics.Sample{Session: uint32(i % 100), Token: int64(i + 1), Due: asked, Start: asked, End: at + each/4, Op: metrics.Enqueue}
			h.Shard(i).Record(s)
			s.Op, s.End, s.Zxid = metrics.Acquire, at+each/2, int64(2*i+1)
			h.Shard(i).Record(s)
			s.Op = metrics.List
			h.Shard(i).Record(s)
			s.Op, s.Start, s.End, s.Zxid = metrics.Release, at+each*3/4, at+each, int64(2*i+3)
			h.Shard(i).Record(s)
		}
		recorded, since := cpu(b), time.Now()
		for _, k := range w.Checks() {
			if verdict := k.Judge(h.All(), room); verdict.Answer != check.Holds && k.Name != "nothing-left" {
				b.Fatalf("%s: %+v", k.Name, verdict)
			}
		}
		judged, wall := cpu(b), time.Since(since)
		check.DealOf(h.All(), room)
		figures := cpu(b)
		of := check.OwnershipOf(h.All(), room, 0, 0, samples/4*each, 120)
		check.PlacesOf(h.All(), room, func(metrics.Sample) bool { return true })
		cohorts := []check.Cohort{{Op: metrics.Acquire, High: each}, {Op: metrics.Acquire, Low: each, High: time.Second}}
		check.Sum(h.All(), []metrics.Op{metrics.Enqueue, metrics.List}, func(metrics.Sample) bool { return true }, cohorts)
		check.StripOf(h.All(), room, 0, of.Longest, samples/4*each)
		pictured := cpu(b)
		close(quit)
		<-over
		b.ReportMetric((recorded - begun).Seconds(), "cpu-s/recorded")
		b.ReportMetric((judged - recorded).Seconds(), "cpu-s/judged")
		b.ReportMetric(wall.Seconds(), "s/judged")
		b.ReportMetric((figures - judged).Seconds(), "cpu-s/fairness")
		b.ReportMetric((pictured - figures).Seconds(), "cpu-s/details")
		b.ReportMetric(float64(most.Load())/(1<<20), "MiB-heap")
		b.ReportMetric(float64(room.Most())/(1<<20), "MiB-disk")
		if h.Close(); room.Err() != nil {
			b.Fatal(room.Err())
		}
	}
}

func cpu(b *testing.B) time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
