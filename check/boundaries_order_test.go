package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func TestBoundariesOfExclusion(t *testing.T) {
	a, ra, b, rb := acquire('a', 0, 10, 0), release('a', 20, 22), acquire('b', 5, 12, 0), release('b', 30, 31)
	c := acquire('c', 5, 20, 0)
	early := acquire('b', 5, 19, 0)
	judge(t, MutualExclusion(), []row{
		{"a holder that ended when the intruder came is not shown", history{a, ra, acquire('b', 5, 20, 0), rb, acquire('d', 5, 30, 0), release('d', 50, 51), acquire('e', 5, 40, 0)}, Violated, 4, 1,
			history{acquire('d', 5, 30, 0), acquire('e', 5, 40, 0), release('d', 50, 51)}},
		{"on two objects at one instant, the first is shown", history{a, ra, early, rb, on(1, a), on(1, ra), on(1, early), on(1, rb)}, Violated, 4, 2, history{a, early, ra, rb}},
		{"an expiry that was over when the first attempt started", history{acquire('a', 4, 5, 0), release('a', 20, 21), acquire('b', 1, 15, 0), sample(metrics.Expire, 'a', 0, 2, 4, 0)}, Violated, 2, 1,
			history{acquire('a', 4, 5, 0), acquire('b', 1, 15, 0), release('a', 20, 21)}},
	})
	judge(t, Permits(2), []row{
		{"a holder that released when the third came is not shown", history{a, ra, b, rb, c, release('c', 40, 41), acquire('d', 5, 20, 0)}, Violated, 4, 1,
			history{b, c, acquire('d', 5, 20, 0), rb, release('c', 40, 41)}},
		{"nor is the holder of another object", history{a, ra, b, rb, acquire('c', 5, 15, 0), on(1, acquire('d', 5, 11, 0))}, Violated, 4, 1,
			history{a, b, acquire('c', 5, 15, 0), ra, rb}},
	})
	r, dr, s, ds := reads('r', 0, 10, 0), readDone('r', 40, 41), reads('s', 0, 12, 0), readDone('s', 40, 41)
	w, dw := acquire('w', 0, 20, 0), release('w', 40, 42)
	judge(t, ReaderWriter(), []row{
		{"a writer beside two readers: the first is shown", history{r, dr, s, ds, w, dw}, Violated, 3, 1, history{r, w, dr, dw}},
		{"a writer beside a reader and a writer: the writer is shown", history{r, dr, w, dw, acquire('v', 0, 30, 0), release('v', 40, 43)}, Violated, 3, 2, history{r, w, dr, dw}},
		{"a reader that ended when the writer came is not shown", history{r, readDone('r', 20, 21), s, ds, w, dw}, Violated, 3, 1, history{s, w, ds, dw}},
	})
	held := func(lasting time.Duration) []Judge {
		short := a
		end := metrics.Sample{Op: metrics.Release, Session: 'a', Start: short.End + lasting, End: short.End + lasting}
		return MutualExclusion().Judge(slices.Values(history{short, end}), nil).Judges
	}
	for _, tc := range []struct {
		why   string
		clock Judge
		want  Judge
	}{
		{"held for an instant", held(instant)[1], Judge{By: ByClock, Answer: Holds, Evidence: 1, Held: instant}},
		{"held for less", held(instant - 1)[1], Judge{By: ByClock}},
		{"never released, held for an unknown time", MutualExclusion().Judge(slices.Values(history{a}), nil).Judges[1], Judge{By: ByClock, Answer: Holds, Evidence: 1}},
	} {
		if tc.clock != tc.want {
			t.Errorf("%s: judged by the clock %+v, want %+v", tc.why, tc.clock, tc.want)
		}
	}
}

