package check_test

import (
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds, kind{name: "semaphore", recipes: []string{"leases", "first"}, defects: []string{"barges", "counts first", "holds on"}, play: playSemaphores,
		promises: func(w *world) []promise {
			broken := w.truth.broken(func(_ hold, beside []hold) bool { return len(beside) >= w.set.permits })
			return []promise{{Check: check.Permits(w.set.permits), broken: broken, across: broken}}
		}})
}

func playSemaphores(w *world) {
	w.set.seats += 2 * w.set.permits // so that they contend
	w.set.gap = min(w.set.gap, w.set.hold)
	w.seats(func(j *seat) {
		settle := (*attempt).amongFirst
		if w.set.recipe == "leases" {
			settle = (*attempt).lease
		}
		a, whole, granted := j.acquire(metrics.Acquire, int(j.object), false, nil, settle)
		if !granted {
			return
		}
		a.grant(whole)
		a.hold(whole, metrics.Release)
	})
}

// amongFirst waits until fewer znodes than there are permits are before ours.
func (a *attempt) amongFirst() bool { return a.counted(a.dir, a.own, true) }

// counted waits until our znode is one of at most as many as there are permits; ordered: only those before it count.
func (a *attempt) counted(dir int, own *znode, ordered bool) bool {
	s := a.s
	for s.w.now < a.until && !s.over {
		var v *watch
		n, listed := 0, false
		if !s.insist(func(state int64) {
			n, listed = 0, false
			for _, z := range s.w.children(dir, state) {
				if z == own {
					listed = true
				} else if !ordered || !listed {
					n++
				}
			}
			if n >= s.w.set.permits {
				children := s.w.pzxid(dir, state)
				v = s.arm(func(state int64) bool { return s.w.pzxid(dir, state) > children })
			}
		}) || !listed {
			return false
		}
		if n < s.w.set.permits || s.w.goes("barges") {
			return true
		}
		if !s.await(v, a.until) {
			return false
		}
	}
	return false
}

// lease takes a permit under a lock, whose znode is a.own: it creates a lease and waits until there are no more leases than permits.
func (a *attempt) lease() bool {
	s, dir := a.s, a.dir+2
	lock := a.own
	place, created := a.place, a.created
	if !a.turn() {
		return false
	}
	free := false
	if s.w.set.defect == "counts first" { // and trusts that no other session does meanwhile
		if !s.insist(func(state int64) { free = len(s.w.children(dir, state)) < s.w.set.permits }) {
			return false
		}
		if free {
			s.w.wrong++
			a.seat.remove(lock)
		}
	}
	permit := &attempt{seat: a.seat, dir: dir, until: a.until}
	if !permit.enlist() {
		return false
	}
	if !free && !a.counted(dir, permit.own, false) {
		a.seat.removeLater(permit.own)
		return false
	}
	if !free {
		if _, outcome := a.seat.remove(lock); outcome == metrics.Lost && s.over {
			return false
		}
	}
	a.own, a.place, a.created = permit.own, place, created
	a.settled = true
	return true
}
