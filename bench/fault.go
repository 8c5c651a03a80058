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
		Elsewhere: !c.Share.Lowest(),
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

// stageFaults is where the first share tells the others what came of the faults of a cell.
const stageFaults = "faults"

// tellFaults has the first share tell what came of the faults, before it lets the others go on.
func (c *cell) tellFaults(ctx context.Context) error {
	if c.Meeting == nil || c.Share.Whole() || !c.Share.Lowest() || len(c.profile.Faults) == 0 {
		return nil
	}
	return c.Meeting.Send(ctx, c.faults.Tell(nil), "cells", c.number, stageFaults)
}

// learnFaults has the other shares take what the first has told, and put the time of the faults into their histories.
func (c *cell) learnFaults(ctx context.Context) error {
	if c.Share.Lowest() || len(c.profile.Faults) == 0 {
		return nil
	}
	text, err := c.Meeting.Receive(ctx, "cells", c.number, stageFaults)
	if err != nil {
		return err
	}
	return c.faults.Learn(text)
}

// recordFaults puts the time of the faults, and of those that nobody planned, into the history.
func (c *cell) recordFaults() {
	for _, s := range c.faults.Samples(c.lostLeaders()) {
		c.history.Shard(0).Record(s)
	}
}

// lostLeaders are the losses of a leader in the steady phase that no planned fault explains.
func (c *cell) lostLeaders() []faults.Fault {
	if c.merged != nil {
		return c.faults.Learned()
	}
	steady := *c.steady.Load()
	return c.faults.Unexplained(c.server.outages(), steady.from, steady.to)
}

// awaitServers waits until the servers serve again after the faults of the cell.
func (c *cell) awaitServers(ctx context.Context) error {
	ctx, end := c.bounded(ctx, nil)
	defer end()
	return c.faults.AwaitServers(ctx)
}
