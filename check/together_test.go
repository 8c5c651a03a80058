package check

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// both returns the samples of a session that acquires locks 0 and 1 together and releases them.
func both(session byte, start, end, until int, token int64) history {
	return history{
		acquire(session, start, end, token), on(1, sample(metrics.Hold, session, 0, start, end, token+1)),
		release(session, until, until+1), on(1, sample(metrics.Unhold, session, 0, until, until+1, token+1)),
	}
}

// single returns the samples of a session that acquires lock 1 alone and releases it.
func single(session byte, start, end, until int, token int64) history {
	return history{on(1, acquire(session, start, end, token)), on(1, release(session, until, until+1))}
}

func joined(all ...history) (h history) {
	for _, some := range all {
		h = append(h, some...)
	}
	return h
}

// Each lock of a set is judged by itself.
func TestLocksThatAreAcquiredTogether(t *testing.T) {
	a, b := both('a', 0, 10, 20, 5), single('b', 0, 15, 30, 7)
	judge(t, MutualExclusion(), []row{
		{"disjoint sets", joined(a, history{on(2, acquire('b', 0, 15, 7)), on(2, release('b', 30, 31))}), Unknown, 3, 0, nil},
		{"one after the other", joined(a, single('b', 0, 25, 30, 7)), Holds, 3, 0, nil},
		{"two sets share a lock, and both hold it", joined(a, b), Violated, 3, 1, history{a[1], b[0], a[3], b[1]}},
	})
	judge(t, TokenOrder(), []row{
		{"the tokens of each lock grow", joined(a, b), Holds, 2, 0, nil},
		{"the tokens of the second do not", joined(a, single('b', 0, 25, 30, 6)), Violated, 2, 1, history{a[1], on(1, acquire('b', 0, 25, 6))}},
	})
}

func TestLivenessTogether(t *testing.T) {
	waits := with(metrics.Unfinished, on(1, acquire('c', 5, 100, 0)))
	crossed := with(metrics.Unfinished, acquire('d', 6, 100, 0))
	judge(t, LivenessTogether(50*time.Millisecond), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody was granted anything, and nobody waited long", history{with(metrics.Timeout, acquire('a', 0, 10, 0))}, Unknown, 0, 0, nil},
		{"a lock is free, but its next holder waits for another", joined(single('b', 0, 4, 90, 7), history{crossed}), Holds, 2, 0, nil},
		{"several hold meanwhile", joined(both('a', 0, 10, 60, 5), single('b', 0, 40, 70, 9), history{crossed}), Holds, 3, 0, nil},
		{"two wait for each other, and nobody holds", joined(both('a', 0, 1, 4, 5), history{waits, crossed}), Violated, 3, 1,
			history{release('a', 4, 5), waits}},
	})
}
