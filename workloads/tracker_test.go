package workloads

import (
	"testing"
	"time"
	"unsafe"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

func TestCause(t *testing.T) {
	// The cversion counts creates and deletes of children together.
	for _, c := range []struct {
		name    string
		was, is children
		want    metrics.Cause
	}{
		{"nothing changed", children{8, 4}, children{8, 4}, metrics.ByOther},
		{"one came", children{8, 4}, children{9, 5}, metrics.ByArrival},
		{"one went", children{8, 4}, children{9, 3}, metrics.ByRelease},
		{"one came and one went", children{8, 4}, children{10, 4}, metrics.ByBoth},
		{"three came", children{8, 4}, children{11, 7}, metrics.ByArrival},
		{"all went", children{8, 4}, children{12, 0}, metrics.ByRelease},
		{"two came and one went", children{8, 4}, children{11, 5}, metrics.ByBoth},
		{"the first ever", children{}, children{1, 1}, metrics.ByArrival},
		{"the counter wraps", children{1<<31 - 1, 4}, children{-1 << 31, 5}, metrics.ByArrival},
	} {
		if got := cause(c.was, c.is); got != c.want {
			t.Errorf("%s: cause(%+v, %+v) = %v, want %v", c.name, c.was, c.is, got, c.want)
		}
	}
}

func TestPhasesAddUp(t *testing.T) {
	whole := metrics.Sample{Op: metrics.Acquire, Session: 3, Object: 1, Token: 9, Due: 5, Start: 10, End: 100}
	for _, c := range []struct {
		name string
		p    phases
		want map[metrics.Op]time.Duration
	}{
		{"a wait", phases{created: 20, armed: 40, woken: 80, acted: 85},
			map[metrics.Op]time.Duration{metrics.Enqueue: 10, metrics.List: 20, metrics.Wait: 40, metrics.Delivery: 5, metrics.Recheck: 15}},
		{"no wait", phases{created: 20}, map[metrics.Op]time.Duration{metrics.Enqueue: 10, metrics.List: 80}},
		{"a watch armed in vain", phases{created: 20, armed: 40}, map[metrics.Op]time.Duration{metrics.Enqueue: 10, metrics.List: 80}},
		{"an event read before the caller that armed its watch ran", phases{created: 20, armed: 40, woken: 38, acted: 41},
			map[metrics.Op]time.Duration{metrics.Enqueue: 10, metrics.List: 20, metrics.Wait: 0, metrics.Delivery: 1, metrics.Recheck: 59}},
		{"acted on before it was armed, as far as the clocks say", phases{created: 20, armed: 40, woken: 30, acted: 35},
			map[metrics.Op]time.Duration{metrics.Enqueue: 10, metrics.List: 20, metrics.Wait: 0, metrics.Delivery: 0, metrics.Recheck: 60}},
		{"no create of its own", phases{}, map[metrics.Op]time.Duration{metrics.List: 90}},
	} {
		sum, at := time.Duration(0), whole.Start
		got := c.p.samples(whole, nil)
		for _, s := range got {
			if s.Start != at || s.Due != s.Start || s.Session != 3 || s.Object != 1 || s.Token != 9 {
				t.Errorf("%s: %+v does not follow on %v", c.name, s, at)
			}
			if want, ok := c.want[s.Op]; !ok || s.Service() != want {
				t.Errorf("%s: %v took %v, want %v", c.name, s.Op, s.Service(), want)
			}
			sum, at = sum+s.Service(), s.End
		}
		if sum != whole.Service() || len(got) != len(c.want) {
			t.Errorf("%s: %d phases of %v, want %d of %v", c.name, len(got), sum, len(c.want), whole.Service())
		}
	}
}

// Only a create that the servers have answered says when a place was taken. Of two, the first counts, or in an election the second.
func TestTheCreateThatCounts(t *testing.T) {
	origin := metrics.NewOrigin(time.Now())
	create := func(end time.Duration, err error) zk.Call {
		return zk.Call{Kind: zk.KindCreate, End: origin.Time(end), Err: err}
	}
	for _, c := range []struct {
		name  string
		again bool
		calls []zk.Call
		want  time.Duration
	}{
		{"one", false, []zk.Call{create(3, nil)}, 3},
		{"a lost reply says nothing", false, []zk.Call{create(3, zk.ErrMaybeApplied)}, 0},
		{"nor that the parent is missing", false, []zk.Call{create(3, zk.ErrNoNode), create(5, nil)}, 5},
		{"who finds somebody else there has asked", false, []zk.Call{create(3, zk.ErrNodeExists), create(5, nil)}, 3},
		{"a permit after the place", false, []zk.Call{create(3, nil), create(5, nil)}, 3},
		{"a candidate that stands again", true, []zk.Call{create(3, nil), create(5, nil)}, 5},
	} {
		tr := &tracker{meter: meter{origin: origin, fanout: metrics.NewFanout(1).Shard(0)}, again: c.again}
		tr.begin()
		for _, call := range c.calls {
			tr.Ends(&call)
		}
		if got, _ := tr.end(true); got.created != c.want {
			t.Errorf("%s: created at %d, want %d", c.name, got.created, c.want)
		}
	}
}

// No phase counts more events as received, useful or progress than have arrived: not when the steady phase is set after they arrived (a busy
// machine), not when an engine reports an event later than it received it, and not when two watches report one event.
func TestNothingIsCountedOfMoreEventsThanHaveCome(t *testing.T) {
	origin := metrics.NewOrigin(time.Now())
	deleted := func(at time.Duration) zk.Event { return zk.Event{Type: zk.EventDeleted, At: origin.Time(at)} }
	watches := func(path string, at time.Duration) *zk.Call {
		return &zk.Call{Kind: zk.KindExists, Watch: true, Path: path, Start: origin.Time(at), End: origin.Time(at)}
	}
	steady := metrics.Steady{From: 10, To: 20}
	for _, c := range []struct {
		sentence string
		do       func(tr *tracker, set func())
		phase    metrics.Phase
		moved    int64
	}{
		{"the steady phase is set after its first event has come", func(tr *tracker, set func()) {
			tr.Receives(origin.Time(12))
			set()
			tr.Fires(deleted(12))
			tr.Ends(watches("/2", 13))
		}, metrics.InWarmup, 1},
		{"an event of the warm-up is told in the steady phase", func(tr *tracker, set func()) {
			set()
			tr.Receives(origin.Time(9))
			tr.Fires(deleted(11))
			tr.Ends(watches("/2", 13))
		}, metrics.InWarmup, 1},
		{"it lets two in, as far as anybody can tell", func(tr *tracker, set func()) {
			set()
			tr.Receives(origin.Time(12))
			tr.Fires(deleted(12))
			tr.Ends(watches("/2", 13))
			tr.end(true)
			tr.begin()
			tr.Fires(deleted(12))
			tr.Ends(watches("/3", 14))
			tr.end(true)
		}, metrics.InSteady, 1},
		{"two watches tell it, and each gets us further", func(tr *tracker, set func()) {
			set()
			tr.Receives(origin.Time(12))
			tr.Fires(deleted(12))
			tr.Ends(watches("/2", 13))
			tr.Fires(deleted(12))
			tr.Ends(watches("/3", 14))
		}, metrics.InSteady, 1},
		{"one that nobody has received", func(tr *tracker, set func()) {
			set()
			tr.Fires(deleted(12))
			tr.Ends(watches("/2", 13))
		}, metrics.InSteady, 0},
	} {
		f := metrics.NewFanout(1)
		tr := &tracker{meter: meter{origin: origin, fanout: f.Shard(0)}}
		tr.begin()
		tr.Ends(watches("/1", 1))
		c.do(tr, func() { f.SetSteady(steady) })
		tr.end(true)
		for _, p := range []metrics.Phase{metrics.InWarmup, metrics.InSteady, metrics.InDrain} {
			n, want := f.Counts(p), int64(0)
			if p == c.phase {
				want = c.moved
			}
			if n.Moved != want || n.Useful != want || n.Events[metrics.ByRelease] != want || n.AllEvents() != want {
				t.Errorf("%s: phase %d: %+v, want %d of each", c.sentence, p, n, want)
			}
		}
	}
}

// What each request touches starts with a cache line: the allocator gives objects whose size is a multiple of it such addresses.
func TestWholeCacheLines(t *testing.T) {
	for name, size := range map[string]uintptr{"tracker": unsafe.Sizeof(tracker{}), "lockSeat": unsafe.Sizeof(lockSeat{}), "requester": unsafe.Sizeof(requester{})} {
		if unsafe.Sizeof(uintptr(0)) == 8 && size%64 != 0 {
			t.Errorf("%s: %d bytes, want a multiple of 64", name, size)
		}
	}
}
