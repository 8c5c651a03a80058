package metrics

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSteadyPhase(t *testing.T) {
	closed := Steady{From: 10, To: 20}
	open := Steady{From: 10, To: 20, ByDue: true}
	for _, tc := range []struct {
		name         string
		due, end     time.Duration
		closed, open bool
	}{
		{"ended in the warm-up", 1, 9, false, false},
		{"started in the warm-up, ended at the first instant", 9, 10, true, false},
		{"due and ended within", 12, 13, true, true},
		{"due within, ended in the drain: offered in the steady phase, so an open loop is charged", 19, 30, false, true},
		{"ended at the last instant, which belongs to the drain", 15, 20, false, true},
		{"due in the drain", 20, 21, false, false},
	} {
		s := Sample{Due: tc.due, Start: tc.due, End: tc.end}
		if got := closed.Contains(s); got != tc.closed {
			t.Errorf("%s: closed loop Contains(due %d, end %d) = %v, want %v", tc.name, tc.due, tc.end, got, tc.closed)
		}
		if got := open.Contains(s); got != tc.open {
			t.Errorf("%s: open loop Contains(due %d, end %d) = %v, want %v", tc.name, tc.due, tc.end, got, tc.open)
		}
	}
	if (Steady{}).Contains(Sample{}) {
		t.Error("the empty phase contains a sample")
	}
}

// The intervals add up to all recorded samples, and the totals to those of the steady phase, whatever the shards and rotations.
func TestIntervalsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, shards := range []int{1, 7} {
		c := NewCollector(shards)
		steady := Steady{From: 3 * time.Second, To: 8 * time.Second}
		c.Begin(0, steady)
		wantAll, wantSteady, got := &Set{}, &Set{}, &Set{}
		last := time.Duration(0)
		for i := range 5000 {
			s := randomSample(r, time.Duration(i)*2*time.Millisecond)
			c.Shard(int(s.Session)).Record(s)
			wantAll.Add(s)
			if steady.Contains(s) {
				wantSteady.Add(s)
			}
			if i%1700 == 0 || i == 4999 {
				iv := c.Rotate(s.End)
				if iv.From != last || iv.To != s.End {
					t.Fatalf("interval %v..%v, want %v..%v", iv.From, iv.To, last, s.End)
				}
				last = s.End
				got.Merge(iv.All())
			}
		}
		mustEqual(t, "intervals", got, wantAll)
		mustEqual(t, "totals", c.Totals(), wantSteady)
		c.Begin(last, steady)
		mustEqual(t, "totals after Begin", c.Totals(), &Set{})
	}
}

func TestFailuresEnterNoHistogram(t *testing.T) {
	c := NewCollector(1)
	c.SetSteady(Steady{To: time.Hour})
	for _, o := range []Outcome{OK, Timeout, Timeout, Lost, Failed, Unfinished, Outcome(77)} {
		c.Shard(0).Record(Sample{Op: Acquire, Outcome: o, End: time.Second})
	}
	c.Shard(0).Record(Sample{Op: Op(200), End: time.Second})
	s := c.Rotate(time.Minute).Steady
	if n := s.Histogram(Acquire, Response).Count(); n != 1 {
		t.Errorf("acquire.response counts %d, want the 1 success", n)
	}
	if s.Count(Acquire, Timeout) != 2 || s.Count(Acquire, Lost) != 1 || s.Count(Acquire, Failed) != 1 || s.Errors(Acquire) != 4 || s.Count(Acquire, Unfinished) != 1 {
		t.Errorf("timeout, lost, failed, errors = %d, %d, %d, %d, want 2, 1, 1, 4", s.Count(Acquire, Timeout), s.Count(Acquire, Lost), s.Count(Acquire, Failed), s.Errors(Acquire))
	}
	if n := s.Count(OpNone, Failed); n != 2 {
		t.Errorf("samples of no known operation or outcome: %d, want 2", n)
	}
}

func TestClocksOfOperations(t *testing.T) {
	s := &Set{}
	s.Add(Sample{Op: Acquire, Due: 1 * time.Second, Start: 3 * time.Second, End: 7 * time.Second})
	s.Add(Sample{Op: Wait, Due: 1 * time.Second, Start: 3 * time.Second, End: 7 * time.Second})
	want := map[string]time.Duration{"acquire.response": 6 * time.Second, "acquire.service": 4 * time.Second, "acquire.lag": 2 * time.Second, "wait.service": 4 * time.Second}
	for key, h := range s.All() {
		w, ok := want[key.String()]
		if !ok || h.Max() < w || h.Max() > w+w/1000 {
			t.Errorf("%s has maximum %v, want %v (known: %v)", key, h.Max(), w, ok)
		}
		delete(want, key.String())
		if back, err := ParseKey(key.String()); err != nil || back != key {
			t.Errorf("ParseKey(%q) = %v, %v", key, back, err)
		}
	}
	if len(want) != 0 {
		t.Errorf("no histogram of %v", want)
	}
	if _, err := ParseKey("acquire"); err == nil {
		t.Error("ParseKey(acquire): no error")
	}
}

