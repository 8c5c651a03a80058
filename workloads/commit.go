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
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// The fields that only two-phase commits have.
var (
	participants = profiles.Field{Key: "participants", Role: profiles.Contenders, Unit: "participant", Type: profiles.WholeNumber, Axis: true, Example: "[3, 10]", Default: "3", Min: 2, Max: 1000,
		Doc: "Sites of each transaction. The sessions form groups of this size; the remainder makes some of them larger."}
	transactions = rounds("transactions", "200", "Transactions that each group carries out, one after the other; the cell ends when all have.")
	aborts       = profiles.Field{Key: "aborts", Type: profiles.WholeNumber, Axis: true, Example: "10", Default: "0", Max: 100,
		Doc: "Percent of the transactions in which one site, drawn at random, votes to abort."}
)

// Commits returns the workload 'two-phase-commit' for a catalogue of two-phase commits.
func Commits(all []recipes.Variant[recipes.Commit]) Kind {
	return Kind{
		Doc: "groups of sites commit or abort transactions, one after the other",
		Workload: profiles.Workload{Name: "two-phase-commit", Shape: profiles.Finite, Ends: "when each group has carried out its transactions",
			Fields: []profiles.Field{participants, transactions, aborts, described(hold, "How long each site works before it votes.")}},
		Objects: "commit",
		Znodes: recipes.Znodes{
			Persistent: []string{`OBJECT/SEQ`, `SEQ/(decision|ack_.*|s_#)`},
			Ephemeral:  []string{`SEQ/(alive_.*|s_#)`},
		},
		Variants: variantsOf(all, func(recipes.Variant[recipes.Commit]) []Option {
			return []Option{boolean("alive", func(o *recipes.Options, on bool) { o.Alive = on })}
		}, NewCommit),
	}
}

// NewCommit returns the workload 'two-phase-commit': groups of sites carry out transactions one after the other, and the sites of a group take
// turns to propose them. A decision is timed from the proposal of its transaction. In every tenth transaction one site asks for the decision
// again, as a site does after a crash and restart.
func NewCommit(v recipes.Variant[recipes.Commit], o recipes.Options, l Load) Workload {
	if l.Deadline == 0 {
		l.Deadline = l.Stall
	}
	n := l.Int(transactions)
	groups := max(l.Sessions/l.Int(participants), 1)
	return &commit{driving: drive(v, o, l), places: places{l.Dir, "commit", groups}, course: newCourse(l.Sessions, n),
		participants: l.Int(participants), aborts: l.Share(aborts), decided: make([]bool, l.Sessions), proposed: make([]atomic.Int64, groups*n)}
}

type commit struct {
	driving[recipes.Commit]
	places
	course
	participants int     // of each transaction: the sessions are split into groups of about this size
	aborts       float64 // share of the transactions in which one site votes to abort

	decided  []bool         // per session: it knows the decision of its round but has not finished the round; only its seat accesses it
	proposed []atomic.Int64 // per transaction: 1 + the offset at which its proposal was due; 0 before
}

// recalled is the number of transactions per transaction in which one site asks for the decision again.
const recalled = 10

// members returns the number of sites in a group.
func (w *commit) members(group uint32) int { return (w.Sessions - int(group) + w.n - 1) / w.n }

// transaction returns the number of a transaction: the Object of its samples.
func (w *commit) transaction(group uint32, round int64) uint32 {
	return uint32(round)*uint32(w.n) + group
}

// dissenter returns the site that votes to abort, or 0 if none does. All sites of a transaction draw the same site.
func (w *commit) dissenter(transaction uint32, members int) int {
	r := rand.New(rand.NewPCG(uint64(transaction), 0))
	if r.Float64() >= w.aborts {
		return 0
	}
	return 1 + r.IntN(members)
}

// Checks returns the checks of an atomic commit's promises. It leaves out those that need a commit, or an abort, if the load has none.
func (w *commit) Checks() []check.Check {
	checks := []check.Check{check.Agreement(), check.DecisionStands(), check.DecisionLiveness(w.Deadline + w.Stall), check.NothingLeft()}
	if w.aborts < 1 {
		checks = append(checks, check.CommitValidity(), check.CommitProgress(w.Deadline))
	}
	if w.aborts > 0 {
		checks = append(checks, check.AbortValidity())
	}
	return checks
}

// Measures returns the measures of the decisions and of the steps before them.
func (w *commit) Measures() []Measure {
	return []Measure{operation(metrics.Decide, "decisions"), {Op: metrics.Propose, Role: Part, Unit: "transactions",
		Caption: "Propose and vote are the writes of the coordinator and of each site; a decision lasts from when the proposal was due until each site knows it."},
		{Op: metrics.Vote, Role: Part, Unit: "votes"}}
}

