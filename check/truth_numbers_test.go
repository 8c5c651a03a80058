package check_test

import (
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds, kind{name: "numbers", recipes: []string{"counter", "ids"}, defects: []string{"overwrites", "does not write", "from a stale server"}, play: playNumbers,
		promises: func(w *world) []promise {
			unique, order, total := w.numbers()
			all := []promise{{Check: check.UniqueNumbers(), broken: !unique}, {Check: check.NumberOrder(), broken: !order}}
			if w.set.recipe == "counter" {
				all = append(all, promise{Check: check.Total(), broken: !total})
			}
			return all
		}})
}

// numbers reports whether no number was drawn twice, whether the numbers grew, and whether the final values of the counters match the draws.
func (w *world) numbers() (unique, order, total bool) {
	unique, order, total = true, true, true
	certain, perhaps := map[uint32]int64{}, map[uint32]int64{}
	for i, a := range w.all {
		switch {
		case a.Op != metrics.Draw:
			continue
		case a.Outcome == metrics.InDoubt:
			perhaps[a.Object]++
		case a.Outcome == metrics.OK:
			certain[a.Object]++
		}
		for k, b := range w.all {
			if i != k && b.Op == metrics.Draw && a.Object == b.Object && a.Outcome == metrics.OK && b.Outcome == metrics.OK {
				unique = unique && a.Value != b.Value
				order = order && !(a.End < b.Start && a.Value >= b.Value)
			}
		}
	}
	for _, s := range w.all {
		if n := s.Value - certain[s.Object]; s.Op == metrics.Tally && (n < 0 || n > perhaps[s.Object]) {
			total = false
		}
	}
	return unique, order, total
}

func playNumbers(w *world) {
	w.commit(func() {
		for i := range w.set.objects {
			w.create(i, nil, 0)
		}
	})
	w.seats(func(j *seat) {
		s := metrics.Sample{Op: metrics.Draw, Session: j.id, Object: j.object, Due: w.now, Start: w.now}
		draw := j.add
		if w.set.recipe == "ids" {
			draw = j.id64
		}
		s.Value, s.Token, s.Outcome = draw()
		s.End = w.now
		w.record(j.host, s)
	})
	w.at(time.Hour, func() {
		for i := range uint32(w.set.objects) {
			w.record(0, metrics.Sample{Op: metrics.Tally, Object: i, Value: w.znodes[i][0].data(w.zxid), Due: forever, Start: forever, End: forever})
		}
	})
}

// version returns the version of a znode's data in a state.
func (z *znode) version(state int64) (n int) {
	for _, c := range z.changes {
		if c.zxid <= state {
			n++
		}
	}
	return n
}

// add adds one to a counter: it writes the value read plus one, unless another session has written since.
func (j *seat) add() (value, zxid int64, outcome metrics.Outcome) {
	w, z := j.w, j.w.znodes[j.object][0]
	for !j.s.over {
		var before int64
		version := 0
		if !j.s.insist(func(state int64) { before, version = z.data(state), z.version(state) }) {
			break
		}
		if w.goes("does not write") {
			return before + 1, 0, metrics.OK
		}
		did, overwrites := int64(0), w.goes("overwrites")
		zxid, ok := j.s.write(func() {
			if overwrites || z.version(w.zxid) == version {
				did = w.zxid
				z.changes = append(z.changes, change{w.zxid, before + 1})
			}
		})
		if !ok && !j.s.sync() { // did tells what a tag in the data would
			return 0, 0, metrics.InDoubt
		}
		if did != 0 {
			if !ok {
				zxid = 0
			}
			return before + 1, zxid, metrics.OK
		}
	}
	return 0, 0, metrics.Lost
}

// id64 returns the number of a sequential znode, which is deleted later.
func (j *seat) id64() (value, zxid int64, outcome metrics.Outcome) {
	w := j.w
	for !j.s.over {
		if w.goes("from a stale server") {
			ok := j.s.insist(func(state int64) {
				for _, z := range w.znodes[j.object] {
					if z.created <= state {
						value = z.nth
					}
				}
			})
			if ok {
				return value + 1, 0, metrics.OK
			}
			continue
		}
		var made *znode
		if _, ok := j.s.write(func() { made = w.create(int(j.object), j.s, 0) }); ok {
			j.removeLater(made)
			return made.nth, made.created, metrics.OK
		}
	}
	return 0, 0, metrics.Lost
}
