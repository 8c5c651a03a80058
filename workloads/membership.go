package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// MembershipConfig describes the load on groups.
type MembershipConfig struct {
	Variant  recipes.Variant[recipes.Group]
	Options  recipes.Options
	Dir      string // the groups are its children
	Groups   int    // the sessions are spread over them evenly
	Sessions int
	Members  float64 // share of the sessions of each group that join and leave it; of two or more at least one, and not all unless it is 1
	Crashes  float64 // share of the memberships that end with the death of the member, 0 to 1

	Hold     func(*rand.Rand) time.Duration // how long a member stays
	Deadline time.Duration                  // of one join; 0: none
	Stall    time.Duration                  // as in LockConfig; with crashes it has to cover the session timeout and a tick
}

// NewMembership returns the workload 'membership': the members join, stay and leave or crash, and come back with the same id; the others
// observe. How long a change takes to reach an observer is from the issue of the join or the leaving to the observer's view: operation
// Deliver, or, of a crash, Detect. An observer that sees several changes at once has as many of them. What an observer's view lacks
// because the member had come back by then is not among them.
func NewMembership(c MembershipConfig) Workload {
	return &membership{MembershipConfig: c, places: places{c.Dir, "group", c.Groups}, changes: make([]lastChange, c.Sessions),
		seen: make([]recipes.View, c.Sessions)}
}

type membership struct {
	MembershipConfig
	places
	changes []lastChange   // of each session
	seen    []recipes.View // by each observer, in whichever session
}

// lastChange is when a member was last about to join, and to go, as offsets.
type lastChange struct {
	joined, gone atomic.Int64
	crashed      atomic.Bool
}

// Setup makes the groups' directories.
func (w *membership) Setup(ctx context.Context, s zk.Session) error {
	if _, canDie := zk.AsMortal(s); !canDie && w.Crashes > 0 {
		return fmt.Errorf("crashes: the sessions of this engine can only be closed")
	}
	return w.make(ctx, s)
}

// Checks are the promises of a group.
func (w *membership) Checks() []check.Check {
	checks := []check.Check{check.Views(), check.ViewOrder(), check.Convergence(w.Stall)}
	if w.Crashes > 0 {
		checks = append(checks, check.CrashesSeen(w.Stall))
	}
	return append(checks, check.NothingLeft())
}

// Inspect records for each group whether a znode is left, when the members that have crashed are over.
func (w *membership) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.Crashes > 0 {
		if err := w.expired(ctx, s); err != nil {
			return err
		}
	}
	return w.look(ctx, s, r, "")
}

// Op of the workload is to join.
func (w *membership) Op() metrics.Op { return metrics.Join }

// Parts are what observers wait for.
func (w *membership) Parts() []metrics.Op { return []metrics.Op{metrics.Deliver, metrics.Detect} }

// IsDriven tells whether the rate is offered to a session: to the members.
func (w *membership) IsDriven(id uint32) bool { return w.first(max(w.Members, tiny), id, w.Sessions) }

// tiny is a share that is not 0: of two sessions it is one.
const tiny = 1e-9

// Offered is to join.
func (w *membership) Offered() metrics.Op { return metrics.Join }

// Theory of events per release is part of Cost.
func (w *membership) Theory() (release, arrival float64) { return 0, 0 }

// Cost is that of one membership, from its join to its end: two changes, each of which costs every observer an event and a list. Changes
// that come at once cost less. Who has crashed comes back to the znode of its former session, and so needs one more request that is
// refused, a look, and the event that tells of the end; it saves the leaving. How many members there are to read is chance: no theory.
func (w *membership) Cost() Cost {
	observers := 0
	for id := range uint32(w.Sessions) {
		if !w.IsDriven(id) {
			observers++
		}
	}
	seen := 2 * float64(observers) / float64(w.Groups)
	c := Cost{Writes: 2, Lists: seen, Events: seen + w.Crashes}
	if !w.Variant.Tokens {
		c[Reads] = seen + w.Crashes
	}
	return c
}

