package check

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// forever is the end of a hold that was never given up.
const forever = time.Duration(math.MaxInt64)

// span is a time interval in which a session holds an object.
type span struct {
	from, to time.Duration
	begin    metrics.Sample // the sample that started it
	end      metrics.Sample // the sample that ended it, if any
	// excused, if not 0, says that the session was expired on purpose, which ended the span, and by when its client must know.
	excused time.Duration
	object  uint32
	shared  bool // other shared spans may coexist
}

// ended reports whether an operation ended the span.
func (s *span) ended() bool { return s.end.Op != metrics.OpNone }

// void reports whether the span is of a grant that was given before its session was expired on purpose, and read after it: it is no hold.
func (s *span) void() bool { return s.excused != 0 && s.to <= s.from }

// meets reports whether the span and the time from one offset to another have more than an instant in common.
func (s span) meets(from, to time.Duration) bool { return s.from < to && s.to > from }

// witness returns the samples that show the spans, earliest first.
func witness(spans ...span) []metrics.Sample {
	var w []metrics.Sample
	for _, s := range spans {
		if s.begin.Op != metrics.OpNone {
			w = append(w, s.begin)
		}
		if s.ended() {
			w = append(w, s.end)
		}
	}
	slices.SortStableFunc(w, func(a, b metrics.Sample) int { return cmp.Compare(a.End, b.End) })
	return w
}

// pairs says which operations start a span and which end it.
type pairs struct {
	begins, ends func(metrics.Op) bool
	shared       bool // other shared spans may coexist
	lasting      bool // it does not end with the session that started it
}

// locked pairs the operations of an exclusive lock. An attempt that does not wait gives the same hold; a refused one is not OK. Of locks that are acquired
// together, one has the Acquire and the Release, and each of the others a Hold and an Unhold.
var locked = pairs{
	begins: func(o metrics.Op) bool { return o == metrics.Acquire || o == metrics.TryAcquire || o == metrics.Hold },
	ends:   func(o metrics.Op) bool { return o == metrics.Release || o == metrics.Unhold },
}

// edge is a sample that starts or ends a span.
type edge struct {
	metrics.Sample
	at   time.Duration
	ends bool
	of   uint32 // index of its pairs
}

// byInstant orders edges by time. At one instant starts come first, and each kind is in the order of transactions.
func byInstant(a, b *edge) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	if a.ends != b.ends {
		if a.ends {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.Zxid, b.Zxid)
}

// spans finds every hold in a history: from the End of a sample that starts one with OK to the Start of the next sample of the same session and object that ends
// one of its kind, whatever its outcome.
//
// The holder has the object before the End is measured and still has it when Start is: the measured hold lies within the true one. So two measured holds that
// overlap prove that two true ones do, and a hold that starts at the instant at which another ends proves nothing. A hold ends when its session is expired on
// purpose (operation Expire): the client of such a session cannot know for a while, which is no defect of the recipe. If the rest of the history is missing, a
// hold without an end may have ended at any time after it started, and counts as an instant.
//
// It goes through the history backwards: the end of a hold is then known when its start is reached, and only the last end of each session at an object has to be
// kept.
func spans(history iter.Seq[metrics.Sample], room *spill.Room, of ...pairs) holds {
	edges := spill.New(room, byInstant)
	defer edges.Close()
	h := holds{list: spill.New(room, laterSpan), expired: expiries{}}
	for s := range history {
		if h.expired.see(&s) {
			continue
		}
		h.cut = h.cut || s.Op == rest
		for i, p := range of {
			switch {
			case p.begins(s.Op) && s.Outcome == metrics.OK:
				edges.Add(edge{Sample: s, at: s.End, of: uint32(i)})
			case p.ends(s.Op):
				edges.Add(edge{Sample: s, at: s.Start, ends: true, of: uint32(i)})
			}
		}
	}
	ends := map[participant]*ending{}
	for e := range edges.Backward() {
		at := participant{e.Object, e.Session, e.of}
		after := ends[at]
		switch {
		case !e.ends:
			s := span{from: e.End, to: forever, object: e.Object, begin: e.Sample, shared: of[e.of].shared}
			if after != nil {
				s.end = after.of(&e.Sample)
			}
			switch {
			case s.ended():
				s.to = s.end.Start
			case h.cut:
				s.to = s.from
			}
			if !of[e.of].lasting {
				h.excused = h.expire(&s) || h.excused
			}
			h.list.Add(s)
		case after == nil:
			ends[at] = &ending{now: []metrics.Sample{e.Sample}}
		default:
			after.add(e.Sample)
		}
	}
	return h
}

// participant is a session at an object, for one of several pairs.
type participant struct{ object, session, of uint32 } // no padding: it is hashed in one piece

// ending is the next end of a participant's hold, among the samples seen from the end of the history.
type ending struct {
	now   []metrics.Sample // of one instant, the last in the order of transactions first
	later metrics.Sample   // the next one after that instant
}

func (e *ending) add(s metrics.Sample) {
	if e.now[0].Start != s.Start {
		e.later, e.now = e.now[len(e.now)-1], e.now[:0]
	}
	e.now = append(e.now, s)
}

// of returns the end of what a sample started.
func (e *ending) of(begin *metrics.Sample) metrics.Sample {
	for i := len(e.now) - 1; i >= 0; i-- {
		if !before(&e.now[i], begin) {
			return e.now[i]
		}
	}
	return e.later
}

// before reports whether an end belongs to something that started earlier. Samples of one instant are ordered by their transactions.
func before(end, begin *metrics.Sample) bool {
	if end.Start == begin.End && end.Zxid > 0 {
		return end.Zxid <= begin.Zxid
	}
	return end.Start < begin.End
}

// holds is a list of spans.
type holds struct {
	list    *spill.List[span] // the last first
	expired expiries
	excused bool // there are spans that were ended by an expiry
	cut     bool // the rest of the history is missing
}

// all yields the spans in the order of earlierSpan.
func (h *holds) all() iter.Seq[span] { return h.list.Backward() }

func (h *holds) len() int { return h.list.Len() }

func (h *holds) close() { h.list.Close() }

// earlierSpan orders spans by time. Of two spans of an object that start simultaneously the shorter comes first, so that an empty one counts as before the other
// and not inside it.
func earlierSpan(a, b *span) int {
	if c := cmp.Compare(a.from, b.from); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.to, b.to))
}

func laterSpan(a, b *span) int { return earlierSpan(b, a) }

// bySeat orders samples by object and session.
func bySeat(a, b metrics.Sample) int {
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Session, b.Session))
}

// inOrder merges two lists of spans that are in the order of earlierSpan; the bool says whether a span is from the first.
func inOrder(a, b iter.Seq[span]) iter.Seq2[span, bool] {
	return func(yield func(s span, first bool) bool) {
		next, stop := iter.Pull(b)
		defer stop()
		other, more := next()
		for s := range a {
			for ; more && earlierSpan(&other, &s) < 0; other, more = next() {
				if !yield(other, false) {
					return
				}
			}
			if !yield(s, true) {
				return
			}
		}
		for ; more; other, more = next() {
			if !yield(other, false) {
				return
			}
		}
	}
}
