package check

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// In the samples of the tables sessions are letters and times are milliseconds.

const ms = time.Millisecond

func sample(op metrics.Op, session byte, object uint32, start, end int, token int64) metrics.Sample {
	s := time.Duration(start) * ms
	return metrics.Sample{Op: op, Session: uint32(session), Object: object, Token: token, Due: s, Start: s, End: time.Duration(end) * ms}
}

func acquire(session byte, start, end int, token int64) metrics.Sample {
	return sample(metrics.Acquire, session, 0, start, end, token)
}

func release(session byte, start, end int) metrics.Sample {
	return sample(metrics.Release, session, 0, start, end, 0)
}

func enqueue(session byte, start, end int) metrics.Sample {
	return sample(metrics.Enqueue, session, 0, start, end, 0)
}

func with(o metrics.Outcome, s metrics.Sample) metrics.Sample { s.Outcome = o; return s }

func on(object uint32, s metrics.Sample) metrics.Sample { s.Object = object; return s }

type history []metrics.Sample

type row struct {
	name     string
	history  history
	answer   Answer
	evidence int
	count    int
	witness  history
}

func judge(t *testing.T, c Check, rows []row) {
	t.Helper()
	for _, tc := range rows {
		for _, direction := range []string{"forwards", "backwards"} { // the order of the samples is no evidence
			h := slices.Clone(tc.history)
			if direction == "backwards" {
				slices.Reverse(h)
			}
			v := c.Judge(slices.Values(h), nil)
			if v.Answer != tc.answer || v.Evidence != tc.evidence || v.Count != tc.count {
				t.Errorf("%s (%s): %s = %v, evidence %d, count %d (%s); want %v, %d, %d",
					tc.name, direction, c.Name, v.Answer, v.Evidence, v.Count, v.Detail, tc.answer, tc.evidence, tc.count)
			}
			if !slices.Equal(v.Witness, tc.witness) {
				t.Errorf("%s (%s): %s has counterexample %v, want %v", tc.name, direction, c.Name, v.Witness, tc.witness)
			}
			if (v.Detail == "") != (v.Answer == Holds) {
				t.Errorf("%s: %s = %v with detail %q", tc.name, c.Name, v.Answer, v.Detail)
			}
		}
	}
}

func TestMutualExclusion(t *testing.T) {
	a, ra, b, rb := acquire('a', 0, 10, 0), release('a', 20, 22), acquire('b', 5, 21, 0), release('b', 30, 31)
	early := acquire('b', 5, 19, 0)
	judge(t, MutualExclusion(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody was granted anything", history{with(metrics.Timeout, a), with(metrics.Lost, b)}, Unknown, 0, 0, nil},
		{"b is granted while a's release is under way, which is allowed", history{a, ra, b, rb}, Holds, 2, 0, nil},
		{"b is granted while a still holds", history{a, ra, early, rb}, Violated, 2, 1, history{a, early, ra, rb}},
		{"b is granted at the instant of a's release", history{a, ra, acquire('b', 5, 20, 0), rb}, Holds, 2, 0, nil},
		{"another object is another lock", history{a, ra, on(1, early), on(1, rb)}, Unknown, 2, 0, nil},
		{"a never releases, so holds to the end", history{a, b, rb}, Violated, 2, 1, history{a, b, rb}},
		{"a's hold ended with its session before b's grant", history{a, with(metrics.Lost, release('a', 12, 12)), early, rb}, Holds, 2, 0, nil},
		{"a's hold ended with its session after b's grant", history{a, with(metrics.Lost, ra), early, rb}, Violated, 2, 1, history{a, early, with(metrics.Lost, ra), rb}},
		{"a release of unknown outcome ends the hold where it was issued", history{a, with(metrics.Timeout, ra), b, rb}, Holds, 2, 0, nil},
		{"a failed acquire is no hold", history{a, ra, with(metrics.Failed, early)}, Holds, 1, 0, nil},
		{"a granted try is a hold like any other", history{a, ra, sample(metrics.TryAcquire, 'b', 0, 11, 12, 0), rb}, Violated, 2, 1, history{a, sample(metrics.TryAcquire, 'b', 0, 11, 12, 0), ra, rb}},
		{"one session granted twice without a release", history{a, acquire('a', 11, 12, 0), ra}, Violated, 2, 1, history{a, acquire('a', 11, 12, 0), ra, ra}},
		{"an empty hold in the middle of another", history{a, ra, acquire('b', 5, 15, 0), release('b', 15, 16)}, Violated, 2, 1, history{a, acquire('b', 5, 15, 0), release('b', 15, 16), ra}},
		{"an empty hold where another starts is no evidence", history{a, ra, acquire('b', 5, 10, 0), release('b', 10, 11)}, Unknown, 1, 0, nil},
		{"holds that are released at once are no evidence", history{a, release('a', 10, 11), acquire('b', 5, 12, 0), release('b', 12, 13)}, Unknown, 0, 0, nil},
		{"the release of an earlier grant does not end a later one", history{acquire('a', 0, 1, 0), release('a', 2, 3), acquire('a', 4, 5, 0), acquire('b', 4, 6, 0)}, Violated, 3, 1, history{acquire('a', 4, 5, 0), acquire('b', 4, 6, 0)}},
		{"two intruders into one hold count twice: the first is shown", history{a, release('a', 40, 41), early, rb, acquire('c', 5, 35, 0), release('c', 36, 37)}, Violated, 3, 2, history{a, early, rb, release('a', 40, 41)}},
	})
}