func TestBoundariesOfExclusionByZxid(t *testing.T) {
	tokened := func(token int64, h history) history {
		h[0].Token, h[1].Token = token, token
		return h
	}
	lost := func(h history) history {
		return history{h[0], zxid(0, with(metrics.Lost, h[1]))}
	}
	a, b := brief('a', 0, 10, 100, 120), brief('b', 5, 20, 120, 130)
	early := brief('b', 5, 20, 90, 101)
	judge(t, MutualExclusion(), []row{
		{"different tokens are different places", slices.Concat(tokened(1, brief('a', 0, 10, 100, 120)), tokened(2, brief('b', 5, 20, 120, 130))), Holds, 2, 0, nil},
		{"a lost place that is never granted again", slices.Concat(tokened(7, lost(a)), early), Violated, 2, 1, slices.Concat(tokened(7, lost(a)), early)},
		{"grants without a token are not the same place", slices.Concat(lost(a), brief('a', 40, 50, 140, 150), early), Violated, 3, 1, slices.Concat(lost(a), early)},
		{"nor beside a lost place", slices.Concat(tokened(7, lost(brief('c', 0, 5, 50, 0))), brief('a', 6, 10, 100, 110), brief('b', 6, 20, 120, 130), brief('a', 30, 40, 140, 150)), Holds, 3, 0, nil},
		{"a place that is granted again, whose transaction was unknown the first time", slices.Concat(history{acquire('a', 0, 10, 7), with(metrics.Lost, release('a', 12, 12)),
			zxid(105, acquire('a', 12, 20, 7)), zxid(120, release('a', 20, 21))}, brief('b', 5, 22, 120, 130)), Holds, 2, 0, nil},
		{"a removal with the zxid of its grant does not count", slices.Concat(history{zxid(100, acquire('a', 0, 0, 0)), zxid(100, release('a', 1, 2))}, b), Unknown, 1, 0, nil},
		{"a grant that is never released counts", slices.Concat(a, history{zxid(130, acquire('b', 5, 20, 0))}), Holds, 2, 0, nil},
		{"one that ended by expiry does not", slices.Concat(history{zxid(100, acquire('a', 0, 10, 0)), about(int64(time.Second), sample(metrics.Expire, 'a', 0, 10, 10, 0))}, b), Unknown, 1, 0, nil},
	})
}

func TestBoundariesOfLiveness(t *testing.T) {
	a, ra := acquire('a', 0, 2, 0), release('a', 10, 12)
	b, early := acquire('b', 12, 18, 0), with(metrics.Timeout, acquire('e', 3, 12, 0))
	judge(t, Liveness(5*ms), []row{
		{"a waiter that gave up before the release did not stall", history{a, ra, early, b}, Violated, 3, 1, history{ra, b}},
		{"two stalls that start at one instant: the first object is shown", history{a, ra, b, on(1, a), on(1, ra), on(1, b)}, Violated, 4, 2, history{ra, b}},
	})
	w := acquire('w', 3, 30, 0)
	judge(t, ReaderWriterLiveness(5*ms), []row{
		{"two readers end at once: the later one is shown", history{reads('r', 0, 1, 0), readDone('r', 10, 12), reads('s', 0, 2, 0), readDone('s', 10, 12), w}, Violated, 3, 1,
			history{readDone('s', 10, 12), w}},
	})
	revoke := func(token int64, start, end int) metrics.Sample {
		return sample(metrics.Revoke, 'x', 0, start, end, token)
	}
	given := sample(metrics.Release, 'a', 0, 88, 89, 7)
	notified := func(at int) metrics.Sample { return sample(metrics.Deliver, 'a', 0, at, at, 7) }
	judge(t, NoLostRevoke(5*ms), []row{
		{"never notified, and held long after the requester gave up", history{revoke(7, 10, 12), given}, Violated, 1, 1, history{revoke(7, 10, 12), given}},
		{"notified twice, the first time promptly", history{revoke(7, 10, 90), notified(11), notified(70), given}, Holds, 1, 0, nil},
		{"released twice, the first time promptly", history{revoke(7, 10, 90), sample(metrics.Release, 'a', 0, 12, 13, 7), given}, Unknown, 0, 0, nil},
		{"by a reader", history{revoke(7, 10, 90), sample(metrics.ReadRelease, 'a', 0, 12, 13, 7)}, Unknown, 0, 0, nil},
		{"two were not notified: the earlier request is shown", history{revoke(7, 20, 90), revoke(8, 10, 90)}, Violated, 2, 2, history{revoke(8, 10, 90)}},
	})
}

