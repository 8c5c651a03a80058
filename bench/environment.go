package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// environment is what a run has on one ensemble. A run whose profile names several has one after the other.
type environment struct {
	profile profiles.Profile // with this ensemble alone
	number  int              // from 0
	apart   []profiles.Setting
	engine  Engine
	access  *access.Access // who the sessions are; nil: plain ones
	home    *root.Root
	touched bool         // there may be something of ours at Root
	mute    bool         // the servers did not answer when the root was to be made
	stands  bool         // the root has been made, and nothing is known of its loss; guarded by turn
	young   bool         // the servers have been up for so short a time that they get faster yet, and have had no cell
	front   *proxy.Proxy // in front of the servers for the sessions of the cells; nil when no fault needs it

	roll    rollCall
	filled  prefill    // what is there beside the cells
	session zk.Session // the administrative one; guarded by turn
}

// environments carries out the profile on one ensemble after the other. The first on which not everything can be done ends the run. begun is false
// when no root could be made.
func (r *runner) environments(ctx context.Context) (begun bool, err, left error) {
	for i, p := range r.Profile.Environments() {
		if i > 0 {
			if err := r.move(ctx, p); err != nil {
				return true, err, nil
			}
		}
		leave, err := r.enter(ctx, p, i)
		if err != nil {
			return begun, err, nil
		}
		made, err, left := r.stay(ctx)
		leave()
		if begun = begun || made; err != nil || left != nil {
			return begun, err, left
		}
	}
	return begun, nil, nil
}

// enter makes r ready for an ensemble, which is there. The caller calls leave.
func (r *runner) enter(ctx context.Context, p profiles.Profile, number int) (leave func(), err error) {
	r.environment = &environment{profile: p, number: number, apart: r.Profile.Apart(p)}
	r.dialed.Clear()
	r.home = root.New(r.Root, r.Name, p.Name, p.SessionTimeout, r.Setup.Names())
	r.home.UnusedParent = r.UnusedParent
	r.engine, _ = r.engineOf()
	if err := r.secure(); err != nil {
		return nil, err
	}
	if r.Share.Lowest() {
		if err := joined(faults.CheckThere(ctx, p, r.Ensemble)...); err != nil {
			return nil, err
		}
	}
	leave = func() {}
	if faults.NeedsProxy(p) {
		front, err := proxy.Start(ctx, proxy.Config{Upstreams: r.Ensemble.Addresses(), Seed: p.Seed, Encrypted: r.access.Encrypted()})
		if err != nil {
			return nil, err
		}
		r.front, leave = front, func() { front.Close() }
	}
	r.describe()
	stats := r.Ensemble.Stats(ctx)
	r.young = slices.ContainsFunc(stats, func(st ensemble.ServerStats) bool {
		return st.Err == nil && st.Uptime > 0 && st.Uptime < youth
	})
	r.roll.call(stats)
	return leave, nil
}

// youth is how long a server counts as young: Java compiles what runs often only after it has run for a while.
const youth = time.Minute

// describe puts the ensemble into the document.
func (r *runner) describe() {
	if r.doc == nil {
		r.doc = r.document()
	}
	if r.several() {
		r.doc.Environments = append(r.doc.Environments, r.described())
	}
	if r.front != nil && !slices.Contains(r.doc.Notes, faults.ProxyNote) {
		r.doc.Notes = append(r.doc.Notes, faults.ProxyNote)
	}
}

// several reports whether the run has one ensemble after the other.
func (r *runner) several() bool { return len(r.Profile.Environments()) > 1 }

// tellRoll writes into the document which servers answered.
func (r *runner) tellRoll() {
	if r.number == 0 {
		r.roll.tell(&r.doc.Environment)
	}
	if r.several() {
		r.roll.tell(&r.doc.Environments[r.number])
	}
}

// move ends the ensemble that is there, and starts that of a profile. An interrupt ends it at once.
func (r *runner) move(ctx context.Context, p profiles.Profile) error {
	if err := r.cause(ctx.Err()); err != nil {
		return err
	}
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	e, err := r.Next(ctx, p)
	if err != nil {
		return r.cause(fmt.Errorf("start the next ensemble: %w", err))
	}
	r.Ensemble = e
	return nil
}

// stay carries out what the profile has on the ensemble that is there, and removes the root. begun is false when the root could not be made.
func (r *runner) stay(ctx context.Context) (begun bool, err, left error) {
	unwatch := r.watch(ctx)
	err = r.begin(ctx)
	if begun = err == nil; begun {
		err = r.carryOut(ctx)
	}
	if r.uprooted() { // whatever else failed, failed by it
		err = r.uprooting()
	}
	r.giveUp(ctx, err)
	if others := r.awaitOthers(ctx); err == nil {
		err = others
	}
	unwatch()
	r.filled.close()
	r.tellRoll()
	left = r.end(ctx)
	r.tellConnecting()
	return begun, err, left
}

// checkEnvironments reports what cannot be done with several ensembles.
func (b Setup) checkEnvironments(p profiles.Profile) (problems []error) {
	if n := len(p.Environments()); n > 1 {
		if _, act := b.act(p.Workload); act {
			problems = append(problems, fmt.Errorf("%s: workload %s is played on one ensemble (expected one value, got %s)", p.AtApart(), p.Workload,
				phrase.Count(n, "ensemble")))
		}
	}
	if i := slices.Index(p.Ensemble, profiles.Given); i >= 0 && len(p.Ensemble) > 1 {
		problems = append(problems, fmt.Errorf("%s: ensemble: %s cannot be one of several (expected ensembles that zkbench starts, or %s alone)",
			p.At("ensemble", i), profiles.Given, profiles.Given))
	}
	return problems
}
