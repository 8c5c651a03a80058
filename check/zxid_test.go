package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func zxid(z int64, s metrics.Sample) metrics.Sample { s.Zxid = z; return s }

// brief returns a hold that is released at once: the start and end of its acquisition, and the transactions of its grant and its release.
func brief(session byte, asked, granted int, g, r int64) history {
	return history{zxid(g, acquire(session, asked, granted, 0)), zxid(r, release(session, granted, granted+1))}
}

// All holds have zero length, so that the clock decides nothing.
func TestMutualExclusionByZxid(t *testing.T) {
	a, b := brief('a', 0, 10, 100, 120), brief('b', 5, 20, 120, 130)
	within := brief('b', 5, 20, 110, 130)
	lost := slices.Clone(a)
	lost[1] = zxid(0, with(metrics.Lost, lost[1]))
	judge(t, MutualExclusion(), []row{
		{"no zxids", slices.Concat(brief('a', 0, 10, 0, 0), brief('b', 5, 20, 0, 0)), Unknown, 0, 0, nil},
		{"b was granted in the state of a's removal", slices.Concat(a, b), Holds, 2, 0, nil},
		{"b was granted in a state in which a's znode was there", slices.Concat(a, within), Violated, 2, 1, slices.Concat(a, within)},
		{"both were granted in the same state", slices.Concat(a, brief('b', 5, 20, 100, 130)), Violated, 2, 1, slices.Concat(a, brief('b', 5, 20, 100, 130))},
		{"b came and went while a's znode was there", slices.Concat(a, brief('b', 5, 20, 105, 110)), Violated, 2, 1, slices.Concat(a, brief('b', 5, 20, 105, 110))},
		{"the clock shows another order", slices.Concat(brief('a', 0, 30, 100, 120), b), Holds, 2, 0, nil},
		{"another object", slices.Concat(a, history{on(1, within[0]), on(1, within[1])}), Unknown, 2, 0, nil},
		{"a was never released", slices.Concat(a[:1], b), Violated, 2, 1, history{a[0], b[0], b[1]}},
		{"a was lost, and the end of its znode is unknown", slices.Concat(lost, within), Holds, 1, 0, nil},
		{"a was lost, and b's znode was there when a was granted", slices.Concat(lost, brief('b', 5, 20, 90, 101)), Violated, 2, 1,
			history{lost[0], lost[1], zxid(90, acquire('b', 5, 20, 0)), zxid(101, release('b', 20, 21))}},
		{"a was granted by an event without a zxid, and b after its removal", slices.Concat(brief('a', 0, 10, 0, 120), b), Holds, 1, 0, nil},
		{"a was granted by an event without a zxid while b held", slices.Concat(brief('a', 0, 10, 0, 120), brief('b', 5, 20, 110, 130)), Violated, 2, 1,
			slices.Concat(brief('a', 0, 10, 0, 120), brief('b', 5, 20, 110, 130))},
		{"a was granted by an event without a zxid, after b's release", slices.Concat(brief('a', 0, 10, 0, 120), brief('b', 1, 8, 90, 110)), Holds, 1, 0, nil},
		{"no zxid of a is known", slices.Concat(brief('a', 0, 10, 0, 0), b), Holds, 1, 0, nil},
		{"a removal older than its grant does not count", slices.Concat(history{zxid(100, acquire('a', 0, 9, 0)), zxid(90, release('a', 10, 11))},
			b), Holds, 1, 0, nil},
		{"several holds of a session at one instant", slices.Concat(brief('a', 10, 10, 100, 120), b, brief('a', 10, 10, 140, 150), brief('a', 10, 10, 130, 140)),
			Holds, 4, 0, nil},
		{"a place that is granted again is the same place", history{zxid(100, acquire('a', 0, 10, 7)), with(metrics.Lost, release('a', 12, 12)),
			zxid(100, acquire('a', 12, 20, 7)), zxid(120, release('a', 20, 21)), b[0], b[1]}, Holds, 2, 0, nil},
		{"b was granted between the two grants of one place", history{zxid(100, acquire('a', 0, 10, 7)), with(metrics.Lost, release('a', 12, 12)),
			zxid(115, acquire('a', 12, 20, 7)), zxid(120, release('a', 20, 21)), zxid(110, acquire('b', 0, 14, 8)), zxid(112, release('b', 14, 15))},
			Violated, 2, 1, history{zxid(100, acquire('a', 0, 10, 7)), zxid(110, acquire('b', 0, 14, 8)), zxid(112, release('b', 14, 15)), zxid(120, release('a', 20, 21))}},
	})
}

