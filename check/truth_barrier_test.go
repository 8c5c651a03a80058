package check_test

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds,
		kind{name: "barrier", recipes: []string{"catches up"}, defects: []string{"does not catch up", "passes"}, play: playBarrier, promises: func(w *world) []promise {
			return []promise{{Check: check.Barred(), broken: w.passed()}}
		}},
		kind{name: "rendezvous", recipes: []string{"marker"}, defects: []string{"one short", "gives up late"}, play: playRounds, promises: func(w *world) []promise {
			return w.gatherings(metrics.Meet)
		}},
		kind{name: "double barrier", recipes: []string{"marker"}, defects: []string{"one short", "leaves early", "gives up late"}, play: playRounds, promises: func(w *world) []promise {
			return append(w.gatherings(metrics.Enter), promise{Check: check.LeaveSafety(), broken: w.truth.leftEarly && w.calm()})
		}})
}

// gatherings returns the promises of entering: no member is let in before all have arrived, nor with one that was told that nobody was.
func (w *world) gatherings(enter metrics.Op) []promise {
	early, unequal := false, false
	for _, in := range w.all {
		if in.Op != enter || in.Outcome != metrics.OK {
			continue
		}
		begun, stayed := map[uint32]bool{}, map[uint32]bool{}
		for _, s := range w.all {
			if s.Op == enter && s.Value == in.Value && s.Start <= in.End {
				begun[s.Session] = true
				stayed[s.Session] = stayed[s.Session] || s.Outcome != metrics.Timeout
			}
		}
		n := 0
		for _, did := range stayed {
			if did {
				n++
			}
		}
		early = early || len(begun) < w.set.seats
		unequal = unequal || len(begun) == w.set.seats && n < w.set.seats
	}
	return []promise{{Check: check.EnterSafety(enter, w.set.seats), broken: early}, {Check: check.EqualOutcome(enter, w.set.seats), broken: unequal}}
}

func playRounds(w *world) {
	enter := metrics.Enter
	if w.set.kind == "rendezvous" {
		enter = metrics.Meet
	}
	w.znodes = make([][]*znode, 200)
	rounds := map[uint32]int{}
	inside := map[int]map[uint32]bool{} // by round: the members inside
	w.seats(func(j *seat) {
		round := rounds[j.id]
		if round == 100 {
			return
		}
		if inside[round] == nil {
			inside[round] = map[uint32]bool{}
		}
		s := metrics.Sample{Op: enter, Session: j.id, Value: int64(round), Due: w.now, Start: w.now}
		own, outcome := j.enter(2 * round)
		s.Outcome, s.End = outcome, w.now
		if w.record(j.host, s); outcome != metrics.OK {
			return
		}
		if w.set.kind == "rendezvous" {
			j.remove(own)
			rounds[j.id]++
			return
		}
		inside[round][j.id] = true
		j.p.sleep(w.upTo(w.set.hold))
		s.Op, s.Due, s.Start = metrics.Leave, w.now, w.now
		delete(inside[round], j.id)
		s.Outcome = j.leaves(2*round, own)
		if s.End = w.now; s.Outcome == metrics.OK && len(inside[round]) > 0 {
			w.truth.leftEarly = true
		}
		w.record(j.host, s)
		rounds[j.id]++
	})
}

// calm reports whether no session was lost and no member gave up: then it is simple to tell which members were inside.
func (w *world) calm() bool {
	return !slices.ContainsFunc(w.all, func(s metrics.Sample) bool {
		return s.Outcome != metrics.OK || s.Op == metrics.Expire || s.Op == metrics.Down
	})
}

