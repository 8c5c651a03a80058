package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func TestLinearizableQueue(t *testing.T) {
	looked := left(0)
	p1, p2 := put(1, 0, 1), put(2, 2, 3)
	maybe := func(s metrics.Sample) metrics.Sample { return with(metrics.InDoubt, s) }
	unknown := func(s metrics.Sample) metrics.Sample { s.Token = 0; return s }
	judge(t, LinearizableQueue(time.Minute), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"in order", history{p1, p2, take('a', 1, 5, 6), take('b', 2, 7, 8), looked}, Holds, 5, 0, nil},
		{"at the same time in either order", history{p1, p2, take('a', 2, 5, 8), take('b', 1, 6, 7), looked}, Holds, 5, 0, nil},
		{"puts at the same time too", history{unknown(put(1, 0, 5)), unknown(put(2, 1, 4)), take('a', 2, 5, 6), take('b', 1, 7, 8)}, Holds, 4, 0, nil},
		{"but not when the servers have ordered them", history{put(1, 0, 5), put(2, 1, 4), take('a', 2, 5, 6), take('b', 1, 7, 8)}, Violated, 4, 1, history{take('a', 2, 5, 6)}},
		{"out of order", history{p1, p2, take('a', 2, 5, 6), take('b', 1, 7, 8)}, Violated, 4, 1, history{take('a', 2, 5, 6)}},
		{"twice", history{p1, take('a', 1, 5, 6), take('b', 1, 7, 8)}, Violated, 3, 1, history{take('b', 1, 7, 8)}},
		{"before it was put", history{take('a', 1, 0, 1), put(1, 2, 3)}, Violated, 2, 1, history{take('a', 1, 0, 1)}},
		{"a take in doubt may have taken it", history{p1, p2, maybe(take('a', 1, 4, 5)), take('b', 2, 7, 8), looked}, Holds, 5, 0, nil},
		{"or not", history{p1, maybe(take('a', 1, 4, 5)), take('b', 1, 7, 8), looked}, Holds, 4, 0, nil},
		{"a put in doubt may come late", history{unknown(maybe(p1)), p2, take('b', 2, 7, 8), take('a', 1, 9, 10)}, Holds, 4, 0, nil},
		{"the removal is narrower than the take", history{p1, p2, take('a', 2, 5, 9), remove('a', 2, 5, 6), take('b', 1, 5, 9), remove('b', 1, 7, 8)}, Violated, 4, 1,
			history{about(2, sample(metrics.Take, 'a', 0, 5, 6, 2))}},
		{"two queues", history{p1, on(1, take('a', 1, 5, 6))}, Violated, 2, 1, history{on(1, take('a', 1, 5, 6))}},
	})
	v := LinearizableQueue(time.Minute).Judge(slices.Values(history{p1, p2, left(2), looked}), nil)
	if v.Answer != Violated {
		t.Errorf("an item that is lost: %v, want violated", v.Answer)
	}
}

