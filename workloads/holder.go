package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// places are the znodes of a workload's objects: children of one directory.
type places struct {
	dir, name string
	n         int
}

// queuedZnodes are the names of the znodes of sessions that wait in line for an object or hold it.
var queuedZnodes = recipes.Znodes{Ephemeral: []string{`OBJECT/PROTECTED`}}

func (p places) path(object uint32) string { return p.dir + "/" + p.child(object) }

func (p places) child(object uint32) string { return fmt.Sprintf("%s-%d", p.name, object) }

// Setup creates the objects' directories, so that the first arrivals measure the recipe and not the creation of parents.
func (p places) Setup(ctx context.Context, s zk.Session) error { return p.make(ctx, s) }

// make creates the directories, and the directories inside in each of them.
func (p places) make(ctx context.Context, s zk.Session, inside ...string) error {
	if _, err := s.Create(ctx, p.dir, nil, zk.Persistent); err != nil {
		return err
	}
	for i := range uint32(p.n) {
		for _, path := range append([]string{""}, inside...) {
			if _, err := s.Create(ctx, p.path(i)+path, nil, zk.Persistent); err != nil {
				return err
			}
		}
	}
	return nil
}

// Inspect records for each object whether a znode is left.
func (p places) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	return p.look(ctx, s, r, "")
}

// look records for each object whether a znode is left in any of its directories.
func (p places) look(ctx context.Context, s zk.Session, r metrics.Recorder, inside ...string) error {
	if err := zk.CatchUp(ctx, s, p.dir); err != nil {
		return err
	}
	for i := range uint32(p.n) {
		left := metrics.Sample{Op: metrics.Left, Object: i}
		for _, path := range inside {
			names, st, err := s.Children(ctx, p.path(i)+path)
			if err != nil {
				return err
			}
			if left.Token = max(left.Token, st.Pzxid); len(names) > 0 {
				left.Outcome = metrics.Failed
			}
		}
		r.Record(left)
	}
	return nil
}

// lookBelow records for each object whether an ephemeral znode is left anywhere below it, or below a sibling whose name is the object's followed
// by a dash: only a driver's library knows where its recipe keeps its znodes.
func (p places) lookBelow(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if err := zk.CatchUp(ctx, s, p.dir); err != nil {
		return err
	}
	names, _, err := s.Children(ctx, p.dir)
	if err != nil {
		return err
	}
	for i := range uint32(p.n) {
		left := metrics.Sample{Op: metrics.Left, Object: i}
		for _, name := range names {
			if name != p.child(i) && !strings.HasPrefix(name, p.child(i)+"-") {
				continue
			}
			err := zk.Ephemerals(ctx, s, p.dir+"/"+name, func(st zk.Stat) { left.Token = max(left.Token, st.Pzxid) }, func(zk.Stat) { left.Outcome = metrics.Failed })
			if err != nil {
				return err
			}
		}
		r.Record(left)
	}
	return nil
}

// population returns how many of a cell's sessions use an object.
func (p places) population(object uint32, all int) int { return (all - int(object) + p.n - 1) / p.n }

// first reports whether a session belongs to the first share of its object's sessions. If there are two or more and the share is neither 0 nor
// 1, this is at least one session and not all.
func (p places) first(share float64, session uint32, all int) bool {
	here := p.population(session%uint32(p.n), all)
	n := int(math.Round(share * float64(here)))
	if share > 0 && share < 1 && here > 1 {
		n = min(max(n, 1), here-1)
	}
	return int(session)/p.n < n
}

// firsts returns the number of sessions for which first is true.
func (p places) firsts(share float64, all int) (n int) {
	for i := range uint32(all) {
		if p.first(share, i, all) {
			n++
		}
	}
	return n
}