// Join gives the session its part.
func (w *membership) Join(seat Seat) Step {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout}
	j := &memberSeat{w: w, holder: holder{Seat: seat, t: t, object: seat.ID % uint32(w.Groups), value: int64(seat.ID) / int64(w.Groups),
		deadline: w.Deadline, holdFor: w.Hold}}
	o := w.Options
	o.Trace = &recipes.Trace{Pause: func(point string) {
		if point == recipes.PauseWoken && w.IsDriven(seat.ID) { // it has waited for the end of its former session
			w.changes[seat.ID].joined.Store(int64(seat.Origin.Now()))
		}
	}}
	j.handle = w.Variant.New(zk.Observe(seat.Session, t.trace()), w.path(j.object), o)
	if w.IsDriven(seat.ID) {
		return j.member
	}
	return observing(seat, j.observe)
}

// observing is the Step of who observes: its first look, so that the cell knows when all have begun, and then all there is to see until the
// run is cut. Between two looks it does not think, nor wait for anything to be due.
func observing(seat Seat, look Step) Step {
	begun := false
	return func(ctx context.Context, due time.Duration) error {
		for {
			if err := look(ctx, due); err != nil || ctx.Err() != nil || !begun {
				begun = true
				return err
			}
			due = seat.Origin.Now()
		}
	}
}

// memberSeat is a member or an observer.
type memberSeat struct {
	holder
	w      *membership
	handle recipes.Group
}

// member is one membership.
func (j *memberSeat) member(ctx context.Context, due time.Duration) error {
	mine := &j.w.changes[j.ID]
	id := strconv.FormatInt(j.value, 10)
	mine.joined.Store(int64(j.Origin.Now()))
	g, _, _, joined := j.request(ctx, metrics.Join, due, func(ctx context.Context) (recipes.Grant, error) {
		return j.handle.Join(ctx, id, []byte("member "+id))
	})
	if !joined {
		return j.Session.Err()
	}
	j.hold(ctx, g)
	crash := j.Rand.Float64() < j.w.Crashes && ctx.Err() == nil && !isClosed(g.Lost)
	mine.crashed.Store(crash)
	if !crash {
		j.release(ctx, metrics.Leave, g, func(at time.Duration) { mine.gone.Store(int64(at)) }, j.handle.Leave)
		return j.Session.Err()
	}
	now := j.Origin.Now()
	mine.gone.Store(int64(now))
	j.record(metrics.Sample{Op: metrics.Leave, Outcome: metrics.Lost, Session: j.ID, Object: j.object, Token: g.Token, Value: j.value,
		Due: now, Start: now, End: now})
	mortal, _ := zk.AsMortal(j.Session) // Setup has seen that there is
	mortal.Crash()
	return ErrEnded
}

// observe is one view.
func (j *memberSeat) observe(ctx context.Context, due time.Duration) error {
	last := &j.w.seen[j.ID]
	s := metrics.Sample{Op: metrics.See, Session: j.ID, Object: j.object, Due: due, Start: j.Origin.Now()}
	v, err := j.handle.Watch(ctx, last.Token)
	s.End = j.Origin.Now()
	s.Outcome, s.Token = outcome(ctx, err), v.Token
	j.record(s)
	if err == nil {
		j.record(check.MembersOf(s, j.numbers(v))...)
		if last.Token != 0 {
			j.deliver(s, *last, v)
		}
		*last = v
	}
	return j.Session.Err()
}

// numbers are the members of a view. Who is none of the cell's has the number after the last.
func (j *memberSeat) numbers(v recipes.View) []int64 {
	here := int64(j.w.population(j.object, j.w.Sessions))
	all := make([]int64, len(v.Members))
	for i, m := range v.Members {
		n, err := strconv.ParseInt(m.ID, 10, 64)
		if all[i] = n; err != nil || n < 0 || n >= here {
			all[i] = here
		}
	}
	return all
}

// deliver records how long what is new in a view has taken.
func (j *memberSeat) deliver(s metrics.Sample, was, is recipes.View) {
	change := map[int64]int{}
	for _, n := range j.numbers(is) {
		change[n]++
	}
	for _, n := range j.numbers(was) {
		change[n]--
	}
	for n, c := range change {
		member := int(n)*j.w.Groups + int(j.object)
		if c == 0 || member >= len(j.w.changes) {
			continue
		}
		of := &j.w.changes[member]
		issued, op := of.joined.Load(), metrics.Deliver
		if c < 0 {
			issued = of.gone.Load()
			if of.crashed.Load() {
				op = metrics.Detect
			}
		}
		news := metrics.Sample{Op: op, Session: j.ID, Object: j.object, Token: s.Token, Value: n, Start: time.Duration(issued), End: s.End}
		if news.Due = news.Start; news.Start < s.End {
			j.record(news)
		}
	}
}