func TestTokenOrder(t *testing.T) {
	judge(t, TokenOrder(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one grant has no order", history{acquire('a', 0, 1, 7)}, Unknown, 0, 0, nil},
		{"one grant an object has no order", history{acquire('a', 0, 1, 7), on(1, acquire('b', 0, 2, 6))}, Unknown, 0, 0, nil},
		{"grants without tokens are no evidence", history{acquire('a', 0, 1, 0), acquire('b', 0, 2, 0)}, Unknown, 0, 0, nil},
		{"tokens grow", history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 8), acquire('a', 2, 3, 20)}, Holds, 3, 0, nil},
		{"a later grant has a smaller token", history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 6), acquire('a', 2, 3, 20)}, Violated, 3, 1, history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 6)}},
		{"a token twice", history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 7)}, Violated, 2, 1, history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 7)}},
		{"below the largest before, though above the last", history{acquire('a', 0, 1, 9), acquire('b', 0, 2, 3), acquire('c', 0, 3, 5)}, Violated, 3, 2, history{acquire('a', 0, 1, 9), acquire('b', 0, 2, 3)}},
		{"a grant without a token between two that have one", history{acquire('a', 0, 1, 7), acquire('b', 0, 2, 0), acquire('c', 0, 3, 8)}, Holds, 2, 0, nil},
		{"at one instant either order will do", history{acquire('a', 0, 1, 8), acquire('b', 0, 1, 7)}, Holds, 2, 0, nil},
		{"an attempt that was not granted has no place in the order", history{acquire('a', 0, 1, 7), with(metrics.Timeout, acquire('b', 0, 2, 6)), acquire('c', 0, 3, 8)}, Holds, 2, 0, nil},
	})
}

