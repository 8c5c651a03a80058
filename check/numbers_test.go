package check

import (
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

func draw(session byte, number int64, start, end int) metrics.Sample {
	return about(number, sample(metrics.Draw, session, 0, start, end, 0))
}

func saying(number int64) metrics.Sample {
	return about(number, sample(metrics.Tally, 0, 0, 90, 90, 0))
}

func TestUniqueNumbers(t *testing.T) {
	a, b := draw('a', 1, 0, 5), draw('b', 2, 1, 6)
	judge(t, UniqueNumbers(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"no draw succeeded", history{with(metrics.InDoubt, a)}, Unknown, 0, 0, nil},
		{"each number once", history{a, b}, Holds, 2, 0, nil},
		{"one number twice", history{a, b, draw('c', 1, 6, 7)}, Violated, 3, 1, history{a, draw('c', 1, 6, 7)}},
		{"one number three times", history{a, draw('b', 1, 1, 6), draw('c', 1, 6, 7)}, Violated, 3, 2, history{a, draw('b', 1, 1, 6)}},
		{"a draw in doubt has no number", history{a, with(metrics.InDoubt, draw('c', 1, 6, 7))}, Holds, 1, 0, nil},
		{"the same number of another object", history{a, on(1, draw('c', 1, 6, 7))}, Holds, 2, 0, nil},
	})
}

func TestNumberOrder(t *testing.T) {
	a, b := draw('a', 7, 0, 5), draw('b', 8, 6, 9)
	judge(t, NumberOrder(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one number has no order", history{a}, Unknown, 1, 0, nil},
		{"they grow, with gaps", history{a, b, draw('a', 90, 10, 11)}, Holds, 3, 0, nil},
		{"draws that overlap have no order", history{a, draw('b', 6, 4, 9)}, Holds, 2, 0, nil},
		{"not even those that touch", history{a, draw('b', 6, 5, 9)}, Holds, 2, 0, nil},
		{"a smaller number after a greater one", history{a, draw('b', 6, 6, 9)}, Violated, 2, 1, history{a, draw('b', 6, 6, 9)}},
		{"the same number", history{a, draw('b', 7, 6, 9)}, Violated, 2, 1, history{a, draw('b', 7, 6, 9)}},
		{"a smaller number of the same client", history{b, draw('b', 5, 10, 11)}, Violated, 2, 1, history{b, draw('b', 5, 10, 11)}},
		{"seen past another one", history{a, b, draw('c', 7, 10, 11)}, Violated, 3, 1, history{b, draw('c', 7, 10, 11)}},
		{"numbers of another object", history{a, on(1, draw('b', 6, 6, 9))}, Holds, 2, 0, nil},
	})
}

func TestTotal(t *testing.T) {
	a, b := draw('a', 1, 0, 5), draw('b', 2, 6, 9)
	maybe := with(metrics.InDoubt, draw('c', 0, 6, 9))
	judge(t, Total(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nothing was counted", history{saying(0)}, Unknown, 0, 0, nil},
		{"nobody looked", history{a, b}, Unknown, 2, 0, nil},
		{"a failed look is no look", history{a, with(metrics.Failed, saying(7))}, Unknown, 1, 0, nil},
		{"all are there", history{a, b, saying(2)}, Holds, 2, 0, nil},
		{"one is lost", history{a, b, saying(1)}, Violated, 2, 1, history{b, saying(1)}},
		{"one too many", history{a, b, saying(3)}, Violated, 2, 1, history{b, saying(3)}},
		{"one too many, explained by a draw in doubt", history{a, b, maybe, saying(3)}, Holds, 2, 0, nil},
		{"a draw in doubt that was not applied", history{a, b, maybe, saying(2)}, Holds, 2, 0, nil},
		{"a draw in doubt explains no more than one", history{a, b, maybe, saying(4)}, Violated, 2, 1, history{b, saying(4)}},
		{"a failed draw was not applied", history{a, with(metrics.Failed, b), saying(2)}, Violated, 1, 1, history{a, saying(2)}},
		{"a total where nothing was counted", history{with(metrics.Failed, a), saying(1)}, Violated, 0, 1, history{saying(1)}},
		{"another object has another total", history{a, b, saying(2), on(1, a), on(1, saying(2))}, Violated, 3, 1,
			history{on(1, a), on(1, saying(2))}},
	})
}
