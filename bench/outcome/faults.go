package outcome

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// faultResults returns the effects of the cell's faults; back holds, for each injected fault, when the clients that it had cut off were back.
func (c *Cell) faultResults() (out []results.Fault, back [][]time.Duration) {
	end := cmp.Or(c.LoadEnd, c.Steady.To)
	injected := append(c.Faults.Injected(), c.LostLeaders...)
	slices.SortStableFunc(injected, func(a, b faults.Fault) int { return cmp.Compare(a.At, b.At) })
	var windows []window
	done, stop := newSuccesses(c.History.All(), workloads.Ops(c.Work))
	defer stop()
	for i, f := range injected {
		next, cut := end, end
		if i+1 < len(injected) {
			next, cut = injected[i+1].At, injected[i+1].Begun
		}
		before := max(c.Steady.From, f.At-beforeFault)
		if i > 0 {
			before = max(before, injected[i-1].At)
		}
		successes := done.window(before, max(next, f.At))
		r := results.Fault{Kind: f.Kind, Target: f.Target, AtS: (f.At - c.Steady.From).Seconds(), Strikes: f.Times,
			NextGrant: untilNext(successes, f.At, next), LongestPause: longestPause(successes, f.At, next),
			PauseBefore: longestPause(successes, before, f.At), ThroughputBefore: perSecond(successes, before, f.At),
			ThroughputAfter: lowest(successes, f.At, next)}
		if f.Holder != nil {
			of := map[uint32][]time.Duration{uint32(f.Holder.Object): successes[uint32(f.Holder.Object)]}
			r.Object, r.LockFree = &f.Holder.Object, untilNext(of, f.At, next)
		}
		if f.Unplanned != nil {
			least, most := f.Unplanned.Lasted(c.Origin.Time(end))
			r.NextGrant = untilNext(successes, c.Origin.At(f.Unplanned.Noticed), next)
			r.Unplanned, r.LeaderlessMinS, r.LeaderlessMaxS = true, &least, &most
		}
		r.Restarts = restartsOf(f, c.Steady.From)
		if f.Recovered {
			r.HealedS = new((f.RecoveredAt - c.Steady.From).Seconds())
		}
		if c.Merged != nil {
			c.Merged.sessionsOf(out, &r)
		} else {
			back = append(back, c.sessionsOf(injected, i, cut, &r))
		}
		r.Storm = stormOf(f)
		if until := lasted(f, cut, r); until > 0 {
			windows = append(windows, window{len(out), max(before, f.Begun-beforeFault), f.Begun, until})
		}
		r.Error = f.Problem()
		out = append(out, r)
	}
	c.bystanders(windows, out)
	for _, f := range c.Faults.All() {
		if f.Err == nil && (f.Injected || c.Interrupted) {
			continue
		}
		out = append(out, results.Fault{Kind: f.Kind, Target: f.Target, AtS: f.PlannedFault.At.Seconds(),
			Error: cmp.Or(f.Problem(), "not injected: the load was over")})
	}
	return out, back
}

// sessionsOf adds to r what happened to the sessions of this process, and to the connections that the fault cut, after the i-th injected fault and up to an
// offset. A session that a fault ended is that fault's loss, however late its client learns of it; any other loss is that of the last fault before it. It returns when the clients that were cut off were back.
func (c *Cell) sessionsOf(injected []faults.Fault, i int, cut time.Duration, r *results.Fault) (back []time.Duration) {
	f, after, until := injected[i], c.EndPlaces, Never // a loss may be detected during the drain
	if i+1 < len(injected) {
		after, until = injected[i+1].Places, injected[i+1].At
	}
	r.SessionsMoved = moved(f.Places, after)
	for _, l := range c.Losses {
		ended := slices.IndexFunc(injected, func(f faults.Fault) bool { return f.Ended == l.ID })
		if ended == i || ended < 0 && l.At >= f.At && l.At < until {
			r.SessionsExpired, r.Orphans = r.SessionsExpired+1, r.Orphans+c.Orphans[l.ID]
		}
	}
	back = c.Links.storm(f.Begun, f.Skew, cut, r)
	if r.SessionsCut == nil || *r.SessionsCut == 0 || f.Unplanned != nil {
		return back
	}
	all := Never
	if r.BackAll != nil {
		all = f.Begun + time.Duration(*r.BackAll*float64(time.Millisecond))
	}
	r.Reconnecting = spent(c.Accounts, f.Begun-f.Skew, all)
	return back
}

