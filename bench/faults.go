package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// breaking carries the planned faults of one cell out, each in a goroutine of its own from its time to its healing.
type breaking struct {
	c     *cell
	front *proxy.Proxy // in front of the servers; nil when no fault needs it
	begin time.Duration
	work  sync.WaitGroup

	servers sync.Mutex // one server is chosen and broken at a time

	mu     sync.Mutex
	all    []broken    // in the order of the profile
	hurt   map[int]int // servers that are down or out of reach, by number: the fault that did it, counted from 1
	ending []place     // of the sessions at the end of the steady phase
}

// broken is a planned fault and what came of it.
type broken struct {
	profiles.PlannedFault
	target   string // that it struck
	server   int    // the number of the server that it struck; 0: none
	struck   bool
	at       time.Duration // when it struck, as an offset from the cell's origin
	over     bool          // it is healed, or was over by itself
	healed   time.Duration
	standing bool    // it has its effects for as long as it lasts
	times    int     // that it struck, where that is counted
	err      error   // why it was not carried out
	unhealed error   // why it could not be healed
	places   []place // of the sessions when it struck
}

// strikeWithin bounds what a fault may take to be carried out or healed: a server is found, has ended, or accepts connections again.
const strikeWithin = 30 * time.Second

// breakThings begins with the faults of the cell. The caller calls heal when the steady phase is over, and wait after it.
func (c *cell) breakThings(ctx context.Context) (heal, wait func()) {
	b := &breaking{c: c, front: c.front, begin: c.steady.Load().from, hurt: map[int]int{}}
	for _, f := range c.profile.Faults {
		b.all = append(b.all, broken{PlannedFault: f, target: f.Target()})
	}
	c.broken.Store(b)
	quit := make(chan struct{})
	steady, end := c.bounded(ctx, quit)
	for i := range b.all {
		b.work.Go(func() { b.carryOut(ctx, steady, i) })
	}
	return func() { b.last(); close(quit) }, func() { b.work.Wait(); end() }
}

// carryOut is the life of one fault. steady ends with the steady phase, and before it when the run fails.
func (b *breaking) carryOut(ctx, steady context.Context, i int) {
	f := b.all[i].PlannedFault
	if !tick(steady, b.begin+f.At-b.c.origin.Now()) {
		return
	}
	heal, err := b.strike(ctx, steady, i, f)
	if err != nil {
		b.failed(i, err)
		return
	}
	if heal == nil {
		return
	}
	switch {
	case f.For > 0:
		tick(steady, f.For)
	case f.Kind != profiles.Restart:
		<-steady.Done()
	}
	if ctx.Err() != nil { // the run leaves at once, and so does its ensemble
		return
	}
	healing, cancel := context.WithTimeout(ctx, strikeWithin)
	defer cancel()
	b.heal(i, heal(healing))
}

// healer ends a fault.
type healer func(context.Context) error

// strike carries a fault out. The healer is nil when there is nothing to heal.
func (b *breaking) strike(ctx, steady context.Context, i int, f profiles.PlannedFault) (healer, error) {
	if slices.Contains(proxyFaults, f.Kind) {
		return b.disturb(steady, i, f)
	}
	ctx, cancel := context.WithTimeout(ctx, strikeWithin)
	defer cancel()
	if slices.Contains(sessionFaults, f.Kind) {
		return nil, b.endSession(ctx, i, f)
	}
	return b.breakServer(ctx, steady, i, f)
}

// endSession expires a session, or has its client die.
func (b *breaking) endSession(ctx context.Context, i int, f profiles.PlannedFault) error {
	m, ok := zk.AsMortal(b.c.crowd.session(f.Session))
	if !ok {
		return fmt.Errorf("sessions of the engine %s cannot be ended so", b.c.engine.Name)
	}
	b.look(i)
	from := b.c.origin.Now()
	end := m.Expire
	if f.Kind == profiles.Crash {
		end = func(context.Context) error { return m.Crash() }
	}
	if err := end(ctx); err != nil {
		return err
	}
	b.hit(i, from)
	b.heal(i, nil)
	return nil
}

// look keeps where the sessions are before a fault strikes.
func (b *breaking) look(i int) {
	places := b.c.crowd.places()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[i].places = places
}

// last keeps where the sessions are at the end of the steady phase.
func (b *breaking) last() {
	places := b.c.crowd.places()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending = places
}

// hit notes that a fault has struck, at an offset.
func (b *breaking) hit(i int, at time.Duration) {
	b.mu.Lock()
	f := &b.all[i]
	f.struck, f.at, f.healed = true, at, at
	f.standing = f.standing || lasts(f.PlannedFault)
	b.mu.Unlock()
	b.tell(i, "struck", at)
}

// brief are the kinds of faults that whoever is hit gets over while they last: he finds another server, or another session is granted. The
// effects of the other kinds last as long as they do.
var brief = slices.Concat(processFaults, sessionFaults, []string{profiles.Disconnect, profiles.CutReply, profiles.CutRequest, profiles.Reset})

