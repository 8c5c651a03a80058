package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

// A refused request leaves open what it may have caused, and nothing else. The bound is 5 ms; the object is free from 12 ms on.
func TestWhatTheServersRefusedExcuses(t *testing.T) {
	refused := func(session byte, at int, value int64) metrics.Sample {
		s := sample(metrics.Refused, session, 0, at, at+1, 0)
		s.Value = value
		return s
	}
	stall := history{acquire('a', 0, 2, 0), release('a', 10, 12), acquire('b', 3, 90, 0)}
	soon := history{acquire('a', 0, 2, 0), release('a', 10, 12), acquire('b', 3, 14, 0)}
	elsewhere := history{on(1, acquire('c', 0, 90, 0)), on(1, release('c', 90, 91))}
	dirty := with(metrics.Failed, sample(metrics.Left, 0, 0, 95, 95, 0))
	lost := with(metrics.Failed, sample(metrics.Drain, 0, 0, 95, 95, 0))
	undecided := history{votes('a', 1, 2, Commits), decides('a', 2, 50, Commits)}
	overlap := history{acquire('a', 0, 2, 0), acquire('b', 3, 4, 0), release('a', 10, 12), release('b', 13, 14)}
	for _, tc := range []struct {
		sentence string
		check    Check
		history  history
		answer   Answer
		session  byte // whose request is named; 0: none
	}{
		{"nobody was refused anything", Liveness(5 * ms), stall, Violated, 0},
		{"the waiter was, before the stall was too long", Liveness(5 * ms), append(stall, refused('b', 16, 0)), Unknown, 'b'},
		{"the holder was, long before: its znode may be in the way", Liveness(5 * ms), append(stall, refused('a', 1, 0)), Unknown, 'a'},
		{"the waiter was, after the stall was too long", Liveness(5 * ms), append(stall, refused('b', 18, 0)), Violated, 0},
		{"a session was that uses another object", Liveness(5 * ms), slices.Concat(stall, elsewhere, history{refused('c', 1, 0)}), Violated, 0},
		{"there was no stall", Liveness(5 * ms), append(soon, refused('b', 4, 0)), Holds, 0},
		{"the patient bound is excused where one is measured, too", Liveness(20 * ms), append(stall, sample(metrics.Bound, 0, 0, 0, 5, 0), refused('b', 16, 0)), Unknown, 'b'},
		{"a voter was", DecisionLiveness(5 * ms), append(undecided, refused('a', 3, 0)), Unknown, 'a'},
		{"a voter was, too late", DecisionLiveness(5 * ms), append(undecided, refused('a', 8, 0)), Violated, 0},
		{"something is left, and nothing was refused", NothingLeft(), history{dirty}, Violated, 0},
		{"something is left, and a removal was refused after a read", NothingLeft(), history{refused('a', 1, 0), refused('b', 5, metrics.Removal), dirty}, Unknown, 'b'},
		{"something is left, and a read was refused", NothingLeft(), history{refused('a', 1, 0), dirty}, Unknown, 'a'},
		{"nothing is left", NothingLeft(), history{refused('a', 1, metrics.Removal), with(metrics.OK, dirty)}, Holds, 0},
		{"a permit is lost, and nothing was refused", Capacity(), history{lost}, Violated, 0},
		{"a permit is lost, and its release was refused", Capacity(), history{refused('a', 1, metrics.Removal), lost}, Unknown, 'a'},
		{"no refusal excuses two holders", MutualExclusion(), append(overlap, refused('a', 1, 0)), Violated, 0},
	} {
		v := tc.check.Verdict(slices.Values(tc.history), nil)
		named := v.Refused.Op == metrics.Refused && v.Refused.Session == uint32(tc.session)
		if v.Answer != tc.answer || named != (tc.session != 0) || (v.Answer == Holds) != (v.Detail == "") || (v.Answer == Violated) != (v.Count > 0) {
			t.Errorf("%s: %v %q, count %d, with %v of %d refused", tc.sentence, v.Answer, v.Detail, v.Count, v.Refused.Op, v.Refused.Session)
		}
	}
}

// An inspection of which the servers refuse a part says so.
func TestALookThatIsRefusedDecidesNothing(t *testing.T) {
	refused := metrics.Sample{Op: metrics.Refused, Session: metrics.Everybody, Start: 94 * ms, End: 95 * ms}
	v := Capacity().Verdict(slices.Values(history{refused, with(metrics.Failed, sample(metrics.Drain, 0, 0, 95, 95, 0))}), nil)
	if want := "the servers refused a request of the look at what is left at 94ms"; v.Answer != Unknown || !strings.Contains(v.Detail, want) {
		t.Errorf("%v %q, want %q", v.Answer, v.Detail, want)
	}
}

// A violation that one host finds is excused by a request that the servers refused to another.
func TestWhatIsRefusedOnOneHostExcusesWhatAnotherFinds(t *testing.T) {
	removal := sample(metrics.Refused, 'b', 0, 1, 2, 0)
	removal.Value = metrics.Removal
	for refused, want := range map[bool]Answer{false: Violated, true: Unknown} {
		other := history{acquire('b', 0, 1, 0)}
		if refused {
			other = append(other, removal)
		}
		hosts := []Host{{History: slices.Values(history{with(metrics.Failed, sample(metrics.Left, 0, 0, 95, 95, 0))})}, {History: slices.Values(other)}}
		if v, judged := NothingLeft().JudgeAcross(hosts, nil); !judged || v.Answer != want || v.Refused != (map[bool]metrics.Sample{true: removal}[refused]) {
			t.Errorf("refused %v: %+v", refused, v)
		}
	}
}
