package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/fleet"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/sharing"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// The stages of a cell at which the shares of a fleet wait for each other. Cell 0 is the run.
const (
	stageRoot    = "root"    // the root is there
	stageMade    = "made"    // the objects are there
	stageReady   = "ready"   // all sessions are connected: the load begins
	stageWarm    = "warm"    // of a closed loop: every session has had its first operation
	stageDrained = "drained" // nobody holds anything
	stageSeen    = "seen"    // the lowest share has looked at what open sessions leave
	stageClosed  = "closed"  // all sessions are closed
)

// CheckShare reports what of a profile cannot be carried out by several shares. The error is ErrProfile.
func (b Setup) CheckShare(p profiles.Profile, s fleet.Share) error {
	if s.Whole() {
		return nil
	}
	var problems []error
	problem := func(at, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
	if kind, known := b.workload(p.Workload); known && kind.Shared != nil {
		for _, found := range kind.Shared(p) {
			problem(p.At(found.Key, found.Index), "%s: %s", found.Key, found.Message)
		}
	} else {
		var can []string
		for _, k := range b.Workloads {
			if k.Shared != nil {
				can = append(can, k.Name)
			}
		}
		problem(p.At("workload", 0), "the sessions of workload %s cannot be shared between processes (expected one of %s)", p.Workload, strings.Join(can, ", "))
	}
	for _, program := range b.programs(p) {
		problem(p.At("variants", 0), "the sessions of driver %s cannot be shared between processes of zkbench (leave it out)", program)
	}
	for i, n := range p.Sessions {
		if n < s.Count {
			problem(p.At("sessions", i), "%d sessions cannot be shared by %d processes (at least one each)", n, s.Count)
		}
	}
	for i, f := range p.Faults {
		if !faults.Shareable(f) {
			problem(p.AtFault(i, "kind"), "%s is injected into sessions of one process, but a run of several shares spreads them over all (expected a fault of servers, such as kill, pause or restart)", f.Kind)
		}
	}
	return joined(problems...)
}

// shareResult is what the document says of the share; nil: the run is whole.
func (r *runner) shareResult() *results.FleetShare {
	if r.Meeting == nil {
		return nil
	}
	return &results.FleetShare{Number: r.Share.Number(), Shares: max(r.Share.Count, 1), Meeting: r.Meeting.Plan().Nonce, Host: hostName()}
}

func hostName() string {
	name, _ := os.Hostname()
	return name
}

// meet waits until all shares have come to a stage of a cell. A run that is alone does not wait.
func (r *runner) meet(ctx context.Context, cell int, stage string) error {
	if r.Meeting == nil {
		return nil
	}
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	return r.Meeting.Await(ctx, cell, stage)
}

// byLowest has the lowest share do something, for which the others wait.
func (r *runner) byLowest(ctx context.Context, cell int, stage string, do func() error) error {
	if r.Share.Lowest() {
		if err := do(); err != nil {
			return err
		}
	}
	return r.meet(ctx, cell, stage)
}

// makeRoot makes the root. In a fleet the lowest share does, and the others know it by the nonce of their meeting.
func (r *runner) makeRoot(ctx context.Context, s zk.Session) error {
	if r.Meeting != nil {
		r.home.ID = r.Meeting.Plan().Nonce
	}
	s = zk.Prompt(s, max(r.profile.SessionTimeout, leastPrompt))
	if err := r.byLowest(ctx, 0, stageRoot, func() error { return r.home.Make(ctx, s) }); err != nil || r.Share.Lowest() {
		return err
	}
	return r.home.Make(ctx, s)
}

// elsewhere refuses a meeting on the servers under test: what the shares say to each other would be part of the load, and lost with it.
func (r *runner) elsewhere(ctx context.Context, s zk.Session) error {
	if r.Meeting == nil || r.AllowShared {
		return nil
	}
	same, err := r.Meeting.MeetsOn(ctx, s)
	if same {
		return errors.New("the shares meet on the servers under test: give --meet another ensemble, or use --allow-shared")
	}
	return err
}

// attend ends the run when the meeting does, and the meeting when the run is interrupted or fails. The caller calls leave.
func (r *runner) attend(ctx context.Context) (leave func()) {
	if r.Meeting == nil {
		return func() {}
	}
	stop, over, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.stop = stop
	go func() {
		defer close(done)
		select {
		case <-r.Config.Stop:
			close(stop)
			r.Meeting.Stop(context.WithoutCancel(ctx), fleet.Interrupt, "interrupted")
		case <-r.Meeting.Ended():
			close(stop)
		case <-r.failed:
			r.Meeting.Stop(context.WithoutCancel(ctx), fleet.Failure, r.why.Error())
		case <-over:
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// tellFleet tells the other shares how this one goes on, and adds up what all tell; nil where this is not the lowest of several.
func (c *cell) tellFleet(now time.Duration, p metrics.Point) *Fleet {
	if c.Meeting == nil || c.Share.Whole() {
		return nil
	}
	own := fleet.Live{Cell: c.number, Phase: c.phase(now), Sessions: c.seats(), Connected: c.connectedNow(), PerSecond: p.PerSecond, Errors: p.Errors, P99: inMillis(p.P99)}
	c.Meeting.Tell(own)
	if !c.Share.Lowest() {
		return nil
	}
	all := c.Meeting.Heard()
	all[c.Share.Number()] = own
	f := &Fleet{Heard: len(all), Shares: c.Share.Count}
	for n, l := range all {
		f.Sessions, f.Connected, f.PerSecond, f.Errors = f.Sessions+l.Sessions, f.Connected+l.Connected, f.PerSecond+l.PerSecond, f.Errors+l.Errors
		if l.P99 > f.Worst || l.P99 == f.Worst && n < f.WorstOf {
			f.Worst, f.WorstOf = l.P99, n
		}
	}
	return f
}

// giveUp tells the other shares, who would wait for this one, that it will not come.
func (r *runner) giveUp(ctx context.Context, err error) {
	if r.Meeting == nil || err == nil || r.Meeting.Err() != nil || isClosed(r.Config.Stop) {
		return
	}
	why, _, _ := strings.Cut(err.Error(), "\n")
	r.Meeting.Stop(context.WithoutCancel(ctx), fleet.Failure, why)
}

// interruption is why the run was ended before its time: from here, or by another share.
func (r *runner) interruption() error {
	if r.Meeting != nil && !isClosed(r.Config.Stop) {
		if err := r.Meeting.Err(); err != nil {
			return err
		}
	}
	return errInterrupted
}

// uprooting is why the root was lost: a share that is cut off from the others does not hear that they end the run.
func (r *runner) uprooting() error {
	if r.Meeting != nil && r.Meeting.CutOff() {
		return fmt.Errorf("%w, and the other shares ended the run", fleet.ErrCoordinator)
	}
	return r.why
}

// seats is how many of the sessions this process carries out: its share of them.
func (c *cell) seats() int { return c.Share.Of(c.sessions) }

// session is the number of the session at a place of this share.
func (c *cell) session(place int) int {
	return sharing.Deal{Sessions: c.sessions, Objects: load(c.spec, "").Objects(), Shares: max(c.Share.Count, 1)}.Session(place, c.Share.Index)
}

// lookAfter closes the sessions of a cell, and looks at what they leave before that and after it. The shares of a fleet wait for each other to
// give back what they hold, and to close; of a cell that was cut short they do not know where the others are.
func (c *cell) lookAfter(ctx context.Context) error {
	if c.cut && c.Meeting != nil {
		c.clients.close(atOnce)
		if !c.Share.Lowest() {
			c.recordFaults()
		}
		return nil
	}
	err := c.tellFaults(ctx)
	if err == nil {
		if len(c.profile.Faults) > 0 {
			c.loaded.Store(c) // servers that the first share has taken down may not have answered for long
		}
		err = c.meet(ctx, stageDrained)
		c.loaded.Store(nil)
	}
	if err == nil {
		err = c.learnFaults(ctx)
	}
	if !c.Share.Lowest() {
		c.recordFaults()
	}
	if err == nil {
		err = c.byLowest(ctx, c.number, stageSeen, func() error { return c.inspectOpen(ctx) })
	}
	if err != nil {
		c.clients.close(c.seats())
		return err
	}
	c.compareServers(ctx)
	c.clients.close(atOnce)
	orphans := func(context.Context) error { return nil }
	if c.faults.Started() || len(c.lostLeaders()) > 0 {
		orphans = c.findOrphans
	}
	if !c.Share.Lowest() { // later the first share may clear the cell away
		return errors.Join(orphans(ctx), c.meet(ctx, stageClosed))
	}
	if err := c.meet(ctx, stageClosed); err != nil {
		return err
	}
	if err := c.inspect(ctx); err != nil {
		return err
	}
	return orphans(ctx)
}

// checks are those that the samples of this share are enough for: a violation among some of the sessions is one. What is left is looked at by
// the lowest share.
func (c *cell) checks() (mine []check.Check, others []string) {
	for _, k := range c.work.Checks() {
		switch {
		case c.Share.Whole(), k.Part, k.Left && c.Share.Lowest():
			mine = append(mine, k)
		default:
			others = append(others, k.Name)
		}
	}
	return mine, others
}

// sharedNote says what the verdicts of a share are of.
func (c *cell) sharedNote() string {
	_, others := c.checks()
	if c.Share.Whole() {
		return ""
	}
	note := fmt.Sprintf("share %v: figures and verdicts are of %d of the %s", c.Share, c.seats(), phrase.Count(c.sessions, "session"))
	if len(c.profile.Gates) > 0 {
		note += "; its gates are for all shares together, and judged when they are merged"
	}
	if len(others) > 0 {
		note += "; not judged on this share: " + strings.Join(others, ", ")
	}
	return note
}

// accountFor takes what holds back from a cell in which a share was not accounted for: what the others did is not known. Violations stay.
func (r *runner) accountFor(c *results.Cell) {
	if r.Meeting != nil && r.Meeting.Err() != nil {
		unaccounted(c, r.Meeting.Err().Error())
	}
}

// unaccounted makes a cell partial, and unknown what holds in it.
func unaccounted(c *results.Cell, why string) {
	c.Partial = true
	for i, k := range c.Checks {
		if k.Verdict == check.Holds.String() {
			c.Checks[i] = results.Check{Name: k.Name, Verdict: check.Unknown.String(), Detail: "not judged: " + why}
		}
	}
}

// ending is the exit code of a run that err has cut short.
func (r *runner) ending(err error) int {
	switch {
	case Interrupted(err):
		return 130
	case (errors.Is(err, fleet.ErrLost) || errors.Is(err, fleet.ErrCoordinator)) && len(r.doc.Cells) > 0:
		return 5
	}
	return 1
}

// awaitOthers has the lowest share wait until the others have ended, so that it may remove the root. Without the coordinator it
// waits as long as they may take.
func (r *runner) awaitOthers(ctx context.Context) error {
	if r.Meeting == nil || !r.Share.Lowest() || r.Share.Whole() || !r.touched {
		return nil
	}
	patience := r.profile.Drain + r.profile.SessionTimeout + grace
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := r.Meeting.AwaitOthers(ctx)
	if errors.Is(err, fleet.ErrCoordinator) {
		sleep.For(ctx, patience)
	}
	return err
}

// sayDone tells the meeting how this share has ended.
func (r *runner) sayDone(ctx context.Context) {
	if r.Meeting == nil {
		return
	}
	o := fleet.Outcome{Code: r.doc.Exit.Code, Reason: r.doc.Exit.Reason, Dir: r.Out.Path()}
	if text, err := os.ReadFile(filepath.Join(r.Out.Path(), results.RunFile)); err == nil {
		sum := sha256.Sum256(text)
		o.SHA256 = hex.EncodeToString(sum[:])
	}
	if err := r.Meeting.Done(context.WithoutCancel(ctx), o); err != nil {
		r.tell(fmt.Sprintf("warning: the other shares could not be notified that this one is done: %v", err))
	}
}
