package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// In the samples of queues items are numbers; in a priority queue their hundreds are their rank.

func about(item int64, s metrics.Sample) metrics.Sample { s.Value = item; return s }

func put(item int64, start, end int) metrics.Sample {
	return about(item, sample(metrics.Put, 'p', 0, start, end, item))
}

func take(session byte, item int64, start, end int) metrics.Sample {
	return about(item, sample(metrics.Take, session, 0, start, end, item))
}

func remove(session byte, item int64, start, end int) metrics.Sample {
	return about(item, sample(metrics.Remove, session, 0, start, end, item))
}

func choose(session byte, item int64, asOf int64) metrics.Sample {
	return about(item, sample(metrics.Choose, session, 0, 0, 0, asOf))
}

func finish(session byte, item, token int64, start, end int) metrics.Sample {
	return about(item, sample(metrics.Finish, session, 0, start, end, token))
}

func claimed(session byte, item, token int64, start, end int) metrics.Sample {
	return about(item, sample(metrics.Take, session, 0, start, end, token))
}

func left(item int64) metrics.Sample { return about(item, sample(metrics.Remain, 0, 0, 90, 90, item)) }

// picked are rows whose counterexamples are indices into their histories.
type picked []struct {
	what            string
	history         history
	answer          Answer
	evidence, count int
	witness         []int
}

func (p picked) rows() (all []row) {
	for _, r := range p {
		var w history
		for _, i := range r.witness {
			w = append(w, r.history[i])
		}
		all = append(all, row{r.what, r.history, r.answer, r.evidence, r.count, w})
	}
	return all
}

// Each take in doubt excuses one missing item, and nothing else.
func TestConservationWithTakesInDoubt(t *testing.T) {
	looked := left(0)
	p1, p2, p3, t1 := put(1, 0, 1), put(2, 2, 3), put(3, 2, 3), take('a', 1, 5, 6)
	doubt := with(metrics.InDoubt, take('b', 0, 4, 7))
	elsewhere := doubt
	elsewhere.Object++
	judge(t, Conservation(metrics.Take), picked{
		{"one is missing, one take is in doubt", history{p1, p2, t1, doubt, looked}, Holds, 2, 0, nil},
		{"nothing is missing", history{p1, t1, doubt, looked}, Holds, 1, 0, nil},
		{"two are missing, one take is in doubt", history{p1, p2, p3, t1, doubt, looked}, Violated, 3, 2, []int{1}},
		{"two are missing, two takes are in doubt", history{p1, p2, p3, t1, doubt, doubt, looked}, Holds, 3, 0, nil},
		{"one is missing, a take of another queue is in doubt", history{p1, p2, t1, elsewhere, looked}, Violated, 2, 1, []int{1}},
		{"one came twice", history{p1, t1, take('c', 1, 8, 9), doubt, looked}, Violated, 1, 1, []int{0, 1, 2}},
		{"one came twice and one is missing", history{p1, p2, t1, take('c', 1, 8, 9), doubt, looked}, Violated, 2, 1, []int{0, 2, 3}},
		{"one that was never put", history{p1, t1, take('c', 5, 8, 9), doubt, looked}, Violated, 1, 1, []int{2}},
	}.rows())
}

