package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// rounds returns the field for how many of something each session passes, one after the other.
func rounds(key, example, doc string) profiles.Field {
	return profiles.Field{Key: key, Type: profiles.WholeNumber, Axis: true, Example: example, Default: "100", Min: 1, Max: 1e6, Doc: doc}
}

var barriers = func() profiles.Field {
	f := rounds("barriers", "[200, 400]", "Barriers that each client passes, one after the other; the cell ends when all have.")
	f.Role, f.Unit = profiles.Amount, "barrier"
	return f
}()

// ofRounds returns the kind of a workload whose sessions, all of them members, pass barriers one after the other. below names the znodes below a
// barrier.
func ofRounds[T any](name, doc, holding string, below recipes.Znodes, all []recipes.Variant[T], check func(profiles.Profile) []profiles.Problem,
	build func(recipes.Variant[T], recipes.Options, Load) Workload) Kind {
	return Kind{
		Doc: doc, Objects: name, Znodes: below,
		Workload: profiles.Workload{Name: name, Shape: profiles.Finite, Ends: "when each client has passed its barriers",
			Alias: map[string]string{"clients": "sessions"}, Fields: []profiles.Field{barriers, described(hold, holding)}, Check: check},
		Variants: variantsOf(all, func(v recipes.Variant[T]) []Option { return watch(v.Watch) }, build),
	}
}

// gatheringZnodes are the names of the znodes below a barrier at which members gather, round by round.
var gatheringZnodes = recipes.Znodes{Persistent: []string{`OBJECT/SEQ`}, Ephemeral: []string{`SEQ/(GUID|ready|start)`}}

// progress is how far a session has come. Only its seat accesses it.
type progress struct {
	round    int64 // current round, from 0
	failures int   // consecutive failures
}

// maxFailures is the number of consecutive failures of one round after which a session gives up the rest of its rounds. The other sessions then fail
// too, because no round can end without it.
const maxFailures = 3

// course is the progress of all sessions.
type course struct {
	rounds   int
	sessions []progress
}

func newCourse(sessions, rounds int) course {
	return course{rounds: rounds, sessions: make([]progress, sessions)}
}

// Finished reports whether a session has no round left to do, or has given up.
func (c course) Finished(session uint32) bool {
	p := c.sessions[session]
	return p.round >= int64(c.rounds) || p.failures >= maxFailures
}

// to moves p to a round: the same one again after a failure.
func (p *progress) to(round int64) {
	if p.failures++; round > p.round {
		p.round, p.failures = round, 0
	}
}

// rounder is a seat that passes barriers.
type rounder struct {
	Seat
	p        *progress
	deadline time.Duration
}

// do performs one operation of a round, within the deadline, and records it.
func (j *rounder) do(ctx context.Context, op metrics.Op, due time.Duration, wait func(context.Context) error) (metrics.Sample, error) {
	dctx, cancel := within(ctx, j.deadline)
	defer cancel()
	s := metrics.Sample{Op: op, Session: j.ID, Value: j.p.round + 1, Due: due, Start: j.Origin.Now()}
	err := wait(dctx)
	s.End = j.Origin.Now()
	s.Outcome = outcome(ctx, err)
	j.Recorder.Record(s)
	return s, err
}

// pause stands for work. It ends early with the session or the run.
func (j *rounder) pause(ctx context.Context, d time.Duration) { work(ctx, d, j.Session.Done(), nil) }

// firstGeneration is the directory in which the first generation of a gathering meets.
const firstGeneration = "/0000000000"

// generations records whether a gathering has left more than the directory of its next generation and, if keepsLast, of its last one.
func (p places) generations(ctx context.Context, s zk.Session, r metrics.Recorder, keepsLast bool) error {
	if err := zk.CatchUp(ctx, s, p.dir); err != nil {
		return err
	}
	for i := range uint32(p.n) {
		left := metrics.Sample{Op: metrics.Left, Object: i}
		rooms, st, err := s.Children(ctx, p.path(i))
		if err != nil {
			return err
		}
		left.Token = st.Pzxid
		slices.Sort(rooms)
		for n, room := range rooms {
			names, st, err := s.Children(ctx, p.path(i)+"/"+room)
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err != nil {
				return err
			}
			allowed := 0 // 1 for the marker of the last generation
			if keepsLast && n == len(rooms)-2 {
				allowed = 1
			}
			if left.Token = max(left.Token, st.Pzxid); len(names) > allowed || n < len(rooms)-1 && allowed == 0 {
				left.Outcome = metrics.Failed
			}
		}
		r.Record(left)
	}
	return nil
}

// quantiles returns a note on how long something took.
func quantiles(what string, all []time.Duration) string {
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("%s: median %.2f ms, longest %.2f ms, of %d", what, ms(all[(len(all)-1)/2]), ms(all[len(all)-1]), len(all))
}
