package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/fencing"
	"github.com/zkbench/zkbench/zk"
)

// clientVerb is the command that makes zkbench one client of a fencing trial, on its standard input and output. zkbench starts itself with
// it, to have a process that it can pause. No help mentions it.
const clientVerb = "fencing-client"

// pausesAtOnce is how many clients are paused at a time. Each has two sessions, and the next holder has two more.
const pausesAtOnce = 10

// minDataTimeout is the shortest timeout of the session that sends a paused client's write: longer than any pause, if the servers allow it.
const minDataTimeout = 40 * time.Second

// playFencing returns the workload that pauses clients before they write, with and without a fence, for zkbench's locks and for added ones.
func playFencing(of fencing.Locks) bench.Act {
	return bench.Act{
		Name: "fencing", Doc: "pause a client before its write until another one holds the lock: unfenced writes must get through, fenced ones must not",
		Variants: of.Variants, Persistent: of.Persistent, Sessions: 4 * pausesAtOnce, Znodes: of.Znodes(),
		Do: func(ctx context.Context, s bench.Stage) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			rows, err := fencing.Run(ctx, fencing.Config{Locks: of,
				Order: fencing.Order{Addresses: s.Addresses, Engine: s.Engine, Timeout: s.Timeout, DataTimeout: max(10*s.Timeout, minDataTimeout)},
				Dir:   s.Root, Variants: s.Variants, Rounds: s.Rounds, Parallel: pausesAtOnce,
				Start: func(ctx context.Context) (fencing.Client, error) { return fencing.Process(ctx, self, clientVerb) },
				Dial:  func(ctx context.Context) (zk.Session, error) { return s.Dial(ctx, s.Addresses) },
				Played: func(n, of int, r fencing.Row) {
					if ctx.Err() == nil {
						s.Tell(fmt.Sprintf("[%d/%d] %s, %s: %d stale writes accepted, %d rejected", n, of, r.Variant, situation(r), r.Accepted, r.Rejected))
					}
				},
			})
			for _, r := range rows {
				if err != nil && (r.Err != nil || r.Accepted+r.Rejected == 0) { // cut off by the end of the run
					continue
				}
				s.Document.Findings = append(s.Document.Findings, fenceFinding(r))
			}
			return err
		},
	}
}

func situation(r fencing.Row) string {
	if r.Fenced {
		return "fenced " + string(r.Resource)
	}
	return "unfenced " + string(r.Resource)
}

func fenceFinding(r fencing.Row) results.Finding {
	f := results.Finding{Variant: r.Variant, Scenario: situation(r), Witness: r.Witness,
		Fencing: &results.Fencing{Resource: string(r.Resource), Fenced: r.Fenced, Fence: string(r.Fence),
			Accepted: r.Accepted, Rejected: r.Rejected, Replayed: r.Replayed}}
	if r.Expected() {
		f.Expected = results.StaleWrite
	}
	if r.Accepted > 0 {
		f.Seen = results.StaleWrite
	}
	if r.Err != nil {
		f.Error = access.Explain(r.Err).Error()
	}
	return f
}

// client carries out clientVerb. Signals end it as they end any process, because its parent is in control.
func (a *app) client(ctx context.Context) error {
	signal.Reset()
	return fencing.Serve(ctx, a.stdin, a.stdout, a.fenced, func(ctx context.Context, o fencing.Order, timeout time.Duration) (zk.Session, error) {
		s, err := a.setup.Open(ctx, o.Engine, o.Addresses, timeout)
		if err != nil {
			return nil, err
		}
		return zk.Within(s, path.Dir(o.Lock)), nil // the trial's directory
	}, access.Explain)
}
