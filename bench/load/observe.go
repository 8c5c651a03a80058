package load

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Config describes a cell that is to be carried out.
type Config struct {
	plan.Cell
	Number, Of int // of the cell in running order, from 1
	Recipe     workloads.Variant
	Fresh      bool          // the servers have just started, and still get faster
	Rest       time.Duration // approximate time that the cells after this one take; negative if unknown
	Prefilled  string        // what exists in addition to the cell's own znodes; "" if nothing
	Driver     *Driver       // holds the sessions; nil if the profile's engine does
}

// Driver describes the program that holds the sessions of a cell.
type Driver struct {
	drivers.Hello
	Program   string
	Servers   []string     // the servers that its sessions connect to
	StorePIDs func() []int // the processes of these servers, if they are not ZooKeeper's and the run has started them; nil otherwise
	StoreNote string       // what a note says of these servers; "" if they are ZooKeeper's
}

// New prepares a cell on a target without touching the ensemble. The caller closes the cell.
func New(r *Run, t *target.Target, c Config) (*Cell, error) {
	cell := &Cell{Config: c, run: r, target: t, dir: Dir(t.Root, c.Number), collector: metrics.NewCollector(0), history: metrics.NewHistory(0, spill.NewRoom(r.Out.Path(), 0)),
		fanout: metrics.NewFanout(0), trips: metrics.NewLongTrips(spill.NewRoom(r.Out.Path(), tripsInMemory)), standings: metrics.NewStandings(c.Sessions), set: time.Now()}
	cell.clients.links.all.Silent = c.Driver != nil // a driver says when what a session holds is unreliable, not when it has a connection
	cell.calls = perCPU(func(int) *calls { return &calls{cell: cell} })
	cell.records = perCPU(cell.newRecords)
	load := c.Load(cell.dir)
	load.Shared = !r.Share.Whole()
	if d := c.Driver; d != nil {
		load.Foreign = &workloads.Foreign{Tokens: d.Tokens, Znodes: d.Hello.Store == drivers.ZooKeeper, Claims: d.Claims, FIFO: d.FIFO,
			Open: func(ctx context.Context, client int) (zk.Session, error) { return cell.clients.dial(ctx, client) }}
	}
	var err error
	if cell.work, err = c.Recipe.New(load, c.Profile.Options); err != nil {
		cell.Close()
		return nil, err
	}
	cell.steady.Store(&outcome.Span{From: c.Profile.Warmup, To: c.Profile.Warmup + c.Profile.Duration})
	_, cell.keeps = cell.work.(workloads.Waiting)
	cell.passes = slices.Contains(workloads.Timed(cell.work), metrics.PutToTake)
	cell.clients.dial, cell.clients.dialFor, cell.clients.number = t.DialSeat, t.DialSeatFor, cell.session
	if c.Driver == nil {
		return cell, nil
	}
	if err := cell.drive(load.Processes()); err != nil {
		cell.Close()
		return nil, err
	}
	return cell, nil
}

// tripsInMemory is how many bytes of slow requests stay in memory.
const tripsInMemory = 1 << 20

// Dir returns the znode of a cell.
func Dir(root string, number int) string { return fmt.Sprintf("%s/cell-%d", root, number) }

// Begun reports whether the load has started.
func (c *Cell) Begun() bool { return !c.started.IsZero() }

// Close frees what the cell has recorded.
func (c *Cell) Close() {
	c.history.Close()
	c.trips.Close()
}

// observe looks at the cell once a second, and at each mark: it ends an interval, writes it to the timeline and reports the progress. The caller calls stop,
// which takes a last look.
func (c *Cell) observe(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	series := metrics.NewSeries(workloads.Ops(c.work), workloads.Timed(c.work))
	c.cutNow = make(chan struct{}, 2)
	go func() {
		defer close(over)
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-ctx.Done():
				c.look(series)
				return
			case <-c.cutNow:
			case <-second.C:
			}
			c.look(series)
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// self is what zkbench itself used since the last look.
type self struct {
	at  time.Time
	cpu time.Duration

	mu   sync.Mutex
	lags *metrics.Histogram
}

func newSelf() *self {
	return &self{at: time.Now(), cpu: metrics.CPUTime(), lags: metrics.NewHistogram()}
}

// late records the lag of a timer.
func (s *self) late(lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lags.Record(lag)
}

// take returns the share of this machine's CPUs that zkbench used, negative if the system does not report it, and the lag of the timers.
func (s *self) take() (share float64, lag *metrics.Histogram) {
	now, cpu := time.Now(), metrics.CPUTime()
	share = (cpu - s.cpu).Seconds() / max(now.Sub(s.at).Seconds(), 1e-9) / float64(runtime.NumCPU())
	if cpu < 0 || s.cpu < 0 {
		share = -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.cpu, lag, s.lags = now, cpu, s.lags, metrics.NewHistogram()
	return share, lag
}

// look ends an interval, writes it and reports the progress.
func (c *Cell) look(series *metrics.Series) {
	now := c.origin.Now()
	iv := c.collector.Rotate(now)
	if iv.Steady.Succeeded() || iv.Other.Succeeded() {
		c.succeeded.Store(int64(now))
	}
	p := series.Add(iv, c.fanout.Snapshot())
	if err := c.run.Out.Interval(c.Name(), c.origin.Time(iv.From), c.origin.Time(iv.To), iv.Steady); err != nil {
		c.target.Fail(err)
	}
	c.Lost()
	c.run.Out.Timeline(results.Second{Cell: c.Name(), At: c.origin.Time(now).UTC(), Phase: c.phase(iv.From), Client: outcome.ClientFigures(p)})
	together := c.tellFleet(now, p)
	if c.run.Progress == nil {
		return
	}
	u := c.during(c.phase(now), now)
	u.Fleet = together
	u.Second = &Second{Point: p, Interval: iv, Fanout: c.fanout.Snapshot(), Counted: workloads.Ops(c.work), Timed: workloads.Timed(c.work),
		Sessions: c.lookAtSessions, Leader: c.server.leader()}
	u.Second.CPU, u.Second.Lag = c.self.take()
	c.run.Report(u)
}

func (c *Cell) phase(now time.Duration) string {
	switch s := c.steady.Load(); {
	case now < s.From || !c.Open() && !c.warm.Load():
		return outcome.PhaseWarmup
	case now < s.To:
		return outcome.PhaseSteady
	case now < s.To+c.Overtime(c.work):
		return outcome.PhaseOvertime
	}
	return outcome.PhaseDrain
}

// stillWaiting records what waits in the workload although no session waits for it: in a closed loop at the end of the steady phase, in an open one when the
// drain is over.
func (c *Cell) stillWaiting(now bool) {
	w, some := c.work.(workloads.Waiting)
	if !some || !now {
		return
	}
	at := c.origin.Now()
	if !c.Open() {
		at = min(at, c.steady.Load().To-1)
	}
	w.StillWaiting(at, c.collector.Shard(0))
}
