package fencing

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// Client is the client that is paused: Serve, at the other end of Read and Write, in its own process. In tests it is anything that
// can be paused.
type Client interface {
	io.ReadWriter
	// Pause returns once the client is inactive: until Resume it neither writes nor answers its servers.
	Pause() error
	Resume() error
	// Close ends the client, paused or not, and waits for its end.
	Close() error
}

// Config configures one run.
type Config struct {
	Order    Order    // common to all trials: Addresses, Engine, the timeouts
	Dir      string   // an existing znode; each trial creates one below it, and leaves it there
	Locks    Locks    // the same as the clients have
	Variants []string // of Locks.Variants()
	Rounds   int      // per row
	Parallel int      // number of concurrent trials; 0 means 1. Trials mostly wait for a session to expire.
	// Start starts a client that ends with ctx.
	Start func(ctx context.Context) (Client, error)
	// Dial opens a session for the next holder, in this process.
	Dial func(ctx context.Context) (zk.Session, error)
	// Played, if not nil, is called after each complete row, from one goroutine at a time.
	Played func(n, of int, r Row)
}

// Resource is the kind of resource that holders write.
type Resource string

// The resources.
const (
	Register Resource = "register" // a value in the process that keeps it, to which the clients send their writes
	Znode    Resource = "znode"    // in the ensemble that keeps the lock
)

// Row is one lock on one resource, with or without a fence, over all rounds.
type Row struct {
	Variant  string
	Resource Resource
	Fenced   bool
	Fence    recipes.Fence // as the writes met it; none until a round has completed
	// Accepted and Rejected count the late writes of paused clients; together with the failed rounds they make up all rounds.
	Accepted, Rejected int
	Witness            string // for one round: what was accepted, or else what was rejected
	Replayed           int    // rounds that were repeated because a reply was lost or the machine was late
	Err                error  // the first error of a round that could not be completed in any of its attempts
}

// tries is how often a round is attempted until it completes. An incomplete round does not test the fence: the reply to a write may be
// lost, or the session may end before its client is paused.
const tries = 3

// Expected reports whether late writes are expected to be accepted: only without a fence.
func (r Row) Expected() bool { return !r.Fenced }

// Run plays the trials. The rows are in the order of Variants, for each register and znode, each unfenced and fenced. It returns an error
// only when ctx ends.
func Run(ctx context.Context, c Config) ([]Row, error) {
	rows := plan(c.Variants)
	planned := slices.Clone(rows)  // while rows fill
	left := make([]int, len(rows)) // remaining rounds of each row
	for i := range rows {
		left[i] = c.Rounds
	}
	complete := 0
	err := scenarios.Each(ctx, c.Parallel, c.Rounds*len(rows), tries, func(ctx context.Context, i, try int) (outcome, error) {
		row, round := i%len(rows), i/len(rows)
		o := c.play(ctx, planned[row], fmt.Sprintf("%s/trial-%d-%d", c.Dir, row, round+try*c.Rounds))
		return o, o.err
	}, func(i, again int, o outcome) {
		row := i % len(rows)
		rows[row].add(o)
		rows[row].Replayed += again
		if left[row]--; left[row] == 0 {
			if complete++; c.Played != nil {
				c.Played(complete, len(rows), rows[row])
			}
		}
	})
	return rows, err
}

func plan(variants []string) []Row {
	var rows []Row
	for _, v := range variants {
		for _, r := range []Resource{Register, Znode} {
			rows = append(rows, Row{Variant: v, Resource: r}, Row{Variant: v, Resource: r, Fenced: true})
		}
	}
	return rows
}

// outcome is the outcome of one round.
type outcome struct {
	accepted bool
	fence    recipes.Fence
	witness  string
	err      error
}

func (r *Row) add(o outcome) {
	if o.err == nil {
		r.Fence = o.fence
	}
	switch {
	case o.err != nil:
		if r.Err == nil {
			r.Err = o.err
		}
	case o.accepted:
		if r.Accepted++; r.Accepted == 1 {
			r.Witness = o.witness
		}
	default:
		if r.Rejected++; r.Rejected == 1 && r.Accepted == 0 {
			r.Witness = o.witness
		}
	}
}