func TestLinearizableRegister(t *testing.T) {
	write := func(session byte, old, value int64, start, end int) metrics.Sample {
		return about(value, sample(metrics.Update, session, 0, start, end, old))
	}
	read := func(session byte, value int64, start, end int) metrics.Sample {
		return about(value, sample(metrics.Read, session, 0, start, end, 0))
	}
	maybe := func(s metrics.Sample) metrics.Sample { return with(metrics.InDoubt, s) }
	judge(t, LinearizableRegister(time.Minute), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nothing was written", history{read('a', 0, 0, 1)}, Holds, 1, 0, nil},
		{"the last write", history{write('a', 0, 1, 0, 1), write('b', 1, 2, 2, 3), read('a', 2, 4, 5)}, Holds, 3, 0, nil},
		{"a write under way, first not seen, then seen", history{write('a', 0, 1, 0, 9), read('b', 0, 1, 2), read('b', 1, 3, 4)}, Holds, 3, 0, nil},
		{"seen and then no longer", history{write('a', 0, 1, 0, 9), read('b', 1, 1, 2), read('b', 0, 3, 4)}, Violated, 3, 1, history{read('b', 0, 3, 4)}},
		{"a stale read", history{write('a', 0, 1, 0, 1), write('b', 1, 2, 2, 3), read('a', 1, 4, 5)}, Violated, 3, 1, history{read('a', 1, 4, 5)}},
		{"a lost update: both had read the same", history{write('a', 0, 1, 0, 5), write('b', 0, 2, 1, 6)}, Violated, 2, 1, history{write('b', 0, 2, 1, 6)}},
		{"a write in doubt may come late", history{maybe(write('a', 0, 1, 0, 1)), read('b', 0, 2, 3), read('b', 1, 4, 5)}, Holds, 3, 0, nil},
		{"or never", history{maybe(write('a', 0, 1, 0, 1)), write('b', 0, 2, 2, 3)}, Holds, 2, 0, nil},
		{"a failed write is no write", history{with(metrics.Failed, write('a', 0, 1, 0, 1)), read('b', 1, 2, 3)}, Violated, 1, 1, history{read('b', 1, 2, 3)}},
	})
}

// Past its limit the checker does not guess: twenty concurrent puts, and an output that no order explains.
func TestLinearizableGivesUp(t *testing.T) {
	var h history
	for i := range int64(40) {
		p := put(i+1, 0, 100)
		p.Token = 0
		h = append(h, p)
	}
	for i := range int64(40) {
		h = append(h, take('a', 40-i, 200, 300))
	}
	h = append(h, take('b', 99, 400, 500))
	if v := LinearizableQueue(time.Millisecond).Judge(slices.Values(h), nil); v.Answer != Unknown || v.Detail == "" {
		t.Errorf("LinearizableQueue = %v, %s, want unknown", v.Answer, v.Detail)
	}
}

// The fast checks agree with the model on histories of a queue, correct ones and ones with two removals swapped.
func TestTheChecksAgreeWithTheModel(t *testing.T) {
	violated := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 6))
		h := queueHistoryOf(r, 3+r.IntN(8))
		if seed%2 == 1 {
			removals := slices.DeleteFunc(slices.Clone(h), func(s metrics.Sample) bool { return s.Op != metrics.Remove })
			a, b := r.IntN(len(removals)), r.IntN(len(removals))
			for i, s := range h { // the items are swapped, with their tokens
				for _, swap := range [][2]metrics.Sample{{removals[a], removals[b]}, {removals[b], removals[a]}} {
					if s == swap[0] {
						h[i].Value, h[i].Token = swap[1].Value, swap[1].Token
					}
				}
			}
		}
		order := DeliveryOrder().Judge(slices.Values(h), nil).Answer
		model := LinearizableQueue(time.Minute).Judge(slices.Values(h), nil).Answer
		if order == Violated {
			violated++
		}
		// The model also sees an item that is removed before it was put.
		if seed%2 == 0 && (order != Holds || model != Holds) || order == Violated && model != Violated {
			t.Fatalf("seed %d: delivery-order = %v, the model = %v\n%v", seed, order, model, h)
		}
	}
	if violated < 50 {
		t.Errorf("only %d histories violated the order", violated)
	}
}

// queueHistoryOf returns the history of a correct queue: n items, removed in the order in which they were put.
func queueHistoryOf(r *rand.Rand, n int) history {
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	var h history
	at, free := time.Duration(0), time.Duration(0)
	for i := range int64(n) {
		at += 1 + upTo(5*ms)
		p := metrics.Sample{Op: metrics.Put, Value: i + 1, Token: i + 1, Start: at, End: at} // sequential, so that the order of the tokens is the only order
		free = max(free, at) + 1 + upTo(8*ms)
		take := metrics.Sample{Op: metrics.Remove, Session: uint32(1 + i%3), Value: i + 1, Token: i + 1, Start: free - min(upTo(4*ms), free-at), End: free + upTo(4*ms)}
		h = append(h, p, take)
	}
	return h
}