func TestFIFO(t *testing.T) {
	ea, eb := enqueue('a', 1, 2), enqueue('b', 3, 4)
	a, b := acquire('a', 0, 10, 0), acquire('b', 0, 20, 0)
	late := acquire('a', 0, 30, 0)
	judge(t, FIFO(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one attempt has no order", history{ea, a}, Unknown, 0, 0, nil},
		{"attempts that do not queue are no evidence", history{a, b}, Unknown, 0, 0, nil},
		{"first come, first granted", history{ea, a, eb, b}, Holds, 1, 0, nil},
		{"b came second and was granted first", history{ea, late, eb, b}, Violated, 1, 1, history{ea, eb, b, late}},
		{"they came together, so either may be first", history{enqueue('a', 1, 3), late, eb, b}, Unknown, 0, 0, nil},
		{"they came together, and the one with the earlier place was granted in the earlier state", history{placed('a', 1, 3, 90), zxid(100, late), placed('b', 2, 4, 91), zxid(110, b)}, Holds, 2, 0, nil},
		{"or in the later one", history{placed('a', 1, 3, 90), zxid(110, late), placed('b', 2, 4, 91), zxid(100, b)}, Violated, 2, 1, history{placed('a', 1, 3, 90), placed('b', 2, 4, 91), zxid(100, b), zxid(110, late)}},
		{"or in a state that is not known", history{placed('a', 1, 3, 90), late, placed('b', 2, 4, 91), zxid(100, b)}, Unknown, 0, 0, nil},
		{"another object is another queue", history{ea, late, on(1, eb), on(1, b)}, Unknown, 0, 0, nil},
		{"a gave up, so b did not overtake it", history{ea, with(metrics.Timeout, late), eb, b}, Unknown, 0, 0, nil},
		{"a lost its place and took a new one behind b", history{ea, enqueue('a', 5, 6), late, eb, b}, Holds, 1, 0, nil},
		{"an enqueue that failed took no place", history{with(metrics.Failed, ea), late, eb, b}, Unknown, 0, 0, nil},
		{"the enqueue of an earlier attempt is not that of a later one", history{ea, a, acquire('a', 11, 12, 0), eb, b}, Holds, 1, 0, nil},
		{"b was granted while a still waited, which gave up later", history{with(metrics.Timeout, ea), with(metrics.Timeout, acquire('a', 0, 41, 0)), waits('a', 2, 40), eb, b}, Violated, 1, 1,
			history{with(metrics.Timeout, ea), eb, b, waits('a', 2, 40)}},
		{"a had given up by then", history{with(metrics.Timeout, ea), with(metrics.Timeout, acquire('a', 0, 19, 0)), waits('a', 2, 18), eb, b}, Holds, 1, 0, nil},
		{"a had lost its connection, and perhaps its session", history{with(metrics.Timeout, ea), with(metrics.Timeout, acquire('a', 0, 41, 0)), waits('a', 2, 40), down('a', 15, 41), eb, b},
			Unknown, 0, 0, nil},
		{"a had a connection while it waited", history{with(metrics.Timeout, ea), with(metrics.Timeout, acquire('a', 0, 41, 0)), waits('a', 2, 40), down('a', 0, 2), down('a', 40, 50), eb, b},
			Violated, 1, 1, history{with(metrics.Timeout, ea), eb, b, waits('a', 2, 40)}},
		{"a had been expired on purpose", history{with(metrics.Timeout, ea), with(metrics.Timeout, acquire('a', 0, 41, 0)), waits('a', 2, 40), sample(metrics.Expire, 'a', 0, 15, 16, 0), eb, b},
			Unknown, 0, 0, nil},
		{"and that before it was told that it had its place", history{with(metrics.Timeout, ea), with(metrics.Timeout, acquire('a', 0, 41, 0)), waits('a', 2, 40), sample(metrics.Expire, 'a', 0, 1, 2, 0), eb, b},
			Unknown, 0, 0, nil},
		{"somebody else had", history{with(metrics.Timeout, ea), with(metrics.Timeout, acquire('a', 0, 41, 0)), waits('a', 2, 40), sample(metrics.Expire, 'c', 0, 15, 16, 0), eb, b},
			Violated, 1, 1, history{with(metrics.Timeout, ea), eb, b, waits('a', 2, 40)}},
		{"a waiter behind it has not overtaken it", history{ea, a, with(metrics.Timeout, eb), waits('b', 4, 90)}, Unknown, 0, 0, nil},
		{"one overtakes two: the one that was granted last is shown", history{ea, acquire('a', 0, 25, 0), eb, acquire('b', 0, 30, 0), enqueue('c', 5, 6), acquire('c', 0, 20, 0)}, Violated, 2, 1,
			history{eb, enqueue('c', 5, 6), acquire('c', 0, 20, 0), acquire('b', 0, 30, 0)}},
		{"two overtake one", history{ea, late, eb, b, enqueue('c', 5, 6), acquire('c', 0, 25, 0)}, Violated, 2, 2, history{ea, eb, b, late}},
	})
}

// waits returns the wait of an attempt that was not granted, from its enqueue to the last time it was seen waiting.
func waits(session byte, start, end int) metrics.Sample {
	return with(metrics.Timeout, sample(metrics.Wait, session, 0, start, end, 0))
}

