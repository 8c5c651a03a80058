package check

import (
	"cmp"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// HandOffs finds, among the holds of several hosts, what let each grant in: the last release before it in the order of transactions; for a reader's grant,
// the last release of a writer. If both are on one host and the release was issued while the grant was waited for, the time between them is a hand-off by
// that host's clock. do is called with the grant and the hand-off and, for an election, its two parts, if an event notified the next leader. Between two
// hosts no clock can tell. These are figures, not a verdict.
func HandOffs(hosts []Host, room *spill.Room, do func(host int, grant metrics.Sample, parts []metrics.Sample)) {
	all := spill.New(room, func(a, b *step) int {
		return cmp.Or(cmp.Compare(a.zxid, b.zxid), cmp.Compare(a.Object, b.Object), cmp.Compare(a.turn, b.turn))
	})
	defer all.Close()
	for i, host := range hosts {
		held := spans(host.History, room, locked, shared, led)
		for s := range held.all() {
			switch {
			case !s.ended() || s.begin.Zxid <= 0:
			case s.end.Zxid > s.begin.Zxid:
				all.Add(step{Sample: s.end, zxid: s.end.Zxid, host: int32(i), shared: s.shared})
			default:
				all.Add(step{Sample: s.end, zxid: s.begin.Zxid, turn: overSince, host: int32(i), shared: s.shared})
			}
		}
		held.close()
		waited := map[uint32]metrics.Sample{} // the last wait of each session
		for s := range host.History {
			switch {
			case s.Op == metrics.Wait:
				waited[s.Session] = s
			case s.Outcome == metrics.OK && s.Zxid > 0 && (locked.begins(s.Op) || shared.begins(s.Op) || led.begins(s.Op)):
				g := step{Sample: s, zxid: s.Zxid, host: int32(i), turn: begun, shared: shared.begins(s.Op)}
				if w := waited[s.Session]; w.Start >= s.Start && w.End <= s.End {
					g.notified = w.End
				}
				all.Add(g)
			}
		}
	}
	type last struct{ any, writer step }
	objects := map[uint32]*last{}
	for s := range all.All() {
		o := objects[s.Object]
		if o == nil {
			o = &last{}
			objects[s.Object] = o
		}
		if s.turn != begun {
			if o.any = s; !s.shared {
				o.writer = s
			}
			continue
		}
		before := o.any
		if s.shared {
			before = o.writer
		}
		if parts := s.after(before); before.Op != metrics.OpNone && before.host == s.host && len(parts) > 0 {
			do(int(s.host), s.Sample, parts)
		}
	}
}

// step is a grant, or the end of a hold, in the order of transactions. An end whose transaction is not known has the place of its grant.
type step struct {
	metrics.Sample
	zxid     int64
	notified time.Duration // for a grant: when the event that ended its wait came; 0 if there was none
	host     int32
	turn     int32 // among the steps of one transaction
	shared   bool
}

// The turns of the steps of one transaction: what ended in it lets in the sessions granted in the state that it left.
const (
	gone int32 = iota
	begun
	overSince // the end of a grant of that state; its own transaction is not known
)

// after returns the hand-off from an end to a grant on the same host; nil: the grant did not wait for it, or no release was issued.
func (s *step) after(end step) []metrics.Sample {
	campaign := s.Op == metrics.Campaign
	if end.Start <= s.Start || end.Start > s.End || end.Outcome == metrics.Lost && !campaign || campaign && s.Token != 0 && end.Token == s.Token && end.Session == s.Session {
		return nil
	}
	part := func(op metrics.Op, from, to time.Duration) metrics.Sample {
		p := s.Sample
		p.Op, p.Due, p.Start, p.End = op, from, from, to
		return p
	}
	all := []metrics.Sample{part(metrics.HandOff, end.Start, s.End)}
	if campaign && s.notified >= end.Start {
		all = append(all, part(metrics.Detect, end.Start, s.notified), part(metrics.Elect, s.notified, s.End))
	}
	return all
}

// PutToTake finds the passage of items through a queue. It calls do for each item that one host has both put and taken, by its clock, from when the put was
// due to when the item was taken. For items that nobody took, or that were not even put, it calls do for every nth, for n hosts, because on average one in n
// of those taken is on one host; they waited until an offset of the host that was to put them. It leaves out items that were there before the load, and those
// that were taken more than once or whose take is unknown.
func PutToTake(hosts []Host, until []time.Duration, room *spill.Room, do func(host int, way metrics.Sample)) {
	type end struct {
		metrics.Sample
		host int32
	}
	all := spill.New(room, func(a, b *end) int { return cmp.Compare(a.Value, b.Value) })
	defer all.Close()
	left := 0
	waits := func(put end, until time.Duration) {
		if left++; left%len(hosts) == 0 {
			way := put.Sample
			way.Op, way.Outcome, way.Token, way.Zxid, way.End = metrics.PutToTake, metrics.Unfinished, 0, 0, until
			do(int(put.host), way)
		}
	}
	for i, host := range hosts {
		for s := range host.History {
			switch {
			case s.Op != metrics.Put && s.Op != metrics.Take || s.Session == metrics.Everybody:
			case s.Value != 0:
				all.Add(end{s, int32(i)})
			case s.Op == metrics.Put && s.Outcome == metrics.Unfinished: // it was offered, but not started
				waits(end{s, int32(i)}, s.End)
			}
		}
	}
	var put, take end
	takes := 0
	settle := func() {
		switch {
		case put.Op == metrics.OpNone || takes > 1:
		case takes == 1 && take.Outcome == metrics.OK && take.host == put.host && take.End >= put.Start:
			way := take.Sample
			way.Op, way.Token, way.Zxid, way.Due, way.Start = metrics.PutToTake, 0, 0, put.Due, put.Start
			do(int(put.host), way)
		case takes == 0 && (put.Outcome == metrics.OK || put.Outcome == metrics.Unfinished) && put.End <= until[put.host]:
			waits(put, until[put.host])
		}
		put, take, takes = end{}, end{}, 0
	}
	value := int64(0)
	for s := range all.All() {
		if s.Value != value {
			settle()
			value = s.Value
		}
		switch {
		case s.Op == metrics.Put && (put.Op == metrics.OpNone || s.Outcome == metrics.OK):
			put = s
		case s.Op == metrics.Take:
			take = s
			takes++
		}
	}
	settle()
}
