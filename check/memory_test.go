package check

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// BenchmarkMemoryOfPriority reports the check's peak memory per item of a history that is mostly on disk.
func BenchmarkMemoryOfPriority(b *testing.B) {
	const items = 300_000
	history := func(yield func(metrics.Sample) bool) {
		for i := range items {
			at := time.Duration(i) * 10
			s := metrics.Sample{Session: uint32(i % 50), Value: int64(i + 1), Token: int64(i + 1), Start: at, Outcome: metrics.OK}
			for k, op := range []metrics.Op{metrics.Put, metrics.Choose, metrics.Remove, metrics.Take} {
				s.Op, s.End = op, at+time.Duration(k)+1
				if !yield(s) {
					return
				}
			}
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	for b.Loop() {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		before, stop, most := m.HeapAlloc, make(chan struct{}), make(chan uint64)
		go func() {
			top := before
			for running := true; running; {
				select {
				case <-stop:
					running = false
				default:
				}
				runtime.ReadMemStats(&m)
				top = max(top, m.HeapAlloc)
				time.Sleep(time.Millisecond)
			}
			most <- top
		}()
		room := spill.NewRoom(b.TempDir(), 1<<20)
		if v := Priority(func(int64) int32 { return 0 }, true).Judge(history, room); v.Answer != Holds || v.Evidence != items {
			b.Fatalf("%+v", v)
		}
		close(stop)
		b.ReportMetric(float64(<-most-before)/items, "B/item")
	}
}