// The order of takes as seen from outside.
func TestDeliveryOrderInRealTime(t *testing.T) {
	p1, p2, beside := put(1, 0, 1), put(2, 2, 3), put(2, 0, 3)
	judge(t, DeliveryOrder(), picked{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one item shows no order", history{p1, take('a', 1, 5, 6)}, Unknown, 0, 0, nil},
		{"in order", history{p1, p2, take('a', 1, 5, 6), take('a', 2, 7, 8)}, Holds, 2, 0, nil},
		{"the younger one first", history{p1, p2, take('a', 2, 5, 6), take('b', 1, 7, 8)}, Violated, 2, 1, []int{2, 3}},
		{"concurrent takes", history{p1, p2, take('a', 2, 5, 6), take('b', 1, 6, 8)}, Holds, 2, 0, nil},
		{"concurrent puts", history{p1, beside, take('a', 2, 5, 6), take('b', 1, 7, 8)}, Holds, 2, 0, nil},
		{"a take that waited from before", history{p1, p2, take('a', 2, 5, 6), take('b', 1, 0, 8)}, Holds, 2, 0, nil},
		{"the older one is left", history{p1, p2, take('a', 2, 5, 6), left(1), left(0)}, Violated, 1, 1, []int{2, 3}},
		{"the older one may not have been there", history{with(metrics.InDoubt, p1), p2, take('a', 2, 5, 6), take('b', 1, 7, 8)}, Holds, 2, 0, nil},
		{"the younger one is in doubt, and came", history{p1, with(metrics.InDoubt, p2), take('a', 2, 5, 6), take('b', 1, 7, 8)}, Violated, 2, 1, []int{2, 3}},
		{"the older one is neither taken nor left", history{p1, p2, take('a', 2, 5, 6)}, Unknown, 0, 0, nil},
		{"a znode that came later than its put was acknowledged", history{p1, p2, about(1, with(metrics.OK, remove('b', 9, 7, 8))), remove('a', 2, 5, 6), take('a', 2, 0, 6), take('b', 1, 0, 8)}, Violated, 2, 1, []int{3, 2}},
		{"three, of which two are overtaken", history{p1, p2, put(3, 4, 5), take('a', 3, 6, 7), take('b', 1, 8, 9), take('b', 2, 10, 11)}, Violated, 3, 2, []int{3, 4}},
	}.rows())
}

// An item that was not seen again may have been removed by a take in doubt, so that no wait for it was in vain.
func TestLivenessWithTakesInDoubt(t *testing.T) {
	waits := with(metrics.Timeout, take('a', 0, 2, 60))
	doubt := with(metrics.InDoubt, take('b', 0, 0, 3))
	judge(t, QueueLiveness(20), picked{
		{"an item that is never taken", history{put(1, 0, 1), waits}, Violated, 1, 1, []int{0, 1}},
		{"it may have been taken", history{put(1, 0, 1), doubt, waits}, Holds, 2, 0, nil},
		{"but not by a take that was over", history{put(1, 5, 6), doubt, waits}, Violated, 2, 1, []int{0, 2}},
		{"it is left", history{put(1, 0, 1), doubt, waits, left(1)}, Violated, 2, 1, []int{0, 1}},
	}.rows())
}

func TestConservation(t *testing.T) {
	looked := left(0)
	p1, p2, t1, t2 := put(1, 0, 1), put(2, 2, 3), take('a', 1, 5, 6), take('b', 2, 5, 7)
	maybe := func(s metrics.Sample) metrics.Sample { return with(metrics.InDoubt, s) }
	judge(t, Conservation(metrics.Take), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nothing was put", history{looked}, Unknown, 0, 0, nil},
		{"all came out", history{p1, p2, t1, t2, looked}, Holds, 2, 0, nil},
		{"one is left", history{p1, p2, t1, left(2), looked}, Holds, 2, 0, nil},
		{"nobody looked at what is left", history{p1, p2, t1}, Unknown, 2, 0, nil},
		{"one is lost", history{p1, p2, t1, looked}, Violated, 2, 1, history{p2}},
		{"one came twice", history{p1, t1, take('b', 1, 5, 8), looked}, Violated, 1, 1, history{p1, t1, take('b', 1, 5, 8)}},
		{"one came twice, without a look at what is left", history{p1, t1, take('b', 1, 5, 8)}, Violated, 1, 1, history{p1, t1, take('b', 1, 5, 8)}},
		{"one came and is left", history{p1, t1, left(1), looked}, Violated, 1, 1, history{p1, t1, left(1)}},
		{"one came that was never put", history{p1, t1, t2, looked}, Violated, 1, 1, history{t2}},
		{"a put that failed is no put", history{with(metrics.Failed, p1), t1, looked}, Violated, 0, 1, history{with(metrics.Failed, p1), t1}},
		{"a put in doubt may have been applied", history{maybe(p1), t1, looked}, Holds, 1, 0, nil},
		{"or not", history{maybe(p1), looked}, Holds, 1, 0, nil},
		{"but not twice", history{maybe(p1), t1, left(1), looked}, Violated, 1, 1, history{maybe(p1), t1, left(1)}},
		{"a retried put may have been applied twice", history{p1, maybe(p1), t1, left(1), looked}, Holds, 1, 0, nil},
		{"and was applied at least once", history{p1, maybe(p1), looked}, Violated, 1, 1, history{p1, maybe(p1)}},
		{"a take in doubt may have been the one", history{p1, maybe(t1), looked}, Holds, 1, 0, nil},
		{"or another's", history{p1, maybe(t1), take('b', 1, 5, 8), looked}, Holds, 1, 0, nil},
		{"another queue is another account", history{p1, on(1, t1), looked, on(1, looked)}, Violated, 1, 2, history{p1}},
		{"two violations: the earlier is shown", history{p1, p2, t2, take('c', 2, 5, 9), looked}, Violated, 2, 2, history{p1}},
	})
	judge(t, Conservation(metrics.Finish), []row{
		{"an item may be delivered twice and is finished once", history{p1, claimed('a', 1, 5, 5, 6), claimed('b', 1, 7, 7, 8), finish('b', 1, 7, 9, 9), looked}, Holds, 1, 0, nil},
		{"one that was delivered and not finished is left", history{p1, claimed('a', 1, 5, 5, 6), looked}, Violated, 1, 1, history{p1}},
		{"one that was finished twice", history{p1, finish('a', 1, 5, 6, 7), finish('b', 1, 7, 8, 9), looked}, Violated, 1, 1, history{p1, finish('a', 1, 5, 6, 7), finish('b', 1, 7, 8, 9)}},
	})
}

