package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Revocables returns the workload 'revocation' for a catalogue of revocable locks.
func Revocables(all []recipes.Variant[recipes.Revocable]) Kind {
	return Kind{
		Doc: "hold a lock until it is revoked; one session at each lock revokes",
		// A writer has the lock to itself until its hold is over or it is asked for the lock, and each request ends at most one hold.
		Holders: func(l Load) float64 {
			n, all := float64(l.Objects()), float64(l.Sessions)
			if over := (all-n)*(1-l.Share(readers)) - n; over > 0 { // of this many among all operations
				return n * all / over
			}
			return 0
		},
		Workload: profiles.Workload{Name: "revocation", Alias: map[string]string{"locks": objects.Key},
			Fields: []profiles.Field{
				described(objects, "Locks; one session at each revokes, the others are spread over them evenly."),
				readers, described(hold, "How long a grant is held at most; it should be longer than revoking takes."), fence,
			},
			Check: func(p profiles.Profile) []profiles.Problem {
				if n := slices.Max(objectsOf(p)); slices.Min(p.Sessions) < 2*n {
					return []profiles.Problem{{Key: "sessions", Message: fmt.Sprintf("%s need at least %d sessions (one that requests and one that is "+
						"requested at each), got %d", phrase.Count(n, "lock"), 2*n, slices.Min(p.Sessions))}}
				}
				return nil
			}},
		Objects: "lock",
		Znodes:  queuedZnodes.And(fenceZnodes),
		Variants: fenceable(all, variantsOf(all, func(v recipes.Variant[recipes.Revocable]) []Option {
			return append(sharedOptions(v.Watch, v.ReaderWatch), force)
		}, NewRevocation)),
	}
}

// NewRevocation returns the workload 'revocation': sessions acquire a lock and hold it until it is revoked, and one session at each lock revokes
// it again and again. It measures the time from the request until the grant is gone.
func NewRevocation(v recipes.Variant[recipes.Revocable], o recipes.Options, l Load) Workload {
	n := l.Objects()
	return &revocation{driving: drive(v, o, l), places: places{l.Dir, "lock", n}, released: make([]releases, n), guarded: newGuarded(l, n),
		readers: l.Share(readers), noticed: l.Stall / 2}
}

type revocation struct {
	driving[recipes.Revocable]
	places
	released []releases
	guarded  *guarded
	readers  float64       // share of the acquisitions that read
	noticed  time.Duration // how long a holder may take to notice a revocation: a session timeout, because it may be disconnected
}

// Contends reports whether there are a writer and another session.
func (w *revocation) Contends() bool { return w.contenders() > 1 && w.readers < 1 }

// Setup creates the locks' directories and what the fence needs.
func (w *revocation) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(w.places.Setup(ctx, s), w.guarded.setup(ctx, s, w.n))
}

// Checks returns the checks of the variant's promises, and the check that no revocation is lost.
func (w *revocation) Checks() []check.Check {
	return append(sharedChecks(promises{w.variant.Tokens, w.variant.FIFO, w.guarded.on()}, w.readers, w.Stall), check.NoLostRevoke(w.noticed))
}

// Measures returns the measures of the grants to the two sides of the lock, and of the revocations.
func (w *revocation) Measures() []Measure {
	return sided(w.readers, handOffs, Measure{Op: metrics.Revoke, Role: Part, Unit: "revocations", Side: "revocations", Question: "How long does it take to get a grant back?",
		Caption: "A revocation lasts from the request for a grant until the grant is gone."})
}

// Per returns a grant to either side as the unit of cost.
func (w *revocation) Per() ([]metrics.Op, string) { return sides(w.readers), grant }

// Least returns the minimum cost of a grant: a list, and a read of the session's own znode, which others write to.
func (w *revocation) Least() Cost {
	c := queued(w.variant)
	c[Reads]++
	return c
}

// Draw returns Revoke for a revoker, and otherwise draws the side of the session's next acquisition.
func (w *revocation) Draw(session uint32, r *rand.Rand) metrics.Op {
	if w.revokes(session) {
		return metrics.Revoke
	}
	return draw(w.readers, r)
}

// revokes reports whether a session is the one that revokes at its lock.
func (w *revocation) revokes(session uint32) bool { return int(session) < w.n }

// Join gives the session its own handle and the step of a holder or a revoker.
func (w *revocation) Join(seat Seat) Step {
	h := w.holder(seat, w.n, w.guarded)
	handle := w.variant.New(h.observed, w.path(h.object), w.options)
	if w.revokes(seat.ID) {
		return &revokerSeat{holder: h, handle: handle}
	}
	j := &sharedSeat{holder: h, readers: w.readers, released: &w.released[h.object], handle: handle}
	j.afterHold = j.recordNotice
	return j
}

// recordNotice records that the holder has noticed its revocation.
func (j *sharedSeat) recordNotice(_ context.Context, g recipes.Grant) {
	select {
	case <-g.Revoked:
		now := j.Origin.Now()
		j.Recorder.Record(metrics.Sample{Op: metrics.Deliver, Session: j.ID, Object: j.object, Token: g.Token, Due: now, Start: now, End: now})
	default:
	}
}

type revokerSeat struct {
	holder
	handle recipes.Revocable
}

// idle is the pause of a revoker that finds no holder.
const idle = 5 * time.Millisecond

// Do revokes the current holders one after the other and waits until each is gone. A revocation is due when the holders were found: the time
// spent looking for one says nothing about the recipe.
func (j *revokerSeat) Do(run context.Context, due time.Duration) error {
	ctx, cancel := within(run, j.deadline)
	defer cancel()
	for {
		holders, err := j.handle.Holders(ctx)
		for _, path := range holders {
			j.revoke(run, ctx, path, max(due, j.Origin.Now()))
		}
		if err != nil || len(holders) > 0 {
			return j.Session.Err()
		}
		if work(ctx, idle, nil, nil); ctx.Err() != nil {
			return j.Session.Err()
		}
	}
}

// revoke revokes one holder. ctx is the run's context with the deadline.
func (j *revokerSeat) revoke(run, ctx context.Context, path string, due time.Duration) {
	s := metrics.Sample{Op: metrics.Revoke, Session: j.ID, Object: j.object, Due: due, Start: j.Origin.Now()}
	token, err := j.handle.Revoke(ctx, path)
	if token == 0 && err == nil {
		return // it had released by itself
	}
	s.End, s.Token, s.Outcome = j.Origin.Now(), token, outcome(run, err)
	j.Recorder.Record(s)
}