func TestStarvation(t *testing.T) {
	forgotten := history{with(metrics.Timeout, enqueue('z', 0, 1)), waits('z', 1, 900)}
	idle := func(from int) metrics.Sample {
		return with(metrics.Timeout, sample(metrics.Idle, 'z', 0, from, 900, 0))
	}
	others := func(n int) (h history) { // two take turns, from 10 ms on
		h = history{with(metrics.Timeout, acquire('z', 0, 901, 0))}
		for i := range n {
			h = append(h, acquire(byte('a'+i%2), 10*i+10, 10*i+15, 0), release(byte('a'+i%2), 10*i+16, 10*i+17))
		}
		return h
	}
	last := func(n int) metrics.Sample { h := others(n); return h[len(h)-2] }
	judge(t, Starvation(50*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"too few grants to tell", slices.Concat(forgotten, others(19), history{idle(2)}), Unknown, 0, 0, nil},
		{"few grants, but nobody waited forever", others(19), Holds, 19, 0, nil},
		{"twenty are enough", others(20), Holds, 20, 0, nil},
		{"one alone is overtaken by nobody", history{acquire('a', 0, 1, 0)}, Unknown, 0, 0, nil},
		{"nothing reached it while twenty passed it", slices.Concat(forgotten, others(20), history{idle(2)}), Violated, 20, 1,
			history{forgotten[0], last(20), idle(2)}},
		{"it lost twenty times, with an event each time", slices.Concat(forgotten, others(20), history{idle(208)}), Holds, 20, 0, nil},
		{"only nineteen passed it since its last event", slices.Concat(forgotten, others(20), history{idle(20)}), Holds, 20, 0, nil},
		{"its session had no connection meanwhile", slices.Concat(forgotten, others(20), history{idle(2), down('z', 2, 899), sample(metrics.Bound, 0, 0, 0, 5, 0), fault(2, 899)}), Holds, 20, 0, nil},
	})
}

func TestNothingLeft(t *testing.T) {
	clean, dirty := sample(metrics.Left, 0, 3, 50, 50, 0), with(metrics.Failed, sample(metrics.Left, 0, 4, 50, 51, 0))
	blind := with(metrics.Timeout, clean)
	judge(t, NothingLeft(), []row{
		{"nobody looked", history{acquire('a', 0, 1, 0)}, Unknown, 0, 0, nil},
		{"looked at and clean", history{clean, clean}, Holds, 2, 0, nil},
		{"something is left", history{clean, dirty}, Violated, 2, 1, history{dirty}},
		{"one path could not be read", history{clean, blind}, Unknown, 1, 0, nil},
		{"something is left, and another path could not be read", history{dirty, blind}, Violated, 1, 1, history{dirty}},
	})
}

