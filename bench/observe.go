package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// newCell prepares a cell; nothing has touched the ensemble yet.
func (r *runner) newCell(s spec, number, of int) (*cell, error) {
	kind, _ := r.workload(r.profile.Workload)
	variant, known := kind.Find(s.variant)
	if !known {
		return nil, fmt.Errorf("workload %s has no variant %s", kind.Name, s.variant)
	}
	asked := load(s, r.dir(number))
	asked.Shared, asked.Merged = r.merges || !r.Share.Whole(), r.merges
	var c *cell
	if hello, driven := r.hellos[variant.Program]; driven {
		asked.Foreign = &workloads.Foreign{Tokens: hello.Tokens, Znodes: hello.Store == drivers.ZooKeeper, Claims: hello.Claims, FIFO: hello.FIFO,
			Open: func(ctx context.Context, client int) (zk.Session, error) { return c.clients.dial(ctx, client) }}
	}
	work, err := variant.New(asked, r.profile.Options)
	if err != nil {
		return nil, err
	}
	c = &cell{runner: r, spec: s, number: number, of: of, work: work, frugal: variant.Own || variant.Unsafe,
		collector: metrics.NewCollector(0), history: r.newHistory(), fanout: metrics.NewFanout(0), trips: r.newTrips(),
		standings: metrics.NewStandings(s.sessions), set: time.Now(),
	}
	c.steady.Store(&span{r.profile.Warmup, r.profile.Warmup + r.profile.Duration})
	_, c.keeps = c.work.(workloads.Waiting)
	c.passes = slices.Contains(workloads.Timed(c.work), metrics.PutToTake)
	c.clients.dial, c.clients.number = r.dialSeat, c.session
	if variant.Program == "" {
		return c, nil
	}
	return c, c.drive(variant.Program, asked.Processes())
}

// observe looks at the cell once a second, and when it is told to: it ends an interval, writes it down and shows the progress. The caller
// calls stop, which takes a last look.
func (c *cell) observe(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	own := newSelf()
	series := metrics.NewSeries(workloads.Ops(c.work), workloads.Timed(c.work))
	c.cutNow = make(chan struct{}, 2)
	go func() {
		defer close(over)
		defer own.stop()
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-ctx.Done():
				c.look(series, own)
				return
			case <-c.cutNow:
			case <-second.C:
			}
			c.look(series, own)
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// self is what zkbench itself used since the last look.
type self struct {
	probe *metrics.TimerProbe
	at    time.Time
	cpu   time.Duration
}

func newSelf() *self {
	return &self{metrics.StartTimerProbe(10*time.Millisecond, nil), time.Now(), metrics.CPUTime()}
}

// take is the share of this machine's CPUs, negative where the system does not tell, and the lag of the timers.
func (s *self) take() (share float64, lag *metrics.Histogram) {
	now, cpu := time.Now(), metrics.CPUTime()
	share = (cpu - s.cpu).Seconds() / max(now.Sub(s.at).Seconds(), 1e-9) / float64(runtime.NumCPU())
	if cpu < 0 || s.cpu < 0 {
		share = -1
	}
	s.at, s.cpu = now, cpu
	return share, s.probe.Take()
}

func (s *self) stop() { s.probe.Stop() }

// look ends an interval.
func (c *cell) look(series *metrics.Series, own *self) {
	now := c.origin.Now()
	iv := c.collector.Rotate(now)
	p := series.Add(iv, c.fanout.Snapshot())
	if err := c.Out.Interval(c.tag(), c.origin.Time(iv.From), c.origin.Time(iv.To), iv.Steady); err != nil {
		c.fail(err)
	}
	c.lostHistory()
	c.Out.Timeline(results.Second{Cell: c.tag(), At: c.origin.Time(now).UTC(), Phase: c.phase(iv.From), Client: clientFigures(p)})
	together := c.tellFleet(now, p)
	if c.Progress == nil {
		return
	}
	u := c.during(c.phase(now), now)
	u.Fleet = together
	u.Second = &Second{Point: p, Interval: iv, Fanout: c.fanout.Snapshot(), Counted: workloads.Ops(c.work), Timed: workloads.Timed(c.work),
		Stand: c.standings.Look(), Connected: c.connectedNow(), Leader: c.server.leader()}
	u.Second.CPU, u.Second.Lag = own.take()
	c.report(u)
}

// tag names the cell in the files beside the document.
func (c *cell) tag() string {
	tag := tagged.Replace(c.variant) + "-" + strconv.Itoa(c.sessions)
	if c.rate > 0 {
		tag += "-" + strconv.FormatFloat(c.rate, 'f', -1, 64) + "ps"
	}
	for _, there := range c.apart {
		tag += tagged.Replace(fmt.Sprintf("-%v", there.Value))
	}
	for _, own := range c.point.Own() {
		if _, number := own.Value.(int); own.Axis && number || c.profile.Varied(own.Key) {
			tag += tagged.Replace(fmt.Sprintf("-%v%s", own.Value, own.Key))
		}
	}
	if len(c.profile.Prefill) > 1 {
		tag += fmt.Sprintf("-%dprefill", c.prefill())
	}
	return tag + "-r" + strconv.Itoa(c.repetition)
}

// tagged makes what a tag of a log of histograms may be.
var tagged = strings.NewReplacer(":", "", ", ", "+", ",", "+", " ", "", "/", "_")

func (c *cell) phase(now time.Duration) string {
	switch s := c.steady.Load(); {
	case now < s.from || c.rate == 0 && !c.warm.Load():
		return PhaseWarmup
	case now < s.to:
		return PhaseSteady
	case now < s.to+c.overtime():
		return PhaseOvertime
	}
	return PhaseDrain
}

// clientFigures are a line of the timeline. A time that no operation tells is nil, and so are a p99 of too few and a rate over no time.
func clientFigures(p metrics.Point) results.Figures {
	f := results.Figures{"per_s": nil, "p50_ms": nil, "p99_ms": nil, "max_ms": nil}
	f.Set("seconds", (p.To - p.From).Seconds())
	if p.To > p.From {
		f.Set("per_s", p.PerSecond)
	}
	f.Set("events", float64(p.Events))
	f.Set("errors", float64(p.Errors))
	if p.Timed > 0 {
		f.Set("p50_ms", inMillis(p.P50))
		f.Set("max_ms", inMillis(p.Max))
	}
	if p.Timed >= results.EnoughForP99 {
		f.Set("p99_ms", inMillis(p.P99))
	}
	return f
}

// stillWaiting records what waits in the workload and no session waits for: in a closed loop at the end of the steady phase, in an open one
// when the drain is over.
func (c *cell) stillWaiting(now bool) {
	w, some := c.work.(workloads.Waiting)
	if !some || !now {
		return
	}
	at := c.origin.Now()
	if c.rate == 0 {
		at = min(at, c.steady.Load().to-1)
	}
	w.StillWaiting(at, c.collector.Shard(0))
}
