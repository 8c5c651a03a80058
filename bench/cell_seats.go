package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
)

// seat is place i of the share. In a closed loop the sessions begin spread over the first half of the warm-up.
func (c *cell) seat(i int) *seat {
	id := uint32(c.session(i))
	r := random(c.profile.Seed, c.repetition, id, streamArrivals)
	s := &seat{
		Seat: workloads.Seat{
			ID: id, Session: c.observed(id, c.clients.sessions[i]), Origin: c.origin, Fanout: c.fanout.Shard(i),
			Recorder: c.recorder(i),
			Rand:     random(c.profile.Seed, c.repetition, id, streamWork),
			Standing: c.standings.Of(id),
		},
		clients: &c.clients, place: i, observed: c.observed, work: c.work, loopOpen: c.rate > 0 && c.driven(id), first: c.first,
	}
	s.Open = s.open
	s.MayLead = func() bool { return c.mayLead(c.clients.session(i)) }
	if c.driver != nil {
		s.Work = func(ctx context.Context) (func(), bool) { return drivers.Work(ctx, s.Session) }
		s.Died = func() (time.Time, bool) { return drivers.Died(s.Session) }
	}
	s.stays, s.passes = c.rate > 0 && c.keeps && !s.loopOpen, c.passes
	s.arrivals = c.arrivals(r, s.loopOpen)
	if !s.loopOpen {
		s.pausing = &pausing{Recorder: s.Recorder, of: &c.pauses}
		s.Recorder = s.pausing
	}
	return s
}

// recorder is that of one seat.
func (c *cell) recorder(i int) metrics.Recorder {
	figures := c.collector.Shard(i)
	if c.Blocks != nil {
		figures = metrics.Tee(figures, c.Blocks)
	}
	return metrics.Tee(counted{figures, &c.cutAt, &c.succeeded}, c.history.Shard(i))
}

// driven tells whether the rate of an open loop is offered to the session.
func (c *cell) driven(id uint32) bool {
	w, some := c.work.(workloads.Driven)
	return !some || w.IsDriven(id)
}

// offers tells whether what a session draws is what the rate is of. That of some is something else, which is not counted with it: to revoke.
func (c *cell) offers(id uint32) bool {
	w, some := c.work.(workloads.Drawing)
	return !some || slices.Contains(workloads.Offered(w), w.Draw(id, random(c.profile.Seed, c.repetition, id, streamWork)))
}

func (c *cell) arrivals(r *rand.Rand, open bool) arrivals {
	if c.finite() { // all begin at once
		return &closed{think: c.profile.Think.Sample, rand: r}
	}
	if !open {
		return &closed{begin: time.Duration(r.Float64() * float64(c.profile.Warmup) / 2), think: c.profile.Think.Sample, rand: r}
	}
	mean := time.Duration(float64(c.sharers) / c.rate * float64(time.Second))
	if c.profile.Arrivals == "uniform" {
		return uniform(mean, r)
	}
	return poisson(mean, r)
}