func TestBoundariesOfStarvation(t *testing.T) {
	z := history{with(metrics.Timeout, enqueue('z', 0, 1)), waits('z', 1, 900), with(metrics.Timeout, sample(metrics.Idle, 'z', 0, 2, 900, 0))}
	grants := func(firstStart, firstEnd, lastEnd int) (h history) { // twenty
		h = history{with(metrics.Timeout, acquire('z', 0, 901, 0)), acquire('a', firstStart, firstEnd, 0)}
		for i := range 18 {
			h = append(h, acquire('a', 10*i+10, 10*i+15, 0))
		}
		return append(h, acquire('b', 800, lastEnd, 0))
	}
	judge(t, Starvation(50*ms), []row{
		{"the first grant overtook it at its last event", slices.Concat(z, grants(2, 2, 899)), Violated, 20, 1, history{z[0], acquire('b', 800, 899, 0), z[2]}},
		{"the last grant came when it gave up", slices.Concat(z, grants(2, 2, 900)), Holds, 20, 0, nil},
		{"the first attempt started at the instant of its enqueue", slices.Concat(z, grants(1, 2, 899)), Holds, 20, 0, nil},
	})
}

func TestBoundariesOfOrder(t *testing.T) {
	ea, eb, ec := enqueue('a', 1, 2), enqueue('b', 3, 4), enqueue('c', 5, 6)
	late, b := acquire('a', 0, 30, 0), acquire('b', 0, 20, 0)
	judge(t, FIFO(), []row{
		{"an enqueue and its grant at one instant", history{enqueue('a', 1, 10), acquire('a', 0, 10, 0), enqueue('b', 11, 12), b}, Holds, 1, 0, nil},
		{"an enqueue without a grant does not count for another session", history{ea, acquire('b', 0, 30, 0), ec, acquire('c', 0, 20, 0)}, Unknown, 0, 0, nil},
		{"granted at one instant", history{ea, late, eb, acquire('b', 0, 30, 0)}, Holds, 1, 0, nil},
		{"two overtaken sessions are granted at one instant: the first is shown", history{ea, late, eb, acquire('b', 0, 30, 0), ec, acquire('c', 0, 20, 0)}, Violated, 2, 1,
			history{ea, ec, acquire('c', 0, 20, 0), late}},
		{"on two objects at one instant", history{ea, late, eb, b, on(1, ea), on(1, late), on(1, eb), on(1, b)}, Violated, 2, 2, history{ea, eb, b, late}},
		{"a wait of zero length is no wait", history{with(metrics.Timeout, ea), waits('a', 2, 2), eb, b}, Unknown, 0, 0, nil},
		{"a wait without an enqueue is in no queue", history{waits('a', 2, 40), eb, b}, Unknown, 0, 0, nil},
	})
	judge(t, TokenOrder(), []row{
		{"on two objects at one instant", history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 6), on(1, acquire('a', 0, 1, 7)), on(1, acquire('b', 0, 2, 6))}, Violated, 4, 2,
			history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 6)}},
	})
	r, w := reads('r', 0, 1, 7), acquire('w', 0, 2, 7)
	judge(t, QueueOrder(), []row{
		{"a writer with the token of a reader before it", history{r, w}, Violated, 2, 1, history{r, w}},
		{"two readers with one token: the first is shown", history{r, reads('s', 0, 2, 7), acquire('w', 0, 3, 6)}, Violated, 3, 1, history{r, acquire('w', 0, 3, 6)}},
		{"a reader overtakes the second of two writers", history{acquire('w', 0, 1, 8), acquire('v', 0, 2, 10), reads('r', 0, 3, 9)}, Violated, 3, 1,
			history{acquire('v', 0, 2, 10), reads('r', 0, 3, 9)}},
		{"on two objects: the earlier is shown", history{r, acquire('w', 0, 9, 7), on(1, r), on(1, w)}, Violated, 4, 2, history{on(1, r), on(1, w)}},
		{"at one instant the first", history{r, w, on(1, r), on(1, w)}, Violated, 4, 2, history{r, w}},
	})
	judge(t, Alternation(), []row{
		{"one leads to the end, another starts and ends at one instant", history{campaign('a', 0, 10, 0), campaign('b', 5, 30, 0), resign('b', 30, 31)}, Holds, 3, 0, nil},
		{"again at one instant", history{campaign('a', 0, 10, 0), resign('a', 20, 22), campaign('a', 22, 30, 0), resign('a', 30, 31)}, Holds, 4, 0, nil},
		{"two lead to the end", history{campaign('a', 0, 10, 0), campaign('b', 5, 30, 0)}, Holds, 2, 0, nil},
		{"two end terms that never started: the earlier is shown", history{resign('a', 40, 41), resign('b', 20, 22)}, Violated, 2, 2, history{resign('b', 20, 22)}},
		{"at one instant the first", history{resign('a', 20, 22), resign('b', 20, 22)}, Violated, 2, 2, history{resign('a', 20, 22)}},
	})
	judge(t, NumberOrder(), []row{
		{"two objects with two numbers each", history{draw('a', 7, 0, 5), draw('b', 8, 6, 9), on(1, draw('a', 1, 0, 5)), on(1, draw('b', 2, 6, 9))}, Holds, 4, 0, nil},
		{"two with the same number: the first is shown", history{draw('a', 7, 0, 4), draw('b', 7, 0, 5), draw('c', 6, 6, 9)}, Violated, 3, 1, history{draw('a', 7, 0, 4), draw('c', 6, 6, 9)}},
	})
	judge(t, Total(), []row{
		{"an object that was never counted needs no final read", history{draw('a', 1, 0, 5), saying(1), on(1, with(metrics.Failed, draw('a', 1, 0, 5)))}, Holds, 1, 0, nil},
	})
}

