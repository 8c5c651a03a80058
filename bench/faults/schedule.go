package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// Target is what the faults of a schedule are injected into: the sessions of a cell, and the ensemble they are connected to.
type Target struct {
	Ensemble       ensemble.Ensemble
	Proxy          *proxy.Proxy // in front of the servers; nil when no fault needs it
	Origin         metrics.Origin
	SessionTimeout time.Duration // the timeout that the sessions request
	Engine         string
	Session        func(seat int) zk.Session
	Places         func() []Place
	Before         func()  // called before each fault; may be nil
	Storms         *Storms // prepared; nil if none is planned
	// KillDriver kills the driver process that holds the session of a seat, or all driver processes for profiles.AnySession; nil if no driver holds the
	// sessions.
	KillDriver func(seat int) error
	// StopHolder stops a driver process while one of its sessions holds a lock, and waits for such a session; nil if no driver holds the sessions.
	StopHolder func(ctx context.Context) (Holder, error)
	Tell       func(Event) // called from several goroutines
	// Elsewhere means that another process injects the faults and reports them to Learn. This one only records where its sessions were.
	Elsewhere bool
}

// Place is where a session is connected: Server is "" while it is disconnected, or if the engine does not report it.
type Place struct {
	ID     int64
	Server string
}

// Holder is a driver's session that holds a lock, in a process that is stopped.
type Holder struct {
	Session, Object int
	Sessions        []int // all sessions of the process
	Kill, Resume    func() error
}

// Event is something that happened to a fault: its injection, its recovery, or the failure of either.
type Event struct {
	Fault
	What   string        // Injected, that it recovered, why it did not, or what it has done so far
	Offset time.Duration // from the origin
}

// Injected is the What of an injection. Every other event, except progress, ends the fault.
const Injected = "injected"

// Fault is something that broke, and its effects. Times are offsets from the origin.
type Fault struct {
	profiles.PlannedFault
	Unplanned    *Outage // what the servers report about an unplanned fault; nil if the fault was planned
	Target       string  // what it was injected into
	Server       int     // number of the server that it was injected into; 0 if none
	Injected     bool
	Begun        time.Duration // when its injection started: its effects may come before the injection is done; At if it was unplanned
	Skew         time.Duration // its times may be off by this much, because another process reported them
	At           time.Duration // when it was injected
	Recovered    bool          // it was undone, or ended by itself
	RecoveredAt  time.Duration
	Times        int     // how often it took effect, if that is counted
	Err          error   // why it was not injected
	NotRecovered error   // why it could not be undone
	Places       []Place // of the sessions when it was injected
	Storm        *Storm  // the effects of a storm; nil for another fault
	Steps        []Step  // of a rolling restart or upgrade
	Holder       *Holder // the holder that it hit; nil if it is not about one
	Ended        int64   // the session that it ended, Expire or Crash; 0: none of this process

	standing bool       // its effects last as long as the fault
	effects  func() int // counts Times; nil if they are not counted
}

// Schedule injects the planned faults of one cell. Each fault has its own goroutine from its time to its recovery.
type Schedule struct {
	target Target
	begin  time.Duration // of the steady phase; set before started
	work   sync.WaitGroup

	servers sync.Mutex // held to choose and impair a server
	rolling sync.Mutex // held during a rolling restart or upgrade

	mu        sync.Mutex
	started   bool
	learned   bool
	unplanned []Fault     // reported by another process
	all       []Fault     // in the order of the profile
	impaired  map[int]int // by number, servers that are down or unreachable: the fault that caused it, counted from 1
}

// New prepares the planned faults for a cell. It injects nothing before Start.
func New(planned []profiles.PlannedFault, t Target) *Schedule {
	s := &Schedule{target: t, impaired: map[int]int{}}
	for _, f := range planned {
		s.all = append(s.all, Fault{PlannedFault: f, Target: f.Target()})
	}
	return s
}

const (
	// actWithin limits the injection of a fault: to find a server, or to end it.
	actWithin = 30 * time.Second
	// recoverWithin limits the recovery: a server has started, has caught up with the leader and accepts writes, although all sessions return to it at once.
	// It is generous because a run on an overloaded machine is slow, not broken.
	recoverWithin = 2 * time.Minute
)

// Start injects each fault at its time after begin. steady ends with the steady phase, or earlier if the run fails: from then on nothing is injected, and
// everything recovers. The caller calls Wait after it.
func (s *Schedule) Start(ctx, steady context.Context, begin time.Duration) {
	s.mu.Lock()
	s.started, s.begin = true, begin
	s.mu.Unlock()
	for i := range s.all {
		s.work.Go(func() { s.carryOut(ctx, steady, i) })
	}
}

