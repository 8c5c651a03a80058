package check

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// forever is the end of a hold that was never given up.
const forever = time.Duration(math.MaxInt64)

// A span is a time during which a session has something of an object.
type span struct {
	from, to time.Duration
	object   uint32
	shared   bool            // others that are shared may have it too
	begin    *metrics.Sample // what began it
	end      *metrics.Sample // what ended it; nil: nothing did
}

// witness is the samples that show the spans, earliest first.
func witness(spans ...span) []metrics.Sample {
	var w []metrics.Sample
	for _, s := range spans {
		w = append(w, *s.begin)
		if s.end != nil {
			w = append(w, *s.end)
		}
	}
	slices.SortStableFunc(w, func(a, b metrics.Sample) int { return cmp.Compare(a.End, b.End) })
	return w
}

// pairs says which operations begin a span and which end it.
type pairs struct {
	begins, ends func(metrics.Op) bool
	shared       bool // others that are shared may have it too
	lasting      bool // it does not go with the session that began it
}

// locked is the pairs of an exclusive lock. An attempt that does not wait gives the same hold; a refused one is not OK. Of locks that are
// acquired together one has the Acquire and the Release, and each other one a Hold and an Unhold.
var locked = pairs{
	begins: func(o metrics.Op) bool { return o == metrics.Acquire || o == metrics.TryAcquire || o == metrics.Hold },
	ends:   func(o metrics.Op) bool { return o == metrics.Release || o == metrics.Unhold },
}

// spans finds every hold in a history: from the End of a sample that begins one with OK to the Start of the next sample of the
// same session and object that ends one of its kind, whatever its outcome. O(n log n). The order is by object and then by time.
//
// The holder has the object before the End is measured and still has it when Start is: the measured hold lies within the
// true one, so two measured holds that overlap prove that two true ones do, and a hold that begins at the instant at which
// another ends proves nothing. A hold ends where its session was expired on purpose (operation Expire): the client of such a session
// cannot know for a while, which is no fault of the recipe.
func spans(history iter.Seq[metrics.Sample], of ...pairs) []span {
	begins, ends := make([][]metrics.Sample, len(of)), make([][]metrics.Sample, len(of))
	var expired []metrics.Sample
	for s := range history {
		if s.Op == metrics.Expire {
			expired = append(expired, s)
		}
		for i, p := range of {
			switch {
			case p.begins(s.Op) && s.Outcome == metrics.OK:
				begins[i] = append(begins[i], s)
			case p.ends(s.Op):
				ends[i] = append(ends[i], s)
			}
		}
	}
	var all []span
	for i, p := range of {
		some := matched(begins[i], ends[i], p.shared)
		for _, e := range expired {
			if !p.lasting {
				expire(some, e)
			}
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, byTime)
	return all
}

// matched gives each begin its end. The order is that of begins.
func matched(begins, ends []metrics.Sample, shared bool) []span {
	slices.SortFunc(begins, func(a, b metrics.Sample) int { return cmp.Or(bySeat(a, b), cmp.Compare(a.End, b.End)) })
	slices.SortFunc(ends, func(a, b metrics.Sample) int { return cmp.Or(bySeat(a, b), cmp.Compare(a.Start, b.Start)) })

	all := make([]span, 0, len(begins))
	next := 0
	for i, b := range begins {
		for next < len(ends) && cmp.Or(bySeat(ends[next], b), cmp.Compare(ends[next].Start, b.End)) < 0 {
			next++
		}
		s := span{from: b.End, to: forever, object: b.Object, begin: &begins[i], shared: shared}
		if next < len(ends) && bySeat(ends[next], b) == 0 {
			s.end, s.to = &ends[next], ends[next].Start
		}
		all = append(all, s)
	}
	return all
}

// bySeat orders samples by object and session.
func bySeat(a, b metrics.Sample) int {
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Session, b.Session))
}

// byTime orders spans by object, then by time; of two that begin at once the shorter comes first, so that an empty one is
// taken as before the other and not inside it.
func byTime(a, b span) int {
	return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// A rule says whether a span may not begin beside those that are there: so many exclusive and so many shared ones.
type rule func(next span, exclusive, shared int) (forbidden bool)

// alone is the rule of a lock: one holder.
func alone(_ span, exclusive, shared int) bool { return exclusive+shared > 0 }

// A clash is a span that began although the rule forbade it, and one that was there.
type clash struct{ holder, intruder span }

// sweep goes through spans in the order of byTime and judges each against those of its object that are still there when it
// begins. It returns the number of spans that break the rule, and the first of them by time. O(n log n).
func sweep(all []span, forbidden rule) (count int, first clash) {
	ending := make([]int32, len(all)) // by object and end; of those that end at once, first the one that began first
	for i := range ending {
		ending[i] = int32(i)
	}
	slices.SortFunc(ending, func(i, j int32) int {
		a, b := &all[i], &all[j]
		if a.object != b.object {
			return cmp.Compare(a.object, b.object)
		}
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(i, j))
	})
	intruder, gone := -1, 0
	var here [2]int // exclusive, shared
	for i := range all {
		s := &all[i]
		if i > 0 && all[i-1].object != s.object {
			here, gone = [2]int{}, i
		}
		// What ends before s begins is gone; an empty span at that very instant only if it came before s.
		for ; int(ending[gone]) < i && all[ending[gone]].to <= s.from; gone++ {
			here[kind(all[ending[gone]])]--
		}
		if forbidden(*s, here[0], here[1]) {
			if count == 0 || s.from < all[intruder].from {
				intruder = i
			}
			count++
		}
		here[kind(*s)]++
	}
	if count > 0 {
		first = clash{holder: against(all[:intruder], all[intruder]), intruder: all[intruder]}
	}
	return count, first
}

func kind(s span) int {
	if s.shared {
		return 1
	}
	return 0
}

// against is the span that shows best why next may not begin: the first that is there, an exclusive one if there is any.
func against(before []span, next span) span {
	found := -1
	for i, s := range before {
		if s.object == next.object && s.to > next.from && (found < 0 || before[found].shared && !s.shared) {
			found = i
		}
	}
	if found < 0 { // a rule that forbids a span beside nothing
		return next
	}
	return before[found]
}