func TestBoundariesOfAFence(t *testing.T) {
	b, db := acquire('b', 5, 40, 6), release('b', 45, 46)
	c, dc := acquire('c', 5, 35, 7), release('c', 60, 62)
	late := write('a', 40, 45, 5, 3)
	judge(t, Fence(1), []row{
		{"one permit is a lock", history{write('b', 32, 33, 6, 2), late}, Violated, 2, 1, history{write('b', 32, 33, 6, 2), late}},
	})
	judge(t, Fence(2), []row{
		{"others held both permits for the whole write", history{b, db, c, dc, late}, Violated, 1, 1, history{c, late}},
		{"one released before the write ended", history{b, release('b', 44, 46), c, dc, late}, Holds, 1, 0, nil},
		{"a write of zero length while others held both", history{b, release('b', 50, 51), acquire('c', 5, 35, 7), release('c', 40, 41), write('a', 40, 40, 5, 3)}, Violated, 1, 1,
			history{acquire('c', 5, 35, 7), write('a', 40, 40, 5, 3)}},
		{"others held another object", history{b, db, c, dc, on(1, late)}, Holds, 1, 0, nil},
		{"two at one instant: the first to start is shown", history{b, release('b', 60, 61), c, dc, late, write('a', 41, 45, 5, 4)}, Violated, 2, 2, history{c, late}},
	})
}

