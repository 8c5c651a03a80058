package bench

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/results"
)

// planFaults prepares the faults of the cell.
func (c *cell) planFaults() {
	c.faults = faults.New(c.profile.Schedule(), faults.Target{
		Ensemble: c.Ensemble, Proxy: c.front, Origin: c.origin, SessionTimeout: c.profile.SessionTimeout, Engine: c.engine.Name,
		Session: c.clients.session, Places: c.clients.places, Before: c.take, Storms: c.storms, Tell: c.tellFault, KillDriver: c.killDriver(), StopHolder: c.stopHolder(),
	})
}

// injectFaults begins with the faults of the cell. The caller calls recover when the steady phase is over, and recovered after it.
func (c *cell) injectFaults(ctx context.Context) (recover, recovered func()) {
	quit := make(chan struct{})
	steady, end := c.bounded(ctx, quit)
	c.faults.Start(ctx, steady, c.steady.Load().from)
	return func() { close(quit) }, func() { c.faults.Wait(); end() }
}

// tellFault shows an event of a fault, and writes it onto the timeline.
func (c *cell) tellFault(e faults.Event) {
	at := (e.Offset - c.steady.Load().from).Seconds()
	c.Out.Timeline(results.Second{Cell: c.tag(), At: c.origin.Time(e.Offset).UTC(), Phase: c.phase(e.Offset),
		Fault: &results.FaultEvent{Kind: e.Kind, Target: e.Target, Event: e.What, AtS: at}})
	c.tellOf(Event{Kind: EventFault, Name: e.Kind, Ended: e.Recovered || e.Problem() != ""},
		fmt.Sprintf("fault, %.1f s into the steady phase: %s: %s", at, e.Fault, e.What))
}

// lostLeaders are the losses of a leader in the steady phase that no planned fault explains.
func (c *cell) lostLeaders() []faults.Fault {
	steady := *c.steady.Load()
	return c.faults.Unexplained(c.server.outages(), steady.from, steady.to)
}

// awaitServers waits until the servers serve again after the faults of the cell.
func (c *cell) awaitServers(ctx context.Context) error {
	ctx, end := c.bounded(ctx, nil)
	defer end()
	return c.faults.AwaitServers(ctx)
}
