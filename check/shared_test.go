package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func reads(session byte, start, end int, token int64) metrics.Sample {
	return sample(metrics.ReadAcquire, session, 0, start, end, token)
}

func readDone(session byte, start, end int) metrics.Sample {
	return sample(metrics.ReadRelease, session, 0, start, end, 0)
}

func TestReaderWriter(t *testing.T) {
	w, dw := acquire('w', 0, 10, 0), release('w', 20, 22)
	r, dr := reads('r', 0, 10, 0), readDone('r', 20, 22)
	judge(t, ReaderWriter(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody was granted anything", history{with(metrics.Timeout, r)}, Unknown, 0, 0, nil},
		{"readers read together", history{r, dr, reads('s', 0, 12, 0), readDone('s', 15, 16)}, Unknown, 2, 0, nil},
		{"a writer before, a reader after", history{w, dw, reads('r', 0, 21, 0), readDone('r', 30, 31)}, Holds, 2, 0, nil},
		{"a reader let in beside a writer", history{w, dw, reads('r', 0, 15, 0), readDone('r', 30, 31)}, Violated, 2, 1, history{w, reads('r', 0, 15, 0), dw, readDone('r', 30, 31)}},
		{"a writer let in beside a reader", history{r, dr, acquire('w', 0, 15, 0), release('w', 30, 31)}, Violated, 2, 1, history{r, acquire('w', 0, 15, 0), dr, release('w', 30, 31)}},
		{"two writers", history{w, dw, acquire('v', 0, 15, 0), release('v', 16, 17)}, Violated, 2, 1, history{w, acquire('v', 0, 15, 0), release('v', 16, 17), dw}},
		{"another object is another lock", history{w, dw, on(1, reads('r', 0, 15, 0))}, Unknown, 2, 0, nil},
		{"a reader whose session was lost before the writer came", history{r, with(metrics.Lost, readDone('r', 12, 12)), acquire('w', 0, 15, 0)}, Holds, 2, 0, nil},
		{"a downgrade: the write ends at its issue, the read starts at its reply", history{w, release('w', 20, 24), reads('w', 20, 24, 0), readDone('w', 40, 41), reads('r', 0, 23, 0)}, Holds, 3, 0, nil},
		{"a writer beside a downgraded reader", history{w, release('w', 20, 24), reads('w', 20, 24, 0), readDone('w', 40, 41), acquire('v', 0, 30, 0)}, Violated, 3, 1,
			history{reads('w', 20, 24, 0), acquire('v', 0, 30, 0), readDone('w', 40, 41)}},
	})
}

func TestQueueOrder(t *testing.T) {
	judge(t, QueueOrder(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one grant has no order", history{acquire('a', 0, 1, 7)}, Unknown, 0, 0, nil},
		{"readers alone have no order", history{reads('a', 0, 1, 7), reads('b', 0, 2, 6)}, Unknown, 0, 0, nil},
		{"readers may overtake readers", history{reads('a', 0, 1, 7), reads('b', 0, 2, 6), acquire('w', 0, 3, 8)}, Holds, 3, 0, nil},
		{"a reader overtakes a writer", history{reads('a', 0, 1, 9), acquire('w', 0, 3, 8)}, Violated, 2, 1, history{reads('a', 0, 1, 9), acquire('w', 0, 3, 8)}},
		{"a writer overtakes a reader", history{acquire('w', 0, 1, 9), reads('a', 0, 3, 8)}, Violated, 2, 1, history{acquire('w', 0, 1, 9), reads('a', 0, 3, 8)}},
		{"a writer overtakes a writer, seen past a reader", history{acquire('w', 0, 1, 9), reads('a', 0, 2, 10), acquire('v', 0, 3, 8)}, Violated, 3, 1, history{reads('a', 0, 2, 10), acquire('v', 0, 3, 8)}},
		{"a downgraded reader keeps its writer's token", history{acquire('w', 0, 1, 9), reads('w', 2, 3, 9), acquire('v', 0, 4, 10)}, Holds, 3, 0, nil},
		{"at one instant either order will do", history{acquire('w', 0, 1, 9), reads('a', 0, 1, 8)}, Holds, 2, 0, nil},
	})
}

func TestReaderWriterLiveness(t *testing.T) {
	w, dw := acquire('w', 0, 2, 0), release('w', 10, 12)
	judge(t, ReaderWriterLiveness(5*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"a reader waits long, but a writer holds", history{w, release('w', 80, 81), reads('r', 3, 83, 0)}, Holds, 2, 0, nil},
		{"a writer waits long, but readers hold one after the other", history{reads('r', 0, 1, 0), readDone('r', 40, 41), reads('s', 0, 39, 0), readDone('s', 80, 81), acquire('w', 2, 83, 0)}, Holds, 3, 0, nil},
		{"a reader waits for a free object", history{w, dw, reads('r', 3, 18, 0)}, Violated, 2, 1, history{dw, reads('r', 3, 18, 0)}},
		{"a writer waits for an object whose readers have released", history{reads('r', 0, 1, 0), readDone('r', 10, 12), with(metrics.Timeout, acquire('w', 2, 30, 0))}, Violated, 2, 1, history{readDone('r', 10, 12), with(metrics.Timeout, acquire('w', 2, 30, 0))}},
	})
}

