package check

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// madeAt returns a change by a transaction that was acknowledged 1 ms after its issue. await returns the wait for an event of a watch that was armed in the
// state of a transaction.
func madeAt(zxid int64, at time.Duration) metrics.Sample {
	return metrics.Sample{Op: metrics.Change, Value: zxid, Token: zxid, Due: at, Start: at, End: at + ms}
}

func await(o metrics.Outcome, armed, zxid, value int64, from, to time.Duration) metrics.Sample {
	return metrics.Sample{Op: metrics.Await, Outcome: o, Session: 1, Token: armed, Zxid: zxid, Value: value, Due: from, Start: from, End: to}
}

func TestNotifications(t *testing.T) {
	const ok, lost, cut, late = metrics.OK, metrics.Lost, metrics.Unfinished, metrics.Timeout
	const end = 10 * time.Second
	changes := []metrics.Sample{madeAt(10, 10*ms), madeAt(20, 20*ms), madeAt(30, 30*ms)}
	doubt := madeAt(0, 15*ms)
	doubt.Value, doubt.Outcome = 4, metrics.InDoubt
	fault := metrics.Sample{Op: metrics.Fault, Start: 0, End: end}
	for _, tc := range []struct {
		name   string
		once   bool
		want   Account
		answer Answer
		also   []metrics.Sample
		waits  []metrics.Sample
	}{
		{"each event comes, with the zxid of its change", true, Account{Due: 3, Delivered: 3}, Holds, nil, []metrics.Sample{
			await(ok, 5, 10, 0, 0, 11*ms), await(ok, 10, 20, 0, 12*ms, 21*ms), await(ok, 20, 30, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"each event comes, without a zxid", true, Account{Due: 3, Delivered: 3}, Holds, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(ok, 10, 0, 0, 12*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"one read sees two changes", true, Account{Due: 3, Delivered: 2, Coalesced: 1}, Holds, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"a persistent watch is rearmed for no reason, and a change is skipped", false, Account{Due: 3, Delivered: 2, Lost: 1}, Violated, nil,
			[]metrics.Sample{await(ok, 5, 0, 0, 0, 11*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"the event of the last change has not come", true, Account{Due: 3, Delivered: 2, Lost: 1}, Violated, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(ok, 10, 0, 0, 12*ms, 21*ms), await(cut, 20, 0, 0, 22*ms, end)}},
		{"a wait for an event ends, and the watch is rearmed", true, Account{Due: 3, Delivered: 1, Coalesced: 1, Lost: 1}, Violated,
			[]metrics.Sample{fault}, []metrics.Sample{await(late, 5, 0, 0, 0, 25*ms), await(ok, 20, 0, 0, 26*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"it comes after the watch was rearmed", true, Account{Due: 3, Delivered: 3}, Holds, nil, []metrics.Sample{
			await(late, 5, 0, 0, 0, 15*ms), await(ok, 10, 20, 0, 16*ms, 21*ms), await(ok, 20, 10, 0, 22*ms, 23*ms), await(ok, 23, 30, 0, 24*ms, 31*ms),
			await(cut, 30, 0, 0, 32*ms, end)}},
		{"it comes when the watcher was about to rearm the watch", true, Account{Due: 3, Delivered: 3}, Holds, nil, []metrics.Sample{
			await(late, 5, 0, 2, 0, 15*ms), await(ok, 10, 0, 0, 16*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"it comes twice after all", true, Account{Due: 3, Delivered: 3, Duplicated: 1}, Violated, nil, []metrics.Sample{
			await(late, 5, 0, 4, 0, 15*ms), await(ok, 10, 0, 0, 16*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"the wait ends, and the connection had been lost", true, Account{Due: 3, Delivered: 2, Missed: 1}, Holds, nil, []metrics.Sample{
			await(late, 5, 0, 1, 0, 15*ms), await(ok, 10, 0, 0, 16*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"it may still come", true, Account{Due: 3, Delivered: 2, Undecided: 1}, Holds, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(ok, 10, 0, 0, 12*ms, 21*ms), await(cut, 20, 0, 0, 22*ms, 40*ms)}},
		{"it is late because of a fault", true, Account{Due: 3, Delivered: 2, Undecided: 1}, Holds, []metrics.Sample{fault}, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(ok, 10, 0, 0, 12*ms, 21*ms), await(cut, 20, 0, 0, 22*ms, end)}},
		{"the session of a watcher is lost before its event", true, Account{Due: 3, Delivered: 2, Missed: 1}, Holds, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(lost, 10, 0, 1, 12*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"an event before any change", true, Account{Due: 3, Delivered: 3, Duplicated: 1}, Violated, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 5*ms), await(ok, 5, 0, 0, 6*ms, 11*ms), await(ok, 10, 0, 0, 12*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms),
			await(cut, 30, 0, 0, 32*ms, end)}},
		{"two extra events without a watch", true, Account{Due: 3, Delivered: 3, Duplicated: 2}, Violated, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(ok, 10, 0, 4, 12*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"a persistent watch reports one change twice, with its zxid", false, Account{Due: 3, Delivered: 3, Duplicated: 1}, Violated, nil, []metrics.Sample{
			await(ok, 5, 10, 0, 0, 11*ms), await(ok, 5, 10, 0, 11*ms, 12*ms), await(ok, 5, 20, 0, 12*ms, 21*ms), await(ok, 5, 30, 0, 21*ms, 31*ms),
			await(cut, 5, 0, 0, 31*ms, end)}},
		{"a persistent watch skips a change, by the zxids", false, Account{Due: 3, Delivered: 2, Lost: 1}, Violated, nil, []metrics.Sample{
			await(ok, 5, 10, 0, 0, 11*ms), await(ok, 5, 30, 0, 12*ms, 31*ms), await(cut, 5, 0, 0, 31*ms, 40*ms)}},
		{"a persistent watch misses changes without a connection", false, Account{Due: 3, Delivered: 2, Missed: 1}, Holds, nil, []metrics.Sample{
			await(ok, 5, 0, 0, 0, 11*ms), await(lost, 5, 0, 1, 11*ms, 21*ms), await(lost, 5, 0, 1, 21*ms, 22*ms), await(ok, 20, 0, 0, 22*ms, 31*ms),
			await(cut, 20, 0, 0, 31*ms, end)}},
		{"the second of two events comes before the state is read", false, Account{Due: 3, Delivered: 2, Missed: 1}, Holds, nil, []metrics.Sample{
			await(lost, 5, 0, 1, 0, 21*ms), await(ok, 5, 0, 1, 21*ms, 22*ms), await(lost, 5, 0, 1, 22*ms, 23*ms), await(ok, 20, 0, 0, 23*ms, 31*ms),
			await(cut, 20, 0, 0, 31*ms, end)}},
		{"a third event for two changes", false, Account{Due: 3, Delivered: 3, Duplicated: 1}, Violated, nil, []metrics.Sample{
			await(lost, 5, 0, 1, 0, 21*ms), await(ok, 5, 0, 1, 21*ms, 22*ms), await(ok, 5, 0, 1, 22*ms, 22*ms), await(ok, 5, 0, 1, 22*ms, 22*ms),
			await(lost, 5, 0, 1, 22*ms, 23*ms), await(ok, 20, 0, 0, 23*ms, 31*ms), await(cut, 20, 0, 0, 31*ms, end)}},
		{"an event of a change in doubt", true, Account{Due: 3, Delivered: 3}, Holds, []metrics.Sample{doubt}, []metrics.Sample{
			await(ok, 5, 10, 0, 0, 11*ms), await(ok, 10, 15, 0, 12*ms, 16*ms), await(ok, 15, 20, 0, 17*ms, 21*ms), await(ok, 20, 30, 0, 22*ms, 31*ms),
			await(cut, 30, 0, 0, 32*ms, end)}},
		{"the state in which a watch was armed is unknown", true, Account{Due: 2, Delivered: 2}, Holds, nil, []metrics.Sample{
			await(ok, 0, 0, 0, 0, 11*ms), await(ok, 10, 0, 0, 12*ms, 21*ms), await(ok, 20, 0, 0, 22*ms, 31*ms), await(cut, 30, 0, 0, 32*ms, end)}},
		{"a watch that was armed after all changes", true, Account{}, Unknown, nil, []metrics.Sample{await(cut, 30, 0, 0, 32*ms, end)}},
	} {
		h := slices.Concat(changes, tc.also, tc.waits)
		tc.want.Watchers, tc.want.Changes = 1, 3
		v := Notifications(tc.once, time.Second).Judge(slices.Values(h), nil)
		if got := AccountOf(slices.Values(h), tc.once, time.Second); got != tc.want || v.Answer != tc.answer {
			t.Errorf("%s: %+v, %v (%s), want %+v, %v", tc.name, got, v.Answer, v.Detail, tc.want, tc.answer)
		}
		if v.Count != tc.want.Lost+tc.want.Duplicated || (v.Answer == Violated) != (len(v.Witness) > 0) {
			t.Errorf("%s: %d times, with counterexample %v, want %d", tc.name, v.Count, v.Witness, tc.want.Lost+tc.want.Duplicated)
		}
		if v.Answer != Unknown && v.Evidence != tc.want.Delivered {
			t.Errorf("%s: evidence %d, want %d", tc.name, v.Evidence, tc.want.Delivered)
		}
	}
}

// How late an event may be follows from the history's measurements and the number of watchers.
func TestNotificationsAreOverdueByMeasuredBounds(t *testing.T) {
	for watchers, want := range map[int]Answer{1: Violated, 1000: Holds} {
		h := []metrics.Sample{{Op: metrics.Bound, End: 10 * ms}, madeAt(10, 10*ms)}
		for i := range watchers {
			w := await(metrics.OK, 5, 0, 0, 0, 12*ms)
			w.Session = uint32(2 + i)
			h = append(h, w)
		}
		h = append(h, await(metrics.Unfinished, 5, 0, 0, 0, 45*ms)) // 34 ms after the reply
		if v := Notifications(true, time.Minute).Judge(slices.Values(h), nil); v.Answer != want {
			t.Errorf("with %d watchers it is %v (%s), want %v", watchers, v.Answer, v.Detail, want)
		}
	}
}