func TestSharedExclusionByZxid(t *testing.T) {
	reading := func(session byte, asked, granted int, g, r int64) history {
		return history{zxid(g, reads(session, asked, granted, 0)), zxid(r, readDone(session, granted, granted+1))}
	}
	leading := func(session byte, asked, granted int, g, r int64) history {
		return history{zxid(g, sample(metrics.Campaign, session, 0, asked, granted, 0)), zxid(r, sample(metrics.Resign, session, 0, granted, granted+1, 0))}
	}
	a, b, c := brief('a', 0, 10, 100, 120), brief('b', 5, 20, 110, 130), brief('c', 5, 30, 115, 140)
	judge(t, Permits(2), []row{
		{"two of two", slices.Concat(a, b), Unknown, 2, 0, nil},
		{"a third", slices.Concat(a, b, c), Violated, 3, 1, slices.Concat(a, b, c)},
		{"a third, after one release", slices.Concat(a, b, brief('c', 5, 30, 120, 140)), Unknown, 3, 0, nil},
	})
	r, s, w := reading('r', 0, 10, 100, 120), reading('s', 0, 20, 110, 130), brief('w', 0, 30, 130, 140)
	early := brief('w', 0, 30, 125, 140)
	judge(t, ReaderWriter(), []row{
		{"two readers, and a writer after them", slices.Concat(r, s, w), Holds, 3, 0, nil},
		{"a writer beside a reader", slices.Concat(r, s, early), Violated, 3, 1, slices.Concat(s, early)},
		{"a reader beside a writer", slices.Concat(w, reading('r', 0, 40, 139, 150)), Violated, 2, 1, slices.Concat(w, reading('r', 0, 40, 139, 150))},
	})
	l, m := leading('a', 0, 10, 100, 120), leading('b', 0, 20, 119, 130)
	judge(t, Leadership(), []row{
		{"one after the other", slices.Concat(l, leading('b', 0, 20, 120, 130)), Holds, 2, 0, nil},
		{"two at once", slices.Concat(l, m), Violated, 2, 1, slices.Concat(l, m)},
		{"a term that is suspended and continues", history{zxid(100, sample(metrics.Campaign, 'a', 0, 0, 10, 7)),
			with(metrics.Lost, sample(metrics.Resign, 'a', 0, 12, 12, 7)), zxid(105, sample(metrics.Campaign, 'a', 0, 12, 20, 7)),
			zxid(120, sample(metrics.Resign, 'a', 0, 30, 31, 7))}, Unknown, 2, 0, nil},
	})
}

func TestJudgesOfExclusion(t *testing.T) {
	instant := slices.Concat(brief('a', 0, 10, 100, 120), brief('b', 5, 20, 110, 130))
	timed := history{acquire('a', 0, 10, 0), release('a', 20, 21), acquire('b', 5, 30, 0), release('b', 45, 46)}
	for _, tc := range []struct {
		name    string
		history history
		want    []Judge
	}{
		{"held for zero time", instant, []Judge{{By: ByZxid, Answer: Violated, Evidence: 2, Count: 1}, {By: ByClock}}},
		{"no zxids", timed, []Judge{{By: ByZxid}, {By: ByClock, Answer: Holds, Evidence: 2, Held: 25 * ms}}},
	} {
		if v := MutualExclusion().Judge(slices.Values(tc.history), nil); !slices.Equal(v.Judges, tc.want) {
			t.Errorf("%s: judges = %+v, want %+v", tc.name, v.Judges, tc.want)
		}
	}
}

// Holds that overlap by the clock also overlap by zxid in every history whose transactions follow time: the state of a grant was committed before the grant,
// and a removal after its release was issued. Only the clock decides if one hold lacks the zxid of its grant and the other that of its removal.
func TestViolationsByClockAreViolationsByZxid(t *testing.T) {
	convicted := 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 6))
		var h history
		commit := func(at time.Duration) int64 { return int64(at)*10 + r.Int64N(10) } // zxids follow time
		for i := range 2 + r.IntN(8) {
			asked := time.Duration(r.IntN(40))
			granted := asked + time.Duration(r.IntN(20))
			issued := granted + time.Duration(r.IntN(20))
			s := metrics.Sample{Op: metrics.Acquire, Session: uint32(i), Start: asked, End: granted}
			s.Zxid = commit(asked+time.Duration(r.Int64N(int64(granted-asked)+1))) - 10
			e := metrics.Sample{Op: metrics.Release, Session: uint32(i), Start: issued, End: issued + 5, Zxid: commit(issued + time.Duration(r.IntN(5)))}
			if of := seed % 3; r.IntN(4) == 0 && of > 0 {
				*[]*int64{&s.Zxid, &e.Zxid}[of-1] = 0
			}
			h = append(h, s, e)
		}
		v := MutualExclusion().Judge(slices.Values(h), nil)
		zxid, clock := v.Judges[0], v.Judges[1]
		if clock.Answer != Violated {
			continue
		}
		if convicted++; zxid.Answer != Violated {
			t.Fatalf("seed %d: %d violations by the clock, %d by zxid: %v", seed, clock.Count, zxid.Count, h)
		}
	}
	if convicted < 1000 {
		t.Fatalf("only %d histories were violated", convicted)
	}
}
