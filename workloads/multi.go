package workloads

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// MultiConfig describes the load on locks of which each session acquires several together.
type MultiConfig struct {
	Variant  recipes.Variant[recipes.MultiLock]
	Options  recipes.Options
	Dir      string // the locks are its children
	Locks    int
	Together int // how many a session acquires, drawn anew each time, in an order that is drawn too; at most Locks
	Sessions int
	Hold     func(*rand.Rand) time.Duration // how long the grants are held
	Deadline time.Duration                  // of one acquisition; 0: none
	Stall    time.Duration                  // as in LockConfig
}

// NewMulti returns the workload 'multi-lock': acquire several locks together, hold them, release them.
func NewMulti(c MultiConfig) Workload {
	return &multi{MultiConfig: c, places: places{c.Dir, "lock", c.Locks}}
}

type multi struct {
	MultiConfig
	places
}

// Checks are the promises of the variant, of each lock by itself. Liveness is that of the whole: that one of them is free while somebody
// waits for it may be because its next holder waits for another.
func (w *multi) Checks() []check.Check {
	checks := []check.Check{check.MutualExclusion()}
	if w.Variant.Tokens {
		checks = append(checks, check.TokenOrder())
	}
	return append(checks, check.NothingLeft(), check.LivenessTogether(w.Stall))
}

// Op of the workload is to acquire a set of locks.
func (w *multi) Op() metrics.Op { return metrics.Acquire }

// Theory of events per release is none: how many wait for the locks of a set depends on how the sets meet.
func (w *multi) Theory() (release, arrival float64) { return 0, 0 }

// Join gives the session a handle of its own on all of the locks.
func (w *multi) Join(seat Seat) Step {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout}
	observed := zk.Observe(seat.Session, t.trace())
	j := &multiSeat{w: w, holder: holder{Seat: seat, t: t, deadline: w.Deadline, holdFor: w.Hold, observed: observed},
		handle: w.Variant.New(observed, w.dir, w.Options)}
	return j.step
}

type multiSeat struct {
	holder
	w      *multi
	handle recipes.MultiLock
}

func (j *multiSeat) step(ctx context.Context, due time.Duration) error {
	objects := j.w.draw(j.Rand)
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = j.w.child(object)
	}
	j.object = objects[0]
	var grants []recipes.Grant
	g, s, _, granted := j.request(ctx, metrics.Acquire, due, func(ctx context.Context) (recipes.Grant, error) {
		var err error
		if grants, err = j.handle.Acquire(ctx, names...); err != nil {
			return recipes.Grant{}, err
		}
		return grants[0], nil
	})
	if !granted {
		return j.Session.Err()
	}
	j.others(s, metrics.Hold, objects, grants)
	j.hold(ctx, g)
	r := j.release(ctx, metrics.Release, g, func(time.Duration) {}, j.handle.Release)
	j.others(r, metrics.Unhold, objects, grants)
	return j.Session.Err()
}

// others records of the other locks what was recorded of the first.
func (j *multiSeat) others(s metrics.Sample, op metrics.Op, objects []uint32, grants []recipes.Grant) {
	for i, g := range grants[1:] {
		s.Op, s.Object, s.Token = op, objects[i+1], g.Token
		j.Recorder.Record(s)
	}
}

// draw is some of the locks, in an order as it comes.
func (w *multi) draw(r *rand.Rand) []uint32 {
	var drawn []uint32
	for len(drawn) < w.Together {
		if object := uint32(r.IntN(w.Locks)); !slices.Contains(drawn, object) {
			drawn = append(drawn, object)
		}
	}
	return drawn
}