func TestBoundariesOfAGroup(t *testing.T) {
	a, la, b := join('a', 0, 0, 2, 10), leaves('a', 6, 7), join('b', 60, 3, 5, 20)
	x := sees('x', 0, 6, 20)
	judge(t, Views(), []row{
		{"it tried to join at the instant of the view", saw(map[int64][]int64{20: {0, 60}}, a, with(metrics.Timeout, join('b', 60, 6, 8, 0)), x), Holds, 1, 0, nil},
		{"it started to leave at that instant", saw(map[int64][]int64{20: {60}}, a, b, la, x), Holds, 1, 0, nil},
		{"it tried twice, the first time before the view", saw(map[int64][]int64{20: {0, 60}}, a, with(metrics.Timeout, join('b', 60, 4, 5, 0)), with(metrics.Timeout, join('b', 60, 8, 9, 0)), x),
			Holds, 1, 0, nil},
	})
	c, y := change(7, 6, 8, 10), about(7, sees('x', 0, 6, 10))
	judge(t, WrittenValues(), []row{
		{"written at the instant at which it was seen", history{c, y}, Holds, 1, 0, nil},
		{"by a write whose zxid is unknown", history{change(7, 0, 2, 0), y}, Holds, 1, 0, nil},
	})
	cut := func(session byte, start, end int) metrics.Sample {
		return with(metrics.Unfinished, sees(session, start, end, 0))
	}
	first, d := sees('x', 0, 3, 10), change(8, 20, 22, 20)
	nobody := byte(0)
	views := map[int64][]int64{5: nil, 10: {0, 60}, 15: {0}, 25: nil}
	judge(t, Convergence(50*ms), []row{
		{"an observer that has seen nothing misses nothing", history{change(7, 0, 2, 10), cut(nobody, 3, 90), sees('x', 0, 3, 10)}, Holds, 1, 0, nil},
		{"nor does it miss what another observer has seen", history{change(7, 0, 2, 10), d, sees('x', 0, 3, 10), sees('x', 3, 24, 20), cut('x', 24, 900), cut('y', 3, 900)}, Holds, 2, 0, nil},
		{"a later change was acknowledged first", history{change(7, 0, 40, 10), change(8, 0, 5, 20), sees('x', 0, 3, 5), cut('x', 3, 60)}, Violated, 0, 1,
			history{sees('x', 0, 3, 5), change(8, 0, 5, 20), cut('x', 3, 60)}},
		{"at one instant", history{change(7, 0, 5, 10), change(8, 0, 5, 20), sees('x', 0, 3, 5), cut('x', 3, 60)}, Violated, 0, 1,
			history{sees('x', 0, 3, 5), change(7, 0, 5, 10), cut('x', 3, 60)}},
		{"a member that joins and leaves after the last view is not in it", saw(views, sees('x', 0, 3, 5), a, la), Unknown, 0, 0, nil},
		{"leaving counts from its acknowledgement", saw(views, join('a', 0, 0, 2, 15), leaves('a', 20, 22), sees('x', 0, 3, 15), cut('x', 3, 72)), Holds, 1, 0, nil},
		{"one ms more, and it is not seen", saw(views, join('a', 0, 0, 2, 15), leaves('a', 20, 22), sees('x', 0, 3, 15), cut('x', 3, 73)), Violated, 1, 1,
			history{sees('x', 0, 3, 15), leaves('a', 20, 22), cut('x', 3, 73)}},
		{"two leave: the first counts", saw(views, join('a', 0, 0, 2, 8), join('b', 60, 0, 2, 9), leaves('a', 20, 22), leaves('b', 28, 30), first, cut('x', 3, 75)), Violated, 2, 1,
			history{first, leaves('a', 20, 22), cut('x', 3, 75)}},
		{"a view takes one request per member", append(saw(views, join('a', 0, 0, 2, 15), leaves('a', 20, 22), sees('x', 0, 3, 15), sees('x', 3, 37, 25)), measured(10, 15)), Holds, 2, 0, nil},
		{"one ms more is too late", append(saw(views, join('a', 0, 0, 2, 15), leaves('a', 20, 22), sees('x', 0, 3, 15), sees('x', 3, 38, 25)), measured(10, 15)), Violated, 2, 1,
			history{sees('x', 0, 3, 15), leaves('a', 20, 22), sees('x', 3, 38, 25)}},
	})
	crash := with(metrics.Lost, leaves('a', 20, 30))
	judge(t, CrashesSeen(50*ms), []row{
		{"a crash counts from its last sign of life", saw(views, join('a', 0, 0, 2, 15), crash, sees('x', 0, 3, 15), sees('x', 3, 71, 25)), Violated, 1, 1,
			history{sees('x', 0, 3, 15), crash, sees('x', 3, 71, 25)}},
	})
}

