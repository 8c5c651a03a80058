package load

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// planFaults prepares the faults of the cell.
func (c *Cell) planFaults() {
	c.faults = faults.New(c.Profile.Schedule(), faults.Target{
		Ensemble: c.target.Ensemble, Proxy: c.target.Proxy, Origin: c.origin, SessionTimeout: c.Profile.SessionTimeout, Engine: c.target.Engine.Name,
		Session: c.clients.session, Places: c.clients.places, Before: c.take, Storms: c.storms, Tell: c.tellFault, KillDriver: c.killDriver(), StopHolder: c.stopHolder(),
		Elsewhere: !c.run.Share.Lowest(),
	})
}

// injectFaults starts the faults of the cell. The caller calls recover when the steady phase is over, and recovered after it.
func (c *Cell) injectFaults(ctx context.Context) (recover, recovered func()) {
	quit := make(chan struct{})
	steady, end := c.target.Bounded(ctx, quit)
	c.faults.Start(ctx, steady, c.steady.Load().From)
	return func() { close(quit) }, func() { c.faults.Wait(); end() }
}

// tellFault reports an event of a fault and writes it to the timeline.
func (c *Cell) tellFault(e faults.Event) {
	at := (e.Offset - c.steady.Load().From).Seconds()
	c.run.Out.Timeline(results.Second{Cell: c.Name(), At: c.origin.Time(e.Offset).UTC(), Phase: c.phase(e.Offset),
		Fault: &results.FaultEvent{Kind: e.Kind, Target: e.Target, Event: e.What, AtS: at}})
	c.run.TellOf(Event{Kind: EventFault, Name: e.Kind, Ended: e.Recovered || e.Problem() != ""},
		fmt.Sprintf("fault, %.1f s into the steady phase: %s: %s", at, e.Fault, e.What))
}

// stageFaults is where the first share publishes the outcome of a cell's faults for the others.
const stageFaults = "faults"

// tellFaults publishes the outcome of the faults from the first share, before the other shares continue.
func (c *Cell) tellFaults(ctx context.Context) error {
	if c.run.Meeting == nil || c.run.Share.Whole() || !c.run.Share.Lowest() || len(c.Profile.Faults) == 0 {
		return nil
	}
	return c.run.Meeting.Send(ctx, c.faults.Tell(nil), "cells", c.Number, stageFaults)
}

// learnFaults reads, in the other shares, what the first share has published, so that the time of the faults enters their histories.
func (c *Cell) learnFaults(ctx context.Context) error {
	if c.run.Share.Lowest() || len(c.Profile.Faults) == 0 {
		return nil
	}
	text, err := c.run.Meeting.Receive(ctx, "cells", c.Number, stageFaults)
	if err != nil {
		return err
	}
	return c.faults.Learn(text)
}

// recordFaults adds the time of the faults, and of leader losses that nobody planned, to the history.
func (c *Cell) recordFaults() {
	for _, s := range c.faults.Samples(c.lostLeaders()) {
		c.history.Shard(0).Record(s)
	}
}

// lostLeaders returns the losses of a leader in the steady phase that no planned fault explains.
func (c *Cell) lostLeaders() []faults.Fault {
	steady := *c.steady.Load()
	return c.faults.Unexplained(c.server.outages(), steady.From, steady.To)
}

// awaitServers waits until the servers serve again after the faults of the cell.
func (c *Cell) awaitServers(ctx context.Context) error {
	ctx, end := c.target.Bounded(ctx, nil)
	defer end()
	return c.faults.AwaitServers(ctx)
}

// findOrphans counts the ephemeral znodes left below the cell's znode, by owning session, after all sessions have closed.
func (c *Cell) findOrphans(ctx context.Context) error {
	return c.target.Admin(ctx, func(s zk.Session) error {
		c.orphans = map[int64]int{}
		return zk.Ephemerals(ctx, s, c.dir, nil, func(st zk.Stat) { c.orphans[st.EphemeralOwner]++ })
	})
}
