package check

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// The checks at their boundaries: at one instant, one step before it and one after it; and which of several violations is shown. The bounds are those of the
// other tables.

func measured(start, end int) metrics.Sample { return sample(metrics.Bound, 0, 0, start, end, 0) }

func lateOf(session byte, start, end int) metrics.Sample {
	return sample(metrics.Late, session, 0, start, end, 0)
}

func everybodyLate(start, end int) metrics.Sample {
	s := lateOf(0, start, end)
	s.Session = metrics.Everybody
	return s
}

func TestBoundariesOfABarrier(t *testing.T) {
	in := func(session byte, o metrics.Outcome, start, end int) metrics.Sample {
		return with(o, about(1, sample(metrics.Enter, session, 0, start, end, 0)))
	}
	away := func(session byte, o metrics.Outcome, start, end int) metrics.Sample {
		return with(o, about(1, sample(metrics.Leave, session, 0, start, end, 0)))
	}
	const ok, timeout = metrics.OK, metrics.Timeout
	a, b, c := in('a', ok, 0, 10), in('b', ok, 1, 11), in('c', ok, 9, 12)
	judge(t, EnterSafety(metrics.Enter, 3), []row{
		{"one started, gave up and started again: its first attempt counts", history{a, b, in('c', timeout, 2, 5), in('c', ok, 11, 12)}, Holds, 3, 0, nil},
	})
	judge(t, EqualOutcome(metrics.Enter, 3), []row{
		{"the one that timed out is shown", history{a, b, in('c', timeout, 5, 12)}, Violated, 3, 2, history{a, in('c', timeout, 5, 12)}},
	})
	judge(t, LeaveSafety(), []row{
		{"one left at the instant the last started to leave", history{a, b, c, away('a', ok, 20, 30), away('b', ok, 21, 31), away('c', ok, 30, 31)}, Holds, 3, 0, nil},
		{"one gave up leaving and left again: it had begun to leave the first time",
			history{a, b, c, away('a', ok, 20, 29), away('b', ok, 21, 29), away('c', timeout, 22, 25), away('c', ok, 40, 41)}, Holds, 3, 0, nil},
		{"a member that was not let in was not inside", history{a, b, in('c', metrics.Lost, 9, 12), away('a', ok, 20, 29), away('b', ok, 21, 29), away('c', ok, 40, 41)}, Holds, 3, 0, nil},
		{"a member that entered when another started to leave was not inside", history{a, b, in('c', ok, 20, 24), away('a', ok, 20, 29), away('b', ok, 21, 29), away('c', ok, 40, 41)}, Holds, 3, 0, nil},
	})
	bar, unbar := sample(metrics.Bar, 'a', 0, 0, 10, 0), sample(metrics.Unbar, 'a', 0, 30, 32, 0)
	pass := func(start, end int) metrics.Sample { return sample(metrics.Pass, 'b', 0, start, end, 0) }
	judge(t, Barred(), []row{
		{"passed from the instant it was set to the instant it was removed", history{bar, unbar, pass(10, 30)}, Violated, 1, 1, history{bar, pass(10, 30), unbar}},
		{"passed later", history{bar, unbar, pass(10, 31)}, Holds, 1, 0, nil},
	})
	stuck := in('b', metrics.Unfinished, 5, 61)
	judge(t, RoundLiveness(metrics.Enter, 3, 50*ms), []row{
		{"one is stuck, one got in and one was lost", history{a, in('c', metrics.Lost, 2, 11), stuck}, Violated, 2, 1, history{stuck}},
		{"up to the bound", history{a, in('c', metrics.Lost, 2, 11), in('b', metrics.Unfinished, 5, 60)}, Holds, 2, 0, nil},
	})
}

