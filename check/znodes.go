package check

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// A history of plain requests is judged by what the servers say themselves: the transaction of each write, the last transaction that had changed what a read saw,
// and the state in which each reply was made. metrics.GetData says which field of a sample is which.

// Seen returns the Value of a sample of a request: which session of its seat made it, from 0 on, and the version of the znode after a write or in a read; -1: the
// reply does not report it.
func Seen(session int, version int32) int64 { return int64(session)<<32 | int64(uint32(version)) }

// AtLeader stands in place of the version, of which a sync has none, if the leader may have answered the sync. A follower asks the leader, and answers when it
// has applied all that the leader had committed. The leader answers the syncs of its own sessions as it answers a read, from what it has applied itself, which
// may be less than a follower has applied and acknowledged (CommitProcessor.needCommit: its matchSyncs is false in a leader). So such a sync proves nothing.
const AtLeader = -2

func sessionOf(s *metrics.Sample) int64 { return s.Value >> 32 }
func versionOf(s *metrics.Sample) int32 { return int32(uint32(s.Value)) }
func isSync(s *metrics.Sample) bool     { return s.Op == metrics.Sync && s.Outcome == metrics.OK }
func proves(s *metrics.Sample) bool     { return isSync(s) && versionOf(s) != AtLeader }
func changes(s *metrics.Sample) bool {
	return changesData(s) || s.Op == metrics.Create || s.Op == metrics.Delete
}
func acknowledged(s *metrics.Sample) bool {
	return changes(s) && s.Outcome == metrics.OK && s.Token != 0
}
func changesData(s *metrics.Sample) bool {
	return s.Op == metrics.SetData || s.Op == metrics.Multi || s.Op == metrics.Apply
}

// looks reports whether a sample is a read of a znode that existed. A Tally is a read after the run, by a session that has just called sync.
func looks(s *metrics.Sample) bool {
	switch s.Op {
	case metrics.GetData, metrics.Exists, metrics.Children, metrics.Tally:
		return s.Outcome == metrics.OK && s.Token != 0
	}
	return false
}

// replies reports whether a sample is a session's request that was answered in a known state.
func replies(s *metrics.Sample) bool {
	return (looks(s) && s.Op != metrics.Tally || acknowledged(s) && s.Op != metrics.Apply || isSync(s)) && s.Zxid != 0
}

// precedence is a rule about pairs of samples of one group: if one is over at a position before another one starts, its value must not exceed the other's.
type precedence struct {
	first, then func(s *metrics.Sample) bool      // which samples may be first, and which may be then
	group       func(a, b *metrics.Sample) int    // orders groups; 0: same group
	over, from  func(s *metrics.Sample) int64     // positions
	through     bool                              // the one may be over at the position where the other starts
	value       func(s *metrics.Sample) int64     // of the first
	judge       func(most, s metrics.Sample) bool // the pair is wrong; most has the largest value of all that were over
}

// of goes through all pairs that matter, for which it sorts the samples by group and position twice. pairs is how many samples had another one before them.
func (o precedence) of(history iter.Seq[metrics.Sample], room *spill.Room, wrong func(most, s metrics.Sample)) (pairs int) {
	by := func(at func(s *metrics.Sample) int64) func(a, b *metrics.Sample) int {
		return func(a, b *metrics.Sample) int {
			return cmp.Or(o.group(a, b), cmp.Compare(at(a), at(b)), inTime(*a, *b))
		}
	}
	before := sorted(history, room, o.first, by(o.over))
	defer before.Close()
	after := sorted(history, room, o.then, by(o.from))
	defer after.Close()
	next, stop := iter.Pull(before.All())
	defer stop()
	b, more := next()
	var most metrics.Sample
	known := false
	for s := range after.All() {
		if known && o.group(&most, &s) != 0 {
			known = false
		}
		for more {
			c := o.group(&b, &s)
			if c > 0 || c == 0 && (o.over(&b) > o.from(&s) || o.over(&b) == o.from(&s) && !o.through) {
				break
			}
			if c == 0 && (!known || o.value(&b) > o.value(&most)) {
				most, known = b, true
			}
			b, more = next()
		}
		if !known {
			continue
		}
		if pairs++; o.judge(most, s) {
			wrong(most, s)
		}
	}
	return pairs
}

func starts(s *metrics.Sample) int64 { return int64(s.Start) }
func ends(s *metrics.Sample) int64   { return int64(s.End) }
func token(s *metrics.Sample) int64  { return s.Token }
func state(s *metrics.Sample) int64  { return s.Zxid }