// Wait waits until everything has recovered, or has failed to.
func (s *Schedule) Wait() { s.work.Wait() }

// Started reports whether there are faults and the time in which they are injected has begun.
func (s *Schedule) Started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started && len(s.all) > 0
}

// carryOut waits for the time of one fault, injects it and recovers from it.
func (s *Schedule) carryOut(ctx, steady context.Context, i int) {
	f := s.all[i].PlannedFault
	at := s.begin + f.At
	if s.target.Elsewhere {
		at -= lookAhead
	}
	if sleep.For(steady, at-s.target.Origin.Now()) != nil {
		return
	}
	if s.target.Elsewhere {
		s.keepPlaces(i)
		return
	}
	undo, err := s.inject(ctx, steady, i, f)
	if err != nil {
		s.failed(i, err)
		return
	}
	if undo == nil {
		return
	}
	switch {
	case f.For > 0:
		sleep.For(steady, f.For) // or until the end of the steady phase
	case f.Kind != profiles.Restart:
		<-steady.Done()
	}
	ctx, cancel, goes := s.mending(ctx)
	defer cancel()
	if goes {
		return
	}
	s.recovered(i, undo(ctx))
}

// mending returns a context for undoing a fault. If the run exits at once, its ensemble goes with it and goes is true; if the ensemble stays, the context
// allows a little time.
func (s *Schedule) mending(ctx context.Context) (_ context.Context, cancel context.CancelFunc, goes bool) {
	within := recoverWithin
	if ctx.Err() != nil {
		stays, ok := s.target.Ensemble.(ensemble.Staying)
		goes, within, ctx = !ok || !stays.Stays(), actWithin, context.WithoutCancel(ctx)
	}
	ctx, cancel = context.WithTimeout(ctx, within)
	return ctx, cancel, goes
}

// recovery undoes a fault.
type recovery func(context.Context) error

// inject carries out a fault. The recovery is nil if there is nothing to undo.
func (s *Schedule) inject(ctx, steady context.Context, i int, f profiles.PlannedFault) (recovery, error) {
	if slices.Contains(ofConnections, f.Kind) {
		return s.disturb(steady, i, f)
	}
	if f.IsStorm() {
		return nil, s.storm(steady, i)
	}
	if f.Rolls() {
		return nil, s.roll(ctx, steady, i, f)
	}
	if f.Kind == profiles.KillHolder || f.Kind == profiles.PauseHolder {
		return s.hitHolder(steady, i)
	}
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	if slices.Contains(ofSessions, f.Kind) {
		return nil, s.endSession(ctx, i, f)
	}
	if slices.Contains(ofDrivers, f.Kind) {
		return nil, s.killDriver(i, f)
	}
	return s.impair(ctx, steady, i, f)
}

// killDriver kills a driver's process, and so its clients.
func (s *Schedule) killDriver(i int, f profiles.PlannedFault) error {
	if s.target.KillDriver == nil {
		return errors.New("no driver holds the sessions")
	}
	s.keepPlaces(i)
	from := s.target.Origin.Now()
	if err := s.target.KillDriver(f.Session); err != nil {
		return err
	}
	s.injected(i, from)
	s.recovered(i, nil)
	return nil
}

// hitHolder kills the driver process of a session that holds a lock, or stops it until the recovery.
func (s *Schedule) hitHolder(steady context.Context, i int) (recovery, error) {
	if s.target.StopHolder == nil {
		return nil, errors.New("no driver holds the sessions")
	}
	s.keepPlaces(i)
	h, err := s.target.StopHolder(steady)
	if err != nil {
		return nil, err
	}
	at := s.target.Origin.Now()
	s.mu.Lock()
	f := &s.all[i]
	f.Begun, f.Holder, f.Target = at, &h, fmt.Sprintf("session %d, holder of object %d", h.Session, h.Object)
	kills := f.Kind == profiles.KillHolder
	s.mu.Unlock()
	if kills {
		if err := h.Kill(); err != nil {
			return nil, errors.Join(err, h.Resume())
		}
	}
	s.injected(i, at)
	if kills {
		s.recovered(i, nil)
		return nil, nil
	}
	return func(context.Context) error { return h.Resume() }, nil
}

