package check

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// SessionsOwn holds when each session that was opened (Open) has an id that no other has and, if passwords are known, a password that no other has, and when the
// servers expired none (Keep, Lost) before its timeout had passed since the sending of a request that they answered. A later expiry is no violation: its client
// may have been too slow. ZooKeeper derives a password from the lower 48 bits of the id (generatePasswd seeds java.util.Random, which keeps that many), and the id
// from the server's number, in the upper 8 bits, and the time at which the server started: sessions of two servers that started in the same millisecond
// may share a password without fault, if their ids differ in the upper bits alone. Evidence is the number of sessions opened; Witness holds the two sessions, or the one that expired.
func SessionsOwn() Check {
	return Check{Name: "sessions-own", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) (v Verdict) {
		opened := func(s *metrics.Sample) bool { return s.Op == metrics.Open && s.Outcome == metrics.OK }
		for s := range history {
			switch {
			case opened(&s):
				v.Evidence++
			case s.Op == metrics.Keep && s.Outcome == metrics.Lost && s.Value > 0 && s.End-s.Start < time.Duration(s.Value):
				v.breach(metrics.Sample{}, s, "session 0x%x expired %v after the servers last heard from it, but its timeout is %v", s.Token, s.End-s.Start,
					time.Duration(s.Value))
			}
		}
		for _, same := range []struct {
			what string
			of   func(s *metrics.Sample) int64
		}{{"id", token}, {"password", func(s *metrics.Sample) int64 { return s.Value }}} {
			alike := groups(history, room, func(s *metrics.Sample) bool { return opened(s) && same.of(s) != 0 },
				func(a, b *metrics.Sample) int { return cmp.Or(cmp.Compare(same.of(a), same.of(b)), inTime(*a, *b)) },
				func(a, b *metrics.Sample) bool { return same.of(a) == same.of(b) })
			for group := range alike {
				for i := range slices.Backward(group[1:]) {
					if differing := group[0].Token ^ group[i+1].Token; differing != 0 && differing&(1<<48-1) == 0 {
						continue
					}
					v.breach(group[0], group[i+1], "session 0x%x of client %d was given the %s of session 0x%x of client %d", group[i+1].Token,
						group[i+1].Session, same.what, group[0].Token, group[0].Session)
				}
			}
		}
		return v.ordered("no session was opened")
	}}
}
