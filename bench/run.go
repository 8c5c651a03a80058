package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// Config describes one run. Its faults are injected into Ensemble: see CheckFaults.
type Config struct {
	Setup
	Profile  profiles.Profile  // checked with Setup.Check
	Ensemble ensemble.Ensemble // of the first of the profile's Environments
	// Next ends the current ensemble and starts that of the next of the profile's Environments, which the caller closes. It is called for each
	// environment but the first, in their order. It may be nil for a profile with one environment.
	Next func(ctx context.Context, p profiles.Profile) (ensemble.Ensemble, error)
	// Access is the identity of the sessions and the way they connect. If it is nil, the profile determines them.
	Access *access.Access
	// Calibration is the stored calibration of this machine, or nil.
	Calibration *results.Calibration
	Root        string // znode to create, and to remove at the end; "" means root.DefaultBase/Name
	// UnusedParent allows a root in a znode that has never had a child: see root.Root.
	UnusedParent bool
	Name         string // of the run, unique: profile and time
	Command      []string
	Version      string // of zkbench
	Out          *results.Dir
	Progress     func(load.Update) // may be nil; called from one goroutine at a time
	// Stores are the host:port of given servers of stores other than ZooKeeper, by the store's name. The run starts the others that its drivers need.
	Stores map[string][]string
	// Blocks, if set, cuts the steady phase into blocks and ends it. The profile then has
	// one cell, in an open loop, and the duration Blocks.Steady.
	Blocks *load.Blocks
	// Record, if set, is shown what the sessions of the cells send and receive, which then go through a proxy.
	Record proxy.Tap
	// Share is the part of the sessions that this process carries out. Meeting is where it waits for the other shares, or nil if there are none.
	// With a meeting, Root and Name are those of its plan.
	Share   fleet.Share
	Meeting *fleet.Meeting
	// AllowShared allows the shares to meet on the servers under test.
	AllowShared bool
	// MostHistory is how many bytes the history of a cell may take in the directory of a share; 0 means results.MostHistory.
	MostHistory int64
	// Stop, when closed, ends the run in good order: no new work is offered, in-flight work finishes, the root is removed, the
	// verdicts are given and the partial result is written.
	Stop <-chan struct{}
}

// runner is the state of an active run.
type runner struct {
	Config
	*environment
	load    *load.Run // shared by its cells
	failure *target.Failure
	stop    <-chan struct{}
	results outcome.Document
	planned []plan.Cell
	pace    *plan.Pace

	hellos map[string]drivers.Hello // of the profile's drivers, by program
	stores map[string]*store        // that their locks are in, by name; without ZooKeeper
}

// Run carries out the profile and returns the document. It also writes the document to Config.Out: first when the root has been
// created, then after each cell. The error is why the run did not finish; the document then says so too. The document is nil if the
// run could not start and left nothing on the servers. If ctx ends, the run ends at once and has forcedRemoval for the cleanup.
func Run(ctx context.Context, c Config) (*results.Run, error) {
	if err := errors.Join(c.Check(c.Profile), c.CheckShare(c.Profile, c.Share)); err != nil {
		return nil, err
	}
	if c.Next == nil && len(c.Profile.Environments()) > 1 {
		return nil, joined(fmt.Errorf("%s: several ensembles (expected one)", c.Profile.At("ensemble", 1)))
	}
	r := &runner{Config: c, planned: plan.Cells(c.Profile), stop: c.Stop, failure: target.NewFailure(), stores: map[string]*store{}}
	r.pace = plan.NewPace(r.planned)
	if r.Root == "" {
		r.Root = root.DefaultBase + "/" + c.Name
	}
	leave := r.attend(ctx)
	r.load = &load.Run{Share: c.Share, Meeting: c.Meeting, Out: c.Out, Progress: c.Progress, Blocks: c.Blocks, Stop: r.stop}
	defer leave()
	begun, err, left := r.environments(ctx)
	if closing := r.closeStores(); closing != nil {
		err = errors.Join(err, closing)
	}
	if r.results.Run == nil {
		if !Interrupted(err) {
			return nil, err
		}
		r.describe() // the interrupt came while the drivers were being started
	}
	if !begun && !r.leftovers && !Interrupted(err) {
		return nil, err
	}
	r.conclude(err, left)
	written := r.Out.Write(r.results.Run)
	r.sayDone(ctx)
	return r.results.Run, errors.Join(err, left, written)
}