// lasts reports whether a fault has its effects for as long as it lasts. A session that is silent is ended by the servers, and the clients
// of a silent server find another one: only silence for all lasts.
func lasts(f profiles.PlannedFault) bool {
	if f.Kind == profiles.Silence {
		return f.Session == profiles.AnySession && f.Server == ""
	}
	return !slices.Contains(brief, f.Kind)
}

// heal notes that a fault is over, or why it could not be healed.
func (b *breaking) heal(i int, err error) {
	at := b.c.origin.Now()
	b.mu.Lock()
	f := &b.all[i]
	if f.over {
		b.mu.Unlock()
		return
	}
	f.over, f.healed, f.unhealed = err == nil, at, err
	if b.hurt[f.server] == i+1 {
		delete(b.hurt, f.server)
	}
	b.mu.Unlock()
	if err != nil {
		b.tell(i, "not healed: "+err.Error(), at)
		return
	}
	b.tell(i, "healed", at)
}

// failed notes that a fault could not be carried out.
func (b *breaking) failed(i int, err error) {
	b.mu.Lock()
	b.all[i].err = err
	b.mu.Unlock()
	b.tell(i, "not carried out: "+err.Error(), b.c.origin.Now())
}

// tell shows an event of a fault, and writes it onto the timeline.
func (b *breaking) tell(i int, event string, at time.Duration) {
	b.mu.Lock()
	f := b.all[i]
	b.mu.Unlock()
	b.c.Out.Timeline(results.Second{Cell: b.c.tag(), At: b.c.origin.Time(at).UTC(), Phase: b.c.phase(at),
		Fault: &results.FaultEvent{Kind: f.Kind, Target: f.target, Event: event, AtS: (at - b.begin).Seconds()}})
	b.c.tell(fmt.Sprintf("fault, %.1f s into the steady phase: %s: %s", (at - b.begin).Seconds(), f.words(), event))
}

// words name the fault and what it struck.
func (f broken) words() string {
	text := f.Kind
	if f.Op != "" {
		text += " of " + f.Op
	}
	if f.target != "" {
		text += ", " + f.target
	}
	return text
}

// plannedText is the faults of a profile on a line.
func plannedText(all []profiles.PlannedFault) string {
	words := make([]string, len(all))
	for i, f := range all {
		words[i] = fmt.Sprintf("%v %s", f.At, broken{PlannedFault: f, target: f.Target()}.words())
		if f.For > 0 {
			words[i] += fmt.Sprintf(" for %v", f.For)
		}
	}
	return strings.Join(words, "; ")
}

// struckInOrder are the faults that struck, by time.
func (b *breaking) struckInOrder() []broken {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []broken
	for _, f := range b.all {
		if f.struck {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b broken) int { return cmp.Compare(a.at, b.at) })
	return all
}

// hurts reports whether the servers may not serve at an offset because of a fault of theirs.
func (b *breaking) hurts(now time.Duration) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.all, func(f broken) bool {
		return f.server > 0 && f.struck && (!f.over || now < f.healed+b.recovery())
	})
}

// serversHurt reports whether a fault has struck a server at all.
func (b *breaking) serversHurt() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.all, func(f broken) bool { return f.server > 0 && f.struck })
}

// electionAllowance is what servers may take to elect a leader, and followers to take over what they have missed.
const electionAllowance = 10 * time.Second

// recovery is by when what a fault of a server has done is over, after it has struck and after it is healed: its sessions have moved or
// expired, and the servers have a leader.
func (b *breaking) recovery() time.Duration { return b.expiry() + electionAllowance }

// expiry is by when the servers have ended a session that nobody hears of: they round the session timeout up to a tick.
func (b *breaking) expiry() time.Duration {
	return b.c.profile.SessionTimeout + cmp.Or(b.c.Ensemble.Describe().Tick, 2*time.Second)
}

// excused are the times, from one offset to another, in which somebody may have to wait because of a fault.
func (b *breaking) excused(f broken) [][2]time.Duration {
	ofServer := f.server > 0 || f.Kind == profiles.Silence && f.Server != ""
	switch {
	case f.standing:
		return [][2]time.Duration{{f.at, f.healed + b.recovery()}}
	case ofServer:
		return [][2]time.Duration{{f.at, f.at + b.recovery()}, {f.healed, f.healed + electionAllowance}}
	case f.Kind == profiles.Crash, f.Kind == profiles.Silence: // its znodes are in the way until it expires
		return [][2]time.Duration{{f.at, f.at + b.expiry()}}
	}
	return nil // the session is connected again at once, or its znodes are gone
}

// samples are the times of the faults for the checks.
func (b *breaking) samples() []metrics.Sample {
	if b == nil {
		return nil
	}
	var all []metrics.Sample
	add := func(op metrics.Op, session int, from, to time.Duration) {
		all = append(all, metrics.Sample{Op: op, Session: uint32(max(session, 0)), Due: from, Start: from, End: to})
	}
	for _, f := range b.struckInOrder() {
		if f.Kind == profiles.Expire {
			add(metrics.Expire, f.Session, f.at, f.healed)
		}
		for _, time := range b.excused(f) {
			add(metrics.Fault, 0, time[0], time[1])
		}
	}
	return all
}