func TestClaims(t *testing.T) {
	a, fa := claimed('a', 1, 5, 0, 10), finish('a', 1, 5, 20, 21)
	lost := with(metrics.Lost, finish('a', 1, 5, 15, 15))
	gone := about(1, with(metrics.OK, release('a', 15, 16)))
	judge(t, Claims(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"a put is no claim", history{put(1, 0, 1)}, Unknown, 0, 0, nil},
		{"one", history{a, fa}, Holds, 1, 0, nil},
		{"two items", history{a, fa, claimed('b', 2, 6, 0, 12), finish('b', 2, 6, 30, 31)}, Holds, 2, 0, nil},
		{"again, after it was lost", history{a, lost, claimed('b', 1, 7, 0, 16)}, Holds, 2, 0, nil},
		{"again, after it was released", history{a, gone, claimed('b', 1, 7, 0, 16)}, Holds, 2, 0, nil},
		{"while the first holds it", history{a, fa, claimed('b', 1, 4, 0, 15)}, Violated, 2, 1, history{a, claimed('b', 1, 4, 0, 15), fa}},
		{"after it was finished", history{a, fa, claimed('b', 1, 7, 0, 25)}, Violated, 2, 1, history{a, fa, claimed('b', 1, 7, 0, 25)}},
		{"finished by the first after it was claimed again", history{a, claimed('b', 1, 7, 0, 20), fa}, Violated, 2, 1, history{a, claimed('b', 1, 7, 0, 20), fa}},
		{"both violations count", history{a, fa, claimed('b', 1, 7, 0, 15)}, Violated, 2, 2, history{a, claimed('b', 1, 7, 0, 15), fa}},
		{"an item that may be there twice", history{put(1, 0, 1), with(metrics.InDoubt, put(1, 0, 1)), a, fa, claimed('b', 1, 7, 0, 15)}, Unknown, 0, 0, nil},
		{"one claim given to two, the second after the first was done", history{a, fa, claimed('b', 1, 5, 0, 25)}, Violated, 2, 1,
			history{a, fa, claimed('b', 1, 5, 0, 25)}},
		{"an older claim, of a take that began after it was finished", history{a, fa, claimed('b', 1, 4, 22, 25)}, Violated, 2, 1, history{a, fa, claimed('b', 1, 4, 22, 25)}},
		{"a newer claim, of a take that began after it was finished, counts once", history{a, fa, claimed('b', 1, 7, 22, 25)}, Violated, 2, 1, history{a, fa, claimed('b', 1, 7, 22, 25)}},
		{"one claim given to two, the second after the first had lost it", history{a, lost, claimed('b', 1, 5, 0, 16)}, Violated, 2, 1,
			history{a, lost, claimed('b', 1, 5, 0, 16)}},
		{"finished and given again, without tokens", history{claimed('a', 1, 0, 0, 10), finish('a', 1, 0, 20, 21), claimed('b', 1, 0, 22, 25)}, Violated, 2, 1,
			history{claimed('a', 1, 0, 0, 10), finish('a', 1, 0, 20, 21), claimed('b', 1, 0, 22, 25)}},
		{"given by a take that began before it was finished", history{claimed('a', 1, 0, 0, 10), finish('a', 1, 0, 20, 21), claimed('b', 1, 0, 21, 25)}, Holds, 2, 0, nil},
		{"whether it was finished is in doubt", history{claimed('a', 1, 0, 0, 10), with(metrics.InDoubt, finish('a', 1, 0, 20, 21)), claimed('b', 1, 0, 22, 25)}, Holds, 2, 0, nil},
		{"claims without tokens", history{claimed('a', 1, 0, 0, 10), lost, claimed('b', 1, 0, 0, 16)}, Holds, 2, 0, nil},
		{"two items have a token each", history{a, fa, claimed('b', 2, 5, 0, 25)}, Holds, 2, 0, nil},
		{"another queue has other items", history{a, fa, on(1, claimed('b', 1, 7, 0, 15))}, Holds, 2, 0, nil},
	})
}

