package fuzz_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// client is one user of the recipe. When its session ends, it opens another.
type client struct {
	*world
	id  int
	rng *rand.Rand
	s   *zktest.Session
	gen int // counts sessions
	own any // the handle, of session s
}

func (w *world) client(id int) *client {
	return &client{world: w, id: id, rng: rand.New(rand.NewPCG(w.seed, 1000+uint64(id)))}
}

func (c *client) notef(format string, args ...any) {
	c.world.notef("client %d: "+format, append([]any{c.id}, args...)...)
}

// session returns the client's session, or a new one if that has ended.
func (c *client) session() (s *zktest.Session, fresh bool) {
	if c.s != nil && c.s.Err() == nil {
		return c.s, false
	}
	c.mu.Lock()
	if c.set.shared && c.id == 1 && c.clients[0].s != nil && c.clients[0].s.Err() == nil && c.clients[0].s != c.s {
		c.s = c.clients[0].s
	} else {
		c.s = c.ens.Dial()
		c.sessions[c.s] = &link{number: len(c.sessions)}
	}
	n := c.sessions[c.s].number
	c.gen++
	c.mu.Unlock()
	c.notef("has session %d", n)
	return c.s, true
}

// lasts draws the duration of a context, from 1 ms to 10 s; when no faults are injected, it is patient.
func (c *client) lasts() time.Duration {
	if !c.stormy() {
		return patient
	}
	switch c.rng.IntN(10) {
	case 0, 1:
		return time.Duration(1+c.rng.IntN(20)) * time.Millisecond
	case 2, 3, 4, 5:
		return time.Duration(20+c.rng.IntN(300)) * time.Millisecond
	case 6, 7, 8:
		return time.Duration(300+c.rng.IntN(1700)) * time.Millisecond
	}
	return 10 * time.Second
}

// ctx returns a context for an operation. Its odd nanoseconds keep it from ending at the same instant as anything else.
func (c *client) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), c.lasts()+time.Duration(c.rng.IntN(1000000)))
}

// endCtx returns a context for the end of a hold. It may have ended already.
func (c *client) endCtx() (context.Context, context.CancelFunc) {
	ctx, cancel := c.ctx()
	if c.stormy() && c.rng.Float64() < c.set.ending {
		cancel()
	}
	return ctx, cancel
}

// rest pauses for up to about most.
func (c *client) rest(most time.Duration) {
	time.Sleep(time.Duration(c.rng.Int64N(int64(most))) + 1)
}

// hold returns how long a client holds at most: now and then longer than a lease.
func (c *client) hold() time.Duration {
	if c.stormy() && c.rng.IntN(8) == 0 {
		return 2 * timeout
	}
	return 50 * time.Millisecond
}

// excused reports whether faults explain an error. Any other error is a problem.
func (c *client) excused(what string, ctx context.Context, s *zktest.Session, err error, more ...error) bool {
	if err == nil {
		return true
	}
	c.notef("%s: %v", what, err)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) || s.Err() != nil {
		return true
	}
	for _, m := range more {
		if errors.Is(err, m) {
			return true
		}
	}
	if c.lenient && (c.wasStormy() || !errors.Is(err, context.DeadlineExceeded)) {
		return true
	}
	if !errors.Is(err, recipes.ErrRevoked) && c.wasStormy() {
		for _, fault := range []error{zk.ErrMaybeApplied, zk.ErrNotSent, zk.ErrThrottled, zk.ErrSessionExpired} {
			if errors.Is(err, fault) {
				return true
			}
		}
	}
	c.problemf("client %d: %s: %v", c.id, what, err)
	return false
}

// wasStormy reports whether faults are being injected, or were a short time ago.
func (c *client) wasStormy() bool { return time.Since(c.begun) < storm+timeLeft/2 }
