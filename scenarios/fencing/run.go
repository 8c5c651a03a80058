package fencing

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Client is the client that is paused: Serve, at the other end of Read and Write, in a process of its own. In tests it is anything that
// can be paused.
type Client interface {
	io.ReadWriter
	// Pause returns when the client does nothing any more: until Resume it neither writes nor answers its servers.
	Pause() error
	Resume() error
	// Close ends the client, paused or not, and waits for its end.
	Close() error
}

// Config is one run.
type Config struct {
	Order    Order    // what all trials have in common: Addresses, Engine, the timeouts
	Dir      string   // an existing znode; each trial makes one below it, and leaves it
	Locks    Locks    // as the clients have them too
	Variants []string // of Locks.Variants()
	Rounds   int      // of each row
	Parallel int      // trials that go on at once; 0: one. Most of their time they wait for a session to expire.
	// Start starts a client that ends with ctx.
	Start func(ctx context.Context) (Client, error)
	// Dial opens a session of the next holder's, in this process.
	Dial func(ctx context.Context) (zk.Session, error)
	// Played, if not nil, is told of each row that is complete, from one goroutine at a time.
	Played func(n, of int, r Row)
}

// Resource is what holders write.
type Resource string

// The resources.
const (
	Register Resource = "register" // a value in the process that keeps it, to which the clients send their writes
	Znode    Resource = "znode"    // of the ensemble that keeps the lock
)

// Row is one lock on one resource, with or without a fence, over all rounds.
type Row struct {
	Variant  string
	Resource Resource
	Fenced   bool
	Fence    recipes.Fence // as the writes met it; none while no round was played to its end
	// Accepted and Rejected are the late writes of paused clients; with the rounds that failed they are all rounds.
	Accepted, Rejected int
	Witness            string // of one round: what was accepted, or else what was rejected
	Replayed           int    // rounds that were played again, because a reply was lost or the machine was late
	Err                error  // the first, of a round that could not be played to its end, more than once
}

// tries is how often a round is played until it comes to its end. A round that does not is no trial of the fence: the reply to a write may be
// lost, or the session may end before its client is paused.
const tries = 3

// Expected reports whether late writes are to be accepted: where there is no fence.
func (r Row) Expected() bool { return !r.Fenced }

// Run plays the trials. The rows are in the order of Variants, each register and znode, each unfenced and fenced; the error is the end
// of ctx.
func Run(ctx context.Context, c Config) ([]Row, error) {
	rows := plan(c.Variants)
	planned := slices.Clone(rows) // while rows fill
	type place struct{ row, round int }
	places := make(chan place)
	left := make([]int, len(rows)) // rounds, of each row
	complete := 0
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range max(c.Parallel, 1) {
		workers.Go(func() {
			for p := range places {
				var o outcome
				replayed := -1
				for replayed+1 < tries && (replayed < 0 || o.err != nil && ctx.Err() == nil) {
					replayed++
					o = c.play(ctx, planned[p.row], fmt.Sprintf("%s/trial-%d-%d", c.Dir, p.row, p.round+replayed*c.Rounds))
				}
				mu.Lock()
				rows[p.row].add(o)
				rows[p.row].Replayed += replayed
				if left[p.row]--; left[p.row] == 0 {
					complete++
					if c.Played != nil {
						c.Played(complete, len(rows), rows[p.row])
					}
				}
				mu.Unlock()
			}
		})
	}
	for i := range rows {
		left[i] = c.Rounds
	}
	for round := range c.Rounds {
		for i := range rows {
			select {
			case places <- place{i, round}:
			case <-ctx.Done():
			}
		}
	}
	close(places)
	workers.Wait()
	return rows, ctx.Err()
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

// outcome is what came of one round.
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
