package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// newCell prepares a cell; nothing has touched the ensemble yet.
func (r *runner) newCell(s spec, number, of int) *cell {
	kind, _ := r.workload(r.profile.Workload)
	c := &cell{runner: r, spec: s, number: number, of: of,
		work:      kind.New(params(s, r.dir(number))),
		collector: metrics.NewCollector(0), history: metrics.NewHistory(0), fanout: metrics.NewFanout(0),
	}
	c.steady.Store(&span{r.profile.Warmup, r.profile.Warmup + r.profile.Duration})
	c.crowd.dial = r.dialer()
	return c
}

// observe looks at the cell once a second: it ends an interval, writes it down and shows the progress. The caller calls stop, which
// takes a last look.
func (c *cell) observe(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	series := metrics.NewSeries(workloads.Ops(c.work)...)
	go func() {
		defer close(over)
		for tick(ctx, time.Second) {
			c.look(series)
		}
		c.look(series)
	}()
	return func() {
		cancel()
		<-over
	}
}

// look ends an interval.
func (c *cell) look(series *metrics.Series) {
	now := c.origin.Now()
	iv := c.collector.Rotate(now)
	p := series.Add(iv, c.fanout.Snapshot())
	if err := c.Out.Interval(c.tag(), c.origin.Time(iv.From), c.origin.Time(iv.To), iv.Steady); err != nil {
		c.fail(err)
	}
	c.Out.Timeline(results.Second{Cell: c.tag(), At: c.origin.Time(now).UTC(), Phase: c.phase(now), Client: clientSeries(p), Servers: c.server.now()})
	c.progress(c.phase(now), now, &p)
}

// tag names the cell in the files beside the document.
func (c *cell) tag() string {
	tag := c.variant + "-" + strconv.Itoa(c.sessions)
	if c.rate > 0 {
		tag += "-" + strconv.FormatFloat(c.rate, 'f', -1, 64) + "ps"
	}
	for _, own := range c.point.Own() {
		tag += fmt.Sprintf("-%v%s", own.Value, own.Key)
	}
	return tag + "-r" + strconv.Itoa(c.repetition)
}

func (c *cell) phase(now time.Duration) string {
	switch s := c.steady.Load(); {
	case now < s.from || c.rate == 0 && !c.warm.Load():
		return PhaseWarmup
	case now < s.to:
		return PhaseSteady
	}
	return PhaseDrain
}

func clientSeries(p metrics.Point) map[string]float64 {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return map[string]float64{"per_s": p.PerSecond, "p50_ms": ms(p.P50), "p99_ms": ms(p.P99), "max_ms": ms(p.Max),
		"events": float64(p.Events), "errors": float64(p.Errors)}
}
