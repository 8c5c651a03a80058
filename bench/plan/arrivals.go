package plan

import (
	"math/rand/v2"
	"time"
)

// Arrivals determines when a session's next unit of work is due, as an offset from the origin. It is pure arithmetic: it reads no clock and does not wait.
type Arrivals interface {
	// Next returns the due time after the unit that ended at now.
	Next(now time.Duration) time.Duration
}

// closed is the closed loop: the next unit is due when the session is free again and has finished its think time.
type closed struct {
	begin time.Duration
	think func(*rand.Rand) time.Duration
	rand  *rand.Rand
	begun bool
}

// Closed starts at an offset, and thinks between two units of work.
func Closed(begin time.Duration, think func(*rand.Rand) time.Duration, r *rand.Rand) Arrivals {
	return &closed{begin: begin, think: think, rand: r}
}

func (c *closed) Next(now time.Duration) time.Duration {
	if !c.begun {
		c.begun = true
		return c.begin
	}
	return now + c.think(c.rand)
}

// scheduled is the open loop: due times follow from the seed alone, whatever the service does. Each session draws its own times; the sum of independent
// Poisson streams is a Poisson stream, so no dispatcher is needed.
type scheduled struct {
	due time.Duration
	gap func() time.Duration
}

func (s *scheduled) Next(time.Duration) time.Duration {
	s.due += s.gap()
	return s.due
}

// Listed has given due times, one after the other.
func Listed(next func() time.Duration) Arrivals { return listed(next) }

type listed func() time.Duration

func (l listed) Next(time.Duration) time.Duration { return l() }

// Poisson draws gaps of a Poisson stream with the given mean.
func Poisson(mean time.Duration, r *rand.Rand) Arrivals {
	return &scheduled{gap: func() time.Duration { return time.Duration(min(r.ExpFloat64()*float64(mean), float64(never))) }}
}

// never is a gap longer than any run, which can be added to a due time without overflow.
const never = time.Duration(1 << 61)

// Uniform uses equal gaps, and starts at a random phase so that the sessions are not in step.
func Uniform(mean time.Duration, r *rand.Rand) Arrivals {
	return &scheduled{due: -time.Duration(r.Float64() * float64(mean)), gap: func() time.Duration { return mean }}
}

// Stream numbers the independent random streams of one session.
type Stream uint64

const (
	ArrivalStream Stream = iota
	WorkStream
	streams
)

// Random returns the generator of one of a session's streams: the same seed gives the same arrivals, for every variant and in every order of the cells, so
// that variants are compared under the same load.
func Random(seed uint64, repetition int, session uint32, s Stream) *rand.Rand {
	return new(Source).Seed(seed, repetition, session, s)
}

// Source is what Random returns, with its state, to be part of something else: with thousands of sessions, their memory is cold by the time a session draws
// again.
type Source struct {
	rand rand.Rand
	pcg  rand.PCG
}

// Seed starts a stream, and returns its generator.
func (o *Source) Seed(seed uint64, repetition int, session uint32, s Stream) *rand.Rand {
	o.pcg.Seed(seed+uint64(repetition)<<32, uint64(session)*uint64(streams)+uint64(s))
	o.rand = *rand.New(&o.pcg)
	return &o.rand
}
