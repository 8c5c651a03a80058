package check

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

func fault(from, to int) metrics.Sample { return sample(metrics.Fault, 0, 0, from, to, 0) }

// The bound is 5 ms.
func TestLivenessBesideFaults(t *testing.T) {
	a, ra, b := acquire('a', 0, 1, 0), release('a', 2, 3), acquire('b', 1, 20, 0)
	judge(t, Liveness(5*ms), []row{
		{"a stall of 17 ms without a fault", history{a, ra, b}, Violated, 2, 1, history{ra, b}},
		{"a fault covers it", history{a, ra, b, fault(3, 20)}, Holds, 2, 0, nil},
		{"a fault leaves 5 ms of it", history{a, ra, b, fault(8, 30)}, Holds, 2, 0, nil},
		{"a fault leaves 6 ms of it", history{a, ra, b, fault(9, 30)}, Violated, 2, 1, history{ra, b}},
		{"the rests on both sides of a fault add up", history{a, ra, b, fault(6, 17)}, Violated, 2, 1, history{ra, b}},
		{"two faults at once count once", history{a, ra, b, fault(4, 14), fault(5, 14)}, Violated, 2, 1, history{ra, b}},
		{"two faults one after the other", history{a, ra, b, fault(4, 14), fault(14, 19)}, Holds, 2, 0, nil},
		{"a fault before it", history{a, ra, b, fault(0, 3)}, Violated, 2, 1, history{ra, b}},
		{"a fault after it", history{a, ra, b, fault(20, 90)}, Violated, 2, 1, history{ra, b}},
	})
}

func TestExclusionBesideAnExpiry(t *testing.T) {
	expired := func(session byte, from, to int) metrics.Sample {
		e := sample(metrics.Expire, session, 0, from, to, 0)
		e.Value = int64(10 * ms)
		return e
	}
	a, ra, b := acquire('a', 0, 5, 0), release('a', 20, 21), acquire('b', 1, 15, 0)
	judge(t, MutualExclusion(), []row{
		{"two hold at once", history{a, ra, b}, Violated, 2, 1, history{a, b, ra}},
		{"the first was expired before the second held", history{a, ra, b, expired('a', 10, 12)}, Holds, 2, 0, nil},
		{"somebody else was expired", history{a, ra, b, expired('c', 10, 12)}, Violated, 2, 1, history{a, b, ra}},
		{"the first was expired after the second held", history{a, ra, b, expired('a', 16, 17)}, Violated, 2, 1, history{a, b, ra}},
		{"an expiry before the first asked is of an older session", history{acquire('a', 4, 5, 0), ra, b, expired('a', 1, 3)}, Violated, 2, 1,
			history{acquire('a', 4, 5, 0), b, ra}},
		{"a grant to a session that had ended is no hold", history{acquire('a', 0, 12, 0), ra, b, expired('a', 10, 11)}, Unknown, 1, 0, nil},
		{"a grant to a session that had ended is no hold, beside that of another", history{acquire('a', 0, 17, 0), ra, b, expired('a', 10, 11)}, Holds, 1, 0, nil},
		{"nor by its transactions", history{zxid(100, acquire('a', 0, 17, 0)), with(metrics.Lost, ra), zxid(110, acquire('b', 1, 15, 0)), zxid(120, release('b', 16, 17)),
			expired('a', 10, 11)}, Holds, 1, 0, nil},
		{"its client learns of it in time", history{a, release('a', 22, 23), b, expired('a', 10, 12)}, Holds, 2, 0, nil},
		{"its client holds on for longer than it can be unaware", history{a, release('a', 23, 24), b, expired('a', 10, 12)}, Violated, 2, 1,
			history{a, b, release('a', 23, 24)}},
		{"its client never learns of it, and another is granted late", history{a, acquire('b', 1, 40, 0), expired('a', 10, 12)}, Violated, 2, 1,
			history{a, acquire('b', 1, 40, 0)}},
		{"the next session asked during the expiry, and was granted after others", history{acquire('a', 11, 40, 0), release('a', 41, 42), b, release('b', 39, 39),
			expired('a', 10, 12)}, Holds, 2, 0, nil},
		{"and beside another one", history{acquire('a', 11, 40, 0), release('a', 50, 51), b, release('b', 45, 46), expired('a', 10, 12)}, Violated, 2, 1,
			history{b, acquire('a', 11, 40, 0), release('b', 45, 46), release('a', 50, 51)}},
		{"its client holds on, but nobody else holds by then", history{a, release('a', 60, 61), b, release('b', 20, 21), expired('a', 10, 12)}, Holds, 2, 0, nil},
	})
}

