package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Act is a workload without a load: it is carried out once, by itself, and fills in the document. With every other run it shares the
// ensemble, the root, the document and the cleanup.
type Act struct {
	Name, Doc string
	Variants  func() []string
	// Persistent reports which variants need sessions that keep watches armed; nil means none.
	Persistent func(variant string) bool
	Once       bool // it has no repetitions
	Secured    bool // it can be played on secured servers
	Sessions   int  // the most that are open at once
	// Znodes are the names of the znodes that it creates below the root.
	Znodes recipes.Znodes
	Do     func(ctx context.Context, s Stage) error
}

// Stage is what an act runs on. Its functions may be called from many goroutines.
type Stage struct {
	Root      string   // an existing znode, which is removed with everything below it
	Addresses []string // of the servers
	Variants  []string // of the profile
	Rounds    int      // the profile's repetitions
	Engine    string   // the profile's, and its session timeout
	Timeout   time.Duration
	Document  *results.Run
	// Identity is the identity of the run's sessions. DialAs opens a session with another identity.
	Identity access.Identity
	DialAs   func(ctx context.Context, who access.Identity) (zk.Session, error)
	// Dial opens a session of the profile's engine at these addresses.
	Dial func(ctx context.Context, addresses []string) (zk.Session, error)
	// Tell shows a line of progress.
	Tell func(message string)
}

// kind returns the act in the form that profiles are checked against. It has no options.
func (a Act) kind() workloads.Kind {
	k := workloads.Kind{Doc: a.Doc, Workload: profiles.Workload{Name: a.Name, Shape: profiles.Played, Once: a.Once}}
	for _, v := range a.Variants() {
		k.Variants = append(k.Variants, workloads.Variant{Name: v, Persistent: a.Persistent != nil && a.Persistent(v)})
	}
	return k
}

// perform carries out an act. An interrupt cancels its context.
func (r *runner) perform(ctx context.Context, a Act) error {
	ctx, end := r.failure.Bounded(ctx, r.stop)
	defer end()
	var opened atomic.Uint64 // each session has another seed, which spreads them over the servers
	within := func(ctx context.Context, dial func(context.Context, uint64) (zk.Session, error)) (zk.Session, error) {
		ctx, cancel := context.WithTimeout(ctx, target.DialTimeout)
		defer cancel()
		s, err := dial(ctx, r.target.Profile.Seed+opened.Add(1))
		if err != nil {
			return nil, err
		}
		return zk.Within(s, r.Root), nil
	}
	who := r.target.Access
	if who == nil {
		who = access.Plain(r.most(r.target.Profile))
	}
	err := a.Do(ctx, Stage{Root: r.Root, Addresses: r.Ensemble.Addresses(), Variants: r.target.Profile.Variants, Rounds: r.target.Profile.Repetitions,
		Engine: r.target.Engine.Name, Timeout: r.target.Profile.SessionTimeout, Document: r.results.Run, Tell: r.load.Tell,
		Identity: who.Session(0),
		Dial: func(ctx context.Context, addresses []string) (zk.Session, error) {
			return within(ctx, func(ctx context.Context, seed uint64) (zk.Session, error) {
				return r.target.Engine.Dial(ctx, addresses, r.target.Profile.SessionTimeout, seed)
			})
		},
		DialAs: func(ctx context.Context, who access.Identity) (zk.Session, error) {
			return within(ctx, func(ctx context.Context, seed uint64) (zk.Session, error) {
				return r.target.Engine.DialAs(ctx, r.Ensemble.Addresses(), r.target.Profile.SessionTimeout, seed, who)
			})
		}})
	if err == nil {
		r.target.CheckRoot(ctx)
	}
	if r.failure.RootLost() { // a trial may have taken that for a defect of its recipe
		r.results.Run.Findings = nil
	}
	return r.cause(err)
}
