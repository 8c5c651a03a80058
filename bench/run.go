package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/fleet"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// Config is one run. Its faults are injected into Ensemble: see CheckFaults.
type Config struct {
	Setup
	Profile  profiles.Profile  // checked with Setup.Check
	Ensemble ensemble.Ensemble // of the first of the profile's Environments
	// Next ends the ensemble that is there and starts that of one more of the profile's Environments, which the caller closes; it is called for each
	// but the first, in their order. nil is right for a profile that has one.
	Next func(ctx context.Context, p profiles.Profile) (ensemble.Ensemble, error)
	// Access is who the sessions are and how they connect; nil: as the profile says.
	Access *access.Access
	// Calibration is what was stored of this machine; nil: nothing.
	Calibration *results.Calibration
	Root        string // znode to make and to remove at the end; "" is root.DefaultBase and the run's name
	// UnusedParent allows a root in a znode that has never had a child: see root.Root.
	UnusedParent bool
	Name         string // of the run, unique: profile and time
	Command      []string
	Version      string // of zkbench
	Out          *results.Dir
	Progress     func(Update) // may be nil; called from one goroutine at a time
	// Stores are host:port of given servers of other stores than ZooKeeper, by the store's name; the run starts those that its drivers need otherwise.
	Stores map[string][]string
	// Blocks, if set, cuts the steady phase into blocks and ends it. The profile then has
	// one cell, in an open loop, and the duration Blocks.Steady.
	Blocks *Blocks
	// Share is the part of the sessions that this process carries out, and Meeting where it waits for the others; nil: there are none. Of a
	// meeting, Root and Name are those of its plan.
	Share   fleet.Share
	Meeting *fleet.Meeting
	// AllowShared allows the shares to meet on the servers under test.
	AllowShared bool
	// MostHistory is how many bytes the history of a cell of a share may take in its directory; 0: results.MostHistory.
	MostHistory int64
	// Stop, when closed, ends the run in good order: nothing new is offered, what is under way finishes, the root is removed, the
	// verdicts are given and the partial result is written.
	Stop <-chan struct{}
}

// Update is the state of a run, for progress displays.
type Update struct {
	Cell, Cells int // from 1
	Variant     string
	Sessions    int
	Phase       string
	Connected   int                // sessions, while connecting
	Elapsed     time.Duration      // since the load of the cell began
	Passed, Of  time.Duration      // of the phase; Of is 0 where it lasts until its work is done
	FirstTurns  int                // sessions without a turn, for which a warm-up goes on; it ends with Of all the same
	Left        time.Duration      // until the end of the run, about; 0 where nobody knows
	Tag         string             // name of the cell in the document
	Rate        float64            // offered per second; 0 in a closed loop
	Connects    *metrics.Histogram // of the sessions, when all are connected: how long each took to open
	Load        string             // what else is the load, the rate among it
	Permits     int                // how many may hold an object; 0: one, or nobody holds
	Second      *Second            // the last one, in the phases with load
	Timed       string             // what the times of Second are of: "response", or "put to take"
	Unit        string             // what the rate of Second counts: "grants"
	Message     string             // instead of all the above: something to tell
	Fleet       *Fleet             // of the lowest of several shares; nil: there is one
	Event       *Event             // what the message is about, if it is a fault, a change of the leader or a violation
}

// Fleet is how all shares of a run go on, as the lowest has heard of it: what they told lately.
type Fleet struct {
	Heard, Shares int // of so many; this one is among them
	Sessions      int
	Connected     int
	PerSecond     float64
	Errors        int64
	Worst         float64 // the highest p99 of any share, in milliseconds; 0: none tells
	WorstOf       int     // its number
}

// Second is what was measured between two looks at a cell. Receivers may keep it; they share the histograms, which are not
// changed.
type Second struct {
	metrics.Point
	Interval  metrics.Interval
	Counted   []metrics.Op         // that Point counts
	Timed     []metrics.Op         // that its times are of
	Fanout    metrics.FanoutCounts // since the start of the cell
	Stand     metrics.Stand
	Connected int                // sessions with a connection
	Leader    string             // address of the server that leads; "" if none has said so
	CPU       float64            // share of this machine's CPUs that zkbench used; negative where the system does not tell
	Lag       *metrics.Histogram // of this process's timers
}

// The kinds of events.
const (
	EventFault     = "fault"
	EventLeader    = "leader"
	EventViolation = "violation"
)

// Event is something that must not be overlooked.
type Event struct {
	Kind  string
	Name  string // of the fault or the check, or the address of the leader; "" if there is none
	Ended bool   // the fault is over, or the loss of the leader was none
}

