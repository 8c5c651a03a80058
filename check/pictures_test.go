package check

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

func phase(op metrics.Op, session byte, start, end int) metrics.Sample {
	return sample(op, session, 0, start, end, 0)
}

func everything(metrics.Sample) bool { return true }

// The phases of an operation are those of its session within it, including one that ends with it.
func TestCohorts(t *testing.T) {
	late := acquire('a', 2, 10, 0)
	late.Due = 0
	h := history{phase(metrics.Enqueue, 'a', 2, 4), phase(metrics.Enqueue, 'b', 3, 5), phase(metrics.Wait, 'a', 4, 9), late, phase(metrics.Recheck, 'a', 9, 10),
		phase(metrics.Wait, 'b', 5, 40), with(metrics.Timeout, acquire('b', 3, 40, 0)), phase(metrics.Enqueue, 'a', 40, 41), phase(metrics.Wait, 'a', 41, 60), acquire('a', 40, 60, 0)}
	got := []Cohort{{Op: metrics.Acquire, Low: 0, High: 10 * ms}, {Op: metrics.Acquire, Low: 10*ms + 1, High: 20 * ms}, {Op: metrics.Acquire, Low: 20*ms + 1, High: 90 * ms}}
	Sum(slices.Values(h), []metrics.Op{metrics.Enqueue, metrics.Wait, metrics.Recheck}, everything, got)
	want := slices.Clone(got)
	want[0].Count, want[0].Response, want[0].Lag = 1, 10*ms, 2*ms
	want[0].Parts = map[metrics.Op]time.Duration{metrics.Enqueue: 2 * ms, metrics.Wait: 5 * ms, metrics.Recheck: ms}
	want[1].Count, want[1].Response, want[1].Parts = 1, 20*ms, map[metrics.Op]time.Duration{metrics.Enqueue: ms, metrics.Wait: 19 * ms}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Sum = %+v, want %+v", got, want)
	}
}

// Classes of places cover all places without gaps.
func TestClassesOfPlaces(t *testing.T) {
	for n := range 5000 {
		if k := class(n); least(k) > n || n >= least(k+1) {
			t.Fatalf("%d is in class %d, which spans [%d, %d)", n, k, least(k), least(k+1))
		}
	}
}

// A session's place counts those that held or waited for the same object when it asked.
func TestPlaces(t *testing.T) {
	h := history{acquire('a', 0, 1, 0), release('a', 10, 11), acquire('b', 2, 12, 0), with(metrics.Timeout, acquire('c', 3, 8, 0)), acquire('d', 5, 20, 0),
		acquire('e', 9, 30, 0), on(1, acquire('f', 9, 10, 0)), release('b', 15, 16), acquire('a', 16, 40, 0)}
	slices.SortFunc(h, func(a, b metrics.Sample) int { return int(a.End - b.End) })
	type place struct {
		before, n int
		most      time.Duration
	}
	var got []place
	for _, p := range PlacesOf(slices.Values(h), nil, everything) {
		got = append(got, place{p.From, int(p.Responses.Count()), p.Responses.Max().Round(ms)})
	}
	// a and f: nobody; b: a; a again: d and e; d: a, b and c; e: a, b and d, since c has given up
	if want := []place{{0, 2, ms}, {1, 1, 10 * ms}, {2, 1, 24 * ms}, {3, 2, 21 * ms}}; !slices.Equal(got, want) {
		t.Errorf("PlacesOf = %v, want %v", got, want)
	}
}

// A strip shows the gap, the holders around it and the waits of these.
func TestStrip(t *testing.T) {
	var h history
	for i := range 40 { // one after the other, with a gap of 50 ms after the twentieth
		at := 10*i + i/20*50
		h = append(h, acquire(byte(i%20), max(at-30, 0), at+2, 0), release(byte(i%20), at+8, at+9), on(1, acquire('z', at, at+1, 0)))
	}
	h = append(h, with(metrics.Unfinished, acquire('y', 200, 600, 0)), acquire(0, 600, 601, 0))
	longest := OwnershipOf(slices.Values(h), nil, 0, 0, 600*ms, 0).Longest
	if want := (Gap{0, 448 * ms, 600 * ms}); longest != want {
		t.Fatalf("the longest gap is %+v, want %+v: after the last release somebody still waits", longest, want)
	}
	s := StripOf(slices.Values(h), nil, 0, Gap{0, 198 * ms, 252 * ms}, 700*ms)
	if len(s.Holds) != stripBefore+stripAfter || s.Holds[0].From != 82*ms || s.Holds[11].To != 198*ms || s.Holds[12].From != 252*ms || s.Others != 1 || len(s.Waits) == 0 {
		t.Errorf("StripOf = %+v", s)
	}
	if !slices.Contains(s.Idle, Gap{0, 200 * ms, 252 * ms}) || s.Begin != 82*ms || s.End != s.Holds[23].To {
		t.Errorf("idle %v from %v to %v, want the gap in it", s.Idle, s.Begin, s.End)
	}
	if s := StripOf(slices.Values(h), nil, 0, Gap{0, 590 * ms, 600 * ms}, 700*ms); s.End != 700*ms {
		t.Errorf("a hold without an end lasts to %v, want the end of the cell", s.End)
	}
}

