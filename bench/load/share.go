package load

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
)

// tellFleet tells the other shares the progress of this one, and sums up what all shares report; it returns nil unless this is the lowest of several shares.
func (c *Cell) tellFleet(now time.Duration, p metrics.Point) *Fleet {
	if c.run.Meeting == nil || c.run.Share.Whole() {
		return nil
	}
	own := fleet.Live{Cell: c.Number, Phase: c.phase(now), Sessions: c.seats(), Connected: c.connectedNow(), PerSecond: p.PerSecond, Errors: p.Errors, P99: outcome.Millis(p.P99)}
	c.run.Meeting.Tell(own)
	if !c.run.Share.Lowest() {
		return nil
	}
	all := c.run.Meeting.Heard()
	all[c.run.Share.Number()] = own
	f := &Fleet{Heard: len(all), Shares: c.run.Share.Count}
	for n, l := range all {
		f.Sessions, f.Connected, f.PerSecond, f.Errors = f.Sessions+l.Sessions, f.Connected+l.Connected, f.PerSecond+l.PerSecond, f.Errors+l.Errors
		if l.P99 > f.Worst || l.P99 == f.Worst && n < f.WorstOf {
			f.Worst, f.WorstOf = l.P99, n
		}
	}
	return f
}

// seats returns the number of sessions that this process carries out: its share of them.
func (c *Cell) seats() int { return c.run.Share.Of(c.Sessions) }

// session returns the number of the session at a place of this share.
func (c *Cell) session(place int) int {
	return c.Config.Cell.Session(place, c.run.Share.Index, c.run.Share.Count)
}

// lookAfter closes the sessions of a cell, and looks at what they leave before and after that. The shares of a fleet wait for each other to give back what
// they hold, and to close. They do not wait after a cell was cut short, because they do not know how far the others are.
func (c *Cell) lookAfter(ctx context.Context) error {
	if c.interrupted && c.run.Meeting != nil {
		c.clients.close(atOnce)
		if !c.run.Share.Lowest() {
			c.recordFaults()
		}
		return nil
	}
	err := c.tellFaults(ctx)
	if err == nil {
		if len(c.Profile.Faults) > 0 {
			c.run.loaded.Store(c) // servers that the first share has taken down may not have answered for a long time
		}
		err = c.meet(ctx, fleet.Drained)
		c.run.loaded.Store(nil)
	}
	if err == nil {
		err = c.learnFaults(ctx)
	}
	if !c.run.Share.Lowest() {
		c.recordFaults()
	}
	if err == nil {
		err = c.run.ByLowest(ctx, c.target.Failure, c.Number, fleet.Seen, func() error { return c.inspectOpen(ctx) })
	}
	if err != nil {
		c.clients.close(c.seats())
		return err
	}
	c.compareServers(ctx)
	c.clients.close(atOnce)
	orphans := func(context.Context) error { return nil }
	if c.faults.Started() || len(c.lostLeaders()) > 0 {
		orphans = c.findOrphans
	}
	if !c.run.Share.Lowest() { // as soon as it meets the others, the first share may remove the cell
		return errors.Join(orphans(ctx), c.meet(ctx, fleet.Closed))
	}
	if err := c.meet(ctx, fleet.Closed); err != nil {
		return err
	}
	if err := c.inspect(ctx); err != nil {
		return err
	}
	return orphans(ctx)
}
