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

// Revocables is the workload 'revocation' over a catalogue of revocable locks.
func Revocables(all []recipes.Variant[recipes.Revocable]) Kind {
	return Kind{
		Doc: "hold a lock until it is revoked; one session at each lock revokes",
		// A writer has the lock to itself until its hold is over or it is asked, and each that asks ends one of them at most.
		Holders: func(l Load) float64 {
			n, all := float64(l.Objects()), float64(l.Sessions)
			if over := (all-n)*(1-l.Share(readers)) - n; over > 0 { // of so many of all operations
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

// NewRevocation returns the workload 'revocation': sessions acquire a lock and hold it until it is asked for, and one session at
// each lock asks the holder for it, over and over. What is measured is the time from the request until the grant is gone.
func NewRevocation(v recipes.Variant[recipes.Revocable], o recipes.Options, l Load) Workload {
	n := l.Objects()
	return &revocation{driving: drive(v, o, l), places: places{l.Dir, "lock", n}, released: make([]releases, n), guarded: newGuarded(l, n),
		readers: l.Share(readers), told: l.Stall / 2}
}

type revocation struct {
	driving[recipes.Revocable]
	places
	released []releases
	guarded  *guarded
	readers  float64       // share of the acquisitions that read
	told     time.Duration // how long a holder may take to learn of a revocation: a session timeout, for it may be without a server
}

// Contends reports whether there are a writer and somebody else.
func (w *revocation) Contends() bool { return w.contenders() > 1 && w.readers < 1 }

// Setup makes the locks' directories and what the fence needs.
func (w *revocation) Setup(ctx context.Context, s zk.Session) error {
	return errors.Join(w.places.Setup(ctx, s), w.guarded.setup(ctx, s, w.n))
}

// Checks are the promises of the variant, and that no revocation is lost.
func (w *revocation) Checks() []check.Check {
	return append(sharedChecks(promises{w.variant.Tokens, w.variant.FIFO, w.guarded.on()}, w.readers, w.Stall), check.NoLostRevoke(w.told))
}

// Measures are the grants to the two sides of the lock, and the revocations.
func (w *revocation) Measures() []Measure {
	return grants(sides(w.readers), handOffs, Measure{Op: metrics.Revoke, Role: Part, Unit: "revocations",
		Caption: "A revocation lasts from the request for a grant until the grant is gone."})
}

// Per is a grant to either side.
func (w *revocation) Per() ([]metrics.Op, string) { return sides(w.readers), grant }

// Least is a list, and a read of the session's own znode, into which others write.
func (w *revocation) Least() Cost {
	c := queued(w.variant)
	c[Reads]++
	return c
}

// Draw is to revoke, or the side that a session's next acquisition is of.
func (w *revocation) Draw(session uint32, r *rand.Rand) metrics.Op {
	if w.revokes(session) {
		return metrics.Revoke
	}
	return draw(w.readers, r)
}

// revokes tells whether a session is the one that revokes at its lock.
func (w *revocation) revokes(session uint32) bool { return int(session) < w.n }

// Join gives the session a handle of its own, and the work of a holder or of a revoker.
func (w *revocation) Join(seat Seat) Step {
	h := w.holder(seat, w.n, w.guarded)
	handle := w.variant.New(h.observed, w.path(h.object), w.options)
	if w.revokes(seat.ID) {
		return (&revokerSeat{holder: h, handle: handle}).step
	}
	j := &sharedSeat{holder: h, readers: w.readers, released: &w.released[h.object], handle: handle}
	j.told = j.tell
	return j.step
}

// tell records that the holder knows of its revocation.
func (j *sharedSeat) tell(_ context.Context, g recipes.Grant) {
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

// idle is the pause of a revoker that finds nobody to revoke.
const idle = 5 * time.Millisecond

// step asks those who hold now, one after the other, and waits until each is gone. Its revocation is due when it has found them: how
// long it looked for somebody says nothing about the recipe.
func (j *revokerSeat) step(run context.Context, due time.Duration) error {
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

// revoke asks one of them; ctx is the run's, with the deadline.
func (j *revokerSeat) revoke(run, ctx context.Context, path string, due time.Duration) {
	s := metrics.Sample{Op: metrics.Revoke, Session: j.ID, Object: j.object, Due: due, Start: j.Origin.Now()}
	token, err := j.handle.Revoke(ctx, path)
	if token == 0 && err == nil {
		return // it had gone of itself
	}
	s.End, s.Token, s.Outcome = j.Origin.Now(), token, outcome(run, err)
	j.Recorder.Record(s)
}
