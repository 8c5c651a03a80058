package workloads

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// The fields that only groups have.
var (
	members = profiles.Field{Key: "members", Type: profiles.WholeNumber, Axis: true, Example: "[20, 80]", Default: "50", Max: 100,
		Doc: "Percent of the sessions of each group that join and leave it; the others observe it. With two or more, each side gets at least one, unless it is 100."}
	crashes = profiles.Field{Key: "crashes", Type: profiles.WholeNumber, Axis: true, Example: "[0, 20]", Default: "0", Max: 100,
		Doc: "Percent of the memberships that end with a crash of the member, drawn at random: its session has to time out, and it comes back with " +
			"another one. The other members leave."}
)

// Groups returns the workload 'membership' for a catalogue of groups.
func Groups(all []recipes.Variant[recipes.Group]) Kind {
	return Kind{
		Doc:    "some sessions join a group, stay, and leave or crash; the others observe its members",
		Shared: anywhere,
		Holders: func(l Load) float64 {
			return float64(places{n: l.Objects()}.firsts(max(l.Share(members), tiny), l.Sessions))
		},
		Busy: &Busy{"member", "in the group each time", "join", "lower the rate, raise sessions or members, or shorten hold", hold},
		Workload: profiles.Workload{Name: "membership", Alias: map[string]string{"groups": objects.Key},
			Fields: []profiles.Field{described(objects, "Groups; the sessions are spread over them evenly."), members, crashes,
				described(hold, "How long a member stays.")},
			Check: func(p profiles.Profile) []profiles.Problem { return crowded(p, 2, "group") }},
		Objects:  "group",
		Znodes:   recipes.Znodes{Ephemeral: []string{`OBJECT/#`}},
		Variants: variantsOf(all, func(recipes.Variant[recipes.Group]) []Option { return []Option{watchOwn} }, NewMembership),
	}
}

// NewMembership returns the workload 'membership': the members join, stay, leave or crash, and come back with the same id; the others observe.
// The time that a change takes to reach an observer lasts from the issue of the join or leave until the observer's view shows it: operation
// Deliver, or, for a crash, Detect. An observer that sees several changes at once records one operation for each. A change that a view does not
// show because the member was already back is not recorded.
func NewMembership(v recipes.Variant[recipes.Group], o recipes.Options, l Load) Workload {
	return &membership{driving: drive(v, o, l), places: places{l.Dir, "group", l.Objects()}, members: l.Share(members), crashes: l.Share(crashes),
		changes: make([]lastChange, l.Sessions), seen: make([]recipes.View, l.Sessions)}
}

type membership struct {
	driving[recipes.Group]
	places
	members float64        // share of the sessions of each group that join and leave it
	crashes float64        // share of the memberships that end with a crash of the member
	changes []lastChange   // by session
	seen    []recipes.View // last view of each observer, kept across its sessions
}

// lastChange holds when a member last started to join and to leave, as offsets.
type lastChange struct {
	here         atomic.Bool // the session belongs to this process
	joined, gone atomic.Int64
	crashed      atomic.Bool
}

// Setup creates the groups' directories.
func (w *membership) Setup(ctx context.Context, s zk.Session) error {
	if _, canDie := zk.AsKiller(s); !canDie && w.crashes > 0 {
		return fmt.Errorf("crashes: the sessions of this engine can only be closed")
	}
	return w.make(ctx, s)
}

// Checks returns the checks of a group's promises.
func (w *membership) Checks() []check.Check {
	checks := []check.Check{check.Views(), check.ViewOrder(), check.Convergence(w.Stall)}
	if w.crashes > 0 {
		checks = append(checks, check.CrashesSeen(w.Stall))
	}
	return append(checks, check.NothingLeft())
}

// Inspect records for each group whether a znode is left, after the members that crashed have expired.
func (w *membership) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.crashes > 0 {
		if err := w.expired(ctx, s); err != nil {
			return err
		}
	}
	return w.look(ctx, s, r, "")
}

// Measures returns the measures of the joins and of their delivery to observers. Deliveries are measured only for members in this process,
// because clocks of different processes cannot be compared.
func (w *membership) Measures() []Measure {
	all := []Measure{operation(metrics.Join, "joins"), {Op: metrics.Deliver, Role: Part, Unit: "deliveries", Question: changeArrives, Caption: deliverCaption},
		{Op: metrics.Detect, Role: Part, Unit: "detections", Question: lossDetected, Caption: "Detect is from the crash of a member to each view without it: its session " +
			"has to time out first. A member that comes back earlier waits for that too, as part of the response of its join."}}
	return append(all, phased(metrics.Enqueue, metrics.List, metrics.Wait, metrics.Delivery, metrics.Recheck)...)
}

// IsPaced reports whether the rate is offered to a session: it is offered to the members.
func (w *membership) IsPaced(id uint32) bool { return w.first(max(w.members, tiny), id, w.Sessions) }

