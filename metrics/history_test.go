package metrics

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics/spill"
)

func TestHistoryKeepsEverySampleInOrderOfEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, chunk - 1, chunk, 3*chunk + 5, Kept + 7*chunk} {
		room := spill.NewRoom(t.TempDir(), 0)
		h := NewHistory(3, room)
		var want []Sample
		for i := range n {
			s := randomSample(r, time.Duration(r.IntN(n)))
			want = append(want, s)
			switch {
			case i%2 == 1:
				h.Shard(int(s.Session)).Record(s, want[i-1]) // as its part
			case i == n-1:
				h.Shard(int(s.Session)).Record(s)
			}
		}
		got := slices.Collect(h.All())
		if !slices.IsSortedFunc(got, func(a, b Sample) int { return order(&a, &b) }) {
			t.Fatalf("%d samples: All is not in the order of End", n)
		}
		if h.Len() != n || !sameMultiset(got, want) {
			t.Fatalf("All yields %d samples (Len %d), want the %d recorded", len(got), h.Len(), n)
		}
		if again := slices.Collect(h.All()); !slices.Equal(again, got) {
			t.Fatal("All yields another order the second time")
		}
		if spilled := room.Most() > 0; spilled != (n > Kept) || h.Err() != nil {
			t.Fatalf("%d samples: spilled is %v, error %v", n, spilled, h.Err())
		}
		for range h.All() {
			break // leaving early is allowed
		}
		s := randomSample(r, time.Hour)
		h.Shard(1).Record(s)
		if got := slices.Collect(h.All()); len(got) != n+1 || !slices.Contains(got, s) {
			t.Fatalf("%d samples: those recorded after All are missing", n)
		}
		h.Close()
	}
	if SampleBytes > 64 {
		t.Errorf("a sample takes %d bytes, want at most 64", SampleBytes)
	}
}

func sameMultiset(a, b []Sample) bool {
	count := map[Sample]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return len(a) == len(b)
}

func BenchmarkHistoryAll(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	samples := make([]Sample, 1_000_000)
	for i := range samples {
		samples[i] = randomSample(r, time.Duration(i)*10*time.Microsecond-time.Duration(r.ExpFloat64()*float64(time.Millisecond)))
	}
	for b.Loop() {
		b.StopTimer()
		h := NewHistory(2, spill.NewRoom(b.TempDir(), 0))
		for _, s := range samples {
			h.Shard(int(s.Session)).Record(s)
		}
		b.StartTimer()
		for range h.All() {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/sample")
}

// BenchmarkHistoryOfLocks measures recording the acquisitions of 100 locks, each with 10 sessions in line: 8 samples each, most of them parts that ended
// before the acquisition did.
func BenchmarkHistoryOfLocks(b *testing.B) {
	const all = 100_000
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		h := NewHistory(2, spill.NewRoom(b.TempDir(), 0))
		var at time.Duration
		var last [100]time.Duration
		before := CPUTime()
		for range all {
			at += time.Duration(r.ExpFloat64() * float64(400*time.Microsecond))
			lock := r.IntN(100)
			session := uint32(lock + 100*r.IntN(10))
			whole := Sample{Op: Acquire, Session: session, Object: uint32(lock), Start: at - 10*max(at-last[lock], 5*time.Millisecond), End: at}
			last[lock] = at
			part := func(op Op, from, to time.Duration) Sample {
				p := whole
				p.Op, p.Start, p.End = op, from, to
				return p
			}
			created := whole.Start + time.Duration(r.ExpFloat64()*float64(2*time.Millisecond))
			armed := created + time.Duration(r.ExpFloat64()*float64(time.Millisecond))
			woken := at - time.Duration(r.ExpFloat64()*float64(2*time.Millisecond))
			h.Shard(int(session)).Record(whole, part(Enqueue, whole.Start, created), part(List, created, armed), part(Wait, armed, woken),
				part(Delivery, woken, woken+50*time.Microsecond), part(Recheck, woken+50*time.Microsecond, at), part(HandOff, woken, at))
			h.Shard(int(session)).Record(Sample{Op: Release, Session: session, Object: uint32(lock), Start: at, End: at + time.Millisecond})
		}
		written := make(chan struct{})
		h.full <- batch{written: written}
		<-written
		recorded := CPUTime()
		for range h.All() {
			break
		}
		b.ReportMetric(float64((recorded-before).Nanoseconds())/all/8, "recording-ns/sample")
		b.ReportMetric(float64((CPUTime()-recorded).Nanoseconds())/all/8, "sorting-ns/sample")
		h.Close()
	}
}

// Where the shards are so many that each keeps few samples, they are still written in entire chunks.
func TestManyShardsWriteEntireChunks(t *testing.T) {
	room := spill.NewRoom(t.TempDir(), 0)
	h := NewHistory(1000, room)
	defer h.Close()
	for i := range chunk {
		s := Sample{Op: Acquire, Start: time.Duration(i), End: time.Duration(i) + time.Second}
		h.Shard(0).Record(s, Sample{Op: Enqueue, Start: s.Start, End: s.Start + 1})
	}
	if n := h.Len(); n != 2*chunk || len(h.full) > 0 || room.Most() > 0 {
		t.Errorf("%d samples, two chunks: %d batches to be written, %d bytes written", n, len(h.full), room.Most())
	}
}

func TestHistoryReportsLostSamples(t *testing.T) {
	h := NewHistory(1, spill.NewRoom(t.TempDir()+"/gone", 0))
	defer h.Close()
	for range Kept + 1 {
		h.Shard(0).Record(Sample{Op: Acquire})
	}
	for range h.All() {
	}
	if h.Err() == nil {
		t.Error("Err() = nil, though samples that did not fit into memory could not be written")
	}
}
