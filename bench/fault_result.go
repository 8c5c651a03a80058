package bench

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// faultResults is what came of the faults of the cell.
func (c *cell) faultResults() []results.Fault {
	steady := *c.steady.Load()
	end := cmp.Or(c.offered, steady.to)
	injected := append(c.faults.Injected(), c.lostLeaders()...)
	slices.SortStableFunc(injected, func(a, b faults.Fault) int { return cmp.Compare(a.At, b.At) })
	var out []results.Fault
	var windows []window
	done, stop := newSuccesses(c.history.All(), workloads.Ops(c.work))
	defer stop()
	for i, f := range injected {
		next, after, until := end, c.ending, never // a loss may be noticed in the drain
		if i+1 < len(injected) {
			next, after, until = injected[i+1].At, injected[i+1].Places, injected[i+1].At
		}
		before := max(steady.from, f.At-beforeFault)
		if i > 0 {
			before = max(before, injected[i-1].At)
		}
		successes := done.window(before, max(next, f.At))
		r := results.Fault{Kind: f.Kind, Target: f.Target, AtS: (f.At - steady.from).Seconds(), Strikes: f.Times,
			NextGrant: untilNext(successes, f.At, next), LongestPause: longestPause(successes, f.At, next),
			PauseBefore: longestPause(successes, before, f.At), ThroughputBefore: perSecond(successes, before, f.At),
			ThroughputAfter: lowest(successes, f.At, next)}
		if f.Holder != nil {
			of := map[uint32][]time.Duration{uint32(f.Holder.Object): successes[uint32(f.Holder.Object)]}
			r.Object, r.LockFree = &f.Holder.Object, untilNext(of, f.At, next)
		}
		if f.Unplanned != nil {
			least, most := f.Unplanned.Lasted(c.origin.Time(end))
			r.NextGrant = untilNext(successes, c.origin.At(f.Unplanned.Noticed), next)
			r.Unplanned, r.LeaderlessMinS, r.LeaderlessMaxS = true, &least, &most
		}
		r.Restarts = restartsOf(f, steady.from)
		if f.Recovered {
			r.HealedS = new((f.RecoveredAt - steady.from).Seconds())
		}
		cut := end
		if i+1 < len(injected) {
			cut = injected[i+1].Begun
		}
		if c.merged != nil {
			c.merged.ofSessions(out, &r)
		} else {
			r.SessionsMoved, r.SessionsExpired, r.Orphans = moved(f.Places, after), len(c.clients.lossesBetween(f.At, until)), c.orphansOf(f.At, until)
			c.reconnected(f, cut, &r)
		}
		r.Storm = stormOf(f)
		if until := lasted(f, cut, r); until > 0 {
			windows = append(windows, window{len(out), max(before, f.Begun-beforeFault), f.Begun, until})
		}
		r.Error = f.Problem()
		out = append(out, r)
	}
	c.bystanders(windows, out)
	for _, f := range c.faults.All() {
		if f.Err == nil && (f.Injected || c.cut) {
			continue
		}
		out = append(out, results.Fault{Kind: f.Kind, Target: f.Target, AtS: f.PlannedFault.At.Seconds(),
			Error: cmp.Or(f.Problem(), "not injected: the load was over")})
	}
	return out
}

// reconnected is what came of the connections that a fault cut, up to an offset.
func (c *cell) reconnected(f faults.Fault, cut time.Duration, r *results.Fault) {
	c.found.back = append(c.found.back, c.clients.links.storm(f.Begun, f.Skew, cut, r))
	if r.SessionsCut == nil || *r.SessionsCut == 0 || f.Unplanned != nil {
		return
	}
	all := never
	if r.BackAll != nil {
		all = f.Begun + time.Duration(*r.BackAll*float64(time.Millisecond))
	}
	r.Reconnecting = c.accounts.spent(f.Begun-f.Skew, all)
}

// restartsOf are the servers that a rolling restart has restarted; from is the start of the steady phase.
func restartsOf(f faults.Fault, from time.Duration) (all []results.Restart) {
	for _, step := range f.Steps {
		r := results.Restart{Server: step.Server, Leader: step.Leader, AtS: (step.Down - from).Seconds()}
		if step.Up > 0 {
			r.HealedS = new((step.Up - from).Seconds())
		}
		all = append(all, r)
	}
	return all
}

// beforeFault is how long before a fault what was usual is taken from.
const beforeFault = 5 * time.Second