// tiny is a share above 0: with two sessions or more it selects one.
const tiny = 1e-9

// Cost returns the cost of one membership, from its join to its end: two changes, each of which costs every observer an event and a getChildren
// call. Changes that arrive together cost less. A member that crashed comes back to the znode of its former session. It therefore needs one more
// request, which is refused, a check, and the event that reports the end; but it saves the leave. The number of members to read is random, so
// there is no theory of it.
func (w *membership) Cost() Cost {
	observers := w.Sessions - w.firsts(max(w.members, tiny), w.Sessions)
	seen := 2 * float64(observers) / float64(w.n)
	c := Cost{Writes: 2, Lists: seen, Events: seen + w.crashes}
	if !w.variant.Data {
		c[Reads] = seen + w.crashes
	}
	return c
}

// Join returns the session's step as a member or an observer.
func (w *membership) Join(seat Seat) Step {
	j := &memberSeat{w: w, holder: w.holder(seat, w.n, nil)}
	j.value = int64(seat.ID) / int64(w.n)
	o := w.options
	o.Trace = &recipes.Trace{Vacated: func() { w.changes[seat.ID].joined.Store(int64(seat.Origin.Now())) }} // its former session has ended
	j.handle = w.variant.New(j.observed, w.path(j.object), o)
	w.changes[seat.ID].here.Store(true)
	if w.IsPaced(seat.ID) {
		return StepFunc(j.member)
	}
	return observing(seat, j.observe)
}

// observing returns the Step of an observer. The first call makes one observation, so that the cell knows when all have started. Every later
// call observes until the run is cut or an observation fails; the caller pauses after a failure. Between observations it neither thinks nor
// waits.
func observing(seat Seat, look func(ctx context.Context, due time.Duration) (saw bool)) Step {
	begun := false
	return StepFunc(func(ctx context.Context, due time.Duration) error {
		for look(ctx, due) && seat.Session.Err() == nil && ctx.Err() == nil && begun {
			due = seat.Origin.Now()
		}
		begun = true
		return seat.Session.Err()
	})
}

// memberSeat is the seat of a member or an observer.
type memberSeat struct {
	holder
	w      *membership
	handle recipes.Group
}

// member runs one membership.
func (j *memberSeat) member(ctx context.Context, due time.Duration) error {
	mine := &j.w.changes[j.ID]
	id := strconv.FormatInt(j.value, 10)
	mine.joined.Store(int64(j.Origin.Now()))
	g, s, p, joined := j.request(ctx, metrics.Join, due, func(ctx context.Context) (recipes.Grant, error) {
		return j.handle.Join(ctx, id, []byte("member "+id))
	})
	j.Recorder.Record(s, p.waiting(s)...)
	if !joined {
		return j.Session.Err()
	}
	j.hold(ctx, g, nil)
	crash := j.Rand.Float64() < j.w.crashes && ctx.Err() == nil && !isClosed(g.Lost)
	mine.crashed.Store(crash)
	if !crash {
		j.release(ctx, metrics.Leave, g, func(at time.Duration) { mine.gone.Store(int64(at)) }, j.handle.Leave)
		return j.Session.Err()
	}
	now := j.Origin.Now()
	mine.gone.Store(int64(now))
	j.Recorder.Record(metrics.Sample{Op: metrics.Leave, Outcome: metrics.Lost, Session: j.ID, Object: j.object, Token: g.Token, Value: j.value,
		Due: now, Start: now, End: now})
	killer, _ := zk.AsKiller(j.Session) // Setup has checked that it is one
	killer.Crash()
	return ErrEnded
}

// observe waits for one view and records it.
func (j *memberSeat) observe(ctx context.Context, due time.Duration) (saw bool) {
	last := &j.w.seen[j.ID]
	s := metrics.Sample{Op: metrics.See, Session: j.ID, Object: j.object, Due: due, Start: j.Origin.Now()}
	v, err := j.handle.Watch(ctx, last.Token)
	s.End = j.Origin.Now()
	s.Outcome, s.Token = outcome(ctx, err), v.Token
	if err != nil {
		j.Recorder.Record(s)
	} else {
		j.Recorder.Record(s, check.MembersOf(s, j.numbers(v))...)
		if last.Token != 0 {
			j.deliver(s, *last, v)
		}
		*last = v
	}
	return err == nil
}

// numbers returns the members of a view. A member that is not one of the cell's gets the number after the last.
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

// deliver records how long the changes between two views took to arrive.
func (j *memberSeat) deliver(s metrics.Sample, was, is recipes.View) {
	change := map[int64]int{}
	for _, n := range j.numbers(is) {
		change[n]++
	}
	for _, n := range j.numbers(was) {
		change[n]--
	}
	for n, c := range change {
		member := int(n)*j.w.n + int(j.object)
		if c == 0 || member >= len(j.w.changes) || !j.w.changes[member].here.Load() { // another process's clock timed it
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
			j.Recorder.Record(news)
		}
	}
}