func TestBoundariesOfACommit(t *testing.T) {
	p, va, vb := propose(2), votes('a', 1, 2, Commits), votes('b', 1, 3, Commits)
	yes, no := decides('a', 2, 10, Commits), decides('a', 2, 10, Aborts)
	judge(t, Agreement(), []row{
		{"two transactions disagree: the earlier is shown", history{yes, decides('b', 6, 12, Aborts), on(1, yes), on(1, decides('b', 6, 11, Aborts))}, Violated, 4, 2,
			history{on(1, yes), on(1, decides('b', 6, 11, Aborts))}},
		{"at one instant: the first object is shown", history{yes, decides('b', 6, 12, Aborts), on(1, yes), on(1, decides('b', 6, 12, Aborts))}, Violated, 4, 2,
			history{yes, decides('b', 6, 12, Aborts)}},
	})
	judge(t, CommitValidity(), []row{
		{"a vote that starts at the instant of the decision", history{p, va, votes('b', 10, 12, Commits), yes}, Holds, 1, 0, nil},
		{"two proposals: the first counts", history{p, valued(metrics.Propose, 'a', 5, 6, 1), va, yes}, Violated, 1, 1, history{p, yes}},
	})
	begun := p
	begun.Start = ms / 2
	judge(t, CommitProgress(20*ms), []row{
		{"a vote that ends with half of the deadline", history{p, va, votes('b', 1, 10, Commits), no}, Violated, 1, 1, history{p, no}},
		{"a fault after it", history{p, va, vb, no, fault(11, 12)}, Violated, 1, 1, history{p, no}},
		{"a fault from its last instant on", history{p, va, vb, no, fault(10, 12)}, Unknown, 0, 0, nil},
		{"a fault before it", history{begun, va, vb, no, fault(0, 0)}, Violated, 1, 1, history{begun, no}},
		{"nobody took part", history{propose(0), no}, Unknown, 0, 0, nil},
		{"a fault up to its first instant", history{p, va, vb, no, fault(-1, 0)}, Unknown, 0, 0, nil},
	})
	judge(t, DecisionLiveness(20*ms), []row{
		{"a vote that was not cast awaits no decision", history{with(metrics.Timeout, va)}, Unknown, 0, 0, nil},
		{"decided at the bound", history{va, decides('a', 2, 21, Commits)}, Holds, 1, 0, nil},
		{"later", history{va, decides('a', 2, 22, Commits)}, Violated, 1, 1, history{va, decides('a', 2, 22, Commits)}},
		{"late in spite of a fault", history{va, decides('a', 2, 32, Commits), fault(10, 20)}, Violated, 1, 1, history{va, decides('a', 2, 32, Commits)}},
		{"late but for the fault", history{va, decides('a', 2, 31, Commits), fault(10, 20)}, Holds, 1, 0, nil},
	})
	if v := atomicCommit(20*ms, 10*ms)[5].Judge(slices.Values(history{va, decides('a', 2, 31, Commits)}), nil); v.Answer != Holds {
		t.Errorf("a decision after the deadline and the slack: %v, %s", v.Answer, v.Detail)
	}
	if v := atomicCommit(20*ms, 10*ms)[5].Judge(slices.Values(history{va, decides('a', 2, 32, Commits)}), nil); v.Answer != Violated {
		t.Errorf("a decision later than that: %v", v.Answer)
	}
}