func TestDeliveryOrder(t *testing.T) {
	a, b := remove('a', 1, 10, 12), remove('b', 2, 11, 13)
	early := remove('b', 2, 5, 9)
	judge(t, DeliveryOrder(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one removal has no order", history{a}, Unknown, 0, 0, nil},
		{"in order", history{a, b}, Holds, 2, 0, nil},
		{"overlapping removals in either order", history{remove('a', 2, 10, 12), remove('b', 1, 11, 13)}, Holds, 2, 0, nil},
		{"the transactions of removals at once are in order", history{zxid(100, remove('a', 1, 10, 12)), zxid(101, remove('b', 2, 11, 13))}, Holds, 2, 0, nil},
		{"the younger was removed in the earlier transaction", history{zxid(101, remove('a', 1, 10, 12)), zxid(100, remove('b', 2, 10, 13))}, Violated, 2, 1,
			history{zxid(100, remove('b', 2, 10, 13)), zxid(101, remove('a', 1, 10, 12))}},
		{"the transaction of one is not known", history{zxid(101, remove('a', 1, 10, 12)), remove('b', 2, 10, 13)}, Holds, 2, 0, nil},
		{"removals that touch at one instant", history{remove('a', 2, 10, 12), remove('b', 1, 12, 13)}, Holds, 2, 0, nil},
		{"the younger was removed before the removal of the older started", history{a, early}, Violated, 2, 1, history{early, a}},
		{"the older is left", history{early, left(1)}, Violated, 1, 1, history{early, left(1)}},
		{"the younger is left", history{a, left(2)}, Holds, 1, 0, nil},
		{"in another queue", history{a, on(1, early)}, Unknown, 0, 0, nil},
		{"a removal in doubt is none", history{a, with(metrics.InDoubt, early)}, Unknown, 0, 0, nil},
		{"every early removal counts: the first is shown", history{remove('a', 1, 30, 31), remove('a', 2, 8, 9), remove('a', 3, 10, 11)}, Violated, 3, 2,
			history{remove('a', 2, 8, 9), remove('a', 1, 30, 31)}},
	})
}

func hundreds(value int64) int32 { return int32(value / 100) }