func (c Config) engineOf() (target.Engine, bool) { return c.engine(c.Profile.Engine) }

// muchDisk is the size of a history, in bytes, from which the run reports it.
const muchDisk = 1 << 30

// preflight checks, before any load, whether the disk can hold the longest history and whether the ensemble can carry the largest cell.
func (r *runner) preflight(ctx context.Context) error {
	most := r.most(r.target.Profile)
	var fatal []error
	if r.number == 0 && r.Blocks == nil { // a probe of a search ends when it has enough
		r.load.Tell(r.Estimate(r.Profile).String())
	}
	for _, warning := range r.Warnings(r.target.Profile) {
		r.load.Tell("warning: " + warning)
	}
	if need := disk(r.target.Profile); need > 0 {
		fatal = append(fatal, noDisk(r.Out.Path(), need, spill.Free(r.Out.Path())))
		if need >= muchDisk {
			r.load.Tell(fmt.Sprintf("the history of a cell may take up to %s in %s until it is judged", phrase.Bytes(need), r.Out.Path()))
		}
	}
	for _, p := range r.Ensemble.Preflight(ctx, ensemble.Need{Sessions: r.Share.Of(most) + mostPrefillWatchers(r.target.Profile) + 1, SessionTimeout: r.target.Profile.SessionTimeout,
		Proxied: r.target.Proxy != nil, Down: faults.MostDown(r.target.Profile)}) {
		if p.Fatal {
			fatal = append(fatal, fmt.Errorf("%s: %s", p.What, p.Remedy))
			continue
		}
		r.load.Tell(fmt.Sprintf("warning: %s: %s", p.What, p.Remedy))
	}
	return errors.Join(fatal...)
}

// begin checks the ensemble and creates the root. If the root is refused, nothing is left of it.
func (r *runner) begin(ctx context.Context) error {
	ctx, end := r.failure.Bounded(ctx, r.stop)
	defer end()
	if err := r.preflight(ctx); err != nil {
		return r.cause(err)
	}
	if err := r.needStores(ctx); err != nil {
		return r.cause(err)
	}
	err := r.target.Admin(ctx, func(s zk.Session) error {
		// The bounds of the checks are multiples of the session timeout. The preflight has checked it already on servers that report their limits.
		if asked, granted := r.target.Profile.SessionTimeout, s.Timeout(); granted != asked {
			return fmt.Errorf("the servers change a session timeout of %v to %v: set session_timeout: %v, or change minSessionTimeout or maxSessionTimeout in their zoo.cfg",
				asked, granted, granted)
		}
		if !r.target.Access.IsPlain() {
			if err := r.target.Access.Check(ctx, s); err != nil {
				return err
			}
			if note := r.target.Access.String(); !slices.Contains(r.results.Run.Notes, note) {
				r.results.Run.Notes = append(r.results.Run.Notes, note)
			}
		}
		if err := r.elsewhere(ctx, s); err != nil {
			return err
		}
		r.leftovers = true
		err := r.makeRoot(ctx, s)
		r.leftovers = !errors.Is(err, root.ErrExists) && !errors.Is(err, root.ErrNested) && !errors.Is(err, root.ErrParent) && !refused(err)
		r.unmade = err != nil
		return err
	})
	return r.cause(access.Explain(err))
}

// carryOut does the work between the creation and the removal of the root.
func (r *runner) carryOut(ctx context.Context) error {
	defer r.target.KeepRoot(ctx)()
	if err := r.Out.Write(r.results.Run); err != nil { // from here on, whatever ends the process leaves a document that names the root
		return err
	}
	if act, ok := r.act(r.target.Profile.Workload); ok {
		return r.perform(ctx, act)
	}
	return r.cells(ctx)
}