func TestCollectorFromManyGoroutines(t *testing.T) {
	const sessions, each = 16, 2000
	c, h := NewCollector(3), NewHistory(3, nil)
	c.SetSteady(Steady{To: time.Hour})
	var wg sync.WaitGroup
	for i := range sessions {
		to := Tee(c.Shard(i), h.Shard(i))
		wg.Go(func() {
			for k := range each {
				to.Record(Sample{Op: Acquire, Session: uint32(i), End: time.Duration(k) * time.Microsecond})
			}
		})
	}
	total := int64(0)
	for range 20 {
		total += c.Rotate(0).Steady.Count(Acquire, OK)
	}
	wg.Wait()
	total += c.Rotate(0).Steady.Count(Acquire, OK)
	if total != sessions*each || h.Len() != sessions*each {
		t.Errorf("intervals count %d, the history %d, want %d", total, h.Len(), sessions*each)
	}
	if got := c.Totals().Count(Acquire, OK); got != total {
		t.Errorf("Totals count %d, the intervals %d", got, total)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	c := NewCollector(1)
	r := c.Shard(0)
	s := Sample{Op: Acquire, Start: time.Millisecond, End: time.Second}
	r.Record(s)
	if n := testing.AllocsPerRun(1000, func() { r.Record(s) }); n != 0 {
		t.Errorf("Record allocates %v times, want 0", n)
	}
}

func BenchmarkCollectorRecord(b *testing.B) {
	c := NewCollector(0)
	c.SetSteady(Steady{To: time.Hour})
	r := rand.New(rand.NewPCG(1, 1))
	samples := make([]Sample, 1024)
	for i := range samples {
		samples[i] = randomSample(r, time.Duration(i)*time.Millisecond)
	}
	b.Run("one goroutine", func(b *testing.B) {
		b.ReportAllocs()
		to := c.Shard(0)
		for i := 0; b.Loop(); i++ {
			to.Record(samples[i%1024])
		}
	})
	b.Run("with history", func(b *testing.B) {
		b.ReportAllocs()
		to := Tee(c.Shard(0), NewHistory(1, nil).Shard(0))
		for i := 0; b.Loop(); i++ {
			to.Record(samples[i%1024])
		}
	})
	b.Run("one shard, all CPUs", func(b *testing.B) {
		b.ReportAllocs()
		to := c.Shard(0)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				to.Record(samples[i%1024])
			}
		})
	})
}

func BenchmarkCollectorRotate(b *testing.B) {
	c := NewCollector(0)
	c.SetSteady(Steady{To: time.Hour})
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		b.StopTimer()
		for i := range 20_000 {
			c.Shard(i).Record(randomSample(r, time.Duration(i)*time.Millisecond))
		}
		b.StartTimer()
		c.Rotate(time.Hour)
	}
}

func randomSample(r *rand.Rand, end time.Duration) Sample {
	s := Sample{Op: []Op{Acquire, Release, Enqueue, List, Wait, Delivery, Deliver}[r.IntN(7)], Session: r.Uint32N(50), Object: r.Uint32N(3), End: end}
	if r.IntN(20) == 0 {
		s.Outcome = Outcome(r.IntN(Outcomes))
	}
	s.Start = end - time.Duration(r.ExpFloat64()*float64(20*time.Millisecond))
	switch s.Due = s.Start; r.IntN(20) {
	case 0: // of more than HighestValue, or ending before it started
		s.Start += time.Duration(r.IntN(5)-3) * time.Hour
		s.Due = s.Start
	case 1, 2, 3, 4, 5, 6, 7, 8: // as in a closed loop
	default:
		s.Due -= time.Duration(r.ExpFloat64() * float64(time.Millisecond))
	}
	return s
}

func mustEqual(t *testing.T, what string, got, want *Set) {
	t.Helper()
	if got.outcomes != want.outcomes {
		t.Fatalf("%s: outcomes %v, want %v", what, got.outcomes, want.outcomes)
	}
	for key := range keys {
		if got.histograms[key.side()][key.Op][key.Clock] == nil && want.histograms[key.side()][key.Op][key.Clock] == nil {
			continue // to compare two empty ones takes the race detector long
		}
		if g, w := got.of(key), want.of(key); !g.Equal(w) {
			t.Fatalf("%s: %v counts %d, want %d with the same slots", what, key, g.Count(), w.Count())
		}
	}
}