// The given bound is 50 ms, the measured one 5 ms per wake-up; some operations take several wake-ups.
func TestBoundariesOfMeasuredBounds(t *testing.T) {
	a, ra, b := acquire('a', 0, 2, 0), release('a', 10, 12), acquire('b', 3, 18, 0)
	quick, stall := measured(10, 15), history{ra, b}
	judge(t, Liveness(50*ms), []row{
		{"its waiter had a slow request before", history{a, ra, b, quick, lateOf('b', 3, 12)}, Violated, 2, 1, stall},
		{"and after", history{a, ra, b, quick, lateOf('b', 18, 30)}, Violated, 2, 1, stall},
		{"and for 1 ms of it", history{a, ra, b, quick, lateOf('b', 17, 30)}, Holds, 2, 0, nil},
		{"all were late before, and its waiter too", history{a, ra, b, quick, lateOf('b', 10, 12), everybodyLate(8, 12)}, Violated, 2, 1, stall},
		{"all were late for 1 ms, of which its waiter was", history{a, ra, acquire('b', 3, 19, 0), quick, lateOf('b', 13, 14), everybodyLate(13, 14)}, Violated, 2, 1,
			history{ra, acquire('b', 3, 19, 0)}},
		{"somebody gave up so soon, of another lock", history{a, ra, b, quick, on(1, with(metrics.Timeout, acquire('e', 13, 15, 0)))}, Violated, 3, 1, stall},
		{"when it was over", history{a, ra, b, release('b', 20, 21), quick, with(metrics.Timeout, acquire('e', 18, 20, 0))}, Violated, 3, 1, stall},
		{"when it had not begun", history{a, ra, acquire('b', 12, 18, 0), quick, with(metrics.Timeout, acquire('e', 8, 12, 0))}, Violated, 3, 1, history{ra, acquire('b', 12, 18, 0)}},
		{"somebody gave up after twice the bound", history{a, ra, b, quick, with(metrics.Timeout, acquire('e', 6, 16, 0))}, Holds, 3, 0, nil},
		{"and later", history{a, ra, b, quick, with(metrics.Timeout, acquire('e', 6, 17, 0))}, Violated, 3, 1, stall},
		{"a connection that was lost before the attempt", history{with(metrics.Lost, acquire('a', 10, 90, 0)), down('a', 4, 10)}, Violated, 1, 1,
			history{with(metrics.Lost, acquire('a', 10, 90, 0))}},
		{"nobody could have waited longer", history{acquire('a', 0, 1, 0), release('a', 2, 5), quick}, Unknown, 1, 0, nil},
		{"somebody could have", history{acquire('a', 0, 1, 0), release('a', 2, 6), quick}, Holds, 1, 0, nil},
		{"all were late, and nobody could have waited longer than the given bound", history{acquire('a', 5, 6, 0), release('a', 52, 55), quick, everybodyLate(0, 90)}, Unknown, 1, 0, nil},
		{"somebody could have waited that long", history{acquire('a', 5, 6, 0), release('a', 52, 56), quick, everybodyLate(0, 90)}, Holds, 1, 0, nil},
		{"but for a fault", history{acquire('a', 5, 6, 0), release('a', 52, 56), quick, everybodyLate(0, 90), fault(20, 21)}, Unknown, 1, 0, nil},
	})
	v := Liveness(50*ms).Judge(slices.Values(history{acquire('a', 5, 6, 0), release('a', 10, 12), quick, everybodyLate(7, 9)}), nil)
	if want := "cover 5ms without faults and delays, but a lost wake-up shows only after 5ms: use a duration of at least 1s"; !strings.Contains(v.Detail, want) {
		t.Errorf("detail %q, want %q", v.Detail, want)
	}
	long := history{acquire('a', 5000, 5001, 0), release('a', 8000, 9000), measured(0, 4000)}
	if v := Liveness(50*time.Second).Judge(slices.Values(long), nil); !strings.Contains(v.Detail, "at least 13s") {
		t.Errorf("detail %q after waits of 4 s, as long as one in vain", v.Detail)
	}
	gone := with(metrics.Lost, acquire('c', 3, 11, 0))
	judge(t, PermitsLiveness(2, 50*ms), []row{
		{"a permit may take two wake-ups: a session lost before them was not stalled", history{gone, quick}, Unknown, 0, 0, nil},
		{"beside a session that was not", history{a, ra, gone, quick}, Holds, 1, 0, nil},
		{"somebody gave up before it could be notified", history{a, ra, acquire('b', 3, 23, 0), quick, with(metrics.Timeout, acquire('e', 8, 23, 0))}, Holds, 3, 0, nil},
	})
}

func TestBoundariesOfLocksAcquiredTogether(t *testing.T) {
	three := func(session byte, start, end, until int) history {
		h := both(session, start, end, until, 0)
		return append(h, on(2, h[1]), on(2, h[3]))
	}
	refused := func(s metrics.Sample) metrics.Sample { return with(metrics.Timeout, s) }
	// Two sets of three locks each: four wake-ups of 5 ms.
	h := joined(three('a', 0, 1, 2), three('b', 0, 3, 4), history{measured(10, 15), refused(on(1, acquire('d', 0, 2, 0))), refused(acquire('e', 0, 2, 0)), refused(acquire('f', 0, 2, 0)),
		refused(on(2, sample(metrics.Hold, 'd', 0, 0, 2, 0)))})
	waits := func(end int) metrics.Sample { return with(metrics.Unfinished, acquire('c', 3, end, 0)) }
	judge(t, LivenessTogether(500*ms), []row{
		{"as long as it may take", append(slices.Clone(h), waits(25)), Holds, 6, 0, nil},
		{"longer", append(slices.Clone(h), waits(26)), Violated, 6, 1, history{release('b', 4, 5), waits(26)}},
		{"longer, to the end, while each wake-up may take 6 ms, twice as long as requests of three others", append(slices.Clone(h), sample(metrics.Late, 'x', 0, 5, 8, 0), sample(metrics.Late, 'y', 0, 5, 8, 0),
			sample(metrics.Late, 'z', 0, 5, 8, 0), waits(26)), Unknown, 6, 0, nil},
	})
}