func TestPermits(t *testing.T) {
	a, ra, b, rb := acquire('a', 0, 10, 0), release('a', 20, 22), acquire('b', 5, 12, 0), release('b', 30, 31)
	c := acquire('c', 5, 15, 0)
	judge(t, Permits(2), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"two of two", history{a, ra, b, rb}, Unknown, 2, 0, nil},
		{"a third, after one release", history{a, ra, b, rb, acquire('c', 5, 20, 0)}, Holds, 3, 0, nil},
		{"a third beside two", history{a, ra, b, rb, c}, Violated, 3, 1, history{a, b, c, ra, rb}},
		{"a third on another object", history{a, ra, b, rb, on(1, c)}, Unknown, 3, 0, nil},
		{"an acquisition of two permits is two samples", history{a, a, ra, b, rb}, Violated, 3, 1, history{a, a, b, ra, ra, rb}},
		{"one permit returned by the loss of its session", history{a, with(metrics.Lost, release('a', 13, 13)), b, rb, c}, Holds, 3, 0, nil},
	})
}

func TestPermitsLiveness(t *testing.T) {
	a, ra, b := acquire('a', 0, 1, 0), release('a', 10, 12), acquire('b', 0, 2, 0)
	judge(t, PermitsLiveness(2, 5*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"both permits are held", history{a, release('a', 80, 82), b, release('b', 90, 91), acquire('c', 3, 84, 0)}, Holds, 3, 0, nil},
		{"one permit is free, and somebody waits for it", history{a, ra, b, release('b', 90, 91), acquire('c', 3, 18, 0)}, Violated, 3, 1, history{ra, acquire('c', 3, 18, 0)}},
		{"a free permit, but another one is granted meanwhile", history{a, ra, b, release('b', 14, 15), acquire('d', 3, 16, 0), release('d', 17, 17), acquire('c', 3, 20, 0)}, Holds, 4, 0, nil},
		{"the second permit of two was never granted", history{a, release('a', 90, 91), with(metrics.Timeout, acquire('c', 3, 40, 0))}, Violated, 2, 1, history{a, with(metrics.Timeout, acquire('c', 3, 40, 0))}},
	})
}

func TestCapacity(t *testing.T) {
	there, gone := sample(metrics.Drain, 0, 0, 50, 50, 0), with(metrics.Failed, sample(metrics.Drain, 0, 3, 50, 51, 0))
	judge(t, Capacity(), []row{
		{"nobody looked", history{acquire('a', 0, 1, 0)}, Unknown, 0, 0, nil},
		{"all were there", history{there, there}, Holds, 2, 0, nil},
		{"one was not", history{there, gone}, Violated, 2, 1, history{gone}},
		{"one could not be checked", history{there, with(metrics.Lost, there)}, Unknown, 1, 0, nil},
	})
}

func TestNoLostRevoke(t *testing.T) {
	revoke := func(token int64, start, end int) metrics.Sample {
		return sample(metrics.Revoke, 'x', 0, start, end, token)
	}
	notified := func(token int64, end int) metrics.Sample { return sample(metrics.Deliver, 'a', 0, end, end, token) }
	given := func(token int64, start int) metrics.Sample {
		return sample(metrics.Release, 'a', 0, start, start+1, token)
	}
	judge(t, NoLostRevoke(5*ms), []row{
		{"no revocation", history{given(7, 30)}, Unknown, 0, 0, nil},
		{"requested, notified, released", history{revoke(7, 10, 14), notified(7, 11), given(7, 12)}, Holds, 1, 0, nil},
		{"notified, and refuses", history{revoke(7, 10, 90), notified(7, 11), given(7, 88)}, Holds, 1, 0, nil},
		{"never notified, and held on", history{revoke(7, 10, 90), given(7, 88)}, Violated, 1, 1, history{revoke(7, 10, 90), given(7, 88)}},
		{"notified too late", history{revoke(7, 10, 90), notified(7, 70), given(7, 88)}, Violated, 1, 1, history{revoke(7, 10, 90), given(7, 88)}},
		{"never notified, and never released", history{with(metrics.Timeout, revoke(7, 10, 90))}, Violated, 1, 1, history{with(metrics.Timeout, revoke(7, 10, 90))}},
		{"released by itself at that time", history{revoke(7, 10, 14), given(7, 12)}, Unknown, 0, 0, nil},
		{"another grant was notified", history{revoke(7, 10, 90), notified(8, 11), given(7, 88)}, Violated, 1, 1, history{revoke(7, 10, 90), given(7, 88)}},
		{"no longer held", history{revoke(0, 10, 11)}, Unknown, 0, 0, nil},
		{"notified late, during a fault", history{revoke(7, 10, 90), notified(7, 70), given(7, 88), fault(12, 67)}, Holds, 1, 0, nil},
		{"notified too late in spite of a fault", history{revoke(7, 10, 90), notified(7, 70), given(7, 88), fault(12, 66)}, Violated, 1, 1,
			history{revoke(7, 10, 90), given(7, 88)}},
		{"its holder crashed, and was never notified", history{revoke(7, 10, 90), fault(9, 90)}, Unknown, 0, 0, nil},
	})
}