// Per returns a transaction as the unit of cost, because theory gives only the cost of a whole transaction.
func (w *commit) Per() ([]metrics.Op, string) { return []metrics.Op{metrics.Propose}, "transaction" }

// Cost returns the cost of one transaction that commits and whose sites have all learned of it and set their watches before the first of them
// votes. It includes the requests of sites that ask again about a finished transaction.
func (w *commit) Cost() Cost {
	n := w.members(0)
	after, proposal := wakes(w.variant, recipes.Load{Sessions: int(n)})
	switch {
	case w.options.Alive: // the requests that its watches add depend on where each site is
		return Cost{}
	case w.variant.Requests == nil:
		return Cost{Events: after + proposal}
	}
	r := w.variant.Requests(n)
	again := float64((w.rounds+recalled-1)/recalled) / float64(w.rounds)
	return Cost{Writes: r.Writes, Reads: r.Reads + 4*again, Lists: r.Lists, Names: 2*float64(n) + 1, Events: after + proposal}
}

// Least returns the minimum cost of a transaction: every other site reads it, and the site that removes it lists it.
func (w *commit) Least() Cost { return Cost{Lists: 1, Reads: float64(w.members(0))} }

// Join returns the session's step, starting at the transaction that its seat has reached.
func (w *commit) Join(seat Seat) Step {
	group := seat.ID % uint32(w.n)
	j := &commitSeat{rounder: rounder{Seat: seat, p: &w.sessions[seat.ID]}, w: w, group: group, site: int(seat.ID)/w.n + 1,
		members: w.members(group), observed: seat.observed()}
	return StepFunc(func(ctx context.Context, due time.Duration) error {
		next := j.p.round
		if j.transact(ctx, due) {
			next++
		}
		j.p.to(next)
		return j.Session.Err()
	})
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

// handle returns a handle for the site's part in the current transaction.
func (j *commitSeat) handle() recipes.Commit {
	o := j.w.options
	o.Members, o.Site, o.Deadline = j.members, j.site, j.w.Deadline
	return j.w.variant.New(j.observed, fmt.Sprintf("%s/%010d", j.w.path(j.group), j.p.round), o)
}

// transact takes part in one transaction, from the start or from where an earlier session of this site left off. It reports whether the site is
// done with the transaction.
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
	j.pause(ctx, j.w.holdFor(j.Rand))
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

// begin proposes the transaction if it is this site's turn. Otherwise, or if an earlier proposal was in doubt and succeeded, it learns of it.
func (j *commitSeat) begin(ctx context.Context, c recipes.Commit, number uint32, due time.Duration) bool {
	if j.site == int(j.p.round)%j.members+1 {
		j.w.proposed[number].CompareAndSwap(0, int64(due)+1)
		s := j.sample(metrics.Propose, number, due)
		s.Value = int64(j.members)
		if err := c.Propose(ctx, nil); !errors.Is(err, recipes.ErrProposed) {
			return j.ended(ctx, s, err)
		}
	}
	// Do not wait forever for a site that has given up.
	lctx, cancel := context.WithTimeout(ctx, j.w.Deadline+j.w.Stall)
	defer cancel()
	_, err := c.Learn(lctx)
	return err == nil
}

// decide asks for the decision and records the answer.
func (j *commitSeat) decide(ctx context.Context, op metrics.Op, c recipes.Commit, number uint32, due time.Duration) bool {
	s := j.sample(op, number, min(due, j.Origin.Now()))
	// A participant that never learns the decision waits long enough to violate liveness, but not forever: the cell ends when its work is done.
	dctx, cancel := context.WithTimeout(ctx, j.w.Deadline+2*j.w.Stall)
	defer cancel()
	commits, err := c.Decide(dctx)
	if err == nil {
		s.Value = value(commits)
	}
	return j.ended(ctx, s, err)
}

func (j *commitSeat) sample(op metrics.Op, number uint32, due time.Duration) metrics.Sample {
	return metrics.Sample{Op: op, Session: j.ID, Object: number, Due: due, Start: j.Origin.Now()}
}

// ended records the end of an operation and reports whether it succeeded.
func (j *commitSeat) ended(ctx context.Context, s metrics.Sample, err error) bool {
	s.End = j.Origin.Now()
	s.Outcome = outcome(ctx, err)
	j.Recorder.Record(s)
	return err == nil
}

// value returns a vote or a decision as the Value of a sample.
func value(commit bool) int64 {
	if commit {
		return check.Commits
	}
	return check.Aborts
}
