package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// Config is one run. Its faults are carried out on Ensemble: see CheckFaults.
type Config struct {
	Setup
	Profile  profiles.Profile // checked with Setup.Check
	Ensemble ensemble.Ensemble
	Root     string // znode to make and to remove at the end; "" is DefaultBase and the run's name
	Name     string // of the run, unique: profile and time
	Command  []string
	Version  string // of zkbench
	Out      *results.Dir
	Progress func(Update) // may be nil; called from one goroutine at a time
	// Stop, when closed, ends the run in good order: nothing new is offered, what is under way finishes, the root is removed, the
	// verdicts are given and the partial result is written.
	Stop <-chan struct{}
}

// Update is the state of a run, for whoever looks on.
type Update struct {
	Cell, Cells int // from 1
	Variant     string
	Sessions    int
	Phase       string
	Connected   int            // sessions, while connecting
	Elapsed, Of time.Duration  // Of is 0 where the cell lasts until its work is done
	Point       *metrics.Point // of the last second, in the phases with load
	Message     string         // instead of all the above: something to tell
}

// runner is a run while it goes on.
type runner struct {
	Config
	profile profiles.Profile
	engine  Engine
	doc     *results.Run
	touched bool // there may be something of ours at Root
	stop    <-chan struct{}
	failed  chan struct{} // closed when the run cannot go on: the ensemble no longer serves, or the result cannot be written
	why     error
	failing sync.Once
	loaded  atomic.Pointer[cell] // the cell that is under load
	front   *proxy.Proxy         // in front of the servers for the sessions of the cells; nil when no fault needs it

	mu      sync.Mutex // serializes Progress
	session zk.Session // the administrative one; used by the goroutine of Run alone
}

// Run carries the profile out and returns the document, which has also been written to Config.Out: first when the root has been
// made, then after each cell. The error is why the run could not be carried out to its end; the document then says so too. It is
// nil when the run could not begin and left nothing on the servers. When ctx ends the run leaves at once, without cleaning up.
func Run(ctx context.Context, c Config) (*results.Run, error) {
	if err := c.Check(c.Profile); err != nil {
		return nil, err
	}
	r := &runner{Config: c, profile: c.Profile, stop: c.Stop, failed: make(chan struct{})}
	if r.Root == "" {
		r.Root = DefaultBase + "/" + c.Name
	}
	r.engine, _ = c.engineOf()
	if err := r.checkFaults(ctx); err != nil {
		return nil, err
	}
	r.doc = r.document()
	if needsProxy(c.Profile) {
		front, err := proxy.Start(ctx, proxy.Config{Upstreams: c.Ensemble.Addresses(), Seed: c.Profile.Seed})
		if err != nil {
			return nil, err
		}
		defer front.Close()
		r.front = front
		r.doc.Notes = append(r.doc.Notes, proxyNote)
	}
	unwatch := r.watch(ctx)
	err := r.begin(ctx)
	begun := err == nil
	if begun {
		err = r.carryOut(ctx)
	}
	unwatch()
	left := r.end(ctx)
	if !begun && !r.touched && !Interrupted(err) {
		return nil, err
	}
	r.conclude(err, left)
	return r.doc, errors.Join(err, left, r.Out.Write(r.doc))
}

func (c Config) engineOf() (Engine, bool) { return c.engine(c.Profile.Engine) }

// preflight asks the ensemble whether it can carry the largest cell, before any load.
func (r *runner) preflight(ctx context.Context) error {
	most := 0
	for _, n := range r.profile.Sessions {
		most = max(most, n)
	}
	if act, ok := r.act(r.profile.Workload); ok {
		most = act.Sessions
	}
	var fatal []error
	for _, p := range r.Ensemble.Preflight(ctx, ensemble.Need{Sessions: most + 1, SessionTimeout: r.profile.SessionTimeout,
		Proxied: r.front != nil, Down: mostDown(r.profile)}) {
		if p.Fatal {
			fatal = append(fatal, fmt.Errorf("%s: %s", p.What, p.Remedy))
			continue
		}
		r.tell(fmt.Sprintf("warning: %s: %s", p.What, p.Remedy))
	}
	return errors.Join(fatal...)
}

// begin looks at the ensemble and makes the root. ErrRootExists is the one failure after which nothing can be left of it.
func (r *runner) begin(ctx context.Context) error {
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	if err := r.preflight(ctx); err != nil {
		return r.cause(err)
	}
	err := r.admin(ctx, func(s zk.Session) error {
		r.touched = true
		err := makeRoot(ctx, s, r.Root, r.Name, r.profile.Name)
		r.touched = !errors.Is(err, ErrRootExists)
		return err
	})
	return r.cause(err)
}

// carryOut does the work between the making and the removal of the root.
func (r *runner) carryOut(ctx context.Context) error {
	if err := r.Out.Write(r.doc); err != nil { // from here on, whatever ends the process leaves a document that names the root
		return err
	}
	if act, ok := r.act(r.profile.Workload); ok {
		return r.perform(ctx, act)
	}
	return r.cells(ctx)
}

// end removes the root, also after an interrupt: the time for it is its own.
func (r *runner) end(ctx context.Context) error {
	defer r.closeAdmin()
	if !r.touched {
		return nil
	}
	patience, over := r.profile.SessionTimeout+time.Minute, isClosed(r.failed)
	if over { // the servers may be gone
		patience = grace
	}
	clean, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := r.admin(clean, func(s zk.Session) error { return removeRoot(clean, s, r.Root, r.Name) })
	switch {
	case err == nil:
		r.touched = false
	case over || ctx.Err() != nil:
		r.doc.Notes = append(r.doc.Notes, fmt.Sprintf("%s was left behind; 'zkbench clean' removes it", r.Root))
	default:
		return fmt.Errorf("remove %s: %w; 'zkbench clean' removes it later", r.Root, err)
	}
	return nil
}

// cells carries out the plan. The first cell that cannot be carried out, or an interrupt, ends it.
func (r *runner) cells(ctx context.Context) error {
	cells := plan(r.profile)
	for i, s := range cells {
		if err := r.cause(ctx.Err()); err != nil {
			return err
		}
		c := r.newCell(s, i+1, len(cells))
		err := c.run(ctx)
		if c.started.IsZero() {
			return r.cause(fmt.Errorf("%s with %d sessions: %w", s.variant, s.sessions, err))
		}
		r.doc.Cells = append(r.doc.Cells, c.result())
		if err := r.Out.Write(r.doc); err != nil { // whatever comes next, this cell is kept
			return err
		}
		if c.cut || err != nil {
			return r.cause(cmp.Or(err, ctx.Err()))
		}
		if i < len(cells)-1 {
			if err := r.clear(ctx, c.number); err != nil {
				return r.cause(err)
			}
		}
	}
	return nil
}

// clear removes a cell's znodes and frees its history, so that the next begins where this one began.
func (r *runner) clear(ctx context.Context, number int) error {
	debug.FreeOSMemory()
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	return r.admin(ctx, func(s zk.Session) error { return removeTree(ctx, s, r.dir(number)) })
}

func (r *runner) dir(number int) string { return fmt.Sprintf("%s/cell-%d", r.Root, number) }

// cause prefers the reason behind a failure to the failure.
func (r *runner) cause(err error) error {
	switch {
	case isClosed(r.failed):
		return r.why
	case isClosed(r.stop):
		return errInterrupted
	}
	return err
}

// errInterrupted: a signal ended the run in good order.
var errInterrupted = errors.New("interrupted")

// Interrupted reports whether err says that a run was ended by Config.Stop.
func Interrupted(err error) bool { return errors.Is(err, errInterrupted) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
