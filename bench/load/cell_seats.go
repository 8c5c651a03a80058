package load

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
)

// seat returns the seat at place i of the share. In a closed loop the sessions start spread over the first half of the warm-up.
func (c *Cell) seat(i int) *seat {
	id := uint32(c.session(i))
	r := plan.Random(c.Profile.Seed, c.Repetition, id, plan.ArrivalStream)
	c.clients.links.follow(id, c.clients.sessions[i], c.origin)
	s := &seat{
		Seat: workloads.Seat{
			ID: id, Session: c.clients.sessions[i], Origin: c.origin, Fanout: c.fanout.Shard(i),
			Calls: ofSeat(c.calls, i),
		},
		clients: &c.clients, place: i, work: c.work, loopOpen: c.Open() && c.paced(id), first: c.first,
	}
	s.Open = s.open
	s.Rand = s.draws.Seed(c.Profile.Seed, c.Repetition, id, plan.WorkStream)
	s.records = ofSeat(c.records, i)
	s.Recorder = &s.recorder
	s.Standing = &s.standing
	c.standings.Join(id, s.Standing)
	s.MayLead = func() bool { return c.mayLead(c.clients.session(i)) }
	if c.driver != nil {
		s.Work = func(ctx context.Context) (func(), bool) { return drivers.Work(ctx, s.Session) }
		s.Died = func() (time.Time, bool) { return drivers.Died(s.Session) }
	}
	s.stays, s.passes = c.Open() && c.keeps && !s.loopOpen, c.passes
	s.OpenFor = s.openFor
	s.arrivals = c.arrivals(r, id, s.loopOpen, false)
	if !s.loopOpen {
		s.may, s.eager = true, c.Profile.Think.Average() == 0 && !plan.Finite(c.work)
	}
	return s
}

// perCPU makes one of something that seats share for each CPU.
func perCPU[T any](make func(i int) T) (all []T) {
	for i := range runtime.GOMAXPROCS(0) {
		all = append(all, make(i))
	}
	return all
}

// ofSeat returns the one that seat i uses.
func ofSeat[T any](all []T, i int) T { return all[i%len(all)] }

// newRecords returns the records with number i.
func (c *Cell) newRecords(i int) *records {
	figures := c.collector.Shard(i)
	if c.run.Blocks != nil {
		figures = metrics.Tee(figures, c.run.Blocks)
	}
	return &records{figures: figures, history: c.history.Shard(i), cutAt: &c.cutAt, pauses: &c.pauses}
}

// paced reports whether the session gets part of the rate of an open loop.
func (c *Cell) paced(id uint32) bool {
	w, some := c.work.(workloads.Paced)
	return !some || w.IsPaced(id)
}

// offers reports whether the operation that a session draws counts towards the rate. Some sessions draw another one, such as revoke, which is not counted.
func (c *Cell) offers(id uint32) bool {
	w, some := c.work.(workloads.Drawing)
	return !some || slices.Contains(workloads.Offered(w), w.Draw(id, plan.Random(c.Profile.Seed, c.Repetition, id, plan.WorkStream)))
}

// arrivals returns when the work of a session is due, with offered only that which the rate counts.
func (c *Cell) arrivals(r *rand.Rand, id uint32, open, offered bool) plan.Arrivals {
	if plan.Finite(c.work) { // all start at once
		return plan.Closed(0, c.Profile.Think.Sample, r)
	}
	if !open {
		return plan.Closed(time.Duration(r.Float64()*float64(c.Profile.Warmup)/2), c.Profile.Think.Sample, r)
	}
	if w, some := c.work.(workloads.Scheduled); some {
		return plan.Listed(w.Schedule(id, offered))
	}
	mean := time.Duration(float64(c.sharers) / c.Rate * float64(time.Second))
	if c.Profile.Arrivals == "uniform" {
		return plan.Uniform(mean, r)
	}
	return plan.Poisson(mean, r)
}