// Never is an offset later than any cell.
const Never = time.Duration(1 << 61)

// restartsOf returns the servers that a rolling restart or upgrade has restarted; from is the start of the steady phase.
func restartsOf(f faults.Fault, from time.Duration) (all []results.Restart) {
	for _, step := range f.Steps {
		r := results.Restart{Server: step.Server, Leader: step.Leader, AtS: (step.Down - from).Seconds(), ZooKeeper: step.ZooKeeper}
		if step.Up > 0 {
			r.HealedS = new((step.Up - from).Seconds())
		}
		all = append(all, r)
	}
	return all
}

// beforeFault is the time before a fault that shows the usual behaviour.
const beforeFault = 5 * time.Second

// successes holds the times at which operations succeeded, by object and in order, in a window that moves forward in time. For each object, it also keeps the
// last success before the window.
type successes struct {
	ends map[uint32][]time.Duration
	next func() (metrics.Sample, bool)
	head metrics.Sample // read, but not yet in the window
	more bool
}

// newSuccesses starts before the first success. The caller calls stop.
func newSuccesses(history iter.Seq[metrics.Sample], ops []metrics.Op) (s *successes, stop func()) {
	s = &successes{ends: map[uint32][]time.Duration{}}
	done := func(yield func(metrics.Sample) bool) {
		for m := range history {
			if m.Outcome == metrics.OK && slices.Contains(ops, m.Op) && !yield(m) {
				return
			}
		}
	}
	for m := range done { // so that an object whose first success comes later is known to have none before
		s.ends[m.Object] = nil
	}
	s.next, stop = iter.Pull(done)
	s.head, s.more = s.next()
	return s, stop
}

// window returns the successes in [from, to). Neither offset may be earlier than in the previous call.
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

// inside returns the part of sorted offsets in [from, to).
func inside(ends []time.Duration, from, to time.Duration) []time.Duration {
	low, _ := slices.BinarySearch(ends, from)
	high, _ := slices.BinarySearch(ends, to)
	return ends[low:max(low, high)]
}

// untilNext returns the milliseconds from an offset to the first success of any object before another offset; nil if there is none.
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
	return new(Millis(first - from))
}

// longestPause returns the longest time, in milliseconds, that one object had no success between two offsets. A pause that started before the first offset
// counts in full; one that the second offset cuts was at least that long. Objects that never had a success do not count. It returns nil if no object had one,
// or if there is no time between the offsets.
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
	return new(Millis(longest))
}

// perSecond returns the rate of successes between two offsets; nil for less than half a second.
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

// lowest returns the smallest number of successes in any second between two offsets, in steps of a tenth of a second; nil for less than a second.
func lowest(successes map[uint32][]time.Duration, from, to time.Duration) *float64 {
	var least *float64
	for ; from+time.Second <= to; from += time.Second / 10 {
		if rate := perSecond(successes, from, from+time.Second); least == nil || *rate < *least {
			least = rate
		}
	}
	return least
}

// moved returns how many sessions moved from one server to another; nil if no session reports its server.
func moved(before, after []faults.Place) *int {
	known, n := false, 0
	for i := range min(len(before), len(after)) {
		b, a := before[i], after[i]
		known = known || b.Server != "" || a.Server != ""
		if b.ID == a.ID && b.Server != "" && a.Server != "" && b.Server != a.Server {
			n++
		}
	}
	if !known {
		return nil
	}
	return &n
}