// enter waits until all members have arrived: the last of them creates the marker.
func (j *seat) enter(dir int) (*znode, metrics.Outcome) {
	w, s := j.w, j.s
	until := w.set.length
	if d := w.set.deadline; d > 0 {
		until = min(until, w.now+d)
	}
	a := &attempt{seat: j, dir: dir, until: until}
	if !a.enlist() {
		return nil, metrics.Lost
	}
	own := a.own
	enough := w.set.seats
	if w.goes("one short") {
		enough--
	}
	full := false
	for !s.over {
		if _, ok := s.write(func() {
			if full = len(w.children(dir, w.zxid)) >= enough; full && len(w.znodes[dir+1]) == 0 {
				w.create(dir+1, nil, 0)
			}
		}); ok {
			break
		}
	}
	marked := func(state int64) bool { return len(w.children(dir+1, state)) > 0 }
	for !full && w.now < until && !s.over {
		var v *watch
		if !s.insist(func(state int64) {
			if full = marked(state); !full {
				v = s.arm(marked)
			}
		}) || full {
			break
		}
		full = s.await(v, until) && !s.over
	}
	switch {
	case full:
		return own, metrics.OK
	case s.over:
		return nil, metrics.Lost
	case w.now >= w.set.length:
		j.removeLater(own)
		return nil, metrics.Unfinished
	}
	late := w.goes("gives up late") // and says so although others went in
	for !s.over {
		if _, ok := s.write(func() {
			if full = marked(w.zxid); !full && own.removed == 0 {
				own.removed = w.zxid
			}
		}); ok {
			break
		}
	}
	switch {
	case s.over:
		return nil, metrics.Lost
	case full && !late:
		return own, metrics.OK
	}
	return nil, metrics.Timeout
}

// leaves deletes the member's znode and waits until no member is inside.
func (j *seat) leaves(dir int, own *znode) metrics.Outcome {
	w, s := j.w, j.s
	if _, outcome := j.remove(own); outcome != metrics.OK {
		return outcome
	}
	if w.goes("leaves early") {
		return metrics.OK
	}
	for w.now < w.set.length+time.Second && !s.over {
		var v *watch
		if !s.insist(func(state int64) {
			if len(w.children(dir, state)) > 0 {
				seen := w.pzxid(dir, state)
				v = s.arm(func(state int64) bool { return w.pzxid(dir, state) > seen })
			}
		}) {
			break
		}
		if v == nil {
			return metrics.OK
		}
		s.await(v, w.set.length+time.Second)
	}
	if s.over {
		return metrics.Lost
	}
	return metrics.Unfinished
}

// passed reports whether a session passed the barrier while it was certainly set, from before the wait to after it.
func (w *world) passed() bool {
	return slices.ContainsFunc(w.all, func(p metrics.Sample) bool {
		return p.Op == metrics.Pass && p.Outcome == metrics.OK && slices.ContainsFunc(w.all, func(bar metrics.Sample) bool {
			return bar.Op == metrics.Bar && bar.Outcome == metrics.OK && bar.Object == p.Object && bar.End <= p.Start && !slices.ContainsFunc(w.all, func(un metrics.Sample) bool {
				return un.Op == metrics.Unbar && un.Session == bar.Session && un.Start >= bar.End && un.Start < p.End
			})
		})
	})
}

func playBarrier(w *world) {
	w.set.objects = 1
	timed := func(j *seat, op metrics.Op, do func() bool) {
		s := metrics.Sample{Op: op, Session: j.id, Due: w.now, Start: w.now}
		if !do() {
			s.Outcome = metrics.Lost
		}
		s.End = w.now
		w.record(j.host, s)
	}
	w.seats(func(j *seat) {
		if j.id > 0 {
			timed(j, metrics.Pass, j.passes)
			return
		}
		set := func(on bool) bool { // persistent, so that it outlives the session
			for !j.s.over {
				if _, ok := j.s.write(func() {
					switch there := w.children(0, w.zxid); {
					case on && len(there) == 0:
						w.create(0, nil, 0)
					case !on && len(there) > 0:
						there[0].removed = w.zxid
					}
				}); ok {
					return true
				}
			}
			return false
		}
		timed(j, metrics.Bar, func() bool { return set(true) })
		j.p.sleep(w.upTo(w.set.hold))
		timed(j, metrics.Unbar, func() bool { return set(false) })
	})
}

// passes waits until the barrier is not set.
func (j *seat) passes() bool {
	w, s := j.w, j.s
	if w.goes("passes") {
		return true
	}
	if !w.goes("does not catch up") && !s.sync() {
		return false
	}
	for w.now < w.set.length && !s.over {
		var v *watch
		if !s.insist(func(state int64) {
			if there := w.children(0, state); len(there) > 0 {
				v = s.arm(func(state int64) bool { return !there[0].in(state) })
			}
		}) {
			return false
		}
		if v == nil || s.await(v, w.set.length) {
			return true
		}
	}
	return false
}
