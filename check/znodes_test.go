package check

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// asked is a session's request about a znode, from one offset to another, with the state (the last zxid) of its reply.
func asked(op metrics.Op, session, object uint32, from, to time.Duration, token, state int64, version int32) metrics.Sample {
	return metrics.Sample{Op: op, Session: session, Object: object, Due: from, Start: from, End: to, Token: token, Zxid: state, Value: Seen(0, version)}
}

func TestRequestsOfZnodes(t *testing.T) {
	const get, set, sync = metrics.GetData, metrics.SetData, metrics.Sync
	write := func(session, object uint32, from time.Duration, token int64, version int32) metrics.Sample {
		return asked(set, session, object, from, from+ms, token, token, version)
	}
	doubtful := write(3, 1, 1*ms, 0, -1)
	doubtful.Outcome = metrics.InDoubt
	fresh := asked(get, 1, 1, 30*ms, 31*ms, 7, 30, 0)
	fresh.Value = Seen(1, 0)
	tally := asked(metrics.Tally, 0, 1, 90*ms, 90*ms, 10, 90, 1)
	after := func(s metrics.Sample, zxid int64) metrics.Sample { s.Zxid = zxid; return s }
	for _, tc := range []struct {
		name    string
		check   Check
		answer  Answer
		count   int
		history []metrics.Sample
	}{
		{"writes come one after the other", WriteOrder(), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), write(2, 1, 2*ms, 20, 2), write(1, 2, 4*ms, 30, 1)}},
		{"two at once, in either order", WriteOrder(), Holds, 0, []metrics.Sample{write(1, 1, 0, 20, 2), write(2, 1, 0, 10, 1)}},
		{"a write in doubt explains an unknown version", WriteOrder(), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), doubtful, write(2, 1, 4*ms, 30, 3)}},
		{"one does not explain two", WriteOrder(), Violated, 1, []metrics.Sample{write(1, 1, 0, 10, 1), doubtful, write(2, 1, 4*ms, 30, 4)}},
		{"a later write to another znode has an earlier transaction", WriteOrder(), Violated, 1, []metrics.Sample{write(1, 1, 0, 20, 1), write(2, 2, 2*ms, 10, 1)}},
		{"two writes return the same version: one is lost", WriteOrder(), Violated, 1, []metrics.Sample{write(1, 1, 0, 10, 1), write(2, 1, 2*ms, 20, 1)}},
		{"a version is missing", WriteOrder(), Violated, 1, []metrics.Sample{write(1, 1, 0, 10, 1), write(2, 1, 2*ms, 20, 3)}},
		{"nothing is written", WriteOrder(), Unknown, 0, []metrics.Sample{asked(get, 1, 1, 0, ms, 5, 5, 0)}},

		{"a session sees an old state, then a new one", SessionOrder(), Holds, 0, []metrics.Sample{asked(get, 1, 1, 0, ms, 5, 9, 0), asked(get, 1, 1, 2*ms, 3*ms, 10, 12, 1)}},
		{"its next session may see an old state again", SessionOrder(), Holds, 0, []metrics.Sample{asked(get, 1, 1, 0, ms, 10, 20, 1), asked(get, 1, 1, 2*ms, 3*ms, 10, 20, 1), fresh}},
		{"two requests at once may be answered in either order", SessionOrder(), Unknown, 0, []metrics.Sample{asked(get, 1, 1, 0, 3*ms, 5, 9, 0), asked(get, 1, 1, 0, 2*ms, 10, 12, 1)}},
		{"its server goes back", SessionOrder(), Violated, 1, []metrics.Sample{asked(get, 1, 1, 0, ms, 5, 12, 0), asked(get, 1, 2, 2*ms, 3*ms, 5, 9, 0)}},
		{"it does not see its own write", SessionOrder(), Violated, 2, []metrics.Sample{write(1, 1, 0, 10, 1), asked(get, 1, 1, 2*ms, 3*ms, 5, 9, 0)}},
		{"a znode goes back while the state does not", SessionOrder(), Violated, 1, []metrics.Sample{asked(get, 1, 1, 0, ms, 10, 12, 1), asked(get, 1, 1, 2*ms, 3*ms, 5, 13, 0)}},

		{"another session reads the old version, in the state before the write", NoLostWrites(), Unknown, 0, []metrics.Sample{write(1, 1, 0, 10, 1), asked(get, 2, 1, 2*ms, 3*ms, 5, 9, 0)}},
		{"it reads the write", NoLostWrites(), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), asked(get, 2, 1, 2*ms, 3*ms, 10, 10, 1)}},
		{"it reads the old version, in the state after the write", NoLostWrites(), Violated, 1, []metrics.Sample{write(1, 1, 0, 10, 1), asked(get, 2, 1, 2*ms, 3*ms, 5, 10, 0)}},
		{"it has called sync, and reads the write", NoLostWrites(), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), asked(sync, 2, 9, 2*ms, 3*ms, 10, 10, -1),
			asked(get, 2, 1, 4*ms, 5*ms, 10, 10, 1)}},
		{"it has called sync, and is answered in an older state", NoLostWrites(), Violated, 2, []metrics.Sample{write(1, 1, 0, 10, 1), asked(sync, 2, 9, 2*ms, 3*ms, 0, 0, -1),
			asked(get, 2, 1, 4*ms, 5*ms, 5, 9, 0)}},
		{"the leader answered its sync, which proves nothing", NoLostWrites(), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), asked(get, 3, 1, 2*ms, 3*ms, 10, 10, 1),
			asked(sync, 2, 9, 2*ms, 3*ms, 9, 9, AtLeader), asked(get, 2, 1, 4*ms, 5*ms, 5, 9, 0)}},
		{"the sync started before the write had ended", NoLostWrites(), Unknown, 0, []metrics.Sample{write(1, 1, 2*ms, 10, 1), asked(sync, 2, 9, 2*ms, 4*ms, 9, 9, -1),
			asked(get, 2, 1, 4*ms, 5*ms, 5, 9, 0)}},
		{"another session called sync", NoLostWrites(), Unknown, 0, []metrics.Sample{write(1, 1, 0, 10, 1), asked(sync, 3, 9, 2*ms, 3*ms, 10, 10, -1),
			asked(get, 2, 1, 4*ms, 5*ms, 5, 9, 0)}},
		{"an engine without states", NoLostWrites(), Violated, 1, []metrics.Sample{after(write(1, 1, 0, 10, 1), 0), asked(sync, 2, 9, 2*ms, 3*ms, 0, 0, -1),
			asked(get, 2, 1, 4*ms, 5*ms, 5, 0, 0)}},
		{"the last write is there after the run", NoLostWrites(), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), tally}},
		{"the last write is missing after the run", NoLostWrites(), Violated, 2, []metrics.Sample{write(1, 1, 0, 10, 1), write(1, 1, 2*ms, 20, 2), tally}},

		{"writes and synced reads have an order", LinearizableZnodes(time.Minute), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), asked(sync, 2, 9, 2*ms, 3*ms, 0, 0, -1),
			asked(get, 2, 1, 4*ms, 5*ms, 10, 0, 1), write(1, 1, 6*ms, 20, 2)}},
		{"a read after a sync misses a write", LinearizableZnodes(time.Minute), Violated, 1, []metrics.Sample{write(1, 1, 0, 10, 1), asked(sync, 2, 9, 2*ms, 3*ms, 0, 0, -1),
			asked(get, 2, 1, 4*ms, 5*ms, 5, 0, 0)}},
		{"a read after a sync that the leader answered misses a write", LinearizableZnodes(time.Minute), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1),
			asked(sync, 2, 9, 2*ms, 3*ms, 0, 0, AtLeader), asked(get, 2, 1, 4*ms, 5*ms, 5, 0, 0)}},
		{"a duplicate version", LinearizableZnodes(time.Minute), Violated, 1, []metrics.Sample{write(1, 1, 0, 10, 1), write(2, 1, 2*ms, 20, 1)}},
		{"a write in doubt was applied", LinearizableZnodes(time.Minute), Holds, 0, []metrics.Sample{write(1, 1, 0, 10, 1), doubtful, write(2, 1, 4*ms, 30, 3)}},
	} {
		h := slices.Clone(tc.history)
		slices.SortStableFunc(h, inTime)
		v := tc.check.Judge(slices.Values(h), nil)
		if v.Answer != tc.answer || v.Count != tc.count || v.Answer == Violated && (len(v.Witness) == 0 || v.Detail == "") {
			t.Errorf("%s, %s: %+v, want %v, %d", tc.check.Name, tc.name, v, tc.answer, tc.count)
		}
	}
}

// A znode with too many writes is judged by a sample: writes outside it may have happened or not.
func TestAZnodeWithManyWritesIsSampled(t *testing.T) {
	var h []metrics.Sample
	for i := range int64(3 * sampledEach) {
		at := time.Duration(i) * ms
		h = append(h, asked(metrics.SetData, 1, 1, at, at+3*ms/2, i+1, i+1, int32(i+1))) // each overlaps the next
	}
	v := LinearizableZnodes(time.Minute).Judge(slices.Values(h), nil)
	if v.Answer != Holds || v.Evidence < sampledEach || v.Evidence > sampledEach+3 {
		t.Errorf("%+v, want Holds with about %d operations", v, sampledEach)
	}
	h[sampledEach/2].Value = Seen(0, 1)
	if v := LinearizableZnodes(time.Minute).Judge(slices.Values(h), nil); v.Answer != Violated {
		t.Errorf("with a duplicate version: %+v", v)
	}
}
