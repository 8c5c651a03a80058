package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// CommitConfig describes the load on two-phase commits.
type CommitConfig struct {
	RoundsConfig[recipes.Commit]         // Rounds is the transactions of each group, Hold the work before a vote, Deadline that of the votes
	Participants                 int     // of each transaction: the sessions are split into groups of about so many
	Aborts                       float64 // share of the transactions in which one site votes to abort, 0 to 1
}

// NewCommit returns the workload 'two-phase-commit': groups of sites carry out transactions one after the other, which the sites of a group
// propose by turns. What a decision took is told from when its transaction was proposed. In every tenth transaction one site asks again, as
// one does that has crashed and come back.
func NewCommit(c CommitConfig) Workload {
	if c.Deadline == 0 {
		c.Deadline = c.Stall
	}
	groups := max(c.Sessions/max(c.Participants, 1), 1)
	w := &commit{CommitConfig: c, places: places{c.Dir, "commit", groups}, course: newCourse(c.Sessions, c.Rounds),
		decided: make([]bool, c.Sessions), proposed: make([]atomic.Int64, groups*c.Rounds)}
	return w
}

type commit struct {
	CommitConfig
	places
	course
	decided  []bool         // per session: it knows the decision of its round and has not finished it; only its seat touches it
	proposed []atomic.Int64 // per transaction: when its proposal was due, as an offset and 1; 0 before
}

// recalled is how many transactions there are for each in which one site asks again.
const recalled = 10

// members is how many sites the group has.
func (w *commit) members(group uint32) int { return (w.Sessions - int(group) + w.n - 1) / w.n }

// transaction is the number of a transaction: the Object of its samples.
func (w *commit) transaction(group uint32, round int64) uint32 {
	return uint32(round)*uint32(w.n) + group
}

// dissenter is the site that votes to abort, 0 if none does. All sites of a transaction draw the same.
func (w *commit) dissenter(transaction uint32, members int) int {
	r := rand.New(rand.NewPCG(uint64(transaction), 0))
	if r.Float64() >= w.Aborts {
		return 0
	}
	return 1 + r.IntN(members)
}

// Checks are the promises of an atomic commit. Where nothing can be committed, or nothing aborted, there is nothing to judge.
func (w *commit) Checks() []check.Check {
	checks := []check.Check{check.Agreement(), check.DecisionStands(), check.DecisionLiveness(w.Deadline + w.Stall), check.NothingLeft()}
	if w.Aborts < 1 {
		checks = append(checks, check.CommitValidity(), check.CommitProgress(w.Deadline))
	}
	if w.Aborts > 0 {
		checks = append(checks, check.AbortValidity())
	}
	return checks
}

// Op is to decide.
func (w *commit) Op() metrics.Op { return metrics.Decide }

// Parts are what goes before a decision.
func (w *commit) Parts() []metrics.Op { return []metrics.Op{metrics.Propose, metrics.Vote} }

// Theory of events per release is part of Cost.
func (w *commit) Theory() (release, arrival float64) { return 0, 0 }

// Per is a transaction: all of it is what theory knows of.
func (w *commit) Per() (metrics.Op, string) { return metrics.Propose, "transaction" }

// Cost is that of one transaction, when all of its sites have learnt of it and watch before the first votes, and commit. Writes: the
// proposal, the votes, the decision, which in a flat one every site tries to make, the acknowledgements and the removal. Reads: two to
// learn; a watched vote twice; a decision that another has made. The one that removes it all lists it. It is the most there is: a vote that is
// cast when it is looked at first needs no event and no second read.
func (w *commit) Cost() Cost {
	n := float64(w.members(0))
	after, proposal := w.Variant.Wakes(w.members(0))
	again := float64((w.Rounds+recalled-1)/recalled) / float64(w.Rounds)
	c := Cost{Writes: 1 + n + n + 1, Reads: 2*(n-1) + 1, Lists: 1, Names: 2*n + 1, Events: after + proposal}
	switch {
	case w.Options.Alive: // what its watches add depends on who is where
		return Cost{}
	case w.Variant.Unsafe:
		return Cost{Events: after + proposal}
	case w.Variant.Name == "coordinator":
		c[Writes]++
		c[Reads] += 2*(n-1) + 2*(n-1) + 4*again
	default:
		c[Writes] += n
		c[Reads] += 2*n*(n-1) + n - 1 + 4*again
	}
	return c
}