// cells carries out the planned cells of the current ensemble. It ends at the first cell that cannot be carried out, or at an interrupt.
func (r *runner) cells(ctx context.Context) error {
	last := -1
	for i, s := range r.planned {
		if s.Environment != r.number {
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
		if err := r.upgraded(); err != nil {
			return err
		}
		if r.Share.Lowest() {
			if err := r.fill(ctx, s.Prefill()); err != nil {
				return err
			}
		}
		c, err := r.newCell(s, i)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := r.one(ctx, c); err != nil {
			return err
		}
		r.pace.Done(i, time.Since(began))
	}
	return nil
}

// upgraded returns an error if an upgrade of the previous cell was not finished: the next cell would run on other servers than that one.
func (r *runner) upgraded() error {
	if len(r.results.Run.Cells) == 0 {
		return nil
	}
	for _, f := range r.results.Run.Cells[len(r.results.Run.Cells)-1].Faults {
		if f.Kind == profiles.RollingUpgrade && f.Error != "" {
			return fmt.Errorf("no further cell, because the servers are not those of the first one: %s, %s: %s", f.Kind, f.Target, f.Error)
		}
	}
	return nil
}

// newCell prepares the i-th of the planned cells.
func (r *runner) newCell(s plan.Cell, i int) (*load.Cell, error) {
	kind, _ := r.workload(s.Profile.Workload)
	variant, known := kind.Find(s.Variant)
	if !known {
		return nil, fmt.Errorf("workload %s has no variant %s", kind.Name, s.Variant)
	}
	c := load.Config{Cell: s, Number: i + 1, Of: len(r.planned), Recipe: variant, Fresh: r.started, Rest: r.pace.Rest(i, kind.Shape == profiles.Finite), Prefilled: r.filledNote(),
		Driver: r.driverOf(variant)}
	r.started = false
	return load.New(r.load, r.target, c)
}

// one carries out a cell and adds its result to the document.
func (r *runner) one(ctx context.Context, c *load.Cell) error {
	defer c.Close()
	err := c.CarryOut(ctx)
	if !c.Begun() {
		return r.cause(fmt.Errorf("%s with %s: %w", c.Variant, phrase.Count(c.Sessions, "session"), err))
	}
	measured := c.Outcome()
	if err == nil && !measured.Interrupted {
		r.target.CheckRoot(ctx)
		measured.EnsembleLost = r.failure.Why() != nil
	}
	result, findings := measured.Result()
	r.accountFor(&result)
	r.tellViolations(c, result)
	if r.failure.RootLost() {
		unjudge(result.Checks)
	}
	if err := cmp.Or(r.results.Add(measured, result, findings), c.KeepPart(findings.Back, r.MostHistory)); err != nil {
		return err
	}
	r.tellRoll()
	if err := r.Out.Write(r.results.Run); err != nil { // whatever comes next, this cell is kept
		return err
	}
	if lost := c.Lost(); measured.Interrupted || err != nil || lost != nil {
		return cmp.Or(r.cause(cmp.Or(err, ctx.Err())), lost, r.interruption())
	}
	return nil
}

// clear removes a cell's znodes and frees its history, so that the next cell starts from the same state.
func (r *runner) clear(ctx context.Context, number int) error {
	debug.FreeOSMemory()
	ctx, end := r.failure.Bounded(ctx, r.stop)
	defer end()
	return r.target.SetUp(ctx, func(s zk.Session) error { return r.target.Home.RemoveBelow(ctx, s, load.Dir(r.Root, number), r.owns()) })
}

// cause returns the reason behind a failure if it is known, and otherwise the failure.
func (r *runner) cause(err error) error {
	switch {
	case r.failure.Why() != nil:
		return r.failure.Why()
	case load.IsClosed(r.stop):
		return r.interruption()
	}
	return err
}

// errInterrupted says that a signal ended the run in good order.
var errInterrupted = errors.New("interrupted")

// Interrupted reports whether err says that a run was ended by Config.Stop.
func Interrupted(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, fleet.ErrInterrupted)
}