// Witnessed locates a counterexample of two holders.
func TestWitnessed(t *testing.T) {
	h := history{acquire('a', 0, 5, 0), acquire('b', 1, 8, 0), release('a', 10, 11), release('b', 12, 13)}
	v := MutualExclusion().Judge(slices.Values(h), nil)
	if at, shown := Witnessed(v.Witness); !shown || at != (Gap{0, 8 * ms, 8 * ms}) {
		t.Errorf("Witnessed = %v, %v of %+v", at, shown, v)
	}
	if _, shown := Witnessed([]metrics.Sample{acquire('a', 0, 5, 0), release('a', 1, 2)}); shown {
		t.Error("one holder was shown as two")
	}
}

// A queue's depth is what was put and not taken, plus what was there before.
func TestDepth(t *testing.T) {
	item := func(start, end int, o metrics.Outcome) metrics.Sample {
		return with(o, phase(metrics.PutToTake, 'p', start, end))
	}
	h := history{phase(metrics.Take, 'c', 0, 5), item(1, 25, metrics.OK), phase(metrics.Take, 'c', 20, 25), item(2, 100, metrics.Unfinished), item(30, 100, metrics.OK),
		phase(metrics.Take, 'c', 60, 100)}
	got, each := DepthOf(slices.Values(h), 1, 3, 4, 6)
	var items, taken []int
	for _, d := range got {
		items, taken = append(items, d.Items), append(taken, d.Taken)
	}
	// of the three from before the run one is taken at 5 ms; two more are put in the first quarter
	if !slices.Equal(items, []int{4, 4, 4, 3}) || !slices.Equal(taken, []int{0, 1, 0, 1}) || got[1].Oldest != 24*ms || got[3].At != 100*ms || each != nil {
		t.Errorf("DepthOf = %+v, each %+v", got, each)
	}
	if all, _ := DepthOf(slices.Values(history{acquire('a', 0, 1, 0)}), 1, 0, 4, 6); all != nil {
		t.Error("a lock has no depth")
	}
}

// The queues that are deepest on average are shown one by one, each with its own initial items.
func TestDepthOfEachQueue(t *testing.T) {
	item := func(queue uint32, start, end int) metrics.Sample {
		return on(queue, phase(metrics.PutToTake, 'p', start, end))
	}
	h := history{item(1, 0, 10), on(1, phase(metrics.Take, 'c', 0, 10)), item(2, 0, 40), on(2, phase(metrics.Take, 'c', 0, 40)), item(0, 5, 90), item(0, 5, 100),
		on(0, phase(metrics.Take, 'c', 0, 90)), on(0, phase(metrics.Take, 'c', 0, 100))}
	all, each := DepthOf(slices.Values(h), 3, 1, 4, 2)
	if len(each) != 2 || each[0].Object != 0 || each[1].Object != 2 {
		t.Fatalf("the deepest are %+v, want 0 and 2", each)
	}
	items := func(all []Depth) (n []int) {
		for _, d := range all {
			n = append(n, d.Items)
		}
		return n
	}
	if got := items(all); !slices.Equal(got, []int{6, 5, 5, 3}) {
		t.Errorf("all queues together have %v", got)
	}
	if got := items(each[0].Depths); !slices.Equal(got, []int{3, 1}) || each[0].Depths[1].Oldest != 95*ms || each[0].Depths[0].At != 50*ms {
		t.Errorf("the deepest has %+v", each[0].Depths)
	}
}

