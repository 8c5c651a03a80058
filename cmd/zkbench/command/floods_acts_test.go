package command

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// playedPublished plays the trials of the workload published. Package scenarios/fencing has the same test for the trials of fencing, also in memory. An act
// has the same root as any run. Apart from that, published-stores sends nothing to ZooKeeper, and secured plays refusals itself, on real servers only: the
// ensemble in memory has no identities. What other requests of secured do when they are refused is not tested.
func playedPublished(ctx context.Context, m *flooded, a *app, begun func()) error {
	var opened atomic.Int64
	return refusedTrials(published.Run(ctx, published.Config{Dir: "/zkbench/old", Config: scenarios.Config{Variants: published.Variants(), Parallel: trialsAtOnce},
		Servers: refusingServers{m, func() {
			if opened.Add(1) == 2*trialsAtOnce {
				begun()
			}
		}}}))
}

// refusedTrials returns the errors of trials. A refusal by the servers must not lead to an unexpected violation.
func refusedTrials(found []scenarios.Finding, err error) error {
	all := []error{err}
	for _, f := range found {
		if all = append(all, f.Err); f.Err == nil && f.Seen != scenarios.None && f.Seen != f.Expect {
			all = append(all, fmt.Errorf("%s in %s violates %s: %s", f.Variant, f.Scenario, f.Seen, f.Witness))
		}
	}
	return errors.Join(all...)
}

// refusingServers is the ensemble in the form that the trials of published recipes need.
type refusingServers struct {
	*flooded
	opens func()
}

func (s refusingServers) Dial(context.Context) (zk.Session, error) {
	s.opens()
	return s.flooded.Dial(), nil
}

func (s refusingServers) Expire(_ context.Context, of zk.Session) error {
	s.flooded.Expire(of)
	return nil
}

func (s refusingServers) Cut(of zk.Session, kind zk.Kind, applied bool) (wasCut func(context.Context) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(chan struct{})
	s.cuts = append(s.cuts, func(op zktest.Op) bool {
		if op.Session.ID() != of.ID() || op.Kind != kind || op.Applied != applied {
			return false
		}
		close(done)
		return true
	})
	return func(ctx context.Context) bool {
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