// A grant was given before the expiry of its session, whenever it was read: others have been granted since then.
func TestOrdersBesideAnExpiry(t *testing.T) {
	expired := func(session byte, from, to int) metrics.Sample {
		e := sample(metrics.Expire, session, 0, from, to, 0)
		e.Value = int64(10 * ms)
		return e
	}
	const session = 'a'
	for _, c := range []struct {
		check       Check
		late, meant history // the grant that is read late, and the one given in the meantime
	}{
		{TokenOrder(), history{acquire(session, 0, 17, 1)}, history{acquire('b', 1, 15, 2)}},
		{QueueOrder(), history{acquire(session, 0, 17, 1)}, history{acquire('b', 1, 15, 2)}},
		{Terms(), history{campaign(session, 0, 17, 1)}, history{campaign('b', 1, 15, 2)}},
		{FIFO(), history{enqueue(session, 1, 2), acquire(session, 0, 17, 1)}, history{enqueue('b', 3, 4), acquire('b', 2, 15, 2)}},
	} {
		all := append(c.late, c.meant...)
		judge(t, c.check, []row{{c.check.Name + ": its session was expired", append(all[:len(all):len(all)], expired(session, 10, 12)), Unknown, 0, 0, nil}})
		for why, h := range map[string]history{"nobody was": all, "another was": append(all[:len(all):len(all)], expired('c', 10, 12)), "it was later": append(all[:len(all):len(all)], expired(session, 18, 19)),
			"its client had to know": append(all[:len(all):len(all)], expired(session, 5, 6))} {
			if v := c.check.Judge(slices.Values(h), nil); v.Answer != Violated {
				t.Errorf("%s: %s is %v, want violated", why, c.check.Name, v.Answer)
			}
		}
	}
}

// A client may read a grant after the expiry of its session, although others have been granted since then.
func TestAGrantThatIsReadAfterAnExpiryIsNoHoldAcrossHosts(t *testing.T) {
	expired := sample(metrics.Expire, 'a', 0, 10, 11, 0)
	expired.Value = int64(10 * ms)
	a, ra := zxid(100, acquire('a', 0, 17, 0)), with(metrics.Lost, release('a', 20, 21))
	b := history{zxid(110, acquire('b', 1, 15, 0)), zxid(120, release('b', 19, 20))}
	elsewhere := grant('c', 30, 32, 120, 130)
	for _, tt := range []struct {
		why  string
		h    history
		want Answer
	}{
		{"the session was expired", append(history{a, ra, expired}, b...), Holds},
		{"it was not", append(history{a, ra}, b...), Violated},
	} {
		if v := MutualExclusion().Across(hostsOf(tt.h, elsewhere), nil); v.Answer != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.why, v.Answer, tt.want, v.Detail)
		}
	}
	views := map[int64][]int64{110: {}}
	joined := join('a', 7, 0, 17, 100)
	judge(t, Views(), []row{
		{"a member is gone before its join is read", saw(views, joined, with(metrics.Lost, leaves('a', 20, 21)), expired, sees('b', 14, 15, 110)), Holds, 1, 0, nil},
	})
}

// A client that continues to hold after it must know of its session's expiry holds together with those of other hosts, if they held then.
func TestAClientThatHoldsOnAfterAnExpiryAcrossHosts(t *testing.T) {
	expired := sample(metrics.Expire, 'a', 0, 10, 11, 0)
	expired.Value = int64(10 * ms)
	a := func(to int, more ...metrics.Sample) history {
		return append(history{zxid(100, acquire('a', 0, 5, 0)), with(metrics.Lost, release('a', to, to+1)), expired}, more...)
	}
	b := grant('b', 5010, 5060, 110, 130)
	for _, tt := range []struct {
		why         string
		first, next history
		want        Answer
	}{
		{"what each host sent was seen by the other", a(40, placed('x', 25, 26, 115)), append(b, placed('y', 5020, 5021, 112), placed('z', 5030, 5031, 118)), Violated},
		{"nothing was", a(40), b, Unknown},
		{"the other had given up before", a(40, placed('w', 11, 12, 102), placed('x', 15, 16, 107)), grant('b', 5010, 5020, 103, 105), Holds},
		{"it gave up when it had to know", a(20, placed('w', 11, 12, 102)), b, Holds},
	} {
		for _, c := range []Check{MutualExclusion(), ReaderWriter(), Permits(1)} {
			if v, _ := c.JudgeAcross(hostsOf(tt.first, tt.next), nil); v.Answer != tt.want {
				t.Errorf("%s: %s is %v, want %v: %s", tt.why, c.Name, v.Answer, tt.want, v.Detail)
			}
		}
	}
}