func TestPriority(t *testing.T) {
	// Tokens are the items' numbers: 101 was put before 102, and both before 205.
	low, high := remove('a', 205, 5, 9), remove('b', 101, 10, 12)
	rows := []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"a removal whose list is unknown", history{low, high}, Unknown, 0, 0, nil},
		{"the better first", history{remove('a', 101, 5, 9), choose('a', 101, 205), remove('a', 205, 10, 12), choose('a', 205, 205)}, Holds, 2, 0, nil},
		{"the worse first, though its list had the better", history{low, choose('a', 205, 205), high}, Violated, 1, 1, history{low, high}},
		{"the better is left", history{low, choose('a', 205, 205), left(101)}, Violated, 1, 1, history{low, left(101)}},
		{"the better came after the list", history{low, choose('a', 205, 100), high}, Holds, 1, 0, nil},
		{"the better was being removed at the same time", history{low, choose('a', 205, 205), remove('b', 101, 9, 12)}, Holds, 1, 0, nil},
		{"of one rank the younger first", history{remove('a', 102, 5, 9), choose('a', 102, 300), remove('a', 101, 10, 12)}, Violated, 1, 1, history{remove('a', 102, 5, 9), remove('a', 101, 10, 12)}},
		{"another queue", history{low, choose('a', 205, 205), on(1, high), remove('c', 206, 20, 21)}, Holds, 1, 0, nil},
	}
	judge(t, Priority(hundreds, false), rows)
	judge(t, Priority(hundreds, true), append(rows,
		row{"a stale list: the better was there before the take started",
			history{put(101, 0, 2), put(205, 0, 1), take('a', 205, 3, 9), low, choose('a', 205, 100), high}, Violated, 1, 1, history{low, high}},
		row{"the better came during the take",
			history{put(101, 0, 4), put(205, 0, 1), take('a', 205, 3, 9), low, choose('a', 205, 100), high}, Holds, 1, 0, nil}))
}

func TestInversionsOf(t *testing.T) {
	low, high := remove('a', 205, 5, 9), remove('b', 101, 10, 12)
	for _, tt := range []struct {
		why            string
		history        history
		inversions, of int
	}{
		{"nothing", nil, 0, 0},
		{"the better came after the list and before the removal", history{put(101, 1, 4), put(205, 0, 1), low, choose('a', 205, 100), high}, 1, 1},
		{"it came during the removal", history{put(101, 1, 6), put(205, 0, 1), low, choose('a', 205, 100), high}, 0, 1},
		{"it was seen, which is a violation and no inversion", history{put(101, 1, 4), put(205, 0, 1), low, choose('a', 205, 205), high}, 0, 1},
		{"it was worse", history{put(301, 1, 4), put(205, 0, 1), low, choose('a', 205, 100), remove('b', 301, 10, 12)}, 0, 1},
	} {
		if n, of := InversionsOf(slices.Values(tt.history), nil, hundreds); n != tt.inversions || of != tt.of {
			t.Errorf("%s: %d inversions of %d, want %d of %d", tt.why, n, of, tt.inversions, tt.of)
		}
	}
}