// runner is a run while it goes on.
type runner struct {
	Config
	*environment
	doc     *results.Run
	planned []spec
	merges  bool // the results of several shares
	pace    *pace
	stop    <-chan struct{}
	failed  chan struct{} // closed when the run cannot go on: the ensemble no longer serves, or the result cannot be written
	why     error
	failing sync.Once
	loaded  atomic.Pointer[cell] // the cell that is under load

	pools  map[string]*pool // of repeated cells, by their tag without the repetition
	pooled []string         // the keys of pools, in the order of the first repetitions
	idle   map[int]string   // of the cells without an operation in their steady phase, by their places in the document: what would do

	hellos map[string]drivers.Hello // of the profile's drivers, by program
	stores map[string]*store        // that their locks are in, by name; ZooKeeper is none of them

	mu     sync.Mutex    // serializes Progress
	turn   chan struct{} // full while a goroutine opens the administrative session
	dialed sync.Map      // the ids of all sessions of the run, or of the administrative one, at the ensemble that is there, true
}

// Run carries the profile out and returns the document, which has also been written to Config.Out: first when the root has been
// made, then after each cell. The error is why the run could not be carried out to its end; the document then says so too. It is
// nil when the run could not begin and left nothing on the servers. When ctx ends the run ends at once, and has hasty for cleaning up.
func Run(ctx context.Context, c Config) (*results.Run, error) {
	if err := errors.Join(c.Check(c.Profile), c.CheckShare(c.Profile, c.Share)); err != nil {
		return nil, err
	}
	if c.Next == nil && len(c.Profile.Environments()) > 1 {
		return nil, joined(fmt.Errorf("%s: several ensembles (expected one)", c.Profile.At("ensemble", 1)))
	}
	r := &runner{Config: c, planned: plan(c.Profile), stop: c.Stop, failed: make(chan struct{}), turn: make(chan struct{}, 1), idle: map[int]string{}, stores: map[string]*store{}}
	r.pace = newPace(r.planned)
	if r.Root == "" {
		r.Root = root.DefaultBase + "/" + c.Name
	}
	leave := r.attend(ctx)
	defer leave()
	begun, err, left := r.environments(ctx)
	if closing := r.closeStores(); closing != nil {
		err = errors.Join(err, closing)
	}
	if r.doc == nil {
		return nil, err
	}
	if !begun && !r.touched && !Interrupted(err) {
		return nil, err
	}
	r.conclude(err, left)
	written := r.Out.Write(r.doc)
	r.sayDone(ctx)
	return r.doc, errors.Join(err, left, written)
}

func (c Config) engineOf() (Engine, bool) { return c.engine(c.Profile.Engine) }

// muchDisk is how much a history has to take to be worth a line.
const muchDisk = 1 << 30

// preflight asks the disk whether it can hold the longest history, and the ensemble whether it can carry the largest cell, before any load.
func (r *runner) preflight(ctx context.Context) error {
	most := r.most(r.profile)
	var fatal []error
	if r.number == 0 && r.Blocks == nil { // a probe of a search ends when it has enough
		r.tell(r.Estimate(r.Profile).String())
	}
	for _, warning := range r.Warnings(r.profile) {
		r.tell("warning: " + warning)
	}
	if need := disk(r.profile); need > 0 {
		fatal = append(fatal, noDisk(r.Out.Path(), need, spill.Free(r.Out.Path())))
		if need >= muchDisk {
			r.tell(fmt.Sprintf("the history of a cell may take up to %s in %s until it is judged", phrase.Bytes(need), r.Out.Path()))
		}
	}
	for _, p := range r.Ensemble.Preflight(ctx, ensemble.Need{Sessions: r.Share.Of(most) + mostPrefillWatchers(r.profile) + 1, SessionTimeout: r.profile.SessionTimeout,
		Proxied: r.front != nil, Down: faults.MostDown(r.profile)}) {
		if p.Fatal {
			fatal = append(fatal, fmt.Errorf("%s: %s", p.What, p.Remedy))
			continue
		}
		r.tell(fmt.Sprintf("warning: %s: %s", p.What, p.Remedy))
	}
	return errors.Join(fatal...)
}