func together(_, _ *metrics.Sample) int { return 0 }
func byObject(a, b *metrics.Sample) int { return cmp.Compare(a.Object, b.Object) }
func byRequester(a, b *metrics.Sample) int {
	return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(sessionOf(a), sessionOf(b)))
}

// breach notes a pair of samples that shows a violation; the earliest pair is kept.
func (v *Verdict) breach(a, b metrics.Sample, format string, args ...any) {
	if v.Count++; len(v.Witness) == 0 || sooner(b, v.Witness[len(v.Witness)-1]) {
		v.Witness, v.Detail = []metrics.Sample{b}, fmt.Sprintf(format, args...)
		if a.Op != metrics.OpNone {
			v.Witness = []metrics.Sample{a, b}
		}
	}
}

// requested describes the request of a sample for a reader.
func requested(s metrics.Sample) string {
	return fmt.Sprintf("%v of znode %d by session %d at %v", s.Op, s.Object, s.Session, s.End)
}

// WriteOrder holds when the acknowledged writes (SetData, Create, Delete, Multi, Apply) are linearizable: a write that was issued after another one was
// acknowledged has a later transaction, whatever their znodes; and the writes of a znode's data, in the order of their transactions, raise its version by one
// each, except for writes in between of which nothing is known. Evidence is the number of acknowledged writes; Witness holds the two writes, the one that was
// earlier by its transaction or its version first; Count is the number of writes that contradict another one.
func WriteOrder() Check {
	return Check{Name: "write-order", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var v Verdict
		precedence{first: acknowledged, then: acknowledged, group: together, over: ends, from: starts, value: token,
			judge: func(most, s metrics.Sample) bool { return s.Token <= most.Token },
		}.of(history, room, func(most, s metrics.Sample) {
			v.breach(most, s, "%s has transaction %#x, which is not after that of the %s, %#x, though it began when that had been acknowledged",
				requested(s), s.Token, requested(most), most.Token)
		})
		data := sorted(history, room, changesData, func(a, b *metrics.Sample) int {
			return cmp.Or(byObject(a, b), cmp.Compare(a.Token, b.Token), inTime(*a, *b))
		})
		defer data.Close()
		var z struct { // the current znode
			some     bool
			last     metrics.Sample // the previous write
			version  int64
			doubtful int64 // writes without a transaction, which come first and may be anywhere
		}
		for s := range data.All() {
			if z.some && z.last.Object != s.Object {
				z.last, z.version, z.doubtful = metrics.Sample{}, 0, 0
			}
			z.some, z.last.Object = true, s.Object
			if !acknowledged(&s) {
				z.doubtful++
				continue
			}
			is := int64(versionOf(&s))
			switch unknown := is - z.version - 1; {
			case unknown < 0:
				v.breach(z.last, s, "%s, transaction %#x, made version %d, though the %s, transaction %#x before it, had made %d",
					requested(s), s.Token, is, requested(z.last), z.last.Token, z.version)
			case unknown > z.doubtful:
				v.breach(z.last, s, "%s made version %d, though the last known write before it made %d, and the fate of only %d of the znode's writes is not known",
					requested(s), is, z.version, z.doubtful)
			default:
				z.doubtful -= unknown
			}
			z.last, z.version = s, is
		}
		for s := range history {
			if acknowledged(&s) {
				v.Evidence++
			}
		}
		return v.ordered("nothing was written")
	}}
}

// SessionOrder holds when no session sees the servers go back: a request that was made after another one of the same session had been answered is answered in the
// same state or a later one, and a znode that it reads was changed by the same transaction as before or a later one. Evidence is the number of requests with an
// earlier one of the same session; Witness holds the two requests; Count is the number of requests that went back.
func SessionOrder() Check {
	return Check{Name: "session-order", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var v Verdict
		v.Evidence = precedence{first: replies, then: replies, group: byRequester, over: ends, from: starts, value: state,
			judge: func(most, s metrics.Sample) bool { return s.Zxid < most.Zxid },
		}.of(history, room, func(most, s metrics.Sample) {
			v.breach(most, s, "%s was answered in state %#x, though its session had been answered in %#x before: %s", requested(s), s.Zxid, most.Zxid, requested(most))
		})
		ofZnode := func(s *metrics.Sample) bool {
			return looks(s) && s.Op != metrics.Tally || acknowledged(s)
		}
		n := precedence{first: ofZnode, then: func(s *metrics.Sample) bool { return ofZnode(s) && looks(s) }, over: ends, from: starts, value: token,
			group: func(a, b *metrics.Sample) int { return cmp.Or(byRequester(a, b), byObject(a, b)) },
			judge: func(most, s metrics.Sample) bool { return s.Token < most.Token },
		}.of(history, room, func(most, s metrics.Sample) {
			v.breach(most, s, "%s saw what transaction %#x had made, though its session had seen or made that of %#x before: %s",
				requested(s), s.Token, most.Token, requested(most))
		})
		v.Evidence = max(v.Evidence, n)
		return v.ordered("no session made two requests one after the other")
	}}
}