// endSession expires a session, or crashes its client.
func (s *Schedule) endSession(ctx context.Context, i int, f profiles.PlannedFault) error {
	session := s.target.Session(f.Session)
	m, ok := zk.AsKiller(session)
	if !ok {
		return fmt.Errorf("sessions of the engine %s cannot be ended this way", s.target.Engine)
	}
	s.keepPlaces(i)
	id, from := session.ID(), s.target.Origin.Now()
	end := m.Expire
	if f.Kind == profiles.Crash {
		end = func(context.Context) error { return m.Crash() }
	}
	if err := end(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.all[i].Ended = id
	s.mu.Unlock()
	s.injected(i, from)
	s.recovered(i, nil)
	return nil
}

// keepPlaces records where the sessions are before a fault is injected.
func (s *Schedule) keepPlaces(i int) {
	places := s.target.Places()
	if s.target.Before != nil {
		s.target.Before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[i].Places, s.all[i].Begun = places, s.target.Origin.Now()
}

// injected records that a fault was injected at an offset.
func (s *Schedule) injected(i int, at time.Duration) {
	s.mu.Lock()
	f := &s.all[i]
	f.Injected, f.At, f.RecoveredAt = true, at, at
	f.standing = f.standing || lasts(f.PlannedFault)
	s.mu.Unlock()
	s.tell(i, Injected, at)
}

// recovered records that a fault is over, or why it could not be undone.
func (s *Schedule) recovered(i int, err error) {
	at := s.target.Origin.Now()
	s.mu.Lock()
	f := &s.all[i]
	if f.Recovered {
		s.mu.Unlock()
		return
	}
	f.Recovered, f.RecoveredAt, f.NotRecovered = err == nil, at, err
	if s.impaired[f.Server] == i+1 {
		delete(s.impaired, f.Server)
	}
	s.mu.Unlock()
	if err != nil {
		s.tell(i, f.Problem(), at)
		return
	}
	s.tell(i, "recovered", at)
}

// failed records that a fault could not be injected.
func (s *Schedule) failed(i int, err error) {
	s.mu.Lock()
	s.all[i].Err = err
	problem := s.all[i].Problem()
	s.mu.Unlock()
	s.tell(i, problem, s.target.Origin.Now())
}

// Problem says what went wrong with the fault; it is "" if nothing did.
func (f Fault) Problem() string {
	switch {
	case f.Err != nil:
		return "not injected: " + f.Err.Error()
	case errors.As(f.NotRecovered, new(unfinished)):
		return "not finished: " + f.NotRecovered.Error()
	case f.NotRecovered != nil:
		return "not recovered: " + f.NotRecovered.Error()
	}
	return ""
}

func (s *Schedule) tell(i int, what string, at time.Duration) {
	s.mu.Lock()
	f := s.all[i]
	s.mu.Unlock()
	s.target.Tell(Event{f, what, at})
}

// String names the fault and what it is injected into.
func (f Fault) String() string {
	text := f.Kind
	if f.Op != "" {
		text += " of " + f.Op
	}
	if f.Target != "" {
		text += ", " + f.Target
	}
	return text
}

// Text lists the planned faults on one line.
func Text(planned []profiles.PlannedFault) string {
	words := make([]string, len(planned))
	for i, f := range planned {
		words[i] = fmt.Sprintf("%v %s", f.At, Fault{PlannedFault: f, Target: f.Target()})
		if f.For > 0 {
			words[i] += fmt.Sprintf(" for %v", f.For)
		}
		if f.Every > 0 {
			words[i] += fmt.Sprintf(" every %v", f.Every)
		}
	}
	return strings.Join(words, "; ")
}

// Injected returns the faults that were injected, by time.
func (s *Schedule) Injected() []Fault {
	all := slices.DeleteFunc(s.All(), func(f Fault) bool { return !f.Injected })
	slices.SortStableFunc(all, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return all
}

// All returns the planned faults, in the order of the profile.
func (s *Schedule) All() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.all)
	for i := range all {
		if count := all[i].effects; count != nil {
			all[i].Times = count()
		}
	}
	return all
}

// ServersHurt reports whether the servers may not serve at an offset because of a server fault.
func (s *Schedule) ServersHurt(now time.Duration) bool {
	return s.unknown(now) || slices.ContainsFunc(s.All(), func(f Fault) bool {
		return f.Server > 0 && f.Injected && (!f.Recovered || now < f.RecoveredAt+s.aftermath())
	})
}

// AwaitServers waits until the servers serve again after server faults.
func (s *Schedule) AwaitServers(ctx context.Context) error {
	if s.target.Elsewhere || !slices.ContainsFunc(s.All(), func(f Fault) bool { return f.Server > 0 && f.Injected }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recoverWithin)
	defer cancel()
	if err := s.target.Ensemble.(ensemble.FaultInjector).Ready(ctx); err != nil {
		return fmt.Errorf("the servers do not serve again after their faults: %w", err)
	}
	return nil
}
