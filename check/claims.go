package check

import (
	"fmt"
	"iter"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Claims holds when no consumer had an item while another had it, and none was given an item that had been finished. An item may be delivered again, but only
// after its claim was released or lost. A claim lasts from the End of its Take to the Start of the Finish or Release of the same session and item. Its Token
// is larger than that of every earlier claim of the same item. So a claim that finished its item with OK has the largest token, and no two claims have the
// same: that would be one claim given twice. A claim of a session that was expired on purpose (operation Expire) may be given again by the servers, as with a
// hold of MutualExclusion. An item that may have been put twice is two indistinguishable znodes, and no evidence. Evidence is the number of claims; Witness
// holds the samples of two claims that exclude each other; Count is the number of claims that should not have been given.
func Claims() Check {
	judge := func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		var expired []metrics.Sample
		for s := range history {
			if s.Op == metrics.Expire {
				expired = append(expired, s)
			}
		}
		evidence := 0
		var beside, twice clashes
		for item := range groups(history, room, claims, byItem, sameItem) {
			claims := claimsOf(item, expired)
			all := slices.Collect(claims.all())
			evidence += len(all)
			count, first := sweep(claims.withLate(), alone)
			beside.add(count, first.holder(), first.intruder)
			beside.add(claimedAfter(all))
			beside.add(takenAfter(all))
			twice.add(claimedTwice(all))
			claims.close()
		}
		if beside.count == 0 { // the clocks show no two simultaneous claims
			beside = twice
		}
		switch {
		case evidence == 0:
			return Verdict{Detail: "nothing was claimed"}
		case beside.count == 0:
			return Verdict{Answer: Holds, Evidence: evidence}
		}
		a, b := beside.holder, beside.intruder
		fate := "had neither lost nor released"
		if a.finished() {
			fate = fmt.Sprintf("had finished at %v", a.end.End)
		}
		return Verdict{Answer: Violated, Evidence: evidence, Count: beside.count, Witness: witness(a, b),
			Detail: fmt.Sprintf("item %d of object %d was given to session %d at %v, which session %d had been given at %v and %s",
				b.begin.Value, b.begin.Object, b.begin.Session, b.from, a.begin.Session, a.from, fate)}
	}
	return Check{Name: "claims", Held: true, Judge: judge, Across: func(hosts []Host, room *spill.Room) Verdict { return claimedAcross(hosts, room, judge) }}
}

// claims reports whether a sample concerns an item that is claimed.
func claims(s *metrics.Sample) bool {
	switch s.Op {
	case metrics.Put:
		return s.Value != 0 && (s.Outcome == metrics.OK || s.Outcome == metrics.InDoubt)
	case metrics.Take:
		return s.Value != 0 && s.Outcome == metrics.OK
	}
	return s.Value != 0 && (s.Op == metrics.Finish || s.Op == metrics.Release)
}

// clashes counts claims that should not have been given, and keeps the earliest, with the one that excluded it.
type clashes struct {
	count            int
	holder, intruder span
}

func (c *clashes) add(count int, holder, intruder span) {
	if count > 0 && (c.count == 0 || intruder.from < c.intruder.from) {
		c.holder, c.intruder = holder, intruder
	}
	c.count += count
}

// claimsOf returns the claims of one item: none if it may have been put twice.
func claimsOf(item, expired []metrics.Sample) holds {
	puts := 0
	for _, s := range item {
		if s.Op == metrics.Put {
			puts++
		}
	}
	if puts > 1 {
		item = nil
	}
	return spans(slices.Values(slices.Concat(expired, item)), nil, claiming)
}

// claiming pairs the operations that start and end a claim.
var claiming = pairs{
	begins: func(o metrics.Op) bool { return o == metrics.Take },
	ends:   func(o metrics.Op) bool { return o == metrics.Finish || o == metrics.Release },
}

// claimedTwice counts the claims that have the token of an earlier claim of the same item, and finds the earliest: the claim's znode was created once, but
// given to two.
func claimedTwice(claims []span) (count int, holder, intruder span) {
	given := map[int64]span{} // by token
	for _, c := range claims {
		earlier, twice := given[c.begin.Token]
		if !twice {
			given[c.begin.Token] = c
		}
		if !twice || c.begin.Token == 0 { // the engine may not report tokens
			continue
		}
		if count++; count == 1 {
			holder, intruder = earlier, c
		}
	}
	return count, holder, intruder
}

// finished reports whether a claim ended with its item removed for good.
func (s *span) finished() bool { return s.end.Op == metrics.Finish && s.end.Outcome == metrics.OK }

// takenAfter counts the claims whose takes started after the item had been finished, by the clock of their host, and finds the earliest. It needs no token.
func takenAfter(claims []span) (count int, holder, intruder span) {
	var done *span
	for i := range claims {
		if c := &claims[i]; c.finished() && (done == nil || c.end.End < done.end.End) {
			done = c
		}
	}
	for _, c := range claims {
		if done == nil || c.begin.Start <= done.end.End || done.begin.Token != 0 && c.begin.Token > done.begin.Token { // claimedAfter counts the latter
			continue
		}
		if count++; count == 1 {
			holder, intruder = *done, c
		}
	}
	return count, holder, intruder
}

// claimedAfter counts the claims with a larger token than a claim that finished the same item, and finds the earliest.
func claimedAfter(claims []span) (count int, holder, intruder span) {
	var done *span
	for i := range claims {
		c := &claims[i]
		if c.finished() && c.begin.Token != 0 && (done == nil || c.begin.Token < done.begin.Token) {
			done = c
		}
	}
	for i := range claims {
		if done == nil || claims[i].begin.Token <= done.begin.Token {
			continue
		}
		if count++; count == 1 {
			holder, intruder = *done, claims[i]
		}
	}
	return count, holder, intruder
}