// NoLostWrites holds when each acknowledged write is in every state that the servers show after it. A read that was answered in the state of the write's
// transaction or a later one saw it, or a later change of the znode. A read that was made after a sync of the same session was answered in the state of all
// writes that had been acknowledged before the sync started, and saw them, unless the leader may have answered the sync (AtLeader): the number of such reads that
// were in an older state is reported, but is no violation. Reads after the run (Tally) come after a sync. Evidence is the number of reads with an earlier write
// of their znode, or an earlier sync; Witness holds the write and the read; Count is the number of reads that miss a write.
//
// A sync goes to the leader and does not prove that it still leads (ZOOKEEPER-1675, ZOOKEEPER-2136): with a leader that is cut off, what this check finds may be
// a known limit of the servers.
func NoLostWrites() Check {
	return Check{Name: "no-lost-writes", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var v Verdict
		v.Evidence = precedence{first: acknowledged, then: func(s *metrics.Sample) bool { return looks(s) && s.Zxid != 0 }, group: byObject, over: token, from: state,
			through: true, value: token, judge: func(most, s metrics.Sample) bool { return s.Token < most.Token },
		}.of(history, room, func(most, s metrics.Sample) {
			v.breach(most, s, "%s, answered in state %#x, saw what transaction %#x had made and not the %s, transaction %#x",
				requested(s), s.Zxid, s.Token, requested(most), most.Token)
		})
		reads := spill.New(room, func(a, b *metrics.Sample) int { return cmp.Or(cmp.Compare(a.Due, b.Due), inTime(*a, *b)) })
		defer reads.Close()
		for s := range afterSync(history, room, proves) {
			reads.Add(s)
		}
		older := precedence{first: acknowledged, then: looks, group: together, over: ends, from: func(s *metrics.Sample) int64 { return int64(s.Due) }, value: token,
			judge: func(most, s metrics.Sample) bool { return s.Zxid != 0 && s.Zxid < most.Token },
		}
		n := older.of(writesAnd(history, reads.All()), room, func(most, s metrics.Sample) {
			v.breach(most, s, "%s, after a sync that began at %v, was answered in state %#x, before transaction %#x of the %s", requested(s), s.Due, s.Zxid,
				most.Token, requested(most))
		})
		precedence{first: acknowledged, then: looks, group: byObject, over: ends, from: func(s *metrics.Sample) int64 { return int64(s.Due) }, value: token,
			judge: func(most, s metrics.Sample) bool { return s.Token < most.Token },
		}.of(writesAnd(history, reads.All()), room, func(most, s metrics.Sample) {
			v.breach(most, s, "%s, after a sync that began at %v, saw what transaction %#x had made and not the %s, transaction %#x", requested(s), s.Due, s.Token,
				requested(most), most.Token)
		})
		v.Evidence = max(v.Evidence, n)
		if v = v.ordered("no znode was read after a write"); v.Answer == Holds {
			v.Detail = atLeader(history, room, older)
		}
		return v
	}}
}

// atLeader reports how many reads were older than they should be after a sync that the leader may have answered; "" if none was.
func atLeader(history iter.Seq[metrics.Sample], room *spill.Room, older precedence) string {
	reads := spill.New(room, func(a, b *metrics.Sample) int { return cmp.Or(cmp.Compare(a.Due, b.Due), inTime(*a, *b)) })
	defer reads.Close()
	for s := range afterSync(history, room, func(s *metrics.Sample) bool { return isSync(s) && !proves(s) }) {
		if s.Op != metrics.Tally {
			reads.Add(s)
		}
	}
	missed := 0
	all := older.of(writesAnd(history, reads.All()), room, func(_, _ metrics.Sample) { missed++ })
	if missed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d reads after a sync that the leader answered, or may have answered, missed a write that had been acknowledged before the sync began: "+
		"the leader's own sessions do not wait for what it has not applied yet", missed, all)
}

// writesAnd returns the acknowledged writes of a history, and the given reads.
func writesAnd(history, reads iter.Seq[metrics.Sample]) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		for s := range history {
			if acknowledged(&s) && !yield(s) {
				return
			}
		}
		reads(yield)
	}
}

