package check

import (
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// leastOvertakes is how often a session may be overtaken, even if few contend.
const leastOvertakes = 20

// Starvation holds when no session was forgotten, in a recipe that promises no order: a lottery may be lost, but only by a session that takes part in it. A
// session is forgotten if nothing told it to look again (Idle, of an attempt that was never granted) during as many grants as there are sessions that contend for
// the object, 20 at least, all of which had come after it had its place; in a recipe that queues, that is more than can be before it. It has to take longer than
// a wake-up may (see conditions). Evidence is the number of grants on objects that two sessions asked for and that have at least that many grants, or at which no
// session waited in vain to the end; Unknown if there is no such object. Witness holds the Enqueue, the last of those grants and the Idle; Count is the number of
// attempts that were forgotten.
//
// How often a session loses that is notified each time is not judged: sessions of nearer servers win most lotteries, and a recipe without an order does not
// promise how many.
func Starvation(patient time.Duration) Check {
	return Check{Name: "starvation", Severity: Late, Judge: starved(patient, 0), Across: patiently(patient, starved)}
}

// starved judges a history in which the times of different sessions may be off by the duration off: a session came after another one only if it came that much
// later.
func starved(patient, off time.Duration) func(iter.Seq[metrics.Sample], *spill.Room) Verdict {
	return func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		c := newConditions(room)
		defer c.close()
		rivals, contend, grants := 0, map[uint32]map[uint32]bool{}, map[uint32]int{}
		for s := range history {
			c.see(s)
			if s.Op == metrics.Acquire {
				if contend[s.Object] == nil {
					contend[s.Object] = map[uint32]bool{}
				}
				contend[s.Object][s.Session] = true
				if s.Outcome == metrics.OK {
					grants[s.Object]++
				}
			}
		}
		c.settle(patient)
		attempts, left := attemptsOf(metrics.OpNone, history, room, true), map[uint32]bool{}
		defer attempts.Close()
		for a := range attempts.All() {
			left[a.granted.Object] = true
		}
		granted := func(s *metrics.Sample) bool { return s.Op == metrics.Acquire && s.Outcome == metrics.OK }
		v := forgotten(attempts.All(), history, granted, func(object uint32) int { return len(contend[object]) }, c, patient, off)
		for object, n := range grants {
			limit := max(leastOvertakes, len(contend[object]))
			if !left[object] {
				limit = 0 // no session waited in vain
			}
			rivals = max(rivals, len(contend[object]))
			if n >= limit && len(contend[object]) > 1 {
				v.Evidence += n
			}
		}
		if v.Count == 0 && len(grants) > 0 && rivals < 2 {
			return Verdict{Uncontended: true, Detail: "no object was asked for by two sessions"}
		}
		return v.settle(fmt.Sprintf("somebody waited to the end, but no object was granted %d times: use a longer duration", max(leastOvertakes, rivals)))
	}
}

// forgotten judges the attempts that were not granted: each by its Idle, together with the grants of its object. As many of these as there are rivals, but at
// least leastOvertakes, prove a violation. It keeps in memory the attempts that were notified of nothing for too long.
func forgotten(attempts iter.Seq[attempt], history iter.Seq[metrics.Sample], grants func(*metrics.Sample) bool, rivals func(object uint32) int,
	c *conditions, patient, off time.Duration) (v Verdict) {
	type wait struct {
		attempt
		idle, last metrics.Sample
		n          int
	}
	waits := map[metrics.Sample]*wait{}
	idle := func(s *metrics.Sample) bool {
		return s.Op == metrics.Idle && c.overdue(s.Start, s.End, patient, 1, func(session uint32) bool { return session == s.Session })
	}
	for s := range history {
		if idle(&s) {
			waits[key(s)] = &wait{idle: s}
		}
	}
	if len(waits) == 0 {
		return v
	}
	var order []*wait
	byObject := map[uint32][]*wait{}
	for a := range attempts {
		if w := waits[key(a.granted)]; w != nil {
			if w.attempt.granted.Op != metrics.OpNone { // another attempt that ended with it
				w = &wait{idle: w.idle}
			}
			w.attempt = a
			order = append(order, w)
			byObject[w.idle.Object] = append(byObject[w.idle.Object], w)
		}
	}
	for g := range history {
		if !grants(&g) {
			continue
		}
		for _, w := range byObject[g.Object] {
			if g.End >= w.idle.Start+off && g.End < w.idle.End-off && g.Start > w.placed()+2*off && g.Session != w.idle.Session {
				if w.n++; w.n == 1 || g.End >= w.last.End {
					w.last = g
				}
			}
		}
	}
	var shown time.Duration
	for _, w := range order {
		if w.n >= max(leastOvertakes, rivals(w.idle.Object)) {
			v.offence(w.idle.Start, &shown, fmt.Sprintf("session %d had its place on object %d at %v and received no event from %v to %v, while %d that had come after it were granted",
				w.idle.Session, w.idle.Object, w.placed(), w.idle.Start, w.idle.End, w.n), w.enqueued, w.last, w.idle)
		}
	}
	return v
}

// key returns what the phases of one attempt that was not granted have in common.
func key(s metrics.Sample) metrics.Sample {
	return metrics.Sample{Session: s.Session, Object: s.Object, End: s.End}
}