func TestBoundariesOfAQueue(t *testing.T) {
	looked := left(0)
	p1, t1 := put(1, 0, 1), take('a', 1, 5, 6)
	maybe := func(s metrics.Sample) metrics.Sample { return with(metrics.InDoubt, s) }
	failed := func(s metrics.Sample) metrics.Sample { return with(metrics.Failed, s) }
	judge(t, Conservation(metrics.Take), []row{
		{"a queue with a put in doubt need not be known to be empty", history{p1, t1, looked, on(1, maybe(p1))}, Holds, 2, 0, nil},
		{"a look that failed is none", history{p1, failed(looked)}, Unknown, 1, 0, nil},
		{"nor is a take of nothing", history{p1, take('a', 0, 5, 6)}, Unknown, 1, 0, nil},
		{"a take that failed took nothing", history{p1, failed(t1), looked}, Violated, 1, 1, history{p1, failed(t1)}},
		{"an item in a failed look is not there", history{p1, failed(left(1)), looked}, Violated, 1, 1, history{p1, failed(left(1))}},
	})
	a, fa := claimed('a', 1, 5, 0, 10), finish('a', 1, 5, 20, 21)
	lost := with(metrics.Lost, finish('a', 1, 5, 15, 15))
	second := func(item int64, from int) history { // an item that is claimed again after it was finished
		return history{claimed('c', item, 5, 0, 1), finish('c', item, 5, 2, 3), claimed('d', item, 7, 0, from)}
	}
	judge(t, Claims(), []row{
		{"a claim without an item is no claim", history{claimed('a', 0, 5, 0, 10), claimed('b', 0, 5, 0, 12)}, Unknown, 0, 0, nil},
		{"an item that was put once", history{put(1, 0, 1), a, fa, claimed('b', 1, 4, 0, 15)}, Violated, 2, 1, history{a, claimed('b', 1, 4, 0, 15), fa}},
		{"one beside the first, and earlier a claim of a finished item", slices.Concat(history{a, fa, claimed('b', 1, 4, 0, 15)}, second(2, 14)), Violated, 4, 2, second(2, 14)},
		{"later a claim of a finished item", slices.Concat(history{a, fa, claimed('b', 1, 4, 0, 15)}, second(2, 16)), Violated, 4, 2, history{a, claimed('b', 1, 4, 0, 15), fa}},
		{"at that instant", slices.Concat(history{a, fa, claimed('b', 1, 4, 0, 15)}, second(2, 15)), Violated, 4, 2, history{a, claimed('b', 1, 4, 0, 15), fa}},
		{"one claim given to two sessions counts only if the clocks show no overlap", history{a, fa, claimed('b', 1, 4, 0, 15), claimed('c', 1, 3, 0, 16),
			about(2, a), about(2, lost), claimed('b', 2, 5, 0, 16)}, Violated, 5, 2, history{a, claimed('b', 1, 4, 0, 15), fa}},
	})
	judge(t, DeliveryOrder(), []row{
		{"an item that is removed twice has no order", history{remove('a', 1, 5, 9), remove('b', 1, 10, 12)}, Holds, 2, 0, nil},
	})
	low, high := remove('a', 205, 5, 9), remove('b', 101, 10, 12)
	judge(t, Priority(hundreds, true), []row{
		{"the better item was put at the instant the take started", history{put(101, 0, 3), put(205, 0, 1), take('a', 205, 3, 9), low, choose('a', 205, 100), high}, Holds, 1, 0, nil},
		{"a put in doubt has no time", history{maybe(put(101, 0, 2)), put(205, 0, 1), take('a', 205, 3, 9), low, choose('a', 205, 100), high}, Holds, 1, 0, nil},
		{"two queues, one violated by its list and one by its puts: the list counts", history{low, choose('a', 205, 205), high,
			on(1, put(101, 0, 2)), on(1, put(205, 0, 1)), on(1, take('a', 205, 3, 9)), on(1, low), on(1, choose('a', 205, 100)), on(1, high)}, Violated, 2, 1, history{low, high}},
		{"two lists: the older counts", history{low, choose('a', 205, 205), choose('a', 205, 100), high}, Holds, 1, 0, nil},
		{"two takes: the first counts", history{put(101, 0, 2), put(205, 0, 1), take('a', 205, 3, 9), take('a', 205, 1, 2), low, choose('a', 205, 100), high}, Holds, 1, 0, nil},
		{"a removal that ends before it starts", history{remove('a', 205, 20, 1), choose('a', 205, 205), remove('b', 101, 30, 32)}, Violated, 1, 1,
			history{remove('a', 205, 20, 1), remove('b', 101, 30, 32)}},
	})
}

