package check

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

// In the tables members are numbers and their sessions letters; observers are x and y.

func join(session byte, member int64, start, end int, token int64) metrics.Sample {
	return about(member, sample(metrics.Join, session, 0, start, end, token))
}

func leaves(session byte, start, end int) metrics.Sample {
	return sample(metrics.Leave, session, 0, start, end, 0)
}

func sees(session byte, start, end int, token int64) metrics.Sample {
	return sample(metrics.See, session, 0, start, end, token)
}

// saw returns h with the members that each See saw, found in views by its token.
func saw(views map[int64][]int64, h ...metrics.Sample) history {
	for _, s := range slices.Clone(h) {
		if s.Op == metrics.See && s.Outcome == metrics.OK {
			h = append(h, MembersOf(s, views[s.Token])...)
		}
	}
	return h
}

func TestMembersOfManyWords(t *testing.T) {
	members := []int64{0, 47, 48, 1000, 95}
	h := append(history{sees('x', 0, 1, 5)}, MembersOf(sees('x', 0, 1, 5), members)...)
	all := watchedIn(slices.Values(h), nil, nil)
	if got := all[0].sightings[0].members; len(got) != len(members) || len(h) != 4 {
		t.Fatalf("members %v in %d samples", got, len(h))
	}
	for _, m := range members {
		if !all[0].sightings[0].members[m] {
			t.Errorf("member %d is missing", m)
		}
	}
}

func TestViews(t *testing.T) {
	a, la, b := join('a', 0, 0, 2, 10), leaves('a', 20, 22), join('b', 60, 3, 5, 20)
	views := map[int64][]int64{5: nil, 10: {0}, 20: {0, 60}, 30: {60}}
	x, y := sees('x', 0, 6, 20), sees('y', 0, 30, 30)
	judge(t, Views(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody saw anything", history{a, b, la}, Unknown, 0, 0, nil},
		{"a wait that was cut saw nothing", saw(views, a, with(metrics.Unfinished, x)), Unknown, 0, 0, nil},
		{"views of the actual members", saw(views, a, b, la, sees('x', 0, 1, 5), sees('x', 1, 4, 10), x, y), Holds, 4, 0, nil},
		{"a late view of an earlier state", saw(views, a, b, la, sees('y', 0, 90, 10)), Holds, 1, 0, nil},
		{"two sets at one transaction", append(saw(views, a, b, x), saw(map[int64][]int64{20: {0}}, sees('y', 0, 30, 20))...),
			Violated, 2, 2, history{x, sees('y', 0, 30, 20)}},
		{"a member that had not joined yet", saw(map[int64][]int64{15: {0, 60}}, a, b, sees('x', 0, 6, 15)), Violated, 1, 1, history{sees('x', 0, 6, 15)}},
		{"a member that never joined", saw(views, a, x), Violated, 1, 1, history{x}},
		{"a join in doubt", saw(views, a, with(metrics.Timeout, b), x), Holds, 1, 0, nil},
		{"but not before it was tried", saw(views, a, with(metrics.Timeout, join('b', 60, 7, 8, 0)), x), Violated, 1, 1, history{x}},
		{"a member is missing", saw(map[int64][]int64{20: {60}}, a, b, la, x), Violated, 1, 1, history{a, x}},
		{"a member is missing while it leaves", saw(views, a, b, leaves('a', 5, 7), sees('x', 0, 6, 30)), Holds, 1, 0, nil},
		{"it was a member up to the transaction that removed it", saw(views, a, b, zxid(31, leaves('a', 5, 7)), sees('x', 0, 6, 30)), Violated, 1, 1,
			history{a, sees('x', 0, 6, 30)}},
		{"and not in that transaction", saw(views, a, b, zxid(30, leaves('a', 5, 7)), sees('x', 0, 6, 30)), Holds, 1, 0, nil},
		{"a crashed member is missing", saw(views, a, b, with(metrics.Lost, leaves('a', 4, 4)), sees('x', 0, 6, 30)), Holds, 1, 0, nil},
		{"a member that left is back without joining", saw(map[int64][]int64{30: {60}, 40: {0, 60}}, a, b, la, y, sees('x', 0, 31, 40)), Violated, 2, 1,
			history{y, sees('x', 0, 31, 40)}},
		{"a member that left joins again", saw(map[int64][]int64{30: {60}, 40: {0, 60}}, a, b, la, join('a', 0, 23, 25, 35), y, sees('x', 0, 31, 40)),
			Holds, 2, 0, nil},
		{"another group has other members", append(saw(views, a, b, x), on(1, a), on(1, sees('x', 0, 6, 10))), Violated, 2, 1,
			history{on(1, a), on(1, sees('x', 0, 6, 10))}},
	})
}

func TestViewOrder(t *testing.T) {
	x := sees('x', 0, 6, 20)
	judge(t, ViewOrder(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one view has no order", history{x, sees('y', 7, 8, 10)}, Unknown, 0, 0, nil},
		{"views in order", history{x, sees('x', 6, 7, 21), sees('y', 7, 8, 10)}, Holds, 1, 0, nil},
		{"a view goes back", history{x, sees('x', 6, 7, 19)}, Violated, 1, 1, history{x, sees('x', 6, 7, 19)}},
		{"the same again", history{x, sees('x', 6, 7, 20)}, Violated, 1, 1, history{x, sees('x', 6, 7, 20)}},
		{"what failed was not seen", history{x, with(metrics.Failed, sees('x', 6, 7, 0)), sees('x', 7, 8, 21)}, Holds, 1, 0, nil},
		{"another object has another order", history{x, on(1, sees('x', 6, 7, 19))}, Unknown, 0, 0, nil},
	})
}

func change(value int64, start, end int, token int64) metrics.Sample {
	return about(value, sample(metrics.Change, 'w', 0, start, end, token))
}

