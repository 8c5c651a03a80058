package check_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	defects := []string{"takes twice", "loses", "overtakes", "acknowledges early"}
	kinds = append(kinds,
		kind{name: "queue", recipes: []string{"lists", "keeps the list"}, defects: defects, play: playQueues, promises: func(w *world) []promise {
			early, order := w.lateVisible(), w.inverted(func(a, b *znode, _ int64) bool { return a.created < b.created })
			return []promise{{Check: check.Conservation(metrics.Take), broken: w.miscounted(), across: w.miscounted()}, {Check: check.DeliveryOrder(), broken: order || early, across: order || early, open: early && !order}}
		}},
		kind{name: "priority queue", recipes: []string{"lists", "keeps the list", "syncs"}, defects: defects[:3], play: playQueues, promises: func(w *world) []promise {
			order := w.inverted(func(a, b *znode, asOf int64) bool { return better(a, b) < 0 && a.created <= asOf })
			return []promise{{Check: check.Conservation(metrics.Take), broken: w.miscounted(), across: w.miscounted()}, {Check: check.Priority(rank, w.set.recipe == "syncs"), broken: order, across: order}}
		}},
		kind{name: "delay queue", recipes: []string{"waits"}, defects: []string{"ignores the time", "takes twice", "loses"}, play: playQueues, promises: func(w *world) []promise {
			return []promise{{Check: check.Conservation(metrics.Take), broken: w.miscounted(), across: w.miscounted()},
				{Check: check.NotBefore(func(value int64) time.Duration { return time.Duration(value) }), broken: w.tookEarly()}}
		}})
}

// tookEarly reports whether an item was taken before its time, which is its value.
func (w *world) tookEarly() bool {
	return slices.ContainsFunc(w.all, func(s metrics.Sample) bool {
		return s.Op == metrics.Take && s.Outcome == metrics.OK && s.End < time.Duration(s.Value)
	})
}

// rank returns the rank of an item, which is in the upper half of its value.
func rank(value int64) int32 { return int32(value >> 32) }

func better(a, b *znode) int {
	return cmp.Or(cmp.Compare(rank(a.value), rank(b.value)), cmp.Compare(a.created, b.created))
}

// passage is a removal of an item, with the list that its consumer chose from.
type passage struct {
	item *znode
	asOf int64
}

// inverted reports whether an item was removed although another one had to be removed first and was removed later or is left.
func (w *world) inverted(first func(a, b *znode, asOf int64) bool) bool {
	if w.set.blind {
		return false
	}
	known := map[*znode]bool{} // items whose removal time is known
	for _, p := range w.truth.taken {
		known[p.item] = true
	}
	return slices.ContainsFunc(w.truth.taken, func(b passage) bool {
		for _, c := range w.truth.taken { // for an item that exists twice, nothing recorded says from which of two lists it was chosen
			if c.item.value == b.item.value {
				b.asOf = min(b.asOf, c.asOf)
			}
		}
		return slices.ContainsFunc(w.znodes[b.item.dir], func(a *znode) bool {
			return (a.removed == 0 || known[a] && a.removed > b.item.removed) && first(a, b.item, b.asOf)
		})
	})
}

// lateVisible reports whether an item whose put had ended before another's started was taken after it.
func (w *world) lateVisible() bool {
	type way struct{ put, take metrics.Sample }
	ways := map[int64]*way{}
	doubtful := map[int64]bool{}
	for _, s := range w.all {
		if ways[s.Value] == nil {
			ways[s.Value] = &way{}
		}
		switch {
		case s.Value == 0:
		case s.Outcome != metrics.OK:
			doubtful[s.Value] = true
		case s.Op == metrics.Put:
			ways[s.Value].put = s
		case s.Op == metrics.Take, s.Op == metrics.Remain:
			doubtful[s.Value] = doubtful[s.Value] || ways[s.Value].take.Op != metrics.OpNone
			ways[s.Value].take = s
		}
	}
	for v, a := range ways {
		for u, b := range ways {
			if !doubtful[u] && !doubtful[v] && a.put.Object == b.put.Object && a.put.Op != 0 && b.put.Op != 0 && a.take.Op != 0 && b.take.Op == metrics.Take &&
				a.put.End < b.put.Start && b.take.End < a.take.Start {
				return true
			}
		}
	}
	return false
}

// miscounted reports whether an item about which nothing is in doubt did not come out as often as it went in.
func (w *world) miscounted() bool {
	balance, doubtful := map[int64]int{}, map[int64]bool{}
	for _, s := range w.all {
		switch {
		case s.Value == 0:
		case s.Op != metrics.Put && s.Op != metrics.Take && s.Op != metrics.Remain && s.Op != metrics.Finish:
		case s.Outcome == metrics.InDoubt:
			doubtful[s.Value] = true
		case s.Outcome != metrics.OK:
		case s.Op == metrics.Put:
			balance[s.Value]++
		case s.Op == metrics.Remain, s.Op == metrics.Finish, s.Op == metrics.Take && w.set.kind != "claims":
			balance[s.Value]--
		}
	}
	for v, n := range balance {
		if n != 0 && !doubtful[v] {
			return true
		}
	}
	return false
}

func playQueues(w *world) {
	w.set.seats = max(w.set.seats, 3)
	items := int64(0)
	w.seats(func(j *seat) {
		j.object = j.id / 2 % uint32(w.set.objects)
		if j.id%2 == 0 {
			items++
			value := items
			if w.set.kind == "delay queue" {
				value = int64(w.now+w.upTo(20*time.Millisecond))/1000*1000 + items%1000
			}
			if w.set.kind == "priority queue" {
				value |= int64(w.r.IntN(4)-2) << 32
			}
			j.put(value)
			return
		}
		j.take()
	})
	w.at(time.Hour, w.readLeft)
}