func TestBoundariesOfQueueLiveness(t *testing.T) {
	timeout := func(s metrics.Sample) metrics.Sample { return with(metrics.Timeout, about(0, s)) }
	c := claimed('b', 1, 7, 1, 2)
	doubtful := with(metrics.InDoubt, take('b', 1, 10, 12))
	judge(t, QueueLiveness(5*ms), []row{
		{"an item was taken that was never put", history{take('a', 1, 0, 3)}, Unknown, 0, 0, nil},
		{"an item that was finished is gone", history{put(1, 0, 1), c, finish('b', 1, 7, 10, 10), timeout(take('a', 0, 3, 55))}, Holds, 2, 0, nil},
		{"an item that was released is there", history{put(1, 0, 1), c, about(1, release('b', 10, 40)), timeout(take('a', 0, 3, 55))}, Violated, 2, 1,
			history{about(1, release('b', 10, 40)), timeout(take('a', 0, 3, 55))}},
		{"an item whose release was lost is there at once", history{put(1, 0, 1), c, with(metrics.Lost, about(1, release('b', 10, 53))), timeout(take('a', 0, 3, 55))}, Violated, 2, 1,
			history{with(metrics.Lost, about(1, release('b', 10, 53))), timeout(take('a', 0, 3, 55))}},
		{"an item whose release is in doubt may be gone", history{put(1, 0, 1), c, with(metrics.InDoubt, about(1, release('b', 10, 40))), timeout(take('a', 0, 3, 55))}, Holds, 2, 0, nil},
		{"an item is put at the instant another is taken, and the waiter is not notified", history{put(1, 0, 1), doubtful, put(2, 9, 10), timeout(take('a', 0, 0, 43))}, Violated, 1, 1,
			history{put(1, 0, 1), timeout(take('a', 0, 0, 43))}},
		{"a claim that is released at the instant of its grant may belong to either", history{put(1, 0, 1), c, about(1, release('b', 2, 3)), timeout(take('a', 0, 3, 55))}, Holds, 2, 0, nil},
	})
}

func TestBoundariesOfLinearizability(t *testing.T) {
	unknown := func(s metrics.Sample) metrics.Sample { s.Token = 0; return s }
	p1 := put(1, 0, 1)
	judge(t, LinearizableQueue(time.Minute), []row{
		{"only a look", history{left(0)}, Unknown, 0, 0, nil},
		{"an empty take is no operation", history{p1, take('a', 0, 2, 3)}, Holds, 1, 0, nil},
		{"a look that failed is none", history{p1, with(metrics.Failed, left(0))}, Holds, 1, 0, nil},
		{"a choice is not a take", history{put(1, 2, 3), choose('a', 1, 5), take('a', 1, 5, 6)}, Holds, 2, 0, nil},
	})
	for _, order := range [][]int64{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}} {
		h := history{unknown(put(1, 0, 9)), unknown(put(2, 1, 9)), unknown(put(3, 2, 9))}
		for i, item := range order {
			h = append(h, take('a', item, 10+10*i, 15+10*i))
		}
		judge(t, LinearizableQueue(time.Minute), []row{{"concurrent puts in any order", h, Holds, 6, 0, nil}})
	}
	read := about(0, sample(metrics.Read, 'a', 0, 0, 1, 0))
	judge(t, LinearizableRegister(time.Minute), []row{
		{"a grant is not an operation on the register", history{read, about(5, acquire('a', 0, 1, 0))}, Holds, 1, 0, nil},
		{"nor is a read that failed", history{read, with(metrics.Failed, about(5, read))}, Holds, 1, 0, nil},
	})
}

func TestBoundariesOfOwnerless(t *testing.T) {
	for _, tt := range []struct {
		why     string
		history history
		from    int
		want    Ownerless
	}{
		{"an interval without length, while somebody waits", history{acquire('b', 50, 150, 0)}, 100, Ownerless{}},
		{"a grant at the start of the interval is outside", history{acquire('b', 5, 20, 0)}, 20, Ownerless{}},
		{"an attempt at the end of the interval is outside", history{acquire('b', 100, 120, 0)}, 20, Ownerless{}},
	} {
		if got := ownerless(slices.Values(tt.history), nil, 0, time.Duration(tt.from)*ms, 100*ms); got != tt.want || math.IsNaN(got.Share) {
			t.Errorf("%s: ownerless = %+v, want %+v", tt.why, got, tt.want)
		}
	}
}
