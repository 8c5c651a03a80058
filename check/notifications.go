package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Account says what became of the events due to the watchers: one for each change made while a watch was armed, starting from the state in which it was
// armed. Due is the sum of Delivered to Undecided.
type Account struct {
	Watchers, Changes int
	Due               int
	Delivered         int // the event came
	Coalesced         int // the change came between an event and the read that re-armed the watch, which saw it
	Missed            int // the change came while the watcher had no connection: the servers do not report it then, or report only the first of several
	Lost              int // the event did not come
	Undecided         int // it had not come when the cell ended, and was not late yet
	Duplicated        int // additional events, for nothing that was due
}

// Notifications holds when each watcher was notified of each change once. The changes (Change) are in the order of their Token; a watch that was armed in the
// state of a transaction (Await) reports the first change after it. A one-shot watch (once) is re-armed after its event: changes in the state of that read
// need no event. A persistent watch reports every change. A loss of the connection excuses what changed meanwhile, as far as ZooKeeper's guarantees do: a
// watch that is re-armed on the new connection reports that something has changed, if it can.
//
// An event is Lost if it was passed over by a later one, or had not come after too long: bound after the change was acknowledged, or what conditions
// measures, with one more wake-up for every 500 watchers. An event is Duplicated if it came before any change that it could report, or for one that had been
// reported; also if it met no watch in the client. An event that a watcher no longer waits for (Timeout) is lost if no such event comes later. Servers before
// 3.9 do not say which change an event reports: it is then taken for the next one that is due, so that the counts are right and a loss shows in the last
// event. Each change in doubt excuses one event for which nothing was due. Evidence is the number of events delivered; Witness holds the Await and the
// Change.
func Notifications(once bool, bound time.Duration) Check {
	return Check{Name: "notifications", Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		l := follow(history, room, once, bound)
		l.v.Evidence = l.Delivered
		return l.v.settle("no event was delivered")
	}}
}

// AccountOf returns the account of a history by the rules of Notifications.
func AccountOf(history iter.Seq[metrics.Sample], once bool, bound time.Duration) Account {
	return follow(history, nil, once, bound).Account
}

// ledger is an account in progress.
type ledger struct {
	Account
	once    bool
	bound   time.Duration
	c       *conditions
	changes []metrics.Sample // changes that were made, by Token
	doubts  []metrics.Sample // changes that may have been made, by Start
	v       Verdict
	shown   time.Duration
}

func follow(history iter.Seq[metrics.Sample], room *spill.Room, once bool, bound time.Duration) *ledger {
	l, watchers := &ledger{once: once, bound: bound, c: newConditions(room)}, map[uint32]bool{}
	defer l.c.close()
	for s := range history {
		l.c.see(s)
		switch {
		case s.Op == metrics.Await:
			watchers[s.Session] = true
		case s.Op == metrics.Change && s.Token != 0:
			l.changes = append(l.changes, s)
		case s.Op == metrics.Change && s.Value != 0 && s.Outcome != metrics.Failed:
			l.doubts = append(l.doubts, s)
		}
	}
	l.c.settle(bound)
	slices.SortFunc(l.changes, func(a, b metrics.Sample) int { return cmp.Compare(a.Token, b.Token) })
	slices.SortFunc(l.doubts, func(a, b metrics.Sample) int { return cmp.Compare(a.Start, b.Start) })
	l.Watchers, l.Changes = len(watchers), len(l.changes)
	takes := func(s *metrics.Sample) bool { return s.Op == metrics.Await }
	compare := func(a, b *metrics.Sample) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.End, b.End), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Zxid, b.Zxid))
	}
	together := func(a, b *metrics.Sample) bool { return a.Session == b.Session }
	for all := range groups(history, room, takes, compare, together) {
		w := watcher{ledger: l}
		for i, s := range all {
			w.wait(s, i, all)
		}
		w.settle()
	}
	return l
}

// after returns the index of the first change after a transaction.
func (l *ledger) after(zxid int64) int {
	i, _ := slices.BinarySearchFunc(l.changes, zxid, func(s metrics.Sample, zxid int64) int {
		if s.Token <= zxid {
			return -1
		}
		return 1
	})
	return i
}

// watcher follows one session's waits.
type watcher struct {
	*ledger
	next    int  // index of the first change that is not accounted for
	blind   bool // the state in which it was armed is not known
	lost    bool // the watch, or its connection, was lost since it was armed
	drained int  // events of a persistent watch after a gap whose changes the next read shows
	excused int  // doubtful changes that an event has been attributed to
	given   []givenUp
}

// givenUp is a change whose event has not come, and is no longer waited for: it may still come.
type givenUp struct {
	change int
	wait   metrics.Sample
}

