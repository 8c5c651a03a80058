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

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// CheckShare returns an error if several shares cannot carry out a profile. The error is ErrProfile and lists all reasons.
func (b Setup) CheckShare(p profiles.Profile, s fleet.Share) error {
	if s.Whole() {
		return nil
	}
	var problems []error
	problem := func(at, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
	if kind, known := b.workload(p.Workload); known && kind.Shared != nil {
		for _, found := range kind.Shared(p, s.Count) {
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

// shareResult returns what the document says about the share, or nil if the run has no shares.
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

// makeRoot creates the root. In a fleet the lowest share creates it, and the others recognize it by the nonce of their meeting.
func (r *runner) makeRoot(ctx context.Context, s zk.Session) error {
	if r.Meeting != nil {
		r.target.Home.ID = r.Meeting.Plan().Nonce
	}
	s = zk.Prompt(s, max(r.target.Profile.SessionTimeout, target.LeastPrompt))
	if err := r.load.ByLowest(ctx, r.failure, 0, fleet.RootMade, func() error { return r.target.Home.Make(ctx, s) }); err != nil || r.Share.Lowest() {
		return err
	}
	return r.target.Home.Make(ctx, s)
}

// elsewhere returns an error if the shares meet on the servers under test: their messages would be part of the load, and would be lost with the servers.
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

// attend ends the run when the meeting ends, and the meeting when the run is interrupted or fails. The caller calls leave.
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
		case <-r.failure.Failed():
			r.Meeting.Stop(context.WithoutCancel(ctx), fleet.Failure, r.failure.Why().Error())
		case <-over:
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// giveUp tells the other shares, which would otherwise wait for this one, that it has failed.
func (r *runner) giveUp(ctx context.Context, err error) {
	if r.Meeting == nil || err == nil || r.Meeting.Err() != nil || load.IsClosed(r.Config.Stop) {
		return
	}
	why, _, _ := strings.Cut(err.Error(), "\n")
	r.Meeting.Stop(context.WithoutCancel(ctx), fleet.Failure, why)
}

// interruption returns why the run was ended early: by an interrupt here, or by another share.
func (r *runner) interruption() error {
	if r.Meeting != nil && !load.IsClosed(r.Config.Stop) {
		if err := r.Meeting.Err(); err != nil {
			return err
		}
	}
	return errInterrupted
}

// uprooting returns why the root was lost: a share that is cut off from the others does not learn that they end the run.
func (r *runner) uprooting() error {
	if r.Meeting != nil && r.Meeting.CutOff() {
		return fmt.Errorf("%w, and the other shares ended the run", fleet.ErrCoordinator)
	}
	return r.failure.Why()
}

// accountFor withdraws the checks that hold in a cell if a share was not accounted for, because what it did is not known. Violations stay.
func (r *runner) accountFor(c *results.Cell) {
	if r.Meeting != nil && r.Meeting.Err() != nil {
		outcome.Unaccounted(c, r.Meeting.Err().Error())
	}
}

// awaitOthers makes the lowest share wait until the others have ended, so that it can remove the root. Without the coordinator it
// waits for the longest time that they may take.
func (r *runner) awaitOthers(ctx context.Context) error {
	if r.Meeting == nil || !r.Share.Lowest() || r.Share.Whole() || !r.leftovers {
		return nil
	}
	limit := r.target.Profile.Drain + r.target.Profile.SessionTimeout + load.EndTimeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.Meeting.AwaitOthers(ctx)
	if errors.Is(err, fleet.ErrCoordinator) {
		sleep.For(ctx, limit)
	}
	return err
}

// sayDone reports to the meeting how this share has ended.
func (r *runner) sayDone(ctx context.Context) {
	if r.Meeting == nil {
		return
	}
	o := fleet.Outcome{Code: r.results.Run.Exit.Code, Reason: r.results.Run.Exit.Reason, Dir: r.Out.Path()}
	if text, err := os.ReadFile(filepath.Join(r.Out.Path(), results.RunFile)); err == nil {
		sum := sha256.Sum256(text)
		o.SHA256 = hex.EncodeToString(sum[:])
	}
	if err := r.Meeting.Done(context.WithoutCancel(ctx), o); err != nil {
		r.load.Tell(fmt.Sprintf("warning: the other shares could not be notified that this one is done: %v", err))
	}
}