// expired waits until nothing is left at the objects, or until every session that crashed has certainly expired: a session timeout and a tick,
// which is at most half a timeout.
func (p places) expired(ctx context.Context, s zk.Session) error {
	ctx, cancel := context.WithTimeout(ctx, 2*s.Timeout())
	defer cancel()
	for i := range uint32(p.n) {
		for {
			names, _, changed, err := s.ChildrenW(ctx, p.path(i))
			if err != nil {
				return unlessExpired(ctx, err)
			}
			if len(names) == 0 {
				changed.Stop()
				break
			}
			select {
			case e := <-changed.C():
				if e.Err != nil {
					return e.Err
				}
			case <-ctx.Done():
				changed.Stop()
				return nil // the inspection that follows finds what is left
			}
		}
	}
	return nil
}

// unlessExpired returns nil if the deadline of the context has passed, and err otherwise.
func unlessExpired(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// holder is a seat that acquires, holds and releases, for any recipe.
type holder struct {
	Seat
	t        *tracker
	object   uint32
	value    int64                          // of its samples
	deadline time.Duration                  // of one acquisition; 0: no deadline
	holdFor  func(*rand.Rand) time.Duration // how long a grant is held
	guarded  *guarded                       // what the grant protects
	place    int64                          // of the last grant, in the order that guarded keeps
	open     bool                           // the loop is open
	shared   bool                           // another process may issue the release that lets this session in
	observed zk.Session                     // the session, observed by the tracker
	timeout  *sharedTimeout                 // of releases
	limit    time.Duration                  // of a release: the session timeout, as it was when the session took its seat
}

// sharedTimeout lends contexts that end after a while, each to the calls of many sessions: a context of its own would cost each call a timer and five
// allocations, and one for each session would be cold memory. It is safe for concurrent use.
type sharedTimeout struct {
	last atomic.Pointer[context.Context]
}

// atLeast returns a context that ends at least d from now and, if all calls ask for the same d, at most a quarter later. It has the values of the ctx of this
// or an earlier call, and does not end with it.
func (s *sharedTimeout) atLeast(ctx context.Context, now time.Time, d time.Duration) context.Context {
	if last := s.last.Load(); last != nil {
		if end, _ := (*last).Deadline(); end.Sub(now) >= d {
			return *last
		}
	}
	fresh, cancel := context.WithDeadline(context.WithoutCancel(ctx), now.Add(d+d/4))
	context.AfterFunc(fresh, cancel) // it ends by itself, because others may still use it
	s.last.Store(&fresh)
	return fresh
}

// acquired is an acquisition that was granted.
type acquired struct {
	metrics.Sample
	phases
	released time.Duration // when the release that may have let the session in was last issued; 0: none was, or it is not known
	recorded bool
}

// acquire asks for a grant, and records an attempt that fails; the caller has to record one that succeeds. handOff returns when the release that may let this
// session in was last issued, as an offset; it is called after the grant, and may be nil.
func (j *holder) acquire(ctx context.Context, op metrics.Op, due time.Duration, handOff func() time.Duration,
	ask func(context.Context) (recipes.Grant, error)) (recipes.Grant, acquired, bool) {
	g, s, p, granted := j.request(ctx, op, due, ask)
	a := acquired{Sample: s, phases: p}
	switch {
	case !granted:
		j.Recorder.Record(s, p.waiting(s)...)
	case handOff != nil:
		a.released = handOff()
	}
	return g, a, granted
}

// record records an acquisition, unless it is recorded already or nil.
func (j *holder) record(a *acquired) {
	if a == nil || a.recorded {
		return
	}
	a.recorded = true
	room := rooms.Get().(*[mostParts]metrics.Sample)
	defer rooms.Put(room)
	parts := a.samples(a.Sample, room[:0])
	// A release that was issued while we waited is what let us in. A reader's may have been issued since then.
	if r := a.released; r > a.Start && r <= a.End {
		h := a.Sample
		h.Op, h.Due, h.Start = metrics.HandOff, r, r
		parts = append(parts, h)
	}
	j.Recorder.Record(a.Sample, parts...)
}

// mostParts is how many samples an acquisition consists of: five phases and the hand-off.
const mostParts = 6

// rooms are for the parts of an acquisition while they are recorded.
var rooms = sync.Pool{New: func() any { return new([mostParts]metrics.Sample) }}

// request asks for a grant. The caller has to record the returned sample, with its phases.
func (j *holder) request(ctx context.Context, op metrics.Op, due time.Duration,
	ask func(context.Context) (recipes.Grant, error)) (recipes.Grant, metrics.Sample, phases, bool) {
	actx, cancel := within(ctx, j.deadline)
	defer cancel()
	s := metrics.Sample{Op: op, Session: j.ID, Object: j.object, Value: j.value, Due: due, Start: start(j.open, due, j.Origin)}
	j.Standing.Waits()
	j.t.begin()
	g, err := ask(actx)
	p, seen := j.t.end(err == nil)
	s.Zxid = seen
	s.End = j.Origin.Now() // the measured hold lies within the true one, so an overlap of measured holds is a real one
	if _, dead := j.diedBefore(s.End); dead && err == nil {
		err = zk.ErrSessionExpired // nobody was left to receive it
	}
	s.Outcome, s.Token = outcome(ctx, err), g.Token
	if err != nil {
		j.Standing.Ends()
		p.until = j.gaveUp(ctx, actx, s.Outcome)
	} else {
		j.place = j.guarded.granted(j.object)
		j.Standing.Holds(j.object, op == metrics.ReadAcquire)
	}
	return g, s, p, err == nil
}

// gaveUp returns until when an attempt with this outcome has certainly waited: until its deadline, or the end of the run; 0 if that is not
// known. ctx is the run's context, actx has the deadline.
func (j *holder) gaveUp(ctx, actx context.Context, o metrics.Outcome) (until time.Duration) {
	switch deadline, limited := actx.Deadline(); {
	case o == metrics.Timeout && limited:
		return j.Origin.At(deadline)
	case o == metrics.Unfinished:
		var cut CutAt
		if errors.As(context.Cause(ctx), &cut) {
			return time.Duration(cut)
		}
	}
	return 0
}

// hold stands for the work that the grant protects. It ends early when the grant is lost or asked for, or the run is cut. The acquisition is recorded
// first, unless there is no work: to record it takes a while, during which others would wait for the release. In an open loop it is always recorded first,
// because a release may take long, and whether the servers keep up is decided meanwhile.
func (j *holder) hold(ctx context.Context, g recipes.Grant, a *acquired) {
	d := j.holdFor(j.Rand)
	if d > 0 || j.open {
		j.record(a)
	}
	work(ctx, d, g.Lost, g.Revoked)
}

// release gives up a grant, records that, and returns the sample. issued is called with the time of the call, unless the grant was lost.
func (j *holder) release(ctx context.Context, op metrics.Op, g recipes.Grant, issued func(time.Duration),
	give func(context.Context) error) metrics.Sample {
	s := metrics.Sample{Op: op, Session: j.ID, Object: j.object, Token: g.Token, Value: j.value}
	now := j.Origin.Now()
	s.Start, s.Due = now, now
	j.Standing.Ends()
	if died, dead := j.diedBefore(s.Start); dead {
		s.Start, s.Due, s.Outcome = died, died, metrics.Lost
	} else {
		select {
		case <-g.Lost:
			s.Outcome = metrics.Lost
		default:
			issued(s.Start)
		}
	}
	// Release even when the run is cut, but not for longer than an unreleased lock would live.
	rctx := j.timeout.atLeast(ctx, j.Origin.Time(now), j.limit)
	j.t.releasing()
	err := give(rctx)
	s.End = j.Origin.Now()
	s.Zxid = j.t.released(g.Path)
	if err != nil && s.Outcome == metrics.OK {
		s.Outcome = outcome(context.WithoutCancel(ctx), err) // servers that do not answer are a timeout, not the end of the run
	}
	j.Recorder.Record(s)
	return s
}
