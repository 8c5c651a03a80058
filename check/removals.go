package check

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// removing returns a check of the order in which items were removed. That order is judged twice, by the clock of the host and by the transactions that removed
// the items; one of them is enough for a violation. Simultaneous removals are in the order of their transactions; a removal whose transaction is not known is in
// the order of the clock. Several hosts have only their transactions in common.
func removing(name string, synced bool, judge func(iter.Seq[metrics.Sample], *spill.Room) Verdict) Check {
	ordered := func(hosts []Host, room *spill.Room) Verdict {
		v := judge(inTransactions(hosts, synced, room), room)
		if v.Answer == Violated {
			v.Witness = inHistory(v.Witness, hosts)
			v.Detail = outOfOrder(v.Witness)
		}
		return v
	}
	return Check{Name: name, Part: true, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		return either(judge(history, room), ordered([]Host{{History: history}}, room))
	}, Across: func(hosts []Host, room *spill.Room) Verdict {
		return between(within(hosts, room, judge), ordered(hosts, room))
	}}
}

// either combines what two judges say of one history: Violated if one of them does, otherwise Holds if one does.
func either(a, b Verdict) Verdict {
	if b.Answer > a.Answer || b.Answer == a.Answer && b.Evidence > a.Evidence {
		a, b = b, a
	}
	a.Evidence, a.Count = max(a.Evidence, b.Evidence), max(a.Count, b.Count)
	return a
}

// turn identifies one session's handling of one item.
type turn struct {
	identity
	session uint32
}

func turnOf(s metrics.Sample) turn { return turn{identity{s.Object, s.Value}, s.Session} }

// inTransactions returns the histories of several hosts on the clock of the transactions: each item is removed in the transaction that removed it, and items that
// are left never are. Removals in an unknown transaction are left out. With synced, the list of a take also shows what its host had seen when the take started.
func inTransactions(hosts []Host, synced bool, room *spill.Room) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		for _, h := range hosts {
			var seen horizon
			begun := map[turn]time.Duration{}
			if synced {
				seen = horizonOf(h.History, room)
				defer seen.close()
				for s := range h.History {
					if at, twice := begun[turnOf(s)]; s.Op == metrics.Take && s.Outcome == metrics.OK && (!twice || s.Start < at) {
						begun[turnOf(s)] = s.Start
					}
				}
			}
			for s := range h.History {
				switch s.Op {
				case metrics.Remove:
					if s.Zxid == 0 {
						continue
					}
					s.Start, s.End = time.Duration(s.Zxid), time.Duration(s.Zxid)
				case metrics.Remain:
					s.Start, s.End = math.MaxInt64, math.MaxInt64
				case metrics.Choose:
					if at, known := begun[turnOf(s)]; known && s.Token != 0 {
						s.Token = max(s.Token, seen.by(at))
					}
				default:
					continue
				}
				if !yield(s) {
					return
				}
			}
		}
	}
}

// inHistory returns samples as their hosts recorded them.
func inHistory(witness []metrics.Sample, hosts []Host) (all []metrics.Sample) {
	for _, w := range witness {
		for s := range Together(hosts) {
			if s.Op == w.Op && s.Session == w.Session && s.Object == w.Object && s.Value == w.Value && s.Token == w.Token && s.Zxid == w.Zxid {
				all = append(all, s)
				break
			}
		}
	}
	return all
}

// outOfOrder describes an item that was removed too early and one that should have preceded it.
func outOfOrder(witness []metrics.Sample) string {
	removed, better := witness[0], witness[1]
	fate := fmt.Sprintf("session %d removed in transaction %#x", better.Session, better.Zxid)
	if better.Op == metrics.Remain {
		fate = "is left"
	}
	return fmt.Sprintf("session %d removed item %d of object %d (czxid %d) in transaction %#x before item %d (czxid %d), which %s", removed.Session, removed.Value,
		removed.Object, removed.Token, removed.Zxid, better.Value, better.Token, fate)
}

// claimedAcross is Claims for several hosts: the tokens of claims are transactions, and clocks judge within each host. Only all hosts together show how often an
// item was put. An item that was given to two hosts leaves the answer open, unless the one sent something when its claim had ended, or later, that the other had
// seen when it was given the item.
func claimedAcross(hosts []Host, room *spill.Room, judge func(iter.Seq[metrics.Sample], *spill.Room) Verdict) Verdict {
	if i := slices.IndexFunc(hosts, func(h Host) bool { return h.Cut }); i >= 0 {
		return Verdict{Detail: fmt.Sprintf("the history of %s is incomplete: how often its items were put is not known", hosts[i].Name)}
	}
	own := make([]Host, len(hosts))
	for i, h := range hosts {
		own[i] = h
		own[i].History = func(yield func(metrics.Sample) bool) {
			for n, other := range hosts {
				for s := range other.History {
					if (n == i || s.Op == metrics.Put) && !yield(s) {
						return
					}
				}
			}
		}
	}
	var all Verdict
	var wrong clashes
	o, open := originsOf(hosts, room), 0
	defer closeAll(o.horizons)
	for item := range groups(Together(hosts), room, claims, byItem, sameItem) {
		given := claimsOf(item, nil)
		each := slices.Collect(given.all())
		all.Evidence += len(each)
		if o.beside(each) {
			open++
		}
		wrong.add(claimedAfter(each))
		wrong.add(claimedTwice(each))
		given.close()
	}
	switch {
	case wrong.count > 0:
		a, b := wrong.holder, wrong.intruder
		all.Answer, all.Count, all.Witness = Violated, wrong.count, witness(a, b)
		all.Detail = fmt.Sprintf("item %d of object %d was given to session %d as claim %d, though session %d had it as claim %d and finished it", b.begin.Value, b.begin.Object,
			b.begin.Session, b.begin.Token, a.begin.Session, a.begin.Token)
	case all.Evidence == 0:
		all.Detail = "nothing was claimed"
	case open > 0:
		all.Detail = fmt.Sprintf("%d items were given to several hosts, and nothing shows that the one had given up before the other had it", open)
	default:
		all.Answer = Holds
	}
	return between(within(own, room, judge), all)
}

// beside reports whether two of the claims of an item may have been held at one instant by different hosts.
func (o origins) beside(claims []span) bool {
	for i := range claims {
		for j := range i {
			if a, b := &claims[i], &claims[j]; o.of[a.begin.Session] != o.of[b.begin.Session] && !o.ended(a, b) && !o.ended(b, a) {
				return true
			}
		}
	}
	return false
}

// ended reports whether one had certainly ended when the other started, on another host.
func (o origins) ended(one, other *span) bool {
	return one.ended() && o.horizons[o.of[one.begin.Session]].after(one.to) <= o.horizons[o.of[other.begin.Session]].by(other.from)
}
