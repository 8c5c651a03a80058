package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/workloads"
)

func TestArrivalsFollowFromTheSeedAlone(t *testing.T) {
	kinds := map[string]func(seed uint64, repetition int, session uint32) Arrivals{
		"poisson": func(seed uint64, repetition int, session uint32) Arrivals {
			return Poisson(10*time.Millisecond, Random(seed, repetition, session, ArrivalStream))
		},
		"uniform": func(seed uint64, repetition int, session uint32) Arrivals {
			return Uniform(10*time.Millisecond, Random(seed, repetition, session, ArrivalStream))
		},
	}
	for name, of := range kinds {
		t.Run(name, func(t *testing.T) {
			first := dues(of(7, 1, 3), time.Minute)
			if again := dues(of(7, 1, 3), time.Minute); !slices.Equal(first, again) {
				t.Error("the same seed, repetition and session gave other due times")
			}
			for _, other := range []struct {
				seed       uint64
				repetition int
				session    uint32
			}{{8, 1, 3}, {7, 2, 3}, {7, 1, 4}} {
				if slices.Equal(first, dues(of(other.seed, other.repetition, other.session), time.Minute)) {
					t.Errorf("%+v has the due times of seed 7, repetition 1, session 3", other)
				}
			}
		})
	}
}

func TestStreamsOfASessionAreIndependent(t *testing.T) {
	if Random(7, 1, 3, ArrivalStream).Uint64() == Random(7, 1, 3, WorkStream).Uint64() {
		t.Error("the arrivals and the work of a session are drawn from one stream")
	}
}

// The sessions together form a Poisson stream: the numbers of arrivals in intervals of equal length have a mean of rate times length, and an equal variance.
func TestSumOfSessionsIsPoisson(t *testing.T) {
	const sessions, perSecond, seconds = 100, 1000.0, 20
	const bin = 10 * time.Millisecond
	counts := make([]float64, seconds*int(time.Second/bin))
	for i := range uint32(sessions) {
		mean := time.Duration(sessions / perSecond * float64(time.Second))
		for _, due := range dues(Poisson(mean, Random(7, 1, i, ArrivalStream)), seconds*time.Second) {
			counts[due/bin]++
		}
	}
	n, sum, squares := float64(len(counts)), 0.0, 0.0
	for _, c := range counts {
		sum += c
	}
	mean := sum / n
	for _, c := range counts {
		squares += (c - mean) * (c - mean)
	}
	variance := squares / (n - 1)
	want := perSecond * bin.Seconds()
	if tolerance := 4 * math.Sqrt(want/n); math.Abs(mean-want) > tolerance { // standard error of the mean
		t.Errorf("mean %.3f arrivals in %v, want %.3f within %.3f", mean, bin, want, tolerance)
	}
	if tolerance := 4 * math.Sqrt(2/n); math.Abs(variance/mean-1) > tolerance { // of the index of dispersion
		t.Errorf("variance %.3f times the mean, want 1 within %.3f", variance/mean, tolerance)
	}
}

func TestUniformRateIsExact(t *testing.T) {
	for _, gap := range []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second} {
		for session := range uint32(20) {
			all := dues(Uniform(gap, Random(7, 1, session, ArrivalStream)), 1000*gap)
			if len(all) != 1000 {
				t.Errorf("session %d: %d arrivals in 1000 gaps of %v", session, len(all), gap)
			}
			for i := 1; i < len(all); i++ {
				if all[i]-all[i-1] != gap {
					t.Fatalf("session %d: gap %d is %v, want %v", session, i, all[i]-all[i-1], gap)
				}
			}
			if all[0] < 0 || all[0] >= gap {
				t.Errorf("session %d begins at %v, want within the first gap of %v", session, all[0], gap)
			}
		}
	}
}

func TestGapsDoNotOverflow(t *testing.T) {
	a := Poisson(time.Duration(1e18), Random(7, 1, 0, ArrivalStream)).(*scheduled) // a million sessions, one arrival in a thousand seconds
	for range 3 {
		if due := a.Next(0); due < 0 {
			t.Fatalf("due at %v", due)
		}
		a.due = 0
	}
}

func TestClosedLoopThinks(t *testing.T) {
	think := profiles.Distribution{Kind: profiles.Constant, Mean: 30 * time.Millisecond}
	c := &closed{begin: 5 * time.Millisecond, think: think.Sample}
	for i, step := range []struct{ now, want time.Duration }{{0, 5 * time.Millisecond}, {7 * time.Millisecond, 37 * time.Millisecond}, {time.Second, 1030 * time.Millisecond}} {
		if got := c.Next(step.now); got != step.want {
			t.Errorf("unit %d is due at %v, want %v", i, got, step.want)
		}
	}
}

func TestPlan(t *testing.T) {
	kind := workloads.RWLocks(nil)
	p, err := profiles.Catalogue{&kind.Workload}.Parse("p.yaml", []byte(
		"workload: read-write\nseed: 7\nvariants: [a, b]\nsessions: [1, 2, 3]\nrate: [10, 20]\nreaders: [50, 90]\nrepetitions: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	cells := Cells(p)
	name := func(c Cell) string { return fmt.Sprint(c.Variant, c.Sessions, c.Rate, c.Repetition, c.Point.Own()) }
	names := func(cells []Cell) (all []string) {
		for _, c := range cells {
			all = append(all, name(c))
		}
		return all
	}
	seen := map[string]bool{}
	for _, c := range names(cells) {
		if seen[c] {
			t.Errorf("duplicate address %s", c)
		}
		seen[c] = true
	}
	if want := 2 * 3 * 2 * 2 * 2; len(seen) != want {
		t.Errorf("%d combinations, want %d", len(seen), want)
	}
	same := p
	same.Think, same.Duration, same.Engine = profiles.Distribution{Mean: time.Second}, time.Hour, "other"
	if !slices.Equal(names(cells), names(Cells(same))) {
		t.Error("the order depends on something beside the axes and the seed")
	}
	p.Seed = 8
	if slices.Equal(names(cells), names(Cells(p))) {
		t.Error("another seed gives the same order")
	}
	if one := Cells(profiles.Profile{Variants: []string{"a"}, Sessions: []int{5}}); len(one) != 1 || name(one[0]) != name(Cell{Variant: "a", Sessions: 5, Repetition: 1}) {
		t.Errorf("plan of a single cell: %+v", one)
	}
}

// dues returns the due times of a session until the end.
func dues(a Arrivals, end time.Duration) []time.Duration {
	var all []time.Duration
	for due := a.Next(0); due < end; due = a.Next(due) {
		all = append(all, due)
	}
	return all
}