// afterSync returns the reads of a history that come after a sync of their session, and those after the run. Their Due is when the last such sync started.
func afterSync(history iter.Seq[metrics.Sample], room *spill.Room, sync func(s *metrics.Sample) bool) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		for s := range history {
			if s.Op == metrics.Tally && looks(&s) {
				if s.Due = s.Start; !yield(s) {
					return
				}
			}
		}
		on := true
		precedence{first: sync, then: func(s *metrics.Sample) bool { return looks(s) && s.Op != metrics.Tally }, group: byRequester, over: ends, from: starts,
			value: starts, judge: func(_, _ metrics.Sample) bool { return on },
		}.of(history, room, func(sync, s metrics.Sample) {
			s.Due = sync.Start
			on = on && yield(s)
		})
	}
}

// LinearizableZnodes holds when the sampled znodes behave as registers that count their writes: the writes of their data, and the reads after a sync of the same
// session, can be put into an order in which each happened at one instant (a read: between the start of the sync and its own end), and every read and write
// reported the version that it should. It knows nothing of transactions, and uses Porcupine as LinearizableQueue does. It is a second opinion on WriteOrder and
// NoLostWrites, for a sample of the history: the first sampledEach operations of sampledZnodes znodes, and of the reads only the first after each sync, within a
// limit for each znode. Evidence is the number of operations; past the limit a znode has no answer.
func LinearizableZnodes(limit time.Duration) Check {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{int64(0)} },
		Step: func(state, input, _ any) []any { return input.(entry).versioned(state.(int64)) },
	}
	return Check{Name: "linearizable", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var all Verdict
		open := 0
		histories := znodeHistory(history, room)
		for _, object := range slices.Sorted(maps.Keys(histories)) {
			one := func(iter.Seq[metrics.Sample]) map[uint32][]entry {
				return map[uint32][]entry{object: histories[object]}
			}
			v := linearizable(limit, model.ToModel(), one).Judge(history, room)
			if v.Answer == Unknown {
				open++
				continue
			}
			all.Evidence += v.Evidence
			if all.Count += v.Count; v.Count > 0 && (len(all.Witness) == 0 || sooner(v.Witness[0], all.Witness[0])) {
				all.Witness, all.Detail = v.Witness, v.Detail
			}
		}
		return all.ordered(fmt.Sprintf("no version of a znode was made, or %d znodes were undecided after %v", open, limit))
	}}
}

const (
	sampledZnodes = 20
	sampledEach   = 300
)

// versioned returns what the version of a znode may be after the entry.
func (e entry) versioned(is int64) []any {
	notified := int64(versionOf(&e.Sample))
	switch {
	case e.Outcome != metrics.OK:
		return []any{is, is + 1}
	case changesData(&e.Sample) && notified == is+1, !changesData(&e.Sample) && notified == is:
		return []any{notified}
	}
	return nil
}

// znodeHistory returns the entries of the sampled znodes. A write that had not ended when the sample of its znode ends may or may not have happened.
func znodeHistory(history iter.Seq[metrics.Sample], room *spill.Room) map[uint32][]entry {
	type sample struct {
		n     int
		until time.Duration // end of the last entry
	}
	of := map[uint32]*sample{}
	for s := range history { // by their End
		read := s.Op == metrics.GetData || s.Op == metrics.Exists
		z := of[s.Object]
		if z == nil && changesData(&s) && len(of) < sampledZnodes {
			z = &sample{}
			of[s.Object] = z
		}
		if z != nil && z.n < sampledEach && (changesData(&s) || read && looks(&s)) {
			z.n, z.until = z.n+1, max(z.until, s.End)
		}
	}
	all := map[uint32][]entry{}
	for s := range history {
		if z := of[s.Object]; z != nil && changesData(&s) && s.Start <= z.until {
			if s.Outcome != metrics.OK || s.End > z.until {
				s.Outcome = metrics.InDoubt
			}
			all[s.Object] = append(all[s.Object], entry{Sample: s})
		}
	}
	var last metrics.Sample // the last read
	for s := range afterSync(history, room, proves) {
		again := last.Op != metrics.OpNone && byRequester(&last, &s) == 0 && last.Due == s.Due
		if last = s; again || s.Op == metrics.Tally { // a long time after its sync it may be anywhere: it proves little, and takes long to try
			continue
		}
		if z := of[s.Object]; z != nil && (s.Op == metrics.GetData || s.Op == metrics.Exists) && s.End <= z.until {
			s.Start = s.Due
			all[s.Object] = append(all[s.Object], entry{Sample: s})
		}
	}
	return all
}