// The details of the verdicts.
func TestDetailsOfVerdicts(t *testing.T) {
	open := with(metrics.Failed, sample(metrics.Left, 0, 4, 50, 51, 0))
	open.Value = SessionsOpen
	shut := with(metrics.Failed, sample(metrics.Left, 0, 4, 50, 51, 0))
	blind := with(metrics.Timeout, sample(metrics.Left, 0, 4, 50, 51, 0))
	ea, eb, b := enqueue('a', 1, 2), enqueue('b', 3, 4), acquire('b', 0, 20, 0)
	for _, tc := range []struct {
		check   Check
		history history
		want    string
	}{
		{NothingLeft(), history{open}, "znodes are left under 1 of 1 paths, the first of them of object 4, while the sessions were still open"},
		{NothingLeft(), history{shut}, "znodes are left under 1 of 1 paths, the first of them of object 4"},
		{NothingLeft(), history{sample(metrics.Left, 0, 3, 50, 50, 0), blind, blind}, "2 of 3 paths could not be read, or were not empty while sessions still had requests in flight"},
		{FIFO(), history{ea, acquire('a', 0, 30, 0), eb, b}, "on object 0 session 97 had its place at 2ms, session 98 came at 3ms and was granted 10ms before it"},
		{FIFO(), history{with(metrics.Timeout, ea), waits('a', 2, 40), eb, b}, "on object 0 session 97 had its place at 2ms and still waited at 40ms, session 98 came at 3ms and was granted at 20ms"},
		{Fence(0), history{write('b', 32, 33, 6, 2), write('a', 40, 45, 5, 3)}, "object 0 took the write of session 97 with token 5 after that of session 98 with token 6"},
		{DeliveryOrder(), history{remove('b', 2, 5, 9), left(1)}, "session 98 removed item 2 of object 0 (czxid 2) at 9ms before item 1 (czxid 1), which is left"},
		{DeliveryOrder(), history{remove('b', 2, 5, 9), remove('a', 1, 10, 12)},
			"session 98 removed item 2 of object 0 (czxid 2) at 9ms before item 1 (czxid 1), which session 97 removed at 12ms"},
		{Alternation(), history{resign('a', 20, 22)}, "session 97 ended its lead of election 0 at 22ms, and did not lead it"},
		{Alternation(), history{campaign('a', 0, 10, 0), campaign('a', 11, 12, 0)}, "session 97 began to lead election 0 at 12ms, and led it already"},
	} {
		if v := tc.check.Judge(slices.Values(tc.history), nil); v.Detail != tc.want {
			t.Errorf("detail of %s: %q, want %q", tc.check.Name, v.Detail, tc.want)
		}
	}
}

// Every check answers whatever the samples are, even if they end before they start, and a violation comes with a counterexample.
func TestNonsensicalSamplesAreJudged(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 8))
		var h history
		for range 1 + r.IntN(20) {
			h = append(h, metrics.Sample{Op: metrics.Op(r.IntN(metrics.Ops)), Outcome: metrics.Outcome(r.IntN(3) / 2 * r.IntN(metrics.Outcomes)), Session: r.Uint32N(4),
				Object: r.Uint32N(2), Token: r.Int64N(4), Value: r.Int64N(4), Zxid: r.Int64N(5), Start: time.Duration(r.IntN(20)), End: time.Duration(r.IntN(20))})
		}
		for _, c := range append(everyCheck(), Notifications(true, 3)) {
			v := c.Judge(slices.Values(h), nil)
			if (v.Answer == Violated) != (v.Count > 0) || (v.Answer == Violated) != (len(v.Witness) > 0) || v.Answer == Holds && v.Evidence == 0 ||
				(v.Answer == Holds) != (v.Detail == "") || strings.Contains(v.Detail, "%!") {
				t.Fatalf("seed %d: %s = %v with count %d, evidence %d, counterexample %v: %s\n%v", seed, c.Name, v.Answer, v.Count, v.Evidence, v.Witness, v.Detail, h)
			}
		}
	}
}
