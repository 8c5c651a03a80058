package check_test

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds, kind{name: "claims", recipes: []string{"claims", "no tokens"}, defects: []string{"claims beside", "gives again", "holds on"}, play: playClaims,
		promises: func(w *world) []promise {
			w.truth.holds = slices.DeleteFunc(w.truth.holds, func(h hold) bool { return w.putAgain(int64(h.object)) })
			again, byToken := w.finishedAgain()
			return []promise{{Check: check.Conservation(metrics.Finish), broken: w.miscounted(), across: w.miscounted()},
				{Check: check.Claims(), broken: w.truth.broken(alone) || again, across: w.truth.broken(alone) || again, open: !byToken}}
		}})
}

// finishedAgain reports whether an item was given out that had been finished before its consumer asked. byToken also covers an item whose finished claim had
// been made in an earlier transaction.
func (w *world) finishedAgain() (again, byToken bool) {
	for _, f := range w.all {
		if f.Op != metrics.Finish || f.Outcome != metrics.OK || w.putAgain(f.Value) {
			continue
		}
		for _, s := range w.all {
			if s.Op == metrics.Take && s.Outcome == metrics.OK && s.Value == f.Value {
				again = again || s.Start > f.End
				byToken = byToken || f.Token > 0 && s.Token > f.Token
			}
		}
	}
	return again || byToken, byToken
}

// putAgain reports whether an item may be there twice, as far as the samples show.
func (w *world) putAgain(item int64) bool {
	return slices.ContainsFunc(w.all, func(s metrics.Sample) bool {
		return s.Op == metrics.Put && s.Outcome == metrics.InDoubt && s.Value == item
	})
}

func playClaims(w *world) {
	w.set.seats = max(w.set.seats, 3)
	items := int64(0)
	w.seats(func(j *seat) {
		j.object = j.id / 2 % uint32(w.set.objects)
		if j.id%2 == 0 {
			items++
			j.put(items)
			return
		}
		j.claim()
	})
	w.at(time.Hour, w.readLeft)
}

// claim takes an item, works on it, and finishes it.
func (j *seat) claim() {
	w, s := j.w, j.s
	take := metrics.Sample{Op: metrics.Take, Session: j.id, Object: j.object, Due: w.now, Start: w.now}
	dir, until := int(j.object), w.set.length
	if d := w.set.deadline; d > 0 {
		until = min(until, w.now+d)
	}
	for w.now < until && !s.over {
		lease := s.leases
		var free []*znode
		var v *watch
		beside := w.goes("claims beside")
		if !s.insist(func(state int64) {
			free = nil
			for _, z := range w.children(dir, state) {
				if beside || w.claimed(z, state) == nil {
					free = append(free, z)
				}
			}
			seen := max(w.pzxid(dir, state), w.pzxid(dir+2, state))
			v = s.arm(func(state int64) bool { return max(w.pzxid(dir, state), w.pzxid(dir+2, state)) > seen })
		}) {
			break
		}
		if len(free) == 0 {
			s.await(v, until)
			continue
		}
		v.fired = true
		item := free[0]
		own, ok := j.claims(item, beside)
		if !ok {
			continue
		}
		there := false
		if !s.insist(func(state int64) { there = item.in(state) }) {
			break
		}
		if !there || s.leases != lease {
			j.removeLater(own)
			continue
		}
		j.works(take, item, own, lease)
		return
	}
	take.End = w.now
	switch take.Outcome = metrics.Timeout; {
	case s.over:
		take.Outcome = metrics.Lost
	case w.now >= w.set.length:
		take.Outcome = metrics.Unfinished
	}
	w.record(j.host, take)
}

// claimed returns the claim of an item in a state.
func (w *world) claimed(item *znode, state int64) *znode {
	for dir := 2; dir < 4; dir++ {
		for _, z := range w.znodes[dir] {
			if z.value == item.created && z.in(state) {
				return z
			}
		}
	}
	return nil
}

// claims creates the claim of an item, of which there can be one; false: another session has it.
func (j *seat) claims(item *znode, beside bool) (own *znode, ok bool) {
	w := j.w
	_, ok = j.s.write(func() {
		if beside || w.claimed(item, w.zxid) == nil {
			own = w.create(int(j.object)+2, j.s, item.created)
		}
	})
	if ok {
		return own, own != nil
	}
	if !j.s.sync() || own == nil {
		return nil, false
	}
	return own, true
}

// works works on an item and finishes it, with its claim, in one transaction.
func (j *seat) works(take metrics.Sample, item, own *znode, lease int) {
	w, s := j.w, j.s
	j.p.sleep(w.upTo(20 * time.Microsecond))
	take.End, take.Value, take.Token = w.now, item.value, own.created
	if w.set.recipe == "no tokens" {
		take.Token = 0
	}
	w.record(j.host, take)
	h := hold{s: s, object: uint32(item.value), asked: take.Start, from: w.now}
	if !s.work(w.now+w.upTo(w.set.hold), lease) && w.goes("holds on") {
		j.p.sleep(w.upTo(2 * w.set.timeout))
	}
	finish := take
	finish.Op, finish.Due, finish.Start = metrics.Finish, w.now, w.now
	h.to = w.now
	w.truth.holds = append(w.truth.holds, h)
	finish.Outcome = metrics.Lost
	again := w.goes("gives again")
	for doubt := false; ; {
		if s.over {
			if doubt {
				finish.Outcome = metrics.InDoubt
			}
			break
		}
		did := false
		_, ok := s.write(func() {
			if did = own.removed == 0 && item.removed == 0; did {
				own.removed = w.zxid
				if !again {
					item.removed = w.zxid
				}
			}
		})
		if ok {
			if did || doubt {
				finish.Outcome = metrics.OK
			} else if own.removed == 0 {
				j.removeLater(own)
			}
			break
		}
		doubt = true
	}
	finish.End = w.now
	w.record(j.host, finish)
}
