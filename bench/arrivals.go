package bench

import (
	"math/rand/v2"
	"time"
)

// arrivals says when a session's next unit of work is due, as an offset from the origin. It is arithmetic: no clock, no waiting.
type arrivals interface {
	// next is the due time after one that ended at now.
	next(now time.Duration) time.Duration
}

// closed is the closed loop: the next unit is due when the session is free again and has thought.
type closed struct {
	begin time.Duration
	think func(*rand.Rand) time.Duration
	rand  *rand.Rand
	begun bool
}

func (c *closed) next(now time.Duration) time.Duration {
	if !c.begun {
		c.begun = true
		return c.begin
	}
	return now + c.think(c.rand)
}

// scheduled is the open loop: due times follow from the seed alone, whatever the service does. Each session draws its own; the
// sum of independent Poisson streams is a Poisson stream, so there is no dispatcher.
type scheduled struct {
	due time.Duration
	gap func() time.Duration
}

func (s *scheduled) next(time.Duration) time.Duration {
	s.due += s.gap()
	return s.due
}

// poisson draws gaps of a Poisson stream with the given mean.
func poisson(mean time.Duration, r *rand.Rand) *scheduled {
	return &scheduled{gap: func() time.Duration { return time.Duration(min(r.ExpFloat64()*float64(mean), float64(never))) }}
}

// never is a gap that no run outlives, and that can be added to a due time without overflow.
const never = time.Duration(1 << 61)

// uniform has equal gaps, and starts at a random phase so that the sessions do not beat in time.
func uniform(mean time.Duration, r *rand.Rand) *scheduled {
	return &scheduled{due: -time.Duration(r.Float64() * float64(mean)), gap: func() time.Duration { return mean }}
}

// stream numbers the independent random streams of one session.
type stream uint64

const (
	streamArrivals stream = iota
	streamWork
	streams
)

// random is the generator of one session's stream: the same seed gives the same arrivals, for every variant and whatever the
// order of the cells, so that variants are compared under the same load.
func random(seed uint64, repetition int, session uint32, s stream) *rand.Rand {
	return rand.New(rand.NewPCG(seed+uint64(repetition)<<32, uint64(session)*uint64(streams)+uint64(s)))
}
