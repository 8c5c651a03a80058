package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
)

var together = profiles.Field{Key: "together", Type: profiles.WholeNumber, Axis: true, Example: "[2, 5]", Default: "2", Min: 1, Max: 100,
	Doc: "Locks that each session acquires together, drawn for each acquisition."}

// MultiLocks returns the workload 'multi-lock' for a catalogue of locks that are acquired together.
func MultiLocks(all []recipes.Variant[recipes.MultiLock]) Kind {
	return Kind{
		Doc:     "acquire several locks together, all or none, hold them, release them",
		Shared:  anywhere,
		Holders: func(l Load) float64 { return float64(l.Objects()) / float64(min(l.Int(together), l.Objects())) },
		Workload: profiles.Workload{Name: "multi-lock", Alias: map[string]string{"locks": objects.Key},
			Fields: []profiles.Field{described(objects, "Locks that each session draws from."), together,
				described(hold, "How long the locks are held before they are released.")},
			Check: func(p profiles.Profile) []profiles.Problem {
				problems := crowded(p, 1, "lock")
				for i, n := range p.Ints(together) {
					if there := slices.Min(objectsOf(p)); n > there {
						problems = append(problems, profiles.Problem{Key: together.Key, Index: i, Message: fmt.Sprintf(
							"%s at once need at least as many locks, got %d (raise objects, or acquire fewer)", phrase.Count(n, "lock"), there)})
					}
				}
				return problems
			}},
		Objects:  "lock",
		Znodes:   queuedZnodes,
		Variants: variantsOf(all, func(v recipes.Variant[recipes.MultiLock]) []Option { return lockOptions(v.Watch) }, NewMulti),
	}
}

// NewMulti returns the workload 'multi-lock': acquire several locks together, hold them, release them.
func NewMulti(v recipes.Variant[recipes.MultiLock], o recipes.Options, l Load) Workload {
	return &multi{driving: drive(v, o, l), places: places{l.Dir, "lock", l.Objects()}, together: min(l.Int(together), l.Objects())}
}

type multi struct {
	driving[recipes.MultiLock]
	places
	together int // how many locks a session acquires; the locks and their order are drawn for each acquisition
}

// Checks returns the checks of the variant's promises, which hold for each lock by itself. Liveness is judged for the whole set: a lock may be
// free while a session waits for it, because its next holder waits for another lock.
func (w *multi) Checks() []check.Check {
	checks := []check.Check{check.MutualExclusion()}
	if w.variant.Tokens {
		checks = append(checks, check.TokenOrder())
	}
	return append(checks, check.NothingLeft(), check.LivenessTogether(w.Stall))
}

// Measures returns the measure of the grants of whole sets.
func (w *multi) Measures() []Measure { return grants([]metrics.Op{metrics.Acquire}) }

// Least returns the minimum cost of a set: a list for each of its locks.
func (w *multi) Least() Cost {
	return Cost{Lists: float64(w.together), Reads: float64(w.together)}
}

// Join gives the session its own handle on all of the locks.
func (w *multi) Join(seat Seat) Step {
	h := w.holder(seat, w.n, nil)
	return &multiSeat{w: w, holder: h, handle: w.variant.New(h.observed, w.dir, w.options)}
}

// Contends reports whether there are several sessions: each may ask for any lock.
func (w *multi) Contends() bool { return w.Sessions > 1 }

type multiSeat struct {
	holder
	w      *multi
	handle recipes.MultiLock
}

// Do implements [Step].
func (j *multiSeat) Do(ctx context.Context, due time.Duration) error {
	objects := j.w.draw(j.Rand)
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = j.w.child(object)
	}
	j.object = objects[0]
	var grants []recipes.Grant
	g, s, p, granted := j.request(ctx, metrics.Acquire, due, func(ctx context.Context) (recipes.Grant, error) {
		var err error
		if grants, err = j.handle.Acquire(ctx, names...); err != nil {
			return recipes.Grant{}, err
		}
		return grants[0], nil
	})
	if !granted {
		j.Recorder.Record(s, p.waiting(s)...)
		return j.Session.Err()
	}
	j.Recorder.Record(s, others(s, metrics.Hold, objects, grants, func(recipes.Grant) int64 { return s.Zxid })...)
	j.hold(ctx, g, nil)
	r := j.release(ctx, metrics.Release, g, func(time.Duration) {}, j.handle.Release)
	for _, other := range others(r, metrics.Unhold, objects, grants, func(g recipes.Grant) int64 { return j.t.released(g.Path) }) {
		j.Recorder.Record(other)
	}
	return j.Session.Err()
}

// others returns the samples of the other locks of a set, derived from that of the first.
func others(s metrics.Sample, op metrics.Op, objects []uint32, grants []recipes.Grant, zxid func(recipes.Grant) int64) []metrics.Sample {
	var all []metrics.Sample
	for i, g := range grants[1:] {
		s.Op, s.Object, s.Token, s.Zxid = op, objects[i+1], g.Token, zxid(g)
		all = append(all, s)
	}
	return all
}

// draw returns a random set of locks in random order.
func (w *multi) draw(r *rand.Rand) []uint32 {
	var drawn []uint32
	for len(drawn) < w.together {
		if object := uint32(r.IntN(w.n)); !slices.Contains(drawn, object) {
			drawn = append(drawn, object)
		}
	}
	return drawn
}
