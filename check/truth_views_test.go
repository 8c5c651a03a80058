package check_test

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds,
		kind{name: "group", recipes: []string{"znodes"}, defects: []string{"forgets a member", "goes back"}, play: playGroups, promises: func(w *world) []promise {
			return []promise{{Check: check.Views(), broken: w.truth.views, across: w.truth.views}, {Check: check.ViewOrder(), broken: w.truth.back, across: w.truth.back}}
		}},
		kind{name: "setting", recipes: []string{"znode"}, defects: []string{"makes up a value", "goes back"}, play: playSettings, promises: func(w *world) []promise {
			return []promise{{Check: check.WrittenValues(), broken: w.truth.views, across: w.truth.views}, {Check: check.ViewOrder(), broken: w.truth.back, across: w.truth.back}}
		}})
}

// observe waits for a state that differs from the last one seen: seen is the transaction of the state that at returns. A broken recipe goes back.
func (j *seat) observe(at func(state int64) int64) (state int64, outcome metrics.Outcome) {
	w, s := j.w, j.s
	for w.now < w.set.length && !s.over {
		var v *watch
		if !s.insist(func(now int64) {
			state = now
			v = s.arm(func(state int64) bool { return at(state) > max(j.seen, at(now)) })
		}) {
			break
		}
		if w.goes("goes back") && j.seen > firstZxid+2 {
			w.truth.back = true
			for ; at(state) >= j.seen; state-- {
			}
			return state, metrics.OK
		}
		if at(state) > j.seen {
			return state, metrics.OK
		}
		s.await(v, w.set.length)
	}
	if s.over {
		return 0, metrics.Lost
	}
	return 0, metrics.Unfinished
}

func playGroups(w *world) {
	w.set.seats = max(w.set.seats, 3)
	w.seats(func(j *seat) {
		if j.id%3 == 0 {
			j.look()
			return
		}
		a, whole, joined := j.joins()
		if !joined {
			return
		}
		w.record(j.host, whole)
		lost := !j.s.work(min(w.now+w.upTo(w.set.hold), max(w.set.length, w.now+1)), j.s.leases)
		leave := whole
		leave.Op, leave.Due, leave.Start = metrics.Leave, w.now, w.now
		if leave.Zxid, leave.Outcome = j.remove(a); lost {
			leave.Outcome = metrics.Lost
		}
		leave.End = w.now
		w.record(j.host, leave)
	})
}

// joins creates the znode of a member, after that of its former session is gone.
func (j *seat) joins() (own *znode, join metrics.Sample, joined bool) {
	w, s := j.w, j.s
	join = metrics.Sample{Op: metrics.Join, Session: j.id, Object: j.object, Value: int64(j.id), Due: w.now, Start: w.now}
	mine := func(state int64) *znode {
		for _, z := range w.children(int(j.object), state) {
			if z.value == int64(j.id) {
				return z
			}
		}
		return nil
	}
	for w.now < w.set.length && !s.over {
		_, ok := s.write(func() {
			if mine(w.zxid) == nil {
				own = w.create(int(j.object), s, int64(j.id))
			}
		})
		if !ok && !s.sync() {
			break
		}
		if own != nil && own.owner == s {
			join.End, join.Token, join.Zxid = w.now, own.created, s.granted()
			return own, join, true
		}
		var v *watch
		if !s.insist(func(state int64) { v = s.arm(func(state int64) bool { return mine(state) == nil }) }) {
			break
		}
		s.await(v, w.set.length)
	}
	join.End, join.Outcome = w.now, metrics.Unfinished
	if s.over {
		join.Outcome = metrics.Lost
	}
	w.record(j.host, join)
	return nil, join, false
}

// look takes one view of a group.
func (j *seat) look() {
	w := j.w
	see := metrics.Sample{Op: metrics.See, Session: j.id, Object: j.object, Due: w.now, Start: w.now}
	state, outcome := j.observe(func(state int64) int64 { return w.pzxid(int(j.object), state) })
	if see.End, see.Outcome = w.now, outcome; outcome != metrics.OK {
		w.record(j.host, see)
		return
	}
	see.Token = w.pzxid(int(j.object), state)
	var members []int64
	for _, z := range w.children(int(j.object), state) {
		members = append(members, z.value)
	}
	if len(members) > 0 && w.goes("forgets a member") {
		gone := w.r.IntN(len(members))
		w.truth.views = w.truth.views || w.notified(j.object, members[gone], see.Token)
		members = slices.Delete(members, gone, gone+1)
	}
	j.seen = max(j.seen, see.Token)
	w.record(j.host, append([]metrics.Sample{see}, check.MembersOf(see, members)...)...)
}

// notified reports whether another view of a transaction has the member, so that one without it is certainly wrong.
func (w *world) notified(object uint32, member, token int64) bool {
	return slices.ContainsFunc(w.all, func(s metrics.Sample) bool {
		return s.Op == metrics.Members && s.Object == object && s.Token == token && s.Value>>member&1 == 1
	})
}

func playSettings(w *world) {
	w.commit(func() {
		for i := range w.set.objects {
			w.create(i, nil, 0)
		}
	})
	written := int64(0)
	w.seats(func(j *seat) {
		z := w.znodes[j.object][0]
		if j.id%2 == 0 {
			written++
			j.change(z, written)
			return
		}
		see := metrics.Sample{Op: metrics.See, Session: j.id, Object: j.object, Due: w.now, Start: w.now}
		state, outcome := j.observe(z.mzxid)
		if see.End, see.Outcome = w.now, outcome; outcome == metrics.OK {
			see.Token, see.Value = z.mzxid(state), z.data(state)
			if w.goes("makes up a value") {
				see.Value += 1000
				w.truth.views = true
			}
			j.seen = max(j.seen, see.Token)
		}
		w.record(j.host, see)
	})
}

// mzxid returns the last transaction by a state that wrote a znode.
func (z *znode) mzxid(state int64) int64 {
	last := z.created
	for _, c := range z.changes {
		if c.zxid <= state {
			last = c.zxid
		}
	}
	return last
}

// change writes a setting; a lost reply leaves it in doubt.
func (j *seat) change(z *znode, value int64) {
	w := j.w
	c := metrics.Sample{Op: metrics.Change, Session: j.id, Object: j.object, Value: value, Due: w.now, Start: w.now}
	zxid, ok := j.s.write(func() { z.changes = append(z.changes, change{w.zxid, value}) })
	switch c.End, c.Token = w.now, zxid; {
	case !ok && j.s.over:
		c.Outcome = metrics.Lost
	case !ok:
		c.Outcome = metrics.InDoubt
	}
	w.record(j.host, c)
	j.p.sleep(w.upTo(2 * time.Millisecond))
}