func TestQueueLiveness(t *testing.T) {
	timeout := func(s metrics.Sample) metrics.Sample { return with(metrics.Timeout, about(0, s)) }
	idle := func(session byte, start, end int) metrics.Sample {
		return sample(metrics.Idle, session, 0, start, end, 0)
	}
	still := history{timeout(take('a', 0, 0, 200)), with(metrics.Timeout, about(0, idle('a', 1, 200)))}
	given := func(n int) (h history) { // one after the other, each to a consumer that has just arrived
		for i := 1; i <= n; i++ {
			h = append(h, put(int64(i), 2*i-1, 2*i), take('b', int64(i), 2*i, 2*i+1), remove('b', int64(i), 2*i, 2*i+1))
		}
		return h
	}
	early := func(n int) (h history) { // to consumers that arrived before the first put
		for i := 1; i <= n; i++ {
			h = append(h, put(int64(i), 2*i-1, 2*i), take('b', int64(i), 0, 2*i+1), remove('b', int64(i), 2*i, 2*i+1))
		}
		return h
	}
	hidden := slices.Concat(early(95), history{put(150, 3, 4), take('b', 150, 149, 151), remove('b', 150, 150, 151)})
	quick := metrics.Sample{Op: metrics.Bound, End: 20 * ms}
	judge(t, QueueLiveness(500*ms), []row{
		{"a consumer is idle beside an item while others are served", slices.Concat(hidden, still, history{quick}), Violated, 97, 1, history{put(150, 3, 4), still[1]}},
		{"that was put shortly before the end", slices.Concat(early(95), still, history{put(150, 170, 180), quick}), Holds, 96, 0, nil},
		{"its session had no connection", slices.Concat(hidden, still, history{quick, sample(metrics.Down, 'a', 0, 0, 190, 0)}), Holds, 97, 0, nil},
	})
	judge(t, QueueLiveness(5*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody waited", history{put(1, 0, 1)}, Unknown, 0, 0, nil},
		{"nothing was put", history{timeout(take('a', 0, 0, 50))}, Unknown, 0, 0, nil},
		{"taken at once", history{put(1, 0, 1), take('a', 1, 0, 3), remove('a', 1, 2, 3)}, Holds, 1, 0, nil},
		{"waited long, but the queue was empty", history{put(1, 0, 51), take('a', 1, 0, 53)}, Holds, 1, 0, nil},
		{"an item was there and the consumer missed it", history{put(1, 0, 10), take('a', 1, 0, 43), remove('a', 1, 42, 43)}, Violated, 1, 1, history{put(1, 0, 10), take('a', 1, 0, 43)}},
		{"the same without an end", history{put(1, 0, 10), timeout(take('a', 0, 0, 43))}, Violated, 1, 1, history{put(1, 0, 10), timeout(take('a', 0, 0, 43))}},
		{"the consumer came late", history{put(1, 0, 10), take('a', 1, 40, 43), remove('a', 1, 42, 43)}, Holds, 1, 0, nil},
		{"a backlog, from which others take", history{put(1, 0, 1), put(2, 0, 1), put(3, 0, 1), take('b', 1, 0, 4), take('b', 2, 4, 8), take('a', 3, 0, 12),
			remove('b', 1, 3, 4), remove('b', 2, 7, 8), remove('a', 3, 11, 12)}, Holds, 3, 0, nil},
		{"a take in doubt may have left nothing", history{put(1, 0, 10), with(metrics.InDoubt, take('b', 1, 8, 12)), timeout(take('a', 0, 0, 43))}, Holds, 1, 0, nil},
		{"an item that is claimed is not there", history{put(1, 0, 1), claimed('b', 1, 7, 1, 2), finish('b', 1, 7, 60, 61), timeout(take('a', 0, 3, 55))}, Holds, 2, 0, nil},
		{"an item whose claim is lost is there again", history{put(1, 0, 1), claimed('b', 1, 7, 1, 2), with(metrics.Lost, finish('b', 1, 7, 10, 10)), timeout(take('a', 0, 3, 55))}, Violated, 2, 1,
			history{with(metrics.Lost, finish('b', 1, 7, 10, 10)), timeout(take('a', 0, 3, 55))}},
		{"forgotten, while later consumers took the maximum", append(given(20), still...), Violated, 21, 1,
			history{take('b', 20, 40, 41), timeout(take('a', 0, 0, 200)), with(metrics.Timeout, about(0, idle('a', 1, 200)))}},
		{"one less than that", append(given(19), still...), Holds, 20, 0, nil},
		{"an event in between made it look again", append(given(20), still[0], with(metrics.Timeout, about(0, idle('a', 30, 200)))), Holds, 21, 0, nil},
		{"it had an event shortly before the end", append(given(20), timeout(take('a', 0, 0, 44)), with(metrics.Timeout, about(0, idle('a', 39, 44)))), Holds, 21, 0, nil},
		{"the others had come before it", append(early(20), timeout(take('a', 0, 1, 200)), with(metrics.Timeout, about(0, idle('a', 2, 200)))), Holds, 21, 0, nil},
		{"and claimed by the session that waited for it", history{put(1, 0, 1), claimed('b', 1, 7, 1, 2), with(metrics.Lost, finish('b', 1, 7, 10, 10)), claimed('a', 1, 8, 3, 13),
			finish('a', 1, 8, 60, 61), timeout(take('c', 0, 3, 55))}, Holds, 3, 0, nil},
	})
}

