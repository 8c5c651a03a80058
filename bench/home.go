package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// keepRoot marks the root as in use for as long as the run goes on, and ends the run when somebody else removes or takes it. The caller
// calls stop before it removes the root itself.
func (r *runner) keepRoot(ctx context.Context) (stop func()) {
	r.turn <- struct{}{}
	r.stands = true
	<-r.turn
	ctx, end := r.bounded(ctx, nil)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			s, err := r.administrator(ctx)
			if err != nil {
				sleep.For(ctx, time.Second)
				continue
			}
			r.noteLoss(r.home.Watch(ctx, s))
			sleep.For(ctx, time.Second) // the session has ended: servers that end each new one are not asked for more all the time
		}
	}()
	return func() {
		end()
		<-over
	}
}

// noteLoss ends the run if err says that its root is lost.
func (r *runner) noteLoss(err error) {
	if isLoss(err) {
		r.fail(err)
	}
}

func isLoss(err error) bool { return errors.Is(err, root.ErrGone) || errors.Is(err, root.ErrTaken) }

// uprooted reports whether the run has lost its root to somebody else.
func (r *runner) uprooted() bool { return isClosed(r.failed) && isLoss(r.why) }

// checkRoot asks whether the root still stands, so that its loss is known before anything is judged.
func (r *runner) checkRoot(ctx context.Context) {
	ctx, end := r.bounded(ctx, nil)
	defer end()
	r.noteLoss(r.admin(ctx, func(s zk.Session) error { return r.home.Stands(ctx, s) }))
}

// unjudge takes verdicts back: without the root the recipes have nothing to rely on.
func unjudge(checks []results.Check) {
	for i, k := range checks {
		checks[i] = results.Check{Name: k.Name, Verdict: check.Unknown.String(), Detail: "not judged: another client removed the root of the run"}
	}
}

// owns tells the sessions of the run from others; nil where some are opened by processes of their own, which do not tell.
func (r *runner) owns() func(id int64) bool {
	if _, act := r.act(r.profile.Workload); act || !r.Share.Whole() {
		return nil
	}
	return func(id int64) bool {
		_, ours := r.dialed.Load(id)
		return ours
	}
}

// hasty is how long the removal of the root may take once the run has to end at once.
const hasty = 5 * time.Second

// end removes the root, also after an interrupt: the time for it is its own.
func (r *runner) end(ctx context.Context) error {
	defer r.closeAdmin()
	if !r.touched || !r.Share.Lowest() {
		return nil
	}
	patience := r.profile.SessionTimeout + time.Minute + r.removal()
	switch {
	case r.mute:
		patience = hasty
	case isClosed(r.failed): // the servers may be gone
		patience = grace
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		sleep.For(clean, hasty)
		cancel()
	})()
	var left []root.Foreign
	err := access.Explain(r.admin(clean, func(s zk.Session) (err error) {
		left, err = r.home.Remove(clean, s, r.owns())
		return err
	}))
	switch {
	case err == nil && len(left) > 0:
		err = root.LeftError(left, r.servers(), r.Root, r.access.Flags())
		r.doc.LeftBehind = err.Error()
		return err
	case err == nil, isLoss(err) && r.uprooted():
		r.touched = false
		return nil
	case isLoss(err):
		r.touched = false
		return err
	}
	r.doc.LeftBehind = fmt.Sprintf("%s was left behind: %v\nremove it with: %s", r.Root, err, root.CleanCommand(r.servers(), r.Root, r.access.Flags()))
	first, _, _ := strings.Cut(r.doc.LeftBehind, "\n")
	r.doc.Notes = append(r.doc.Notes, first)
	if isClosed(r.failed) || ctx.Err() != nil { // why the run ended says more
		return nil
	}
	return errors.New(r.doc.LeftBehind)
}

func (r *runner) servers() string { return strings.Join(r.Ensemble.Addresses(), ",") }
