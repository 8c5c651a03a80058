package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Failover is the way in which a leader ends its term.
type Failover string

// The ways in which a leader ends.
const (
	ByResign Failover = "resign" // it deletes its znode
	ByCrash  Failover = "crash"  // its connection breaks without a close, and its znode is deleted when its session times out
	ByExpiry Failover = "expire" // the servers are made to expire its session at once
)

var failover = profiles.Field{Key: "failover", Caveat: map[string]string{string(ByCrash): "after a crash the hand-off is almost entirely the session timeout, which also determines the rate"},
	Type: profiles.OneOf, Axis: true, Example: "[resign, crash]", Default: string(ByResign),
	Words: []string{string(ByResign), string(ByCrash), string(ByExpiry)}, Doc: "How a leader ends: it resigns; it crashes, so that its session " +
		"has to time out; or the servers are made to expire its session at once."}

// Elections returns the workload 'election' for a catalogue of elections.
func Elections(all []recipes.Variant[recipes.Election]) Kind {
	return Kind{
		Doc:     "campaign, lead, end: resign, crash or expire",
		Shared:  anywhere,
		Holders: func(l Load) float64 { return float64(l.Objects()) },
		Workload: profiles.Workload{Name: "election", Alias: map[string]string{"elections": objects.Key},
			Fields: []profiles.Field{
				described(objects, "Elections; the sessions are spread over them evenly. Candidates = sessions / objects."),
				failover, described(hold, "How long a leader leads."),
			},
			Check: func(p profiles.Profile) []profiles.Problem { return crowded(p, 1, "election") }},
		Objects: "election",
		Znodes:  recipes.Znodes{Ephemeral: []string{`OBJECT/PROTECTED`}},
		Variants: variantsOf(all, func(v recipes.Variant[recipes.Election]) []Option {
			return slices.Concat(watch(v.Watch), layout(recipes.ElectionLayouts))
		}, NewElection),
	}
}

// NewElection returns the workload 'election': every session campaigns, leads for a while, ends as Failover says, and campaigns again, with a
// new session if the old one was ended. The time without a leader is measured in two ways: as the fail-over from the end of one leader to the
// start of the next, in two parts, and as the time without a leader while a session campaigns.
//
// A leader that is to crash or to expire stops leading beforehand, as a process that dies does. The time that a surviving client takes to learn
// of its expiry is not measured here.
//
// No process is notified when its znode is deleted. If the sessions are spread over several processes, a leader therefore writes to the
// election's directory after it has stopped leading and before its session is ended: for the other processes it led up to that transaction.
func NewElection(v recipes.Variant[recipes.Election], o recipes.Options, l Load) Workload {
	n := l.Objects()
	return &election{driving: drive(v, o, l), places: places{l.Dir, "election", n}, failover: Failover(l.Word(failover)), gone: make([]atomic.Int64, n)}
}

type election struct {
	driving[recipes.Election]
	places
	failover Failover
	gone     []atomic.Int64 // per election: when its last leader ended, as an offset; 0 before the first
}

// ErrEnded is returned by a Step that has ended its session on purpose: the seat needs a new session, and nothing was lost.
var ErrEnded = errors.New("the session was ended on purpose")

// Checks returns the checks of an election's promises.
func (w *election) Checks() []check.Check {
	checks := []check.Check{check.Leadership(), check.Alternation()}
	if w.variant.Tokens {
		checks = append(checks, check.Terms())
	}
	if w.variant.FIFO {
		checks = append(checks, check.CampaignFIFO())
	}
	return append(checks, check.NothingLeft(), check.LeaderLiveness(w.Stall))
}

// Setup creates the elections' directories.
func (w *election) Setup(ctx context.Context, s zk.Session) error {
	if _, canDie := zk.AsKiller(s); !canDie && w.failover != ByResign {
		return fmt.Errorf("failover %s: the sessions of this engine can only be closed", w.failover)
	}
	return w.make(ctx, s)
}

// Measures returns the measures of the campaigns and of the fail-over with its two parts: until the next leader detects it, and from then until
// it leads.
func (w *election) Measures() []Measure {
	return append([]Measure{operation(metrics.Campaign, "terms"),
		{Op: metrics.HandOff, Role: Part, Unit: "fail-overs", Owner: "leader", Question: "How long is there no leader after one goes?", Caption: "A hand-off is from the end of a leader, or what ends it, to the start of the " +
			"next one: it detects by an event of the servers that the leader's znode is gone, and elects itself after another read. A campaign is the " +
			"whole wait of a candidate."},
		{Op: metrics.Detect, Role: Part, Unit: "fail-overs", Question: lossDetected}, {Op: metrics.Elect, Role: Part, Unit: "fail-overs", Question: "How long from detection to leading?"}},
		phased(metrics.Enqueue, metrics.List, metrics.Wait, metrics.Delivery, metrics.Recheck)...)
}

// Contends reports whether an election has several candidates.
func (w *election) Contends() bool { return w.contenders() > 1 }

// Ownerless describes an election without a leader.
func (w *election) Ownerless() string { return "nobody led" }

// Cost returns the cost of one term when all candidates of an election are in the queue. When the leader resigns, it includes the delete and the
// event of the leader's own watch. Reopened sessions are not included. The number of names in a list depends on whether the last leader is a
// candidate again by then, so there is no theory of it.
func (w *election) Cost() Cost {
	n := w.contenders()
	if w.variant.Requests == nil {
		return Cost{}
	}
	if w.failover == ByCrash {
		n++ // a crashed leader is a candidate again, with a new session, long before the znode of the old session is deleted
	}
	woken, _ := wakes(w.variant, recipes.Load{Sessions: n})
	r := w.variant.Requests(n)
	c := Cost{Writes: r.Writes, Lists: r.Lists, Reads: r.Reads, Events: woken}
	switch w.failover {
	case ByResign:
		c[Writes]++
		c[Events]++
	case ByExpiry: // the ended session may or may not still receive the event of its own znode and request its deletion
		delete(c, Writes)
		delete(c, Events)
	case ByCrash:
		if w.Shared { // its last write
			c[Writes]++
		}
	}
	return c
}

// Least returns the minimum cost of a term: a list, and a read of the candidate's own znode.
func (w *election) Least() Cost { return Cost{Lists: 1, Reads: 2} }

// Join gives the session its own handle.
func (w *election) Join(seat Seat) Step {
	h := w.holder(seat, w.n, nil)
	h.t.again = true
	o := w.options
	o.ID = fmt.Sprintf("seat %d", seat.ID)
	return &electionSeat{holder: h, w: w, gone: &w.gone[h.object], handle: w.variant.New(h.observed, w.path(h.object), o)}
}

// Inspect records for each election whether a znode is left, after the sessions that crashed have expired.
func (w *election) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.failover == ByCrash {
		if err := w.expired(ctx, s); err != nil {
			return err
		}
	}
	return w.look(ctx, s, r, "")
}