// The phases of an acquisition are filed with it, whichever clock decides, so that they add up to its service time in every set.
func TestPartsAreFiledWithTheWhole(t *testing.T) {
	for _, tc := range []struct {
		name        string
		byDue       bool
		due, s, end time.Duration
		steady      bool
	}{
		{"an open loop's backlog: due in the steady phase, started after it", true, 15, 25, 29, true},
		{"due in the warm-up, started and ended in the steady phase", true, 5, 12, 18, false},
		{"a closed loop: started in the warm-up, ended in the steady phase", false, 4, 4, 14, true},
		{"ended in the drain", false, 14, 14, 24, false},
	} {
		c := NewCollector(1)
		c.SetSteady(Steady{From: 10, To: 20, ByDue: tc.byDue})
		middle := (tc.s + tc.end) / 2
		whole := Sample{Op: Acquire, Due: tc.due, Start: tc.s, End: tc.end}
		c.Shard(0).Record(whole, Sample{Op: Enqueue, Due: tc.s, Start: tc.s, End: middle}, Sample{Op: List, Due: middle, Start: middle, End: tc.end})
		iv := c.Rotate(100)
		filed, other := iv.Other, iv.Steady
		if tc.steady {
			filed, other = iv.Steady, iv.Other
		}
		for _, op := range []Op{Acquire, Enqueue, List} {
			if filed.Count(op, OK) != 1 || other.Count(op, OK) != 0 {
				t.Errorf("%s: %v is not filed with the acquisition", tc.name, op)
			}
			if want := map[bool]int64{true: 1}[tc.end >= 10 && tc.end < 20]; iv.Steady.Done(op) != want {
				t.Errorf("%s: %d of %v done in the steady phase, want %d", tc.name, iv.Steady.Done(op), op, want)
			}
		}
	}
}

// Abandoned operations enter no histogram of successes; their times so far are lower bounds.
func TestTimesOfUnservedWorkAreLowerBounds(t *testing.T) {
	c := NewCollector(1)
	c.SetSteady(Steady{From: 0, To: time.Minute, ByDue: true})
	c.Shard(0).Record(Sample{Op: Put, Due: time.Second, Start: 2 * time.Second, End: 3 * time.Second})
	c.Shard(0).Record(Sample{Op: Put, Outcome: Unfinished, Due: time.Second, Start: 9 * time.Second, End: 9 * time.Second})
	c.Shard(0).Record(Sample{Op: Put, Outcome: Timeout, Due: time.Second, Start: time.Second, End: 31 * time.Second})
	c.Shard(0).Record(Sample{Op: Put, Outcome: Failed, Due: time.Second, Start: time.Second, End: 5 * time.Second})
	s := c.Rotate(time.Minute).Steady
	if n, u := s.Histogram(Put, Response), s.Unserved(Put, Response); n.Count() != 1 || u.Count() != 2 || u.Min() > 8*time.Second || u.Max() < 30*time.Second {
		t.Errorf("%d successes, %d lower bounds of %v to %v; want 1, and 2 of 8 and 30 s", n.Count(), u.Count(), u.Min(), u.Max())
	}
	if key := (Key{Put, Lag, true}); s.Unserved(Put, Lag).Max() < 8*time.Second || key.String() != "put.lag.unserved" {
		t.Errorf("%s: at most %v", key, s.Unserved(Put, Lag).Max())
	}
}

// A steady phase that is set while sessions record contains exactly what ended in it, however late it is set.
func TestTheSteadyPhaseIsSetBetweenSamples(t *testing.T) {
	const sessions = 4
	c, origin := NewCollector(2), NewOrigin(time.Now())
	var stop atomic.Bool
	var all sync.WaitGroup
	ended := make([][]time.Duration, sessions)
	for i := range sessions {
		all.Go(func() {
			r := c.Shard(i)
			for !stop.Load() {
				end := origin.Now()
				r.Record(Sample{Op: Acquire, Outcome: OK, Start: end, End: end})
				ended[i] = append(ended[i], end)
			}
		})
	}
	var steady Steady
	set := func(now func() Steady) {
		time.Sleep(5 * time.Millisecond)
		c.SetSteadyAt(func() Steady {
			steady = now()
			return steady
		})
	}
	set(func() Steady { return Steady{From: origin.Now() + 1, To: time.Hour} })
	set(func() Steady { return Steady{From: steady.From, To: origin.Now() + 1} })
	stop.Store(true)
	all.Wait()
	want, total := int64(0), int64(0)
	for _, ends := range ended {
		for _, end := range ends {
			if total++; steady.Contains(Sample{End: end}) {
				want++
			}
		}
	}
	if got := c.Rotate(origin.Now()).Steady; got.Count(Acquire, OK) != want || got.Done(Acquire) != want || want == 0 || want == total {
		t.Errorf("%d and %d done in the steady phase, want %d of %d", got.Count(Acquire, OK), got.Done(Acquire), want, total)
	}
}