func TestWrittenValues(t *testing.T) {
	c, x := change(7, 0, 2, 10), about(7, sees('x', 0, 6, 10))
	judge(t, WrittenValues(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody looked", history{c}, Unknown, 0, 0, nil},
		{"a value that was written", history{c, x}, Holds, 1, 0, nil},
		{"a value from before the run", history{c, x, sees('y', 0, 1, 5)}, Holds, 2, 0, nil},
		{"a value of a write in doubt", history{with(metrics.InDoubt, change(7, 0, 2, 0)), x}, Holds, 1, 0, nil},
		{"a value that is not written yet", history{with(metrics.InDoubt, change(7, 7, 8, 0)), x}, Violated, 1, 1,
			history{x, with(metrics.InDoubt, change(7, 7, 8, 0))}},
		{"a value that was never written", history{c, about(8, x)}, Violated, 1, 1, history{about(8, x)}},
		{"a value at another transaction", history{c, about(7, sees('x', 0, 6, 11))}, Violated, 1, 1, history{c, about(7, sees('x', 0, 6, 11))}},
		{"two values at one transaction", history{c, change(8, 3, 4, 0), x, about(8, sees('y', 0, 7, 10))}, Violated, 2, 1,
			history{x, about(8, sees('y', 0, 7, 10))}},
		{"a value of another setting", history{c, on(1, x)}, Violated, 1, 1, history{on(1, x)}},
	})
}

func TestConvergence(t *testing.T) {
	a, la, b := join('a', 0, 0, 2, 10), leaves('a', 20, 22), join('b', 60, 30, 32, 40)
	views := map[int64][]int64{10: {0}, 25: nil, 40: {60}}
	first := sees('x', 0, 3, 10)
	cut := func(session byte, start, end int) metrics.Sample {
		return with(metrics.Unfinished, sees(session, start, end, 0))
	}
	c, d := change(7, 0, 2, 10), change(8, 20, 22, 20)
	judge(t, Convergence(50*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody observes", history{a, la, b}, Unknown, 0, 0, nil},
		{"nothing changes", saw(views, sees('x', 0, 3, 5), cut('x', 3, 900)), Unknown, 0, 0, nil},
		{"all is seen", saw(views, a, la, b, first, sees('x', 3, 23, 25), sees('x', 23, 33, 40), cut('x', 33, 900)), Holds, 3, 0, nil},
		{"coalesced", saw(views, a, la, b, first, sees('x', 3, 34, 40), cut('x', 34, 900)), Holds, 3, 0, nil},
		{"a join is not seen", saw(views, a, la, b, first, sees('x', 3, 23, 25), cut('x', 23, 90)), Violated, 2, 1,
			history{sees('x', 3, 23, 25), b, cut('x', 23, 90)}},
		{"a join is not seen yet", saw(views, a, la, b, first, sees('x', 3, 23, 25), cut('x', 23, 80)), Holds, 2, 0, nil},
		{"a departure is not seen", saw(views, a, la, first, cut('x', 3, 90)), Violated, 1, 1, history{first, la, cut('x', 3, 90)}},
		{"it is seen too late", saw(views, a, la, first, sees('x', 3, 90, 25)), Violated, 2, 1, history{first, la, sees('x', 3, 90, 25)}},
		{"nobody waited for it", saw(views, a, la, first, sees('x', 89, 90, 25)), Holds, 2, 0, nil},
		{"a fault covers the wait", append(saw(views, a, la, first, sees('x', 3, 90, 25)), sample(metrics.Fault, 0, 9, 25, 60, 0)),
			Holds, 2, 0, nil},
		{"a departure in doubt", saw(views, a, with(metrics.Timeout, la), first, cut('x', 3, 90)), Holds, 1, 0, nil},
		{"a crash belongs to another check", saw(views, a, with(metrics.Lost, la), first, cut('x', 3, 90)), Holds, 1, 0, nil},
		{"a member that comes back is there", saw(map[int64][]int64{10: {0}, 40: {0}}, a, la, join('a', 0, 30, 32, 40), first, sees('x', 3, 33, 40),
			cut('x', 33, 900)), Holds, 3, 0, nil},
		{"a setting is seen", history{c, d, sees('x', 0, 3, 10), sees('x', 3, 23, 20), cut('x', 23, 900)}, Holds, 2, 0, nil},
		{"its last version is not", history{c, d, sees('x', 0, 3, 10), cut('x', 3, 90)}, Violated, 1, 1,
			history{sees('x', 0, 3, 10), d, cut('x', 3, 90)}},
		{"by one of two", history{c, d, sees('x', 0, 3, 10), cut('x', 3, 90), sees('y', 0, 3, 10), sees('y', 3, 24, 20), cut('y', 24, 900)},
			Violated, 2, 1, history{sees('x', 0, 3, 10), d, cut('x', 3, 90)}},
	})
	crash := with(metrics.Lost, leaves('a', 20, 20))
	judge(t, CrashesSeen(50*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody crashes", saw(views, a, la, first, cut('x', 3, 900)), Unknown, 0, 0, nil},
		{"it is seen in time", saw(views, a, crash, first, sees('x', 3, 60, 25), cut('x', 60, 900)), Holds, 1, 0, nil},
		{"it is seen too late", saw(views, a, crash, first, sees('x', 3, 71, 25)), Violated, 1, 1, history{first, crash, sees('x', 3, 71, 25)}},
		{"it is never seen", saw(views, a, crash, first, cut('x', 3, 71)), Violated, 0, 1, history{first, crash, cut('x', 3, 71)}},
		{"it is not seen yet", saw(views, a, crash, first, cut('x', 3, 69)), Unknown, 0, 0, nil},
	})
}
