package load

import (
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
)

// Outcome returns what was carried out and recorded, after the cell has ended.
func (c *Cell) Outcome() *outcome.Cell {
	steady := *c.steady.Load()
	o := &outcome.Cell{Cell: c.Cell, Work: c.work, Unsafe: c.Recipe.Unsafe, Exempt: c.Recipe.Own || c.Recipe.Unsafe, Share: c.run.Share, Recording: outcome.Recording{
		Started: c.started, Origin: c.origin, Steady: steady, LongerBy: c.longerBy, LoadEnd: c.offered, Interrupted: c.interrupted,
		Totals: c.collector.Totals(), Fanout: c.fanout.Counts(metrics.InSteady), History: c.history, Lost: c.Lost(), EnsembleLost: c.target.Why() != nil,
		Opening: c.clients.connects, Expired: c.clients.lost.Load(), Redials: c.clients.redials.Load(), Losses: c.clients.losses,
		Pauses: c.pauses.count.Load(), Paused: time.Duration(c.pauses.length.Load()), Links: c.clients.links.all, Accounts: c.accounts.all,
		Faults: c.faults, LostLeaders: c.lostLeaders(), EndPlaces: c.ending, Orphans: c.orphans,
		Server: c.server.summary(), ServerNotes: c.server.missing(steady.To - steady.From), Disagreement: c.disagreement, Refusals: c.refusals.soFar(),
		Driver: c.driverUse(), Prefilled: c.Prefilled,
	}}
	used := c.after.footprint.Sub(c.before.footprint)
	if steady.Length() > 0 {
		o.Usage = &outcome.Usage{Footprint: used, Sockets: c.sockets, Machine: outcome.MachineBetween(c.before.machine, c.after.machine, used.CPU), Timers: c.timers, Fresh: c.fresh}
	}
	return o
}

// driverUse returns what is known of the driver that held the sessions; nil if there was none.
func (c *Cell) driverUse() *outcome.Driver {
	if c.driver == nil {
		return nil
	}
	d := &outcome.Driver{Figures: c.driver.Figures()}
	d.Used, d.Resident = c.after.driver.since(c.before.driver)
	if d.Servers = c.Driver.StoreNote; d.Servers != "" {
		d.UsedByServers, d.ResidentServers = c.after.store.since(c.before.store)
	}
	return d
}
