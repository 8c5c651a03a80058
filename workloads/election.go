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

// Failover is how a leader ends its term.
type Failover string

// The ways of a leader to end.
const (
	ByResign Failover = "resign" // it gives its znode up
	ByCrash  Failover = "crash"  // its connection goes without a word, and its znode when its session has timed out
	ByExpiry Failover = "expire" // the servers are made to end its session at once
)

var failover = profiles.Field{Key: "failover", Type: profiles.OneOf, Axis: true, Example: "[resign, crash]", Default: string(ByResign),
	Words: []string{string(ByResign), string(ByCrash), string(ByExpiry)}, Doc: "How a leader ends: it resigns; it crashes, so that its session " +
		"has to time out; or the servers are made to expire its session at once."}

// Elections is the workload 'election' over a catalogue of elections.
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

// NewElection returns the workload 'election': every session campaigns, leads for a while, ends in the way of Failover, and campaigns
// again, with a new session if it has ended the old one. What the service is without a leader is told twice: as the fail-over from the
// end of one leader to the beginning of the next, in two parts, and as the time without a leader while somebody campaigns.
//
// A leader that is to crash or to expire stops leading before it is made to, as a process that dies does. How long one that lives on
// takes to learn of its expiry is not what this measures.
//
// When its znode goes no process is told. Of sessions that are spread over several a leader therefore writes to the election's directory when it has
// stopped leading, before it is made to end: for the others it led up to that transaction.
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

// ErrEnded is the error of a Step that has ended its session on purpose: the seat needs a new one, and nothing was lost.
var ErrEnded = errors.New("the session was ended on purpose")

// Checks are the promises of an election.
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

// Setup makes the elections' directories.
func (w *election) Setup(ctx context.Context, s zk.Session) error {
	if _, canDie := zk.AsKiller(s); !canDie && w.failover != ByResign {
		return fmt.Errorf("failover %s: the sessions of this engine can only be closed", w.failover)
	}
	return w.make(ctx, s)
}

// Measures are the campaigns, and the fail-over with what it consists of: until the next leader is told, and from there until it leads.
func (w *election) Measures() []Measure {
	return append([]Measure{operation(metrics.Campaign, "terms"),
		{Op: metrics.HandOff, Role: Part, Unit: "fail-overs", Caption: "A hand-off is from the end of a leader, or what ends it, to the start of the " +
			"next one: it detects by an event of the servers that the leader's znode is gone, and elects itself after another read. A campaign is the " +
			"whole wait of a candidate."},
		{Op: metrics.Detect, Role: Part, Unit: "fail-overs"}, {Op: metrics.Elect, Role: Part, Unit: "fail-overs"}},
		phased(metrics.Enqueue, metrics.List, metrics.Wait, metrics.Delivery, metrics.Recheck)...)
}

// Contends reports whether an election has several candidates.
func (w *election) Contends() bool { return w.contenders() > 1 }

// Ownerless is an election without a leader.
func (w *election) Ownerless() string { return "nobody led" }

// Cost is that of one term, when all candidates of an election stand; when the leader resigns, the delete and the event of its own watch
// too. Sessions that are opened again are not among it. How many names a list has depends on whether the last leader stands
// again by then: no theory.
func (w *election) Cost() Cost {
	n := w.contenders()
	if w.variant.Requests == nil {
		return Cost{}
	}
	if w.failover == ByCrash {
		n++ // who has crashed stands again, with a new session, long before the znode of the old one goes
	}
	woken, _ := wakes(w.variant, recipes.Load{Sessions: n})
	r := w.variant.Requests(n)
	c := Cost{Writes: r.Writes, Lists: r.Lists, Reads: r.Reads, Events: woken}
	switch w.failover {
	case ByResign:
		c[Writes]++
		c[Events]++
	case ByExpiry: // by chance the ended session still hears of its own znode, and asks for its deletion
		delete(c, Writes)
		delete(c, Events)
	case ByCrash:
		if w.Shared { // its last write
			c[Writes]++
		}
	}
	return c
}

// Least of a term is a list, and a read of the candidate's own znode.
func (w *election) Least() Cost { return Cost{Lists: 1, Reads: 2} }

// Join gives the session a handle of its own.
func (w *election) Join(seat Seat) Step {
	h := w.holder(seat, w.n, nil)
	h.t.again = true
	o := w.options
	o.ID = fmt.Sprintf("seat %d", seat.ID)
	return (&electionSeat{holder: h, w: w, gone: &w.gone[h.object], handle: w.variant.New(h.observed, w.path(h.object), o)}).step
}

// Inspect records for each election whether a znode is left, when the sessions that have crashed are over.
func (w *election) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.failover == ByCrash {
		if err := w.expired(ctx, s); err != nil {
			return err
		}
	}
	return w.look(ctx, s, r, "")
}
