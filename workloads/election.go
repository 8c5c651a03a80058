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

// Failover is how a leader ends its term.
type Failover string

// The ways of a leader to end.
const (
	ByResign Failover = "resign" // it gives its znode up
	ByCrash  Failover = "crash"  // its connection goes without a word, and its znode when its session has timed out
	ByExpiry Failover = "expire" // the servers are made to end its session at once
)

// ElectionConfig describes the load on elections.
type ElectionConfig struct {
	Variant   recipes.Variant[recipes.Election]
	Options   recipes.Options
	Dir       string // the elections are its children
	Elections int    // the sessions are spread over them evenly
	Sessions  int
	Failover  Failover                       // empty: ByResign
	Hold      func(*rand.Rand) time.Duration // how long a leader leads before it ends
	Deadline  time.Duration                  // of one campaign; 0: none
	Stall     time.Duration                  // as in LockConfig; of a crash it has to cover the session timeout and a tick
}

// NewElection returns the workload 'election': every session campaigns, leads for a while, ends in the way of Failover, and campaigns
// again, with a new session if it has ended the old one. What the service is without a leader is told twice: as the fail-over from the
// end of one leader to the beginning of the next, in two parts, and as the time without a leader while somebody campaigns.
//
// A leader that is to crash or to expire stops leading before it is made to, as a process that dies does. How long one that lives on
// takes to learn of its expiry is not what this measures.
func NewElection(c ElectionConfig) Workload {
	if c.Failover == "" {
		c.Failover = ByResign
	}
	return &election{ElectionConfig: c, places: places{c.Dir, "election", c.Elections}, gone: make([]atomic.Int64, c.Elections)}
}

type election struct {
	ElectionConfig
	places
	gone []atomic.Int64 // per election: when its last leader ended, as an offset; 0 before the first
}

// ErrEnded is the error of a Step that has ended its session on purpose: the seat needs a new one, and nothing was lost.
var ErrEnded = errors.New("the session was ended on purpose")

// Checks are the promises of an election.
func (w *election) Checks() []check.Check {
	checks := []check.Check{check.Leadership(), check.Alternation()}
	if w.Variant.Tokens {
		checks = append(checks, check.Terms())
	}
	if w.Variant.FIFO {
		checks = append(checks, check.CampaignFIFO())
	}
	return append(checks, check.NothingLeft(), check.LeaderLiveness(w.Stall))
}

// Setup makes the elections' directories.
func (w *election) Setup(ctx context.Context, s zk.Session) error {
	if _, canDie := zk.AsMortal(s); !canDie && w.Failover != ByResign {
		return fmt.Errorf("failover %s: the sessions of this engine can only be closed", w.Failover)
	}
	return w.make(ctx, s)
}

// Op of the workload is to campaign.
func (w *election) Op() metrics.Op { return metrics.Campaign }

// Parts are the fail-over, and what it consists of: until the next leader is told, and from there until it leads.
func (w *election) Parts() []metrics.Op {
	return []metrics.Op{metrics.HandOff, metrics.Detect, metrics.Elect}
}

// Theory of events per release is part of Cost.
func (w *election) Theory() (release, arrival float64) { return 0, 0 }

// Cost is that of one term, when all candidates of an election stand: the create, a list when it comes and one for each event that it
// is woken by, the watches that it arms, and the read that proves its znode to be its own; when it resigns, the delete and the event of
// its own watch. Sessions that are opened again are not among it. How many names a list has depends on whether the last leader stands
// again by then: no theory.
func (w *election) Cost() Cost {
	n := (w.Sessions + w.Elections - 1) / w.Elections
	if w.Variant.Unsafe {
		return Cost{}
	}
	if w.Failover == ByCrash {
		n++ // who has crashed stands again, with a new session, long before the znode of the old one goes
	}
	woken, _ := w.Variant.Wakes(n)
	lists := 1 + woken
	watches := woken // each event takes a watch, and each watch is armed once
	c := Cost{Writes: 1, Lists: lists, Reads: lists + watches + 1, Events: woken}
	switch w.Failover {
	case ByResign:
		c[Writes]++
		c[Events]++
	case ByExpiry: // by chance the ended session still hears of its own znode, and asks for its deletion
		delete(c, Writes)
		delete(c, Events)
	}
	return c
}

// Join gives the session a handle of its own.
func (w *election) Join(seat Seat) Step {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout, anew: true}
	object := seat.ID % uint32(w.Elections)
	j := &electionSeat{holder: holder{Seat: seat, t: t, object: object, deadline: w.Deadline, holdFor: w.Hold}, w: w, gone: &w.gone[object]}
	o := w.Options
	o.ID = fmt.Sprintf("seat %d", seat.ID)
	j.handle = w.Variant.New(zk.Observe(seat.Session, t.trace()), w.path(object), o)
	return j.step
}

// Inspect records for each election whether a znode is left, when the sessions that have crashed are over.
func (w *election) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.Failover == ByCrash {
		if err := w.expired(ctx, s); err != nil {
			return err
		}
	}
	return w.look(ctx, s, r, "")
}
