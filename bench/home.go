package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// unjudge withdraws verdicts: without the root the recipes have nothing to rely on.
func unjudge(checks []results.Check) {
	for i, k := range checks {
		checks[i] = results.Check{Name: k.Name, Verdict: check.Unknown.String(), Detail: "not judged: another client removed the root of the run"}
	}
}

// owns returns a function that distinguishes the sessions of the run from others. It is nil if other processes open some of them without reporting them.
func (r *runner) owns() func(id int64) bool {
	if _, act := r.act(r.target.Profile.Workload); act || !r.Share.Whole() {
		return nil
	}
	return r.target.Owns
}

// forcedRemoval is how long the removal of the root may take once the run has to end at once.
const forcedRemoval = 5 * time.Second

// end removes the root, also after an interrupt. It has a separate time limit.
func (r *runner) end(ctx context.Context) error {
	defer r.target.CloseAdmin()
	if !r.leftovers || !r.Share.Lowest() {
		return nil
	}
	limit := r.target.Profile.SessionTimeout + time.Minute + r.removal()
	switch {
	case r.unmade:
		limit = forcedRemoval
	case r.failure.Why() != nil: // the servers may be gone
		limit = load.EndTimeout
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		sleep.For(clean, forcedRemoval)
		cancel()
	})()
	var left []root.Foreign
	err := access.Explain(r.target.Admin(clean, func(s zk.Session) (err error) {
		left, err = r.target.Home.Remove(clean, s, r.owns())
		return err
	}))
	switch {
	case err == nil && len(left) > 0:
		err = root.LeftError(left, r.servers(), r.Root, r.target.Access.Flags())
		r.results.Run.LeftBehind = err.Error()
		return err
	case err == nil, target.IsLoss(err) && r.failure.RootLost():
		r.leftovers = false
		return nil
	case target.IsLoss(err):
		r.leftovers = false
		return err
	}
	r.results.Run.LeftBehind = fmt.Sprintf("%s was left behind: %v\nremove it with: %s", r.Root, err, root.CleanCommand(r.servers(), r.Root, r.target.Access.Flags()))
	first, _, _ := strings.Cut(r.results.Run.LeftBehind, "\n")
	r.results.Run.Notes = append(r.results.Run.Notes, first)
	if r.failure.Why() != nil || ctx.Err() != nil { // the reason for the end of the run says more
		return nil
	}
	return errors.New(r.results.Run.LeftBehind)
}

func (r *runner) servers() string { return strings.Join(r.Ensemble.Addresses(), ",") }