func TestLiveness(t *testing.T) {
	a, ra := acquire('a', 0, 2, 0), release('a', 10, 12)
	judge(t, Liveness(5*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"an attempt that hung until its session was over", history{with(metrics.Lost, acquire('a', 0, 90, 0))}, Violated, 1, 1, history{with(metrics.Lost, acquire('a', 0, 90, 0))}},
		{"one that hung until it failed", history{a, ra, with(metrics.Failed, acquire('b', 3, 90, 0))}, Violated, 2, 1, history{ra, with(metrics.Failed, acquire('b', 3, 90, 0))}},
		{"attempts that failed soon did not stall", history{a, ra, with(metrics.Failed, acquire('b', 12, 15, 0)), with(metrics.Failed, acquire('b', 15, 19, 0))}, Holds, 1, 0, nil},
		{"an attempt whose session had lost its connection", history{with(metrics.Lost, acquire('a', 0, 90, 0)), down('a', 4, 95)}, Unknown, 0, 0, nil},
		{"a disconnection too late to excuse it", history{with(metrics.Lost, acquire('a', 0, 90, 0)), down('a', 6, 95)}, Violated, 1, 1, history{with(metrics.Lost, acquire('a', 0, 90, 0))}},
		{"somebody else's connection", history{with(metrics.Lost, acquire('a', 0, 90, 0)), down('b', 4, 95)}, Violated, 1, 1, history{with(metrics.Lost, acquire('a', 0, 90, 0))}},
		{"nobody was granted anything in a run shorter than the bound", history{with(metrics.Unfinished, acquire('b', 3, 6, 0))}, Unknown, 0, 0, nil},
		{"granted soon", history{a, ra}, Holds, 1, 0, nil},
		{"b waits long, but a holds", history{a, release('a', 80, 81), acquire('b', 3, 83, 0)}, Holds, 2, 0, nil},
		{"b is granted at the bound after the release's reply", history{a, ra, acquire('b', 3, 17, 0)}, Holds, 2, 0, nil},
		{"b is granted after the bound", history{a, ra, acquire('b', 3, 18, 0)}, Violated, 2, 1, history{ra, acquire('b', 3, 18, 0)}},
		{"the object is free for long, but nobody wants it", history{a, ra, acquire('b', 90, 92, 0)}, Holds, 2, 0, nil},
		{"b waits for an object that nobody has held", history{acquire('b', 3, 18, 0)}, Violated, 1, 1, history{acquire('b', 3, 18, 0)}},
		{"b waited for a free object to the end of the run", history{a, ra, with(metrics.Unfinished, acquire('b', 3, 90, 0))}, Violated, 2, 1, history{ra, with(metrics.Unfinished, acquire('b', 3, 90, 0))}},
		{"b waited for a free object to its deadline", history{a, ra, with(metrics.Timeout, acquire('b', 3, 90, 0))}, Violated, 2, 1, history{ra, with(metrics.Timeout, acquire('b', 3, 90, 0))}},
		{"b gave up while a held", history{a, release('a', 80, 81), with(metrics.Timeout, acquire('b', 3, 60, 0))}, Holds, 2, 0, nil},
		{"no wait is longer than the bound, but two adjacent ones are", history{a, ra, with(metrics.Timeout, acquire('b', 12, 15, 0)), with(metrics.Timeout, acquire('c', 15, 18, 0))}, Violated, 3, 1, history{ra, with(metrics.Timeout, acquire('b', 12, 15, 0))}},
		{"the free times of two waits do not add up over a gap", history{a, ra, with(metrics.Timeout, acquire('b', 12, 15, 0)), with(metrics.Timeout, acquire('c', 16, 19, 0))}, Holds, 3, 0, nil},
		{"an empty hold ends a stall", history{a, ra, acquire('b', 3, 16, 0), release('b', 16, 16), acquire('c', 3, 20, 0)}, Holds, 3, 0, nil},
		{"a grant that is never released is held", history{a, with(metrics.Timeout, acquire('b', 3, 900, 0))}, Holds, 2, 0, nil},
		{"the hold outlasts the wait in which it was granted", history{a, release('a', 90, 91), with(metrics.Timeout, acquire('b', 50, 80, 0))}, Holds, 2, 0, nil},
		{"a lost hold is free from the loss", history{a, with(metrics.Lost, release('a', 10, 40)), acquire('b', 3, 18, 0)}, Violated, 2, 1, history{acquire('b', 3, 18, 0), with(metrics.Lost, release('a', 10, 40))}},
		{"two stalls: the first is shown", history{a, ra, acquire('b', 3, 20, 0), release('b', 21, 22), acquire('c', 3, 40, 0)}, Violated, 3, 2, history{ra, acquire('b', 3, 20, 0)}},
		{"a stall of another object", history{on(1, a), on(1, ra), acquire('c', 0, 1, 0), on(1, acquire('b', 3, 30, 0))}, Violated, 3, 1, history{on(1, ra), on(1, acquire('b', 3, 30, 0))}},
	})
}

func down(session byte, start, end int) metrics.Sample {
	return sample(metrics.Down, session, 0, start, end, 0)
}

