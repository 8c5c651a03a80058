package check

import (
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

// write is an accepted write, the order-th of its object.
func write(session byte, start, end int, token, order int64) metrics.Sample {
	s := sample(metrics.Write, session, 0, start, end, token)
	s.Value = order
	return s
}

func TestFence(t *testing.T) {
	a, da := acquire('a', 0, 10, 5), release('a', 20, 22)
	b, db := acquire('b', 5, 30, 6), release('b', 60, 62)
	late := write('a', 40, 45, 5, 3)
	judge(t, Fence(0), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"grants without writes are none either", history{a, da, b, db}, Unknown, 0, 0, nil},
		{"each writes while it holds, one of them twice", history{a, write('a', 12, 13, 5, 1), write('a', 14, 15, 5, 2), da, b, write('b', 32, 33, 6, 3), db}, Holds, 3, 0, nil},
		{"a stale write that was rejected", history{a, write('a', 12, 13, 5, 1), b, db, with(metrics.Lost, late)}, Holds, 2, 0, nil},
		{"only rejected ones", history{a, b, db, with(metrics.Lost, late)}, Holds, 1, 0, nil},
		{"a write in doubt is no evidence", history{a, with(metrics.InDoubt, write('a', 12, 13, 5, 0)), with(metrics.Failed, write('a', 12, 13, 5, 0))}, Unknown, 0, 0, nil},
		{"a stale write after the next holder's", history{a, b, write('b', 32, 33, 6, 2), late}, Violated, 2, 1, history{write('b', 32, 33, 6, 2), late}},
		{"in the order of the object, not of the clock", history{a, write('a', 12, 50, 5, 1), b, write('b', 32, 33, 6, 2)}, Holds, 2, 0, nil},
		{"two stale ones: the earlier is shown", history{write('b', 32, 33, 6, 2), write('a', 46, 47, 5, 4), late}, Violated, 3, 2, history{write('b', 32, 33, 6, 2), late}},
		{"a write before the next holder's first, though that holds already", history{a, b, late, write('b', 50, 51, 6, 4), db}, Holds, 2, 0, nil},
		{"the order of another object does not count", history{on(1, write('b', 32, 33, 6, 2)), late}, Holds, 2, 0, nil},
		{"a reader in between does not write", history{reads('r', 30, 35, 9), readDone('r', 39, 40), late}, Holds, 1, 0, nil},
	})
	c, dc := acquire('c', 20, 35, 7), release('c', 60, 62)
	judge(t, Fence(2), []row{
		{"holders of two permits write in any order", history{a, b, write('b', 32, 33, 6, 2), late, db}, Holds, 2, 0, nil},
		{"a third writes while two others hold both", history{a, b, c, db, dc, write('b', 41, 42, 6, 2), late}, Violated, 2, 1, history{b, late}},
		{"one of the two others releases meanwhile", history{a, b, release('b', 41, 42), c, dc, late}, Holds, 1, 0, nil},
		{"a lost holder proves nothing", history{a, b, with(metrics.Lost, db), c, dc, late}, Holds, 1, 0, nil},
		{"a holder that never released proves nothing", history{a, b, c, dc, late}, Holds, 1, 0, nil},
		{"a holder of another object proves nothing", history{a, on(1, b), on(1, db), c, dc, late}, Holds, 1, 0, nil},
		{"nothing was written", history{a, b, db}, Unknown, 0, 0, nil},
	})
}
