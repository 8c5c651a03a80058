package check_test

import (
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds, kind{name: "multi-lock", recipes: []string{"predecessor", "herd", "events"}, defects: []string{"barges", "gone", "holds on", "keeps one token"}, play: playMultiLocks,
		promises: func(w *world) []promise {
			exclusive := w.truth.broken(alone)
			back := func(a, b hold) bool { return a.from < b.from && b.token <= a.token }
			return []promise{{Check: check.MutualExclusion(), broken: exclusive, across: exclusive}, {Check: check.TokenOrder(), broken: w.truth.pairs(back),
				across: w.truth.pairs(func(a, b hold) bool {
					return b.token == a.token || b.token < a.token && a.state < b.state && a.earlier(b)
				})}}
		}})
}

// playMultiLocks lets sessions acquire two locks, one after the other in their order, or one of them alone. Of two, the first has the Acquire and the
// Release, and the other a Hold and an Unhold, all under one grant.
func playMultiLocks(w *world) {
	var last int64 // token of the second lock
	w.seats(func(j *seat) {
		both := w.chance(.6)
		j.object = uint32(w.r.IntN(2))
		if both {
			j.object = 0
		}
		second := &attempt{seat: j, dir: 1}
		a, whole, granted := j.acquire(metrics.Acquire, int(j.object), false, nil, func(a *attempt) bool {
			second.until = a.until
			return a.turn() && (!both || (second.own != nil || second.enlist()) && second.turn())
		})
		switch {
		case !granted && second.own != nil && !j.s.over:
			j.removeLater(second.own)
		case !granted:
		case !both:
			a.grant(whole)
			a.hold(whole, metrics.Release)
		default:
			a.grant(whole)
			beside := whole
			beside.Op, beside.Object, beside.Token = metrics.Hold, 1, second.own.created
			if last != 0 && w.goes("keeps one token") {
				beside.Token = last
			}
			last = beside.Token
			w.record(j.host, beside)
			a.holdBoth(whole, beside, second.own)
		}
	})
}

// holdBoth holds two locks and lets go of them, the second one first.
func (a *attempt) holdBoth(whole, beside metrics.Sample, second *znode) {
	w := a.w
	first, other := a.held(whole), a.held(whole)
	other.object, other.token, other.enqueued, other.took = 1, beside.Token, first.enqueued, 0
	lost := a.works()
	first.to, other.to = w.now, w.now
	w.truth.holds = append(w.truth.holds, *first, *other)
	r := metrics.Sample{Op: metrics.Release, Session: a.id, Object: a.object, Token: first.token, Due: w.now, Start: w.now}
	u := r
	u.Op, u.Object, u.Token = metrics.Unhold, 1, other.token
	u.Zxid, u.Outcome = a.remove(second)
	r.Zxid, r.Outcome = a.remove(a.own)
	if lost {
		r.Outcome, u.Outcome = metrics.Lost, metrics.Lost
	}
	r.End, u.End = w.now, w.now
	w.record(a.host, r, u)
}

// works waits until the work under a grant ends, or the grant is lost.
func (a *attempt) works() (lost bool) {
	w := a.w
	lost = !a.s.work(min(w.now+w.upTo(w.set.hold), max(w.set.length, w.now+1)), a.leaseAt)
	if lost && w.goes("holds on") {
		a.p.sleep(w.upTo(2 * w.set.timeout))
	}
	if lost {
		a.p.sleep(w.upTo(w.set.timeout / 100))
	}
	return lost
}
