package metrics

import (
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFanoutCountsEverythingOnce(t *testing.T) {
	f := NewFanout(3)
	count := func() {
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				s := f.Shard(i)
				for range 100 {
					s.Event(0)
					s.Cause(InWarmup, ByRelease)
					s.Event(0)
					s.Cause(InWarmup, ByBoth)
					s.Useful(InWarmup)
					s.List(0, 10, 240)
					s.Request(0, 5)
					s.FailedWrite(0)
				}
			})
		}
		wg.Wait()
	}
	count()
	warm := f.Snapshot()
	count()
	got := f.Snapshot().Sub(warm)
	want := FanoutCounts{Useful: 1200, Lists: 1200, Names: 12_000, Bytes: 288_000, FailedWrites: 1200}
	want.Events[ByRelease], want.Events[ByBoth], want.Requests[5] = 1200, 1200, 1200
	if got != want {
		t.Errorf("difference of two snapshots = %+v, want %+v", got, want)
	}
	if got.AllEvents() != 2400 {
		t.Errorf("AllEvents() = %d, want 2400", got.AllEvents())
	}
}

func TestTimerProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // synctest waits for the goroutines of the probe to end
		p := StartTimerProbe(10*time.Millisecond, NewOrigin(time.Now().Add(-3*time.Millisecond)), func(due, woken time.Duration) {
			if due%(10*time.Millisecond) != 0 || woken != due {
				t.Errorf("woken at %v instead of %v, want multiples of 10 ms after the origin", woken, due)
			}
		})
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		h := p.Take()
		if h.Count() != 100 || h.Negative() != 0 || h.Quantile(1) > time.Microsecond {
			t.Errorf("in 1 s: %d sleeps, %d negative, longest lag %v; want 100, 0, none on a perfect clock", h.Count(), h.Negative(), h.Max())
		}
		p.Stop()
		p.Stop()
		if n := p.Take().Count(); n != 0 {
			t.Errorf("Take after Take and Stop counts %d, want 0", n)
		}
	})
}

func TestReadFootprint(t *testing.T) {
	before := ReadFootprint()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	runtime.GC()
	for x := 0.0; ReadFootprint().CPU == before.CPU; x++ { // burn until the CPU clock has advanced
		_ = math.Sqrt(x)
	}
	used := ReadFootprint().Sub(before)
	if used.CPU <= 0 || used.GCs < 1 || used.GCPauseTotal <= 0 || used.GCPauseMax <= 0 || used.MaxRSS <= 0 {
		t.Errorf("footprint %+v: CPU, collections, pauses and memory must be positive", used)
	}
	if runtime.GOOS == "linux" && (used.RSS <= 0 || CountSockets() < 1) {
		t.Errorf("RSS %d, sockets %d, want both positive with a listener open", used.RSS, CountSockets())
	}
	if used.GCPauseMax > used.GCPauseTotal*5/4+time.Microsecond {
		t.Errorf("longest pause %v, all pauses %v", used.GCPauseMax, used.GCPauseTotal)
	}
}

func TestLongestPause(t *testing.T) {
	edges := []float64{math.Inf(-1), 0, 1, 2, math.Inf(1)}
	for _, tc := range []struct {
		name        string
		now, before []uint64
		want        time.Duration
	}{
		{"no pause", []uint64{0, 0, 0, 0}, nil, 0},
		{"the upper edge of the highest slot", []uint64{0, 3, 1, 0}, nil, 2 * time.Second},
		{"only new pauses count", []uint64{0, 3, 1, 0}, []uint64{0, 2, 1, 0}, time.Second},
		{"beyond the last finite edge, that edge", []uint64{0, 0, 0, 1}, nil, 2 * time.Second},
		{"no histogram means unknown, not zero", nil, nil, -1},
	} {
		if got := longestPause(tc.now, tc.before, edges); got != tc.want {
			t.Errorf("%s: longestPause(%v, %v) = %v, want %v", tc.name, tc.now, tc.before, got, tc.want)
		}
	}
}

func TestUnknownFootprintIsNotZero(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if n := countSockets(missing); n != -1 {
		t.Errorf("countSockets(missing) = %d, want -1", n)
	}
	if n := residentBytes(missing); n != -1 {
		t.Errorf("residentBytes(missing) = %d, want -1", n)
	}
	for _, text := range []string{"", "12", "12 x"} {
		file := filepath.Join(t.TempDir(), "statm")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := residentBytes(file); n != -1 {
			t.Errorf("residentBytes(%q) = %d, want -1", text, n)
		}
	}
}

func TestSeries(t *testing.T) {
	c := NewCollector(2)
	c.Begin(0, Steady{From: time.Second, To: 3 * time.Second})
	s := NewSeries([]Op{Acquire}, []Op{Acquire})
	var fanout FanoutCounts
	for second := range 3 {
		from := time.Duration(second) * time.Second
		for i := range 10 * (second + 1) {
			end := from + time.Duration(i)*time.Millisecond
			c.Shard(i).Record(Sample{Op: Acquire, Due: end - 8*time.Millisecond, Start: end, End: end})
			c.Shard(i).Record(Sample{Op: Wait, End: end})
		}
		c.Shard(0).Record(Sample{Op: Acquire, Outcome: Timeout, End: from})
		fanout.Events[ByRelease] += 7
		s.Add(c.Rotate(from+time.Second), fanout)
	}
	for i, p := range s.Points() {
		want := int64(10 * (i + 1))
		if p.OK != want || p.PerSecond != float64(want) || p.Errors != 1 || p.Events != 7 || p.Steady != (i > 0) {
			t.Errorf("second %d: %+v, want %d successes, 1 error, 7 events, steady from second 1 on", i, p, want)
		}
		for _, q := range []time.Duration{p.P50, p.P99, p.Max} {
			if q < 8*time.Millisecond || q > 8*time.Millisecond*1001/1000 {
				t.Errorf("second %d: response %v, want 8 ms", i, q)
			}
		}
	}
	if p := NewPoint(Interval{Steady: &Set{}, Other: &Set{}}, []Op{Wait}, []Op{Wait}); p != (Point{}) {
		t.Errorf("an empty interval makes %+v, want nothing", p)
	}
}