// wait processes the next wait of the session.
func (w *watcher) wait(s metrics.Sample, i int, all []metrics.Sample) {
	switch {
	case s.Token == 0: // the engine cannot report what was due, so nothing is
		w.blind = true
		return
	case i == 0, w.blind:
		w.next, w.blind = w.after(s.Token), false
	case all[i-1].Token != s.Token:
		w.armedAgain(s)
	}
	if s.Outcome == metrics.Timeout && w.next < len(w.changes) {
		w.given = append(w.given, givenUp{w.next, s})
		w.next++
	}
	switch w.duplicated(s, int(s.Value>>1)); s.Outcome {
	case metrics.Timeout:
	case metrics.OK:
		w.event(s)
	case metrics.Lost:
		for w.lost = true; w.next < len(w.changes) && w.overdue(s); w.next++ {
			w.lose(s)
		}
	default:
		notified := min(w.drained, len(w.changes)-w.next)
		w.Due, w.Delivered, w.next, w.drained = w.Due+notified, w.Delivered+notified, w.next+notified, 0
		for ; w.next < len(w.changes); w.next++ {
			if !w.lost && w.overdue(s) {
				w.lose(s)
			} else {
				w.Due, w.Undecided = w.Due+1, w.Undecided+1
			}
		}
	}
}

// settle accounts for the events that were given up and have not come since.
func (w *watcher) settle() {
	for _, g := range w.given {
		if g.wait.Value&1 != 0 {
			w.Due, w.Missed = w.Due+1, w.Missed+1
		} else {
			w.loseAt(g.change, g.wait)
		}
	}
}

// armedAgain accounts for the changes up to the state in which a watch was re-armed.
func (w *watcher) armedAgain(s metrics.Sample) {
	from := w.after(s.Token)
	passed := max(from-w.next, 0)
	notified := min(w.drained, passed)
	w.Due, w.Delivered = w.Due+notified, w.Delivered+notified
	w.duplicated(s, w.drained-notified)
	w.drained = 0
	w.next += notified
	switch {
	case w.lost:
		w.Due, w.Missed, w.next = w.Due+passed-notified, w.Missed+passed-notified, from
	case w.once:
		w.Due, w.Coalesced, w.next = w.Due+passed, w.Coalesced+passed, max(w.next, from)
	default: // a persistent watch has no reason to be re-armed
		for ; w.next < from; w.next++ {
			w.lose(s)
		}
	}
	w.lost = false
}

// event accounts for an event.
func (w *watcher) event(s metrics.Sample) {
	broke := s.Value&1 != 0
	if broke && !w.once && s.Zxid == 0 {
		w.drained++
		return
	}
	of := w.next
	if s.Zxid != 0 {
		if of = w.after(s.Zxid - 1); of < len(w.changes) && w.changes[of].Token != s.Zxid {
			of = len(w.changes)
		}
	}
	if of < w.next || of >= len(w.changes) || w.changes[of].Start > s.End {
		if of >= w.next && w.excused < len(w.doubts) && w.doubts[w.excused].Start <= s.End {
			w.excused++
			return
		}
		w.duplicated(s, 1)
		return
	}
	for ; w.next < of; w.next++ {
		if broke {
			w.Due, w.Missed = w.Due+1, w.Missed+1
		} else {
			w.lose(s)
		}
	}
	w.Due, w.Delivered, w.next, w.lost = w.Due+1, w.Delivered+1, of+1, w.lost && broke
}

// overdue reports whether the event of the next change should have come before the wait ended.
func (w *watcher) overdue(s metrics.Sample) bool {
	return w.c.overdue(max(w.changes[w.next].End, s.Start), s.End, w.bound, 2+w.Watchers/wakesEach, func(session uint32) bool { return session == s.Session })
}

// wakesEach is how many watchers of one znode may take the time of one wake-up, because they are notified one after the other.
const wakesEach = 500

// lose counts the event of the next change as lost.
func (w *watcher) lose(s metrics.Sample) { w.loseAt(w.next, s) }

func (w *watcher) loseAt(change int, s metrics.Sample) {
	w.Due, w.Lost = w.Due+1, w.Lost+1
	c := w.changes[change]
	w.v.offence(s.End, &w.shown, fmt.Sprintf("session %d had no event of change %d (transaction %d), which was acknowledged at %v, by %v", s.Session, c.Value,
		c.Token, c.End, s.End), c, s)
}

// duplicated accounts for n additional events: as many as were given up are merely late.
func (w *watcher) duplicated(s metrics.Sample, n int) {
	for ; n > 0 && len(w.given) > 0; n-- {
		w.given = w.given[1:]
		w.Due, w.Delivered = w.Due+1, w.Delivered+1
	}
	if n <= 0 {
		return
	}
	w.Duplicated += n
	w.v.offence(s.End, &w.shown, fmt.Sprintf("session %d received %d events too many by %v, without a change that was due", s.Session, n, s.End), s)
	w.v.Count += n - 1
}
