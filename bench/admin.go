package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// tellViolations reports a cell's violations at once, because the run may take much longer.
func (r *runner) tellViolations(c *load.Cell, result results.Cell) {
	for _, k := range result.Checks {
		if k.Verdict == "violated" {
			r.load.TellOf(load.Event{Kind: load.EventViolation, Name: k.Name}, fmt.Sprintf("VIOLATED %s in %s, %s: %s", k.Name, c.Variant, phrase.Count(c.Sessions, "session"), k.Detail))
		}
	}
}

// watch asks the servers for their figures once a second, under load less often if that costs them much (see askAgain) and they answer, and fails the run when the
// ensemble is no longer the one to be measured. The caller calls stop.
func (r *runner) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		var silent time.Time                  // the first question since the last answer, or zero
		asked, cost := time.Time{}, time.Hour // the last question, and what the cheapest one so far cost the slowest server
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-second.C:
			}
			c, now := r.load.Loaded(), time.Now()
			if c != nil && silent.IsZero() && now.Add(time.Second/2).Before(asked.Add(askAgain(cost))) && !c.Disturbed() {
				continue
			}
			asked = now
			all := r.Ensemble.Stats(ctx)
			if ctx.Err() != nil {
				return
			}
			now = time.Now()
			cost = min(cost, longest(all))
			r.roll.call(all)
			c = r.load.Loaded()
			if load.Serve(all) || c != nil && c.ServersHurt(now) {
				silent = time.Time{}
			} else if silent.IsZero() {
				silent = asked
			}
			if c != nil {
				c.Answered(all)
			}
			if err := r.broken(silent, now); err != nil {
				if c != nil {
					err = fmt.Errorf("in %s with %s, %s after its start: %w", c.Variant, phrase.Count(c.Sessions, "session"), phrase.Duration(c.Elapsed()), err)
				}
				r.failure.Fail(err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// askAgain returns how long after a question the servers are asked for their figures again, so that answering takes a server at most 0.5 % of a CPU.
// Answering with mntr takes 10 ms of it, in which the requests of the load wait. cost is how long an answer takes, which is at least what it costs.
func askAgain(cost time.Duration) time.Duration {
	for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second} {
		if cost <= d/200 {
			return d
		}
	}
	return 10 * time.Second
}

// longest returns how long the slowest of the servers that answered took; an hour if none did.
func longest(all []ensemble.ServerStats) time.Duration {
	took := time.Duration(-1)
	for _, st := range all {
		if st.Err == nil {
			took = max(took, st.At.Sub(st.Asked))
		}
	}
	if took < 0 {
		return time.Hour
	}
	return took
}

// broken returns an error if the ensemble can no longer be used: its servers ended, or none has answered for too long, since silent unless that is zero.
func (r *runner) broken(silent, now time.Time) error {
	if e, ok := r.Ensemble.(interface{ Ended() error }); ok {
		if err := e.Ended(); err != nil {
			return err
		}
	}
	if long := now.Sub(silent); !silent.IsZero() && long > r.target.Profile.SessionTimeout+5*time.Second {
		return fmt.Errorf("no server has answered for %v", long.Round(time.Second))
	}
	return nil
}
