package check_test

import (
	"slices"
	"time"
)

// truth is what the model knows about the holds, by one clock.
type truth struct {
	holds     []hold
	excuses   []excuse
	twice     bool      // a leader was told again that it leads
	views     bool      // a view contained what was not there
	back      bool      // a view contained what was there before what its session had seen
	leftEarly bool      // a member left a barrier while others were inside
	taken     []passage // items that were removed by a consumer that knows it
}

// hold lasts from when its client knew that it was granted until it let go.
type hold struct {
	s          *session
	object     uint32
	asked      time.Duration
	from, to   time.Duration
	shared     bool
	token      int64
	enqueued   [2]time.Duration // when the create that took its place was sent, and answered; 0: the answer was lost
	state      int64            // state in which it was granted, whatever is recorded
	zxid, took int64            // as recorded, with the transaction of its place; 0: unknown
}

// excuse is a session that was expired on purpose: its client does not know that until due.
type excuse struct {
	s             *session
	from, to, due time.Duration
}

func (t *truth) excuse(s *session, from, to, due time.Duration) {
	t.excuses = append(t.excuses, excuse{s, from, to, due})
}

// of reports whether a hold is that of the expired session, or may be as far as its samples show.
func (e excuse) of(h hold) bool {
	return h.s == e.s || h.s.seat == e.s.seat && h.asked <= e.to && h.to > e.from && h.from <= e.due
}

// excused reports whether a hold belongs to a session that was expired meanwhile.
func (t *truth) excused(h hold) bool {
	return slices.ContainsFunc(t.excuses, func(e excuse) bool { return e.of(h) && h.to > e.from && h.from <= e.due })
}

// effective returns the holds without the times for which there is an excuse.
func (t *truth) effective() (all []hold) {
	for _, h := range t.holds {
		parts := []hold{h}
		for _, e := range t.excuses {
			if !e.of(h) {
				continue
			}
			var rest []hold
			for _, p := range parts {
				before, after := p, p
				before.to, after.from = min(p.to, e.from), max(p.from, e.due)
				rest = append(rest, before, after)
			}
			parts = rest
		}
		for _, p := range parts {
			if p.from < p.to {
				all = append(all, p)
			}
		}
	}
	return all
}

// broken reports whether at some instant a hold starts that the others forbid: those that started before it and have not ended.
func (t *truth) broken(forbidden func(h hold, beside []hold) bool) bool {
	all := t.effective()
	return slices.ContainsFunc(all, func(h hold) bool {
		var beside []hold
		for _, o := range all {
			if o != h && o.object == h.object && o.from < h.from && o.to > h.from {
				beside = append(beside, o)
			}
		}
		return forbidden(h, beside)
	})
}

// alone is the rule of a lock, writersAlone that of a read/write lock.
func alone(_ hold, beside []hold) bool { return len(beside) > 0 }

func writersAlone(h hold, beside []hold) bool {
	return slices.ContainsFunc(beside, func(o hold) bool { return !h.shared || !o.shared })
}

// pairs reports whether are returns true for any two holds of one object, both without an excuse.
func (t *truth) pairs(are func(a, b hold) bool) bool {
	for i, a := range t.holds {
		for j, b := range t.holds {
			if i != j && a.object == b.object && !t.excused(a) && !t.excused(b) && are(a, b) {
				return true
			}
		}
	}
	return false
}

// overtaken reports whether a session that came when another already had its place was granted first, by the clock or by the transactions of both.
func (t *truth) overtaken() bool {
	return t.pairs(func(a, b hold) bool {
		return a.enqueued[1] > 0 && a.enqueued[1] < b.enqueued[0] && b.enqueued[1] > 0 && b.from < a.from || a.zxid > 0 && overtakenByState(a, b) && b.zxid > 0
	})
}

func overtakenByState(a, b hold) bool {
	return a.took > 0 && a.took < b.took && b.state < a.state && b.earlier(a)
}

// earlier reports whether a grant that was given in an earlier state than another one is before it as far as the samples show: both states are recorded, or
// it was also read earlier, on another host; on the same host it is judged as in one process.
func (h hold) earlier(than hold) bool {
	return h.zxid > 0 && than.zxid > 0 || h.from < than.from && h.s.seat.host != than.s.seat.host
}