// tens returns the due time encoded in an item.
func tens(value int64) time.Duration { return time.Duration(value%100) * ms }

func TestNotBefore(t *testing.T) {
	judge(t, NotBefore(tens), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nothing was taken", history{put(110, 0, 1), with(metrics.Timeout, take('a', 110, 2, 9))}, Unknown, 0, 0, nil},
		{"taken when it was due, and later", history{take('a', 110, 2, 10), take('a', 210, 10, 40)}, Holds, 2, 0, nil},
		{"taken early", history{take('a', 110, 2, 10), take('b', 220, 3, 19), take('a', 230, 10, 29)}, Violated, 3, 2, history{take('b', 220, 3, 19)}},
		{"a take in doubt may not have happened", history{with(metrics.InDoubt, take('b', 220, 3, 19))}, Unknown, 0, 0, nil},
	})
}

func TestDelayLiveness(t *testing.T) {
	timeout := func(s metrics.Sample) metrics.Sample { return with(metrics.Timeout, about(0, s)) }
	judge(t, DelayLiveness(5*ms, tens), []row{
		{"nothing was put", history{timeout(take('a', 0, 0, 50))}, Unknown, 0, 0, nil},
		{"waited long, but nothing was due", history{put(150, 0, 1), take('a', 150, 0, 53)}, Holds, 1, 0, nil},
		{"missed its due time", history{put(120, 0, 1), take('a', 120, 0, 43), remove('a', 120, 42, 43)}, Violated, 1, 1, history{put(120, 0, 1), take('a', 120, 0, 43)}},
		{"missed one that came later and was due earlier", history{put(160, 0, 1), put(220, 9, 10), take('a', 160, 0, 61)}, Violated, 1, 1,
			history{put(220, 9, 10), take('a', 160, 0, 61)}},
		{"put after its time", history{put(110, 0, 40), take('a', 110, 0, 43)}, Holds, 1, 0, nil},
	})
}

// The queue checks agree with literal, quadratic implementations of their definitions on nonsensical histories.
func TestQueueChecksAgreeWithTheirDefinitions(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 4))
		var h history
		tokens := r.Perm(20)
		for i := range 2 + r.IntN(9) {
			start := time.Duration(1 + r.IntN(20))
			s := metrics.Sample{Op: metrics.Remove, Session: r.Uint32N(3), Object: r.Uint32N(2), Token: int64(tokens[i] + 1), Value: int64(1 + 100*r.IntN(3) + i),
				Start: start, End: start + time.Duration(r.IntN(6))}
			if r.IntN(5) == 0 {
				s.Op, s.Start, s.End = metrics.Remain, 99, 99
			} else if r.IntN(4) > 0 {
				c := s
				c.Op, c.Token = metrics.Choose, 1+r.Int64N(20)
				h = append(h, c)
			}
			h = append(h, s)
		}
		order, priority := 0, 0
		for _, b := range h {
			tooEarly, worse := false, false
			for _, a := range h {
				later := (a.Op == metrics.Remove || a.Op == metrics.Remain) && a.Object == b.Object && a.Start > b.End && b.Op == metrics.Remove
				tooEarly = tooEarly || later && a.Token < b.Token
				better := hundreds(a.Value) < hundreds(b.Value) || hundreds(a.Value) == hundreds(b.Value) && a.Token < b.Token
				worse = worse || later && better && slices.ContainsFunc(h, func(c metrics.Sample) bool {
					return c.Op == metrics.Choose && c.Value == b.Value && c.Object == b.Object && a.Token <= c.Token
				})
			}
			if tooEarly {
				order++
			}
			if worse {
				priority++
			}
		}
		for _, tc := range []struct {
			check Check
			want  int
		}{{DeliveryOrder(), order}, {Priority(hundreds, false), priority}} {
			v := tc.check.Judge(slices.Values(h), nil)
			if v.Count != tc.want || (v.Answer == Violated) != (tc.want > 0) {
				t.Fatalf("seed %d: %s = %v, %d times (%s), want %d\n%v", seed, tc.check.Name, v.Answer, v.Count, v.Detail, tc.want, h)
			}
		}
	}
}
