package check_test

import (
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds, kind{name: "election", recipes: []string{"predecessor", "herd", "events"}, defects: []string{"barges", "gone", "same token", "holds on", "told twice"},
		play: playElections, promises: func(w *world) []promise {
			leaders := w.truth.broken(alone)
			back := func(a, b hold) bool {
				return a.from < b.from && (b.token < a.token || b.token == a.token && a.s.seat != b.s.seat)
			}
			terms := w.truth.pairs(back)
			sameTerm := w.truth.pairs(func(a, b hold) bool {
				return a.state < b.state && a.earlier(b) && b.token == a.token && a.s.seat != b.s.seat
			})
			return []promise{{Check: check.Leadership(), broken: leaders, across: leaders}, {Check: check.Terms(), broken: terms, across: sameTerm}, {Check: check.Alternation(), broken: w.truth.twice, across: w.truth.twice},
				{Check: check.CampaignFIFO(), broken: w.truth.overtaken(), across: w.truth.pairs(overtakenByState)}}
		}})
}

func playElections(w *world) {
	last := map[uint32]int64{}
	w.seats(func(j *seat) {
		left := w.upTo(w.set.hold)
		var term int64
		for a := (*attempt)(nil); ; {
			next, whole, elected := j.candidate(a)
			if !elected {
				return
			}
			a = next
			if before := last[j.object]; before != 0 && term == 0 && w.goes("same token") {
				whole.Token = before
			} else if term != 0 && a.own.created == last[j.object] {
				whole.Token = term
			}
			last[j.object] = a.own.created
			if whole.Token == term {
				w.record(j.host, whole) // it continues
			} else {
				a.grant(whole)
			}
			term = whole.Token
			if w.goes("told twice") {
				j.p.sleep(w.upTo(time.Millisecond))
				again := whole
				again.Start, again.End = w.now, w.now
				w.record(j.host, again)
				w.truth.twice = true
				j.p.sleep(time.Microsecond) // samples of one instant may have come in either order
			}
			h, begun := a.held(whole), w.now
			if w.leads(a, left) {
				j.p.sleep(w.upTo(w.set.timeout / 100))
				j.ends(h, a.own)
				return
			}
			left = max(left-(w.now-begun), 1)
			h.to = w.now
			w.truth.holds = append(w.truth.holds, *h)
			w.record(j.host, metrics.Sample{Op: metrics.Resign, Outcome: metrics.Lost, Session: j.id, Object: j.object, Token: h.token, Due: w.now, Start: w.now, End: w.now})
		}
	})
}

// candidate is one campaign, with the znode of the last one if the lead was only suspended.
func (j *seat) candidate(suspended *attempt) (*attempt, metrics.Sample, bool) {
	var own *znode
	if suspended != nil {
		own = suspended.own
	}
	return j.acquire(metrics.Campaign, int(j.object), false, own, (*attempt).elect)
}

// elect waits until no znode is before ours, over a connection that does not break meanwhile.
func (a *attempt) elect() bool {
	for a.turn() {
		if a.link = a.s.link; a.s.connected() && a.link == a.s.link {
			return true
		}
	}
	return false
}

// leads waits until a leader has led for that long, or its term is lost; false: it is suspended.
func (w *world) leads(a *attempt, left time.Duration) bool {
	s := a.s
	for until := min(w.now+left, max(w.set.length, w.now+1)); w.now < until && s.leases == a.leaseAt && !s.over; {
		if s.link != a.link && !w.goes("holds on") {
			return false
		}
		s.p.wake(until)
		s.p.pause()
	}
	if s.leases != a.leaseAt && w.goes("holds on") {
		s.p.sleep(w.upTo(2 * w.set.timeout))
	}
	return true
}

// ends ends a term: by resigning it, or by ending the session, before which it writes once more if it can.
func (j *seat) ends(h *hold, z *znode) {
	w := j.w
	if !w.set.ends || j.s.over {
		j.release(metrics.Resign, h, z, j.s.over)
		return
	}
	h.to = w.now
	w.truth.holds = append(w.truth.holds, *h)
	r := metrics.Sample{Op: metrics.Resign, Outcome: metrics.Lost, Session: j.id, Object: j.object, Token: h.token, Due: w.now, Start: w.now}
	if zxid, ok := j.s.write(func() {}); ok {
		r.Zxid = zxid
	}
	r.End = w.now
	w.record(j.host, r)
	if j.s.gone == 0 {
		j.s.expire()
	}
	j.s.knows()
}
