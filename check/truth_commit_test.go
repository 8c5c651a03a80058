package check_test

import (
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func init() {
	kinds = append(kinds, kind{name: "two-phase commit", recipes: []string{"one decision"}, defects: []string{"one vote short", "ignores an abort", "decides alone", "forgets"},
		play: playCommits, promises: func(w *world) []promise {
			agree, valid, aborted, holds := w.commits()
			return []promise{{Check: check.Agreement(), broken: !agree}, {Check: check.CommitValidity(), broken: !valid}, {Check: check.AbortValidity(), broken: !aborted},
				{Check: check.DecisionStands(), broken: !holds}}
		}})
}

// The directories of a transaction.
const (
	proposals = iota
	ballots
	decisions
	ofTransaction
)

// commits reports which promises of an atomic commit were kept: everything that the sites were told is in their samples, by one clock.
func (w *world) commits() (agree, valid, aborted, holds bool) {
	agree, valid, aborted, holds = true, true, true, true
	for _, a := range w.all {
		if a.Op != metrics.Decide && a.Op != metrics.Recall || a.Outcome != metrics.OK {
			continue
		}
		votes, against := 0, false
		for _, b := range w.all {
			switch {
			case b.Object != a.Object:
			case b.Op == metrics.Vote:
				if b.Value == check.Commits && b.Start <= a.End {
					votes++
				}
				against = against || b.Value == check.Aborts && b.Outcome == metrics.OK
			case (b.Op == metrics.Decide || b.Op == metrics.Recall) && b.Outcome == metrics.OK && a.Value != b.Value:
				agree = false
				holds = holds && a.Session != b.Session
			}
		}
		if a.Value == check.Commits {
			valid, aborted = valid && votes >= w.set.seats, aborted && !against
		}
	}
	return agree, valid, aborted, holds
}

func playCommits(w *world) {
	w.znodes = make([][]*znode, 100*ofTransaction)
	rounds := map[uint32]uint32{}
	w.seats(func(j *seat) {
		round := rounds[j.id]
		if round == 100 {
			return
		}
		c := &site{seat: j, number: round, dir: int(round) * ofTransaction, until: w.now + 10*w.set.travel + w.upTo(30*w.set.travel)}
		rounds[j.id]++
		if !c.learn() {
			return
		}
		vote := check.Commits
		if w.chance(.1) {
			vote = check.Aborts
		}
		if !c.timed(metrics.Vote, vote, func() (int64, bool) { return vote, c.create(ballots, vote, false) }) {
			return
		}
		if c.timed(metrics.Decide, 0, c.decide) && w.chance(.3) {
			c.timed(metrics.Recall, 0, c.recall)
		}
	})
}

// site is one participant of a transaction.
type site struct {
	*seat
	number uint32
	dir    int
	until  time.Duration
}

// timed records an operation.
func (c *site) timed(op metrics.Op, value int64, do func() (int64, bool)) bool {
	s := metrics.Sample{Op: op, Session: c.id, Object: c.number, Due: c.w.now, Start: c.w.now}
	got, ok := do()
	if s.End, s.Value = c.w.now, got; !ok {
		s.Outcome, s.Value = metrics.Lost, value
	}
	c.w.record(c.host, s)
	return ok
}

// create creates a persistent znode whose name nobody else uses, or, with once, one that can exist only once; false: the session is over.
func (c *site) create(dir int, value int64, once bool) bool {
	var made *znode
	for !c.s.over {
		if _, ok := c.s.write(func() {
			if made == nil && !(once && len(c.w.znodes[c.dir+dir]) > 0) {
				made = c.w.create(c.dir+dir, nil, value)
			}
		}); ok {
			return true
		}
	}
	return false
}

// learn proposes the transaction, or waits for its proposal.
func (c *site) learn() bool {
	n := int64(c.w.set.seats)
	if int64(c.number)%n == int64(c.id) {
		return c.timed(metrics.Propose, n, func() (int64, bool) { return n, c.create(proposals, n, true) })
	}
	for c.w.now < c.w.set.length && !c.s.over {
		proposed := func(state int64) bool { return len(c.w.children(c.dir+proposals, state)) > 0 }
		there := false
		var v *watch
		if !c.s.insist(func(state int64) {
			if there = proposed(state); !there {
				v = c.s.arm(proposed)
			}
		}) {
			return false
		}
		if there {
			return true
		}
		c.s.await(v, c.w.set.length)
	}
	return false
}

// decide waits for the decision, or makes one.
func (c *site) decide() (int64, bool) {
	w := c.w
	for !c.s.over {
		var decided, votes, against int64
		var v *watch
		if !c.s.insist(func(state int64) {
			decided, votes, against = 0, 0, 0
			for _, z := range w.children(c.dir+decisions, state) {
				decided = z.value
			}
			for _, z := range w.children(c.dir+ballots, state) {
				if votes++; z.value == check.Aborts {
					against++
				}
			}
			last := max(w.pzxid(c.dir+ballots, state), w.pzxid(c.dir+decisions, state))
			v = c.s.arm(func(state int64) bool {
				return max(w.pzxid(c.dir+ballots, state), w.pzxid(c.dir+decisions, state)) > last
			})
		}) {
			return 0, false
		}
		verdict := int64(0)
		switch {
		case decided != 0:
			return decided, true
		case against > 0 && !w.goes("ignores an abort"), w.now >= c.until:
			verdict = check.Aborts
		case votes == int64(w.set.seats), votes == int64(w.set.seats)-1 && w.goes("one vote short"):
			verdict = check.Commits
		default:
			c.s.await(v, c.until)
			continue
		}
		if w.goes("decides alone") {
			return verdict, true
		}
		if !c.create(decisions, verdict, true) {
			return 0, false
		}
	}
	return 0, false
}

// recall asks for the decision again.
func (c *site) recall() (decided int64, ok bool) {
	ok = c.s.insist(func(state int64) {
		for _, z := range c.w.children(c.dir+decisions, state) {
			decided = z.value
		}
	})
	if decided == 0 { // it was decided without one
		return 0, false
	}
	if c.w.goes("forgets") {
		decided = check.Commits + check.Aborts - decided
	}
	return decided, ok
}