// readLeft reads what is left after the load.
func (w *world) readLeft() {
	for dir := range w.set.objects {
		for _, z := range w.children(dir, w.zxid) {
			w.record(0, metrics.Sample{Op: metrics.Remain, Object: uint32(dir), Token: z.created, Value: z.value, Due: forever, Start: forever, End: forever})
		}
		w.record(0, metrics.Sample{Op: metrics.Remain, Object: uint32(dir), Token: w.pzxid(dir, w.zxid), Due: forever, Start: forever, End: forever})
	}
}

// put puts an item, again if the reply is lost.
func (j *seat) put(value int64) {
	w := j.w
	s := metrics.Sample{Op: metrics.Put, Session: j.id, Object: j.object, Value: value, Due: w.now, Start: w.now}
	if w.goes("acknowledges early") {
		w.at(w.now+w.upTo(20*time.Millisecond), func() { w.commit(func() { w.create(int(j.object), nil, value) }) })
		j.p.sleep(w.travel())
		s.End = w.now
		w.record(j.host, s)
		return
	}
	tries := 0
	for ok := false; !ok; tries++ {
		if j.s.over {
			s.Outcome = metrics.Lost
			break
		}
		s.Token, ok = j.s.write(func() { w.create(int(j.object), nil, value) })
	}
	if s.End = w.now; s.Outcome == metrics.Lost && tries > 0 {
		s.Outcome, s.Token = metrics.InDoubt, 0
	}
	if w.set.recipe == "no tokens" {
		s.Token = 0
	}
	w.record(j.host, s)
	for range tries - 1 {
		s.Outcome, s.Token = metrics.InDoubt, 0
		w.record(j.host, s)
	}
}

// take takes an item.
func (j *seat) take() {
	w, s := j.w, j.s
	take := metrics.Sample{Op: metrics.Take, Session: j.id, Object: j.object, Due: w.now, Start: w.now}
	dir, until := int(j.object), w.set.length
	if d := w.set.deadline; d > 0 {
		until = min(until, w.now+d)
	}
	for w.now < until && !s.over {
		if len(j.list) == 0 && !j.relist(dir) {
			break
		}
		if len(j.list) == 0 {
			var v *watch
			if !s.insist(func(state int64) {
				if seen := w.pzxid(dir, state); len(w.children(dir, state)) == 0 || j.due > w.now {
					v = s.arm(func(state int64) bool { return w.pzxid(dir, state) > seen })
				}
			}) {
				break
			}
			if j.due > w.now {
				s.await(v, min(until, j.due))
			} else if v != nil && j.due == 0 {
				s.await(v, until)
			}
			continue
		}
		i := 0
		if len(j.list) > 1 && w.goes("overtakes") {
			i = 1 + w.r.IntN(len(j.list)-1)
		}
		item, there := j.list[i], false
		j.list = slices.Delete(slices.Clone(j.list), i, i+1)
		if !s.insist(func(state int64) { there = item.in(state) }) {
			break
		}
		if there && j.removes(take, item) {
			return
		}
	}
	take.End = w.now
	switch take.Outcome = metrics.Timeout; {
	case s.over:
		take.Outcome = metrics.Lost
	case w.now >= w.set.length:
		take.Outcome = metrics.Unfinished
	}
	j.list = nil
	w.record(j.host, take)
}

// relist lists the items in the order of taking; false: the session is over.
func (j *seat) relist(dir int) bool {
	w := j.w
	if w.set.recipe == "syncs" && !j.s.sync() {
		return false
	}
	for !j.s.over {
		j.choose = metrics.Sample{Start: w.now}
		if j.s.read(func(state int64) {
			j.list, j.choose.Token = w.children(dir, state), w.pzxid(dir, state)
			if w.set.kind == "priority queue" {
				slices.SortStableFunc(j.list, better)
			}
			if j.due = 0; w.set.kind == "delay queue" && !w.goes("ignores the time") {
				j.due = forever
				j.list = slices.DeleteFunc(j.list, func(z *znode) bool {
					early := time.Duration(z.value) > w.now
					if early {
						j.due = min(j.due, time.Duration(z.value))
					}
					return early
				})
			}
		}) {
			j.choose.End = w.now
			return true
		}
	}
	return false
}

// removes takes an item by deleting it, and records that; false: another consumer has it.
func (j *seat) removes(take metrics.Sample, item *znode) bool {
	w := j.w
	take.Value, take.Token = item.value, item.created
	for {
		remove, did := take, false
		remove.Op, remove.Start = metrics.Remove, w.now
		zxid, ok := j.s.write(func() {
			if did = item.removed == 0; did {
				item.removed = w.zxid
			}
		})
		switch remove.End, remove.Zxid = w.now, zxid; {
		case ok && did && w.goes("loses"):
			return false
		case ok && !did && w.goes("takes twice"):
			remove.Zxid = 0
		case ok && !did:
			return false
		case ok:
			w.truth.taken = append(w.truth.taken, passage{item, j.choose.Token})
		default:
			gone := false
			if j.s.sync() && j.s.insist(func(state int64) { gone = !item.in(state) }) && !gone {
				continue
			}
			take.End, take.Outcome = w.now, metrics.InDoubt
			w.record(j.host, take)
			j.list = nil
			return true
		}
		choose := take
		choose.Op, choose.Token, choose.Start, choose.End = metrics.Choose, j.choose.Token, j.choose.Start, j.choose.End
		choose.Due, remove.Due, take.End = choose.Start, remove.Start, w.now
		w.record(j.host, take, choose, remove)
		if w.set.recipe != "keeps the list" {
			j.list = nil
		}
		return true
	}
}