// The given bound is 50 ms, the measured one 5 ms.
func TestLivenessWithMeasuredBounds(t *testing.T) {
	within := sample(metrics.Bound, 0, 0, 0, 5, 0)
	late := func(session byte, from, to int) metrics.Sample { return sample(metrics.Late, session, 0, from, to, 0) }
	a, ra, b := acquire('a', 0, 2, 0), release('a', 10, 12), acquire('b', 3, 18, 0)
	stall := history{ra, b}
	last := history{acquire('c', 90, 90, 0), release('c', 90, 90)} // makes the run long enough for a wait longer than the given bound
	judge(t, Liveness(50*ms), []row{
		{"nothing was measured", append(history{a, ra, b}, last...), Holds, 3, 0, nil},
		{"a stall of 6 ms", history{a, ra, b, within}, Violated, 2, 1, stall},
		{"of 5 ms", history{a, ra, acquire('b', 3, 17, 0), within}, Holds, 2, 0, nil},
		{"the machine or the servers were late for 1 ms of it", history{a, ra, b, within, everybodyLate(13, 14)}, Holds, 2, 0, nil},
		{"late before it", history{a, ra, b, within, everybodyLate(9, 12)}, Violated, 2, 1, stall},
		{"the servers stood still for as long as that", history{a, ra, acquire('b', 3, 2000, 0), within, everybodyLate(12, 1999)}, Holds, 2, 0, nil},
		{"they were slow for as long, but made progress", history{a, ra, acquire('b', 3, 2000, 0), within, everybodyLate(12, 1000), everybodyLate(1001, 1999)}, Violated, 2, 1,
			history{ra, acquire('b', 3, 2000, 0)}},
		{"always late, which proves nothing", history{a, ra, b, within, everybodyLate(0, 90)}, Unknown, 2, 0, nil},
		{"its waiter had a slow request", history{a, ra, b, within, late('b', 15, 30)}, Holds, 2, 0, nil},
		{"a session that uses another lock had one", history{a, ra, b, within, late('c', 15, 30), on(1, acquire('c', 0, 90, 0))}, Violated, 3, 2,
			history{on(1, acquire('c', 0, 90, 0))}},
		{"three others had one of 3 ms or more, so that an event may take 6", history{a, ra, b, within, late('c', 15, 30), late('d', 10, 13), late('e', 16, 19)}, Holds, 2, 0, nil},
		{"the third took less", history{a, ra, b, within, late('c', 15, 30), late('d', 10, 13), late('e', 16, 18)}, Violated, 2, 1, stall},
		{"one of them had two", history{a, ra, b, within, late('c', 14, 17), late('d', 10, 13), late('c', 17, 30)}, Violated, 2, 1, stall},
		{"one of them had two, of which the longer counts", history{a, ra, b, within, late('c', 12, 15), late('c', 15, 17), late('d', 10, 13), late('e', 16, 19)}, Holds, 2, 0, nil},
		{"three others had no connection, which is no request", history{a, ra, b, within, down('c', 12, 17), down('d', 12, 17), down('e', 12, 17)}, Violated, 2, 1, stall},
		{"two others and its waiter, who is excused for that already", history{a, ra, acquire('b', 3, 24, 0), within, late('b', 12, 17), late('c', 12, 17), late('d', 12, 17)}, Violated, 2, 1,
			history{ra, acquire('b', 3, 24, 0)}},
		{"two others and everybody, which is an excuse already", history{a, ra, acquire('b', 3, 24, 0), within, everybodyLate(12, 17), late('c', 12, 17), late('d', 12, 17)}, Violated, 2, 1,
			history{ra, acquire('b', 3, 24, 0)}},
		{"theirs were before it", history{a, ra, b, within, late('c', 2, 12), late('d', 2, 12), late('e', 2, 12)}, Violated, 2, 1, stall},
		{"theirs are no excuse for what is longer than the given bound", history{a, ra, acquire('b', 3, 63, 0), within, late('c', 13, 50), late('d', 13, 50), late('e', 13, 50)}, Violated, 2, 1,
			history{ra, acquire('b', 3, 63, 0)}},
		{"its waiter had no connection", history{a, ra, b, within, down('b', 8, 13)}, Holds, 2, 0, nil},
		{"and had it again 5 ms before it began", history{a, ra, b, within, down('b', 2, 7)}, Violated, 2, 1, stall},
		{"an earlier holder was lost, and its znode may be in the way", history{a, ra, b, within, acquire('d', 0, 0, 0), with(metrics.Lost, release('d', 1, 1))}, Holds, 3, 0, nil},
		{"but for no longer than the given bound", history{a, ra, acquire('b', 3, 66, 0), within, acquire('d', 0, 0, 0), with(metrics.Lost, release('d', 1, 1))}, Violated, 3, 1,
			history{ra, acquire('b', 3, 66, 0)}},
		{"another gave up so soon that it may not have been notified", history{a, ra, b, within, with(metrics.Timeout, acquire('e', 9, 15, 0))}, Holds, 3, 0, nil},
		{"a fault covers it", history{a, ra, b, within, fault(12, 16)}, Holds, 2, 0, nil},
		{"dead from a grant to the end of the run", history{a, ra, with(metrics.Unfinished, acquire('b', 3, 40, 0)), within}, Violated, 2, 1,
			history{ra, with(metrics.Unfinished, acquire('b', 3, 40, 0))}},
		{"nobody could have waited that long", history{acquire('a', 0, 1, 0), release('a', 2, 3), within}, Unknown, 1, 0, nil},
	})
}