// begin looks at the ensemble and makes the root. After a failure that refuses the root nothing is left of it.
func (r *runner) begin(ctx context.Context) error {
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	if err := r.preflight(ctx); err != nil {
		return r.cause(err)
	}
	if err := r.greetDrivers(ctx); err != nil {
		return r.cause(err)
	}
	err := r.admin(ctx, func(s zk.Session) error {
		// The bounds of the checks count in session timeouts. The preflight has looked, where servers tell their limits.
		if asked, granted := r.profile.SessionTimeout, s.Timeout(); granted != asked {
			return fmt.Errorf("the servers change a session timeout of %v to %v: set session_timeout: %v, or change minSessionTimeout or maxSessionTimeout in their zoo.cfg",
				asked, granted, granted)
		}
		if !r.access.IsPlain() {
			if err := r.access.Check(ctx, s); err != nil {
				return err
			}
			if note := r.access.String(); !slices.Contains(r.doc.Notes, note) {
				r.doc.Notes = append(r.doc.Notes, note)
			}
		}
		if err := r.elsewhere(ctx, s); err != nil {
			return err
		}
		r.touched = true
		err := r.makeRoot(ctx, s)
		r.mute = errors.Is(err, zk.ErrNoAnswer)
		r.touched = !errors.Is(err, root.ErrExists) && !errors.Is(err, root.ErrNested) && !errors.Is(err, root.ErrParent) && !refused(err)
		return err
	})
	return r.cause(access.Explain(err))
}

// leastPrompt is the least time that servers may take for an answer before it is said that there is none.
const leastPrompt = 10 * time.Second

// carryOut does the work between the making and the removal of the root.
func (r *runner) carryOut(ctx context.Context) error {
	defer r.keepRoot(ctx)()
	if err := r.Out.Write(r.doc); err != nil { // from here on, whatever ends the process leaves a document that names the root
		return err
	}
	if act, ok := r.act(r.profile.Workload); ok {
		return r.perform(ctx, act)
	}
	return r.cells(ctx)
}

// cells carries out the part of the plan that is for the ensemble that is there. The first cell that cannot be carried out, or an interrupt, ends it.
func (r *runner) cells(ctx context.Context) error {
	last := -1
	for i, s := range r.planned {
		if s.environment != r.number {
			continue
		}
		if last >= 0 && r.Share.Lowest() {
			if err := r.clear(ctx, last+1); err != nil {
				return r.cause(err)
			}
		}
		last = i
		if err := r.cause(ctx.Err()); err != nil {
			return err
		}
		if r.Share.Lowest() {
			if err := r.fill(ctx, s.prefill()); err != nil {
				return err
			}
		}
		c, err := r.newCell(s, i+1, len(r.planned)) // nothing may fail between this and the closing of its history
		if err != nil {
			return err
		}
		c.rest = r.pace.rest(i, c.finite())
		if err := r.one(ctx, c); err != nil {
			return err
		}
		r.pace.took(i, time.Since(c.set))
	}
	return nil
}

// one carries out a cell and takes its result into the document.
func (r *runner) one(ctx context.Context, c *cell) error {
	defer c.history.Close()
	defer c.trips.Close()
	err := errors.Join(c.run(ctx), c.endDriver())
	if c.started.IsZero() {
		return r.cause(fmt.Errorf("%s with %s: %w", c.variant, phrase.Count(c.sessions, "session"), err))
	}
	if err == nil && !c.cut {
		r.checkRoot(ctx)
	}
	result := c.result()
	r.accountFor(&result)
	r.tellViolations(c, result)
	if r.uprooted() {
		unjudge(result.Checks)
	}
	if result.Operations == 0 {
		r.idle[len(r.doc.Cells)] = c.wouldDo()
	}
	r.doc.Cells = append(r.doc.Cells, result)
	if err := cmp.Or(r.keepDetails(c), r.keepPart(c)); err != nil {
		return err
	}
	r.tellRoll()
	if err := r.repeated(c); err != nil {
		return err
	}
	if err := r.Out.Write(r.doc); err != nil { // whatever comes next, this cell is kept
		return err
	}
	if lost := c.lostHistory(); c.cut || err != nil || lost != nil {
		return cmp.Or(r.cause(cmp.Or(err, ctx.Err())), lost, r.interruption())
	}
	return nil
}

// clear removes a cell's znodes and frees its history, so that the next begins where this one began.
func (r *runner) clear(ctx context.Context, number int) error {
	debug.FreeOSMemory()
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	return r.setUp(ctx, func(s zk.Session) error { return r.home.RemoveBelow(ctx, s, r.dir(number), r.owns()) })
}

func (r *runner) dir(number int) string { return fmt.Sprintf("%s/cell-%d", r.Root, number) }

// cause prefers the reason behind a failure to the failure.
func (r *runner) cause(err error) error {
	switch {
	case isClosed(r.failed):
		return r.why
	case isClosed(r.stop):
		return r.interruption()
	}
	return err
}

// errInterrupted: a signal ended the run in good order.
var errInterrupted = errors.New("interrupted")

// Interrupted reports whether err says that a run was ended by Config.Stop.
func Interrupted(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, fleet.ErrInterrupted)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
