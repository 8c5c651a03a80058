package bench

import (
	"cmp"
	"context"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// met is when this share came to a stage of a cell, and when it went on.
type met struct {
	stage      string
	came, went time.Time
}

// meet waits until all shares have come to a stage of the cell, and notes when that was.
func (c *cell) meet(ctx context.Context, stage string) error {
	came := time.Now()
	err := c.runner.meet(ctx, c.number, stage)
	if err == nil && c.Meeting != nil {
		c.meets = append(c.meets, met{stage, came, time.Now()})
	}
	return err
}

// keepPart writes what merging takes of a cell of a share.
func (r *runner) keepPart(c *cell) error {
	if r.Meeting == nil || c.history.Err() != nil {
		return nil
	}
	steady := c.steady.Load()
	p := results.Part{Cell: c.tag(), Fanout: c.fanout.Counts(metrics.InSteady), Expired: c.clients.lost.Load(), Redials: c.clients.redials.Load(), Pauses: c.pauses.length.Load(),
		CPU: int64(c.after.footprint.Sub(c.before.footprint).CPU), From: int64(steady.from), To: int64(steady.to)}
	if lost := c.lostLeaders(); len(c.profile.Faults) > 0 || len(lost) > 0 {
		p.Faults, p.Back = c.faults.Tell(lost), c.found.back
	}
	p.Counts(c.collector.Totals())
	p.Opening = results.PartTimesOf(c.clients.connects)
	for _, m := range c.meets {
		p.Meets = append(p.Meets, results.PartMeet{Stage: m.stage, Came: int64(c.origin.At(m.came)), Went: int64(c.origin.At(m.went))})
	}
	return r.Out.Part(p, c.history.All(), cmp.Or(r.MostHistory, results.MostHistory))
}