// The servers may give away the claim of an expired session before its client can know.
func TestClaimsBesideAnExpiry(t *testing.T) {
	take := func(session byte, start, end int, token int64) metrics.Sample {
		s := sample(metrics.Take, session, 0, start, end, token)
		s.Value = 7
		return s
	}
	finish := func(session byte, start, end int, o metrics.Outcome) metrics.Sample {
		s := with(o, sample(metrics.Finish, session, 0, start, end, 0))
		s.Value = 7
		return s
	}
	expired := sample(metrics.Expire, 'a', 0, 10, 12, 0)
	expired.Value = int64(10 * ms)
	a, fa, b, fb := take('a', 0, 5, 1), finish('a', 20, 21, metrics.Lost), take('b', 1, 15, 2), finish('b', 30, 31, metrics.OK)
	late := finish('a', 25, 26, metrics.Lost)
	judge(t, Claims(), []row{
		{"two have an item", history{a, fa, b, fb}, Violated, 2, 1, history{a, b, fa, fb}},
		{"the first was expired before the second had it", history{a, fa, b, fb, expired}, Holds, 2, 0, nil},
		{"the first was expired, and held on for too long", history{a, late, b, fb, expired}, Violated, 2, 1, history{a, b, late, fb}},
	})
}

// A barrier outlives the session that set it.
func TestABarrierOutlivesItsSession(t *testing.T) {
	bar, unbar := sample(metrics.Bar, 'a', 0, 0, 1, 0), sample(metrics.Unbar, 'a', 0, 30, 31, 0)
	pass := sample(metrics.Pass, 'b', 0, 2, 32, 0)
	judge(t, PassLiveness(5*ms), []row{
		{"its session expires", history{bar, unbar, pass, sample(metrics.Expire, 'a', 0, 3, 4, 0)}, Holds, 1, 0, nil},
	})
}

func TestFaultTime(t *testing.T) {
	h := history{fault(2, 6), fault(4, 8), fault(20, 90), acquire('a', 0, 50, 0)}
	if got := FaultTime(slices.Values(h), 3*ms, 30*ms); got != 15*ms {
		t.Errorf("FaultTime = %v, want 5 ms and 10 ms", got)
	}
}