func TestFairness(t *testing.T) {
	for _, tc := range []struct {
		name    string
		history history
		want    Fairness
	}{
		{"nothing", nil, Fairness{}},
		{"nobody was granted anything", history{with(metrics.Timeout, acquire('a', 0, 9, 0))}, Fairness{Sessions: 1}},
		{"even", history{acquire('a', 0, 1, 0), acquire('b', 2, 4, 0)}, Fairness{Sessions: 2, Grants: 2, Jain: 1, LongestWait: 2 * ms, MedianWait: ms}},
		{"one starves", history{acquire('a', 0, 1, 0), acquire('a', 2, 4, 0), with(metrics.Timeout, acquire('b', 0, 90, 0))}, Fairness{Sessions: 2, Grants: 2, Jain: 0.5, LongestWait: 2 * ms, MedianWait: ms}},
		{"b and c asked after a and were granted before it", history{acquire('a', 0, 9, 0), acquire('b', 1, 2, 0), acquire('c', 3, 4, 0)}, Fairness{Sessions: 3, Grants: 3, Jain: 1, LongestWait: 9 * ms, MedianWait: ms, Overtakes: 2, MaxOvertakes: 2}},
		{"b asked later but took its place first", history{acquire('a', 0, 9, 0), enqueue('a', 3, 4), acquire('b', 1, 5, 0), enqueue('b', 1, 2)}, Fairness{Sessions: 2, Grants: 2, Jain: 1, LongestWait: 9 * ms, MedianWait: 4 * ms}},
		{"on another object nobody is overtaken", history{acquire('a', 0, 9, 0), on(1, acquire('b', 1, 2, 0))}, Fairness{Sessions: 2, Grants: 2, Jain: 1, LongestWait: 9 * ms, MedianWait: ms}},
	} {
		if got := fairness(slices.Values(tc.history), nil); got != tc.want {
			t.Errorf("%s: fairness = %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestAnswerOfZeroIsUnknown(t *testing.T) {
	if got := (Verdict{}).Answer.String(); got != "unknown" {
		t.Errorf("the zero verdict = %q, want unknown", got)
	}
}

// The same sweep checks the rules of readers and of permits.
func TestSweepRules(t *testing.T) {
	at := func(from, to int, shared bool) span {
		return span{from: time.Duration(from), to: time.Duration(to), shared: shared, begin: metrics.Sample{Op: metrics.Acquire}}
	}
	readers := func(next span, exclusive, shared int) bool { return exclusive > 0 || !next.shared && shared > 0 }
	two := func(_ span, exclusive, shared int) bool { return exclusive+shared >= 2 }
	for _, tc := range []struct {
		name  string
		rule  rule
		spans []span
		count int
	}{
		{"readers beside readers", readers, []span{at(0, 9, true), at(1, 9, true), at(2, 9, true)}, 0},
		{"a writer beside a reader", readers, []span{at(0, 9, true), at(1, 3, false)}, 1},
		{"a reader beside a writer, seen past another reader", readers, []span{at(0, 9, false), at(1, 5, true), at(2, 5, true)}, 2},
		{"a writer after the readers", readers, []span{at(0, 2, true), at(1, 3, true), at(3, 9, false)}, 0},
		{"two permits", two, []span{at(0, 5, false), at(1, 6, false), at(5, 9, false)}, 0},
		{"a third beside two", two, []span{at(0, 5, false), at(1, 6, false), at(4, 9, false)}, 1},
	} {
		if got, first := sweep(slices.Values(tc.spans), tc.rule); got != tc.count || got > 0 && len(first.held) == 0 {
			t.Errorf("%s: sweep counts %d, want %d", tc.name, got, tc.count)
		}
	}
}