// Join gives the session its part, at the transaction that its seat has come to.
func (w *commit) Join(seat Seat) Step {
	group := seat.ID % uint32(w.n)
	j := &commitSeat{rounder: rounder{Seat: seat, p: &w.sessions[seat.ID]}, w: w, group: group, site: int(seat.ID)/w.n + 1,
		members: w.members(group), observed: zk.Observe(seat.Session, counted(seat.Fanout))}
	return func(ctx context.Context, due time.Duration) error {
		next := j.p.round
		if j.transact(ctx, due) {
			next++
		}
		j.p.to(next)
		return j.Session.Err()
	}
}

// commitSeat is one site of one group.
type commitSeat struct {
	rounder
	w        *commit
	group    uint32
	site     int
	members  int
	observed zk.Session
}

// handle is the site's part in the current transaction.
func (j *commitSeat) handle() recipes.Commit {
	o := j.w.Options
	o.Members, o.Site, o.Deadline = j.members, j.site, j.w.Deadline
	return j.w.Variant.New(j.observed, fmt.Sprintf("%s/%010d", j.w.path(j.group), j.p.round), o)
}

// transact takes part in one transaction, from the beginning or from where an earlier session of this site has come to. It reports whether
// the site is done with it.
func (j *commitSeat) transact(ctx context.Context, due time.Duration) bool {
	c := j.handle()
	decided := &j.w.decided[j.ID]
	if *decided {
		err := c.Finish(ctx)
		*decided = err != nil && !errors.Is(err, recipes.ErrNoTransaction)
		return !*decided
	}
	number := j.w.transaction(j.group, j.p.round)
	if !j.begin(ctx, c, number, due) {
		return false
	}
	j.pause(ctx, j.w.Hold(j.Rand))
	vote := j.site != j.w.dissenter(number, j.members)
	cast := j.sample(metrics.Vote, number, j.Origin.Now())
	cast.Value = value(vote)
	if !j.ended(ctx, cast, c.Vote(ctx, vote)) {
		return false
	}
	if *decided = j.decide(ctx, metrics.Decide, c, number, time.Duration(j.w.proposed[number].Load()-1)); !*decided {
		return false
	}
	if j.p.round%recalled == 0 && j.site == int(j.p.round/recalled)%j.members+1 {
		again := j.handle()
		if _, err := again.Learn(ctx); err == nil {
			j.decide(ctx, metrics.Recall, again, number, j.Origin.Now())
		}
	}
	err := c.Finish(ctx)
	*decided = err != nil
	return !*decided
}

// begin proposes the transaction if it is this site's turn, and learns of it otherwise, or if it has been proposed in doubt.
func (j *commitSeat) begin(ctx context.Context, c recipes.Commit, number uint32, due time.Duration) bool {
	if j.site == int(j.p.round)%j.members+1 {
		j.w.proposed[number].CompareAndSwap(0, int64(due)+1)
		s := j.sample(metrics.Propose, number, due)
		s.Value = int64(j.members)
		if err := c.Propose(ctx, nil); !errors.Is(err, recipes.ErrProposed) {
			return j.ended(ctx, s, err)
		}
	}
	// Nobody waits for ever for a fellow that has given up.
	lctx, cancel := context.WithTimeout(ctx, j.w.Deadline+j.w.Stall)
	defer cancel()
	_, err := c.Learn(lctx)
	return err == nil
}

// decide asks for the decision and records it.
func (j *commitSeat) decide(ctx context.Context, op metrics.Op, c recipes.Commit, number uint32, due time.Duration) bool {
	s := j.sample(op, number, min(due, j.Origin.Now()))
	commits, err := c.Decide(ctx)
	if err == nil {
		s.Value = value(commits)
	}
	return j.ended(ctx, s, err)
}

func (j *commitSeat) sample(op metrics.Op, number uint32, due time.Duration) metrics.Sample {
	return metrics.Sample{Op: op, Session: j.ID, Object: number, Due: due, Start: j.Origin.Now()}
}

// ended records how something ended, and reports whether it was well.
func (j *commitSeat) ended(ctx context.Context, s metrics.Sample, err error) bool {
	s.End = j.Origin.Now()
	s.Outcome = outcome(ctx, err)
	j.Recorder.Record(s)
	return err == nil
}

// value is a vote or a decision in a sample.
func value(commit bool) int64 {
	if commit {
		return check.Commits
	}
	return check.Aborts
}
