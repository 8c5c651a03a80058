package check

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Place holds the responses of grants that had about the same number before them: From to To others held the object or waited for it when they asked.
type Place struct {
	From, To  int
	Responses *metrics.Histogram
}

// visit is an attempt at an object: from asking for it to giving it up.
type visit struct {
	asked, left, response time.Duration
	object                uint32
	counts                bool // granted, and wanted by the caller
}

// class returns the class of a place: one class each up to 15, then four for each doubling.
func class(n int) int {
	if n < 16 {
		return n
	}
	doubling := bits.Len(uint(n)) - 5
	return 16 + 4*doubling + n>>(doubling+2)&3
}

// least returns the first place of a class.
func least(class int) int {
	if class < 16 {
		return class
	}
	doubling, quarter := (class-16)/4, (class-16)%4
	return (4 + quarter) << (doubling + 2)
}

// PlacesOf groups the grants that within accepts by how many sessions were before them, one by one up to 15 and then in four groups for each doubling. Every
// session that asked, reader or writer, is before them until it gives up or its release is issued. PlacesOf keeps which sessions are at an object at a time. The
// result is not a verdict.
func PlacesOf(history iter.Seq[metrics.Sample], room *spill.Room, within func(metrics.Sample) bool) []Place {
	visits := spill.New(room, func(a, b *visit) int { return cmp.Or(cmp.Compare(a.asked, b.asked), cmp.Compare(a.object, b.object)) })
	defer visits.Close()
	of := []pairs{locked, shared, led}
	held := map[participant]visit{}
	for s := range history {
		for i, p := range of {
			at := participant{s.Object, s.Session, uint32(i)}
			before, has := held[at]
			switch {
			case p.begins(s.Op):
				if has { // nothing shows when it was given up
					before.left = before.response + before.asked
					visits.Add(before)
					delete(held, at)
				}
				if now := (visit{asked: s.Start, left: s.End, response: s.Response(), object: s.Object, counts: s.Outcome == metrics.OK && within(s)}); s.Outcome == metrics.OK {
					held[at] = now
				} else {
					visits.Add(now)
				}
			case p.ends(s.Op) && has:
				before.left = s.Start
				visits.Add(before)
				delete(held, at)
			}
		}
	}
	for _, s := range held {
		s.left = forever
		visits.Add(s)
	}
	var places []Place
	there := map[uint32]*heap[time.Duration]{}
	for s := range visits.All() {
		h := there[s.object]
		if h == nil {
			h = &heap[time.Duration]{before: func(a, b *time.Duration) bool { return *a < *b }}
			there[s.object] = h
		}
		for len(h.items) > 0 && h.items[0] <= s.asked {
			h.pop()
		}
		if s.counts {
			i := class(len(h.items))
			for k := len(places); k <= i; k++ {
				places = append(places, Place{From: least(k), To: least(k+1) - 1})
			}
			if places[i].Responses == nil {
				places[i].Responses = metrics.NewHistogram()
			}
			places[i].Responses.Record(s.response)
		}
		h.push(s.left)
	}
	return slices.DeleteFunc(places, func(p Place) bool { return p.Responses == nil })
}
