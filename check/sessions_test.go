package check

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Two sessions never share an id or a password, and none ends before its timeout.
func TestSessionsOwn(t *testing.T) {
	open := func(client uint32, id, password int64, at time.Duration) metrics.Sample {
		return metrics.Sample{Op: metrics.Open, Session: client, Token: id, Value: password, Due: at, Start: at, End: at + ms}
	}
	keep := func(id int64, from, to time.Duration, o metrics.Outcome) metrics.Sample {
		return metrics.Sample{Op: metrics.Keep, Outcome: o, Token: id, Value: int64(4 * time.Second), Due: from, Start: from, End: to}
	}
	failed := open(3, 10, 7, 0)
	failed.Outcome = metrics.Unfinished
	for _, c := range []struct {
		sentence        string
		history         []metrics.Sample
		want            Answer
		evidence, count int
	}{
		{"no history is no evidence", nil, Unknown, 0, 0},
		{"a failed attempt opens no session", []metrics.Sample{failed}, Unknown, 0, 0},
		{"each session has its own", []metrics.Sample{open(0, 10, 7, 0), open(1, 11, 8, 0), open(0, 12, 9, 2*ms), failed}, Holds, 3, 0},
		{"unknown passwords are not equal", []metrics.Sample{open(0, 10, 0, 0), open(1, 11, 0, 0)}, Holds, 2, 0},
		{"an id is given twice", []metrics.Sample{open(0, 10, 7, 0), open(1, 10, 8, ms), open(2, 12, 9, 0)}, Violated, 3, 1},
		{"a password of two servers that started at once", []metrics.Sample{open(0, 1<<56|10, 7, 0), open(1, 2<<56|10, 7, ms)}, Holds, 2, 0},
		{"a password of two servers for different ids", []metrics.Sample{open(0, 1<<56|10, 7, 0), open(1, 2<<56|11, 7, ms)}, Violated, 2, 1},
		{"a password is given three times", []metrics.Sample{open(0, 10, 7, 0), open(1, 11, 7, ms), open(2, 12, 7, 2*ms)}, Violated, 3, 2},
		{"a session idles and lives", []metrics.Sample{open(0, 10, 7, 0), keep(10, 0, time.Second, metrics.OK)}, Holds, 1, 0},
		{"a session expires after its client may have been silent for its timeout", []metrics.Sample{open(0, 10, 7, 0), keep(10, 0, 4*time.Second, metrics.Lost)}, Holds, 1, 0},
		{"a session expires before its timeout can have passed", []metrics.Sample{open(0, 10, 7, 0), keep(10, 0, 4*time.Second-1, metrics.Lost)}, Violated, 1, 1},
	} {
		v := SessionsOwn().Judge(slices.Values(c.history), nil)
		if v.Answer != c.want || v.Evidence != c.evidence || v.Count != c.count || (v.Answer == Violated) != (len(v.Witness) > 0) {
			t.Errorf("%s: %+v, want %v with evidence %d and count %d", c.sentence, v, c.want, c.evidence, c.count)
		}
	}
}