// A stall that only deadlines or the end of the run ended is Unknown if a fault excuses it, if waiters gave up soon, or if only the bound of a driver
// applies.
func TestAStallWithAnExcuseIsUnknown(t *testing.T) {
	const patient = 1000 * ms
	of := func(o metrics.Outcome) metrics.Sample { return with(o, sample(metrics.Bound, 0, 0, 0, 10, 0)) }
	a, ra := acquire('a', 0, 5, 0), release('a', 10, 10)
	ends := func(o metrics.Outcome, start, end int) metrics.Sample { return with(o, acquire('b', start, end, 0)) }
	fault := sample(metrics.Fault, 0, 0, 10, 500, 0)
	late := sample(metrics.Late, 0, 0, 10, 100, 0)
	late.Session = metrics.Everybody
	alone := func(at int, o metrics.Outcome) history { // one waits while another holds, and for 8 ms after that
		h := history{acquire('a', at, at+5, 0), release('a', at+10, at+10), with(o, acquire('b', at+6, at+18, 0))}
		if o == metrics.OK {
			h = append(h, release('b', at+19, at+19))
		}
		return h
	}
	judge(t, Liveness(patient), []row{
		{"to the end, excused", history{of(metrics.OK), a, ra, ends(metrics.Unfinished, 6, 100), fault}, Unknown, 2, 0, nil},
		{"to a deadline, excused", history{of(metrics.OK), a, ra, ends(metrics.Timeout, 6, 100), fault}, Unknown, 2, 0, nil},
		{"to the end, not excused", history{of(metrics.OK), a, ra, ends(metrics.Unfinished, 6, 100)}, Violated, 2, 1, history{ra, ends(metrics.Unfinished, 6, 100)}},
		{"to the end, while the machine was late", history{of(metrics.OK), a, ra, ends(metrics.Unfinished, 6, 100), late, acquire('c', 500, 501, 0), release('c', 520, 520)}, Holds, 3, 0, nil},
		{"granted at last, excused", history{of(metrics.OK), a, ra, ends(metrics.OK, 6, 100), release('b', 530, 531), fault, acquire('c', 525, 532, 0)}, Holds, 3, 0, nil},
		{"short deadlines, one after the other", history{of(metrics.OK), a, ra, ends(metrics.Timeout, 6, 18), with(metrics.Timeout, acquire('c', 12, 25, 0))}, Unknown, 3, 0, nil},
		{"to the end, after the holder died", history{of(metrics.OK), a, with(metrics.Lost, ra), ends(metrics.Unfinished, 6, 100)}, Holds, 2, 0, nil},
		{"to the end, after the holder died long ago", history{of(metrics.OK), a, with(metrics.Lost, ra), ends(metrics.Unfinished, 6, 900)}, Unknown, 2, 0, nil},
		{"to the end, after the holder was expired", history{of(metrics.OK), a, with(metrics.Lost, ra), sample(metrics.Expire, 'a', 0, 9, 10, 0), ends(metrics.Unfinished, 6, 100)}, Unknown, 2, 0, nil},
		{"to the end, after the holder was expired while it released", history{of(metrics.OK), a, with(metrics.Lost, release('a', 10, 12)), sample(metrics.Expire, 'a', 0, 11, 12, 0), ends(metrics.Unfinished, 6, 100)}, Unknown, 2, 0, nil},
		{"short deadlines, each alone", slices.Concat(history{of(metrics.OK)}, alone(0, metrics.Timeout), alone(30, metrics.Timeout)), Unknown, 4, 0, nil},
		{"short deadlines, one of three is granted", slices.Concat(history{of(metrics.OK)}, alone(0, metrics.OK), alone(30, metrics.Timeout), alone(60, metrics.Timeout)), Holds, 6, 0, nil},
		{"short deadlines, less than a wake-up in all", append(history{of(metrics.OK)}, alone(0, metrics.Timeout)...), Holds, 2, 0, nil},
		{"of a driver, to the end", history{of(metrics.InDoubt), a, ra, ends(metrics.Unfinished, 6, 100)}, Unknown, 2, 0, nil},
		{"of a driver, within what its wake-ups take", history{of(metrics.InDoubt), a, ra, ends(metrics.Unfinished, 6, 20)}, Holds, 2, 0, nil},
		{"of a driver, beyond the bound", history{of(metrics.InDoubt), a, ra, ends(metrics.Unfinished, 6, 1100)}, Violated, 2, 1, history{ra, ends(metrics.Unfinished, 6, 1100)}},
	})
}

// A free object is granted without a wake-up, however long the servers take: no session has left in vain.
func TestGrantsOfWhatIsFreeAreNotInVain(t *testing.T) {
	writes := history{with(metrics.OK, sample(metrics.Bound, 0, 0, 0, 10, 0))}
	reads := slices.Clone(writes)
	for i := range 6 {
		at := 30 * i
		writes = append(writes, acquire('a', at, at+8, 0), release('a', at+20, at+21))
		reads = append(reads, sample(metrics.ReadAcquire, 'a', 0, at, at+8, 0), sample(metrics.ReadRelease, 'a', 0, at+20, at+21, 0))
	}
	judge(t, Liveness(1000*ms), []row{{"a lock, one session", writes, Holds, 6, 0, nil}})
	judge(t, PermitsLiveness(3, 1000*ms), []row{{"three permits, one session", writes, Holds, 6, 0, nil}})
	judge(t, ReaderWriterLiveness(1000*ms), []row{{"readers alone", reads, Holds, 6, 0, nil}})
}