// Vacancies add up to the share without an owner. A gap counts in each step it covers, and starts in one.
func TestVacancies(t *testing.T) {
	h := history{acquire('a', 0, 10, 0), release('a', 20, 21), acquire('b', 5, 55, 0), release('b', 60, 61), on(1, acquire('c', 0, 5, 0)), on(1, release('c', 100, 101))}
	o := OwnershipOf(slices.Values(h), nil, 0, 0, 100*ms, 10)
	free, gaps := time.Duration(0), 0
	for _, v := range o.Vacancies {
		free, gaps = free+v.Free, gaps+v.Gaps
	}
	if share := float64(free) / float64(100*ms) / float64(o.Objects); free != 50*ms || gaps != 3 || share != o.Share {
		t.Errorf("%v in %d gaps, a share of %v, want %v of %+v", free, gaps, share, o.Share, o.Vacancies)
	}
	if v := o.Vacancies; v[0] != (Vacancy{10 * ms, 15 * ms, 2, 10 * ms}) || v[1].Gaps != 0 || v[2] != (Vacancy{30 * ms, 10 * ms, 1, 35 * ms}) || v[5].Free != 5*ms || v[6].Free != 0 {
		t.Errorf("vacancies %+v", v)
	}
	if o := OwnershipOf(slices.Values(h), nil, 0, 0, 100*ms, 0); o.Vacancies != nil || o.Share == 0 {
		t.Errorf("without steps %+v", o)
	}
}

// A member arrives when it first starts to wait. Rounds that not all members passed, or that one passed before the last arrived, count separately.
func TestArrivals(t *testing.T) {
	at := func(round int64, s metrics.Sample) metrics.Sample { s.Value = round; return s }
	meet := func(round int64, session byte, start, end int) metrics.Sample {
		return at(round, phase(metrics.Meet, session, start, end))
	}
	h := history{with(metrics.Timeout, meet(1, 'a', 0, 5)), meet(1, 'a', 6, 21), meet(1, 'b', 10, 22), // a comes at 0, b at 10
		meet(2, 'a', 30, 40), with(metrics.Failed, meet(2, 'b', 31, 41)), meet(3, 'a', 50, 51), meet(3, 'b', 60, 61), meet(4, 'a', 70, 84), meet(4, 'b', 80, 82)}
	got := ArrivalsOf(slices.Values(h), nil, []metrics.Op{metrics.Meet}, 2, 20)
	if len(got) != 1 || got[0].Rounds != 2 || got[0].Left != 2 || len(got[0].Ranks) != 2 {
		t.Fatalf("ArrivalsOf = %+v, want two rounds and two left out", got)
	}
	first, last := got[0].Ranks[0], got[0].Ranks[1]
	if first.Before.Max().Round(ms) != 10*ms || last.Before.Max() > ms || first.After.Max().Round(ms) != 11*ms || first.After.Min().Round(ms) != 2*ms || last.After.Max().Round(ms) != 12*ms {
		t.Errorf("the first came up to %v before and went up to %v after, the last %v and %v", first.Before.Max(), first.After.Max(), last.Before.Max(), last.After.Max())
	}
	h = history{at(1, phase(metrics.Pass, 'a', 0, 33)), at(1, phase(metrics.Pass, 'b', 5, 34)), at(1, phase(metrics.Unbar, 's', 30, 35))}
	got = ArrivalsOf(slices.Values(h), nil, []metrics.Op{metrics.Pass}, 2, 1)
	if r := got[0].Ranks; len(r) != 1 || r[0].Members != 2 || r[0].Before.Max().Round(ms) != 25*ms || r[0].After.Max().Round(ms) != 4*ms {
		t.Errorf("a barrier opens with its removal: %+v", got)
	}
	h = h[:2]
	if got = ArrivalsOf(slices.Values(h), nil, []metrics.Op{metrics.Pass}, 2, 1); got[0].Rounds != 0 || got[0].Left != 1 {
		t.Errorf("nobody removed it: %+v", got)
	}
}

// Spilled histories give the same pictures, and the deal agrees with the fairness.
func TestPicturesOfSpilledHistories(t *testing.T) {
	for seed := range uint64(3) {
		h := validHistory(rand.New(rand.NewPCG(seed, 1)), 8, 2, 100)
		room := spill.NewRoom(t.TempDir(), 1)
		gap := Gap{0, 20 * ms, 21 * ms}
		if memory, disk := StripOf(slices.Values(h), nil, 0, gap, time.Second), StripOf(slices.Values(h), room, 0, gap, time.Second); !reflect.DeepEqual(memory, disk) {
			t.Errorf("strip in memory %+v, on disk %+v", memory, disk)
		}
		if memory, disk := PlacesOf(slices.Values(h), nil, everything), PlacesOf(slices.Values(h), room, everything); !reflect.DeepEqual(memory, disk) {
			t.Errorf("places in memory %+v, on disk %+v", memory, disk)
		}
		f, deal := DealOf(slices.Values(h), room)
		sum, grants := 0, 0
		for _, n := range deal.PerSession {
			sum += n
		}
		for _, n := range deal.Overtaken {
			grants += n
		}
		if sum != f.Grants || grants != f.Grants || len(deal.PerSession) != f.Sessions {
			t.Errorf("deal %+v of %+v", deal, f)
		}
		if err := room.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