// successes are the ends of what a workload did, by object and in order, in a window that moves on in time. Before the window each object
// has the last one.
type successes struct {
	ends map[uint32][]time.Duration
	next func() (metrics.Sample, bool)
	head metrics.Sample // read, and not in the window
	more bool
}

// newSuccesses begins before all. The caller calls stop.
func newSuccesses(history iter.Seq[metrics.Sample], ops []metrics.Op) (s *successes, stop func()) {
	s = &successes{ends: map[uint32][]time.Duration{}}
	done := func(yield func(metrics.Sample) bool) {
		for m := range history {
			if m.Outcome == metrics.OK && slices.Contains(ops, m.Op) && !yield(m) {
				return
			}
		}
	}
	for m := range done { // an object that has its first one later has none before
		s.ends[m.Object] = nil
	}
	s.next, stop = iter.Pull(done)
	s.head, s.more = s.next()
	return s, stop
}

// window is the successes from an offset on and before another. Neither may be earlier than the last time.
func (s *successes) window(from, to time.Duration) map[uint32][]time.Duration {
	for ; s.more && s.head.End < to; s.head, s.more = s.next() {
		s.ends[s.head.Object] = append(s.ends[s.head.Object], s.head.End)
	}
	for object, ends := range s.ends {
		if i, _ := slices.BinarySearch(ends, from); i > 1 {
			s.ends[object] = slices.Clone(ends[i-1:])
		}
	}
	return s.ends
}

// inside is the part of ordered offsets that is from an offset on and before another.
func inside(ends []time.Duration, from, to time.Duration) []time.Duration {
	low, _ := slices.BinarySearch(ends, from)
	high, _ := slices.BinarySearch(ends, to)
	return ends[low:max(low, high)]
}

// untilNext is the milliseconds from an offset to the first success of whatever object; nil if there is none before another offset.
func untilNext(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	first := to
	for _, ends := range successes {
		if some := inside(ends, from, to); len(some) > 0 {
			first = min(first, some[0])
		}
	}
	if first == to {
		return nil
	}
	return millis(first - from)
}

// longestPause is the longest time, in milliseconds, that one object was without a success between two offsets. A pause that had begun
// before the first counts whole, one that the second cuts was at least as long. Objects that never had a success do not count; nil if
// none had, or there is no time between the offsets.
func longestPause(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	if to <= from || len(successes) == 0 {
		return nil
	}
	longest := time.Duration(0)
	for _, ends := range successes {
		last := from
		if i, _ := slices.BinarySearch(ends, from); i > 0 {
			last = ends[i-1]
		}
		for _, end := range inside(ends, from, to) {
			longest, last = max(longest, end-last), end
		}
		longest = max(longest, to-last)
	}
	return millis(longest)
}

// perSecond is the rate of the successes between two offsets; nil for less than half a second.
func perSecond(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	if to-from < time.Second/2 {
		return nil
	}
	n := 0
	for _, ends := range successes {
		n += len(inside(ends, from, to))
	}
	return new(float64(n) / (to - from).Seconds())
}

// lowest is the smallest number of successes in a second between two offsets, a second beginning every tenth of one; nil for less than
// a second.
func lowest(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	var least *float64
	for ; from+time.Second <= to; from += time.Second / 10 {
		if rate := perSecond(successes, from, from+time.Second); least == nil || *rate < *least {
			least = rate
		}
	}
	return least
}

func millis(d time.Duration) *float64 { return new(inMillis(d)) }

// moved is how many sessions were at one server and are at another; nil when nobody tells.
func moved(before, after []faults.Place) *int {
	told, n := false, 0
	for i := range min(len(before), len(after)) {
		b, a := before[i], after[i]
		told = told || b.Server != "" || a.Server != ""
		if b.ID == a.ID && b.Server != "" && a.Server != "" && b.Server != a.Server {
			n++
		}
	}
	if !told {
		return nil
	}
	return &n
}

// orphansOf is how many of the znodes that were left belong to sessions that were lost between two offsets.
func (c *cell) orphansOf(from, to time.Duration) int {
	n := 0
	for _, l := range c.clients.lossesBetween(from, to) {
		n += c.orphans[l.id]
	}
	return n
}

// findOrphans counts the ephemeral znodes that are left below the cell's, by the session that they belong to. All sessions have closed.
func (c *cell) findOrphans(ctx context.Context) error {
	return c.admin(ctx, func(s zk.Session) error {
		c.orphans = map[int64]int{}
		return zk.Ephemerals(ctx, s, c.dir(c.number), nil, func(st zk.Stat) { c.orphans[st.EphemeralOwner]++ })
	})
}
