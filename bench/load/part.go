package load

import (
	"cmp"
	"context"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// met is when this share reached a stage of a cell, and when it continued.
type met struct {
	stage      string
	came, went time.Time
}

// meet waits until all shares have reached a stage of the cell, and records when that was.
func (c *Cell) meet(ctx context.Context, stage string) error {
	came := time.Now()
	err := c.run.Meet(ctx, c.target.Failure, c.Number, stage)
	if err == nil && c.run.Meeting != nil {
		c.meets = append(c.meets, met{stage, came, time.Now()})
	}
	return err
}

// KeepPart writes what merging needs of a share's cell; back is Findings.Back. most is how many bytes its history may take.
func (c *Cell) KeepPart(back [][]time.Duration, most int64) error {
	if c.run.Meeting == nil || c.history.Err() != nil {
		return nil
	}
	steady := c.steady.Load()
	p := results.Part{Cell: c.Name(), Fanout: c.fanout.Counts(metrics.InSteady), Expired: c.clients.lost.Load(), Redials: c.clients.redials.Load(), Pauses: c.pauses.length.Load(),
		CPU: int64(c.after.footprint.Sub(c.before.footprint).CPU), From: int64(steady.From), To: int64(steady.To)}
	if lost := c.lostLeaders(); len(c.Profile.Faults) > 0 || len(lost) > 0 {
		p.Faults, p.Back = c.faults.Tell(lost), back
	}
	p.Counts(c.collector.Totals())
	p.Opening = results.PartTimesOf(c.clients.connects)
	for _, m := range c.meets {
		p.Meets = append(p.Meets, results.PartMeet{Stage: m.stage, Came: int64(c.origin.At(m.came)), Went: int64(c.origin.At(m.went))})
	}
	return c.run.Out.Part(p, c.history.All(), cmp.Or(most, results.MostHistory))
}