// The sweeps agree with an instant-by-instant implementation of their definitions on small nonsensical histories.
func TestSharedChecksAgreeWithTheirDefinitions(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var h history
		for range 1 + r.IntN(12) {
			start := time.Duration(r.IntN(20))
			s := metrics.Sample{Op: []metrics.Op{metrics.Acquire, metrics.Release, metrics.ReadAcquire, metrics.ReadRelease}[r.IntN(4)],
				Session: r.Uint32N(3), Object: r.Uint32N(2), Token: r.Int64N(4), Due: start, Start: start, End: start + time.Duration(r.IntN(9))}
			h = append(h, s)
		}
		forbidden := func(beside []span, next span) bool {
			return slices.ContainsFunc(beside, func(s span) bool { return !s.shared || !next.shared })
		}
		third := func(beside []span, _ span) bool { return len(beside) >= 2 }
		for _, tc := range []struct {
			check Check
			held  []span
			rule  func([]span, span) bool
		}{
			{ReaderWriter(), spansOf(h, locked, shared), forbidden},
			{Permits(2), spansOf(h, locked), third},
		} {
			want := 0
			for i, a := range tc.held {
				var beside []span
				for j, b := range tc.held {
					earlier := b.from < a.from || b.from == a.from && (b.to < a.to || b.to == a.to && j < i)
					if i != j && a.object == b.object && earlier && b.to > a.from {
						beside = append(beside, b)
					}
				}
				if tc.rule(beside, a) {
					want++
				}
			}
			if v := tc.check.Judge(slices.Values(h), nil); v.Count != want || (v.Answer == Violated) != (want > 0) {
				t.Fatalf("seed %d: %s = %v, %d times (%s), want %d\n%v", seed, tc.check.Name, v.Answer, v.Count, v.Detail, want, h)
			}
		}
	}
}

// Valid histories of readers and writers are live, and a reader that is never let in is detected.
func TestLivenessOfValidSharedHistories(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		h, c := sharedHistory(r, 3+r.IntN(40)), ReaderWriterLiveness(bound)
		if v := c.Judge(slices.Values(h), nil); v.Answer != Holds {
			t.Fatalf("seed %d: %s of a valid history = %v: %s %v", seed, c.Name, v.Answer, v.Detail, v.Witness)
		}
		end := h[len(h)-1].End
		h = append(h, metrics.Sample{Op: metrics.ReadAcquire, Outcome: metrics.Timeout, Session: 999, Start: end, End: end + 2*bound})
		if v := c.Judge(slices.Values(h), nil); v.Answer != Violated || len(v.Witness) == 0 {
			t.Fatalf("seed %d: %s of a reader that is never let in = %v: %s", seed, c.Name, v.Answer, v.Detail)
		}
	}
}

// sharedHistory returns a history of groups that hold one after the other: a writer, or some readers.
func sharedHistory(r *rand.Rand, n int) (h history) {
	now, token := time.Duration(0), int64(10)
	for g := range n {
		members, get, give := 1, metrics.Acquire, metrics.Release
		if g%3 == 1 || r.IntN(2) == 0 && g > 0 {
			members, get, give = 1+r.IntN(4), metrics.ReadAcquire, metrics.ReadRelease
		}
		begun, held := now, now
		for m := range members {
			token++
			end := begun + time.Duration(1+r.IntN(int(ms)))
			held = max(held, end)
			h = append(h, metrics.Sample{Op: get, Session: uint32(m), Token: token, Start: begun - min(begun, time.Duration(r.IntN(int(ms)))), End: end})
		}
		now = held
		for m := range members {
			start := held + time.Duration(1+r.IntN(int(ms)))
			now = max(now, start)
			h = append(h, metrics.Sample{Op: give, Session: uint32(m), Token: token, Start: start, End: start + time.Duration(r.IntN(int(ms)))})
		}
	}
	return h
}
