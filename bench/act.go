package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Act is a workload without a load: it is carried out once, by itself, and fills the document in. What it has in common with every
// run is the ensemble, the root, the document and the cleaning up.
type Act struct {
	Name, Doc string
	Variants  func() []string
	// Persistent tells which variants need sessions that keep watches armed; nil: none.
	Persistent func(variant string) bool
	Once       bool // it has no repetitions
	Secured    bool // it can be played on secured servers
	Sessions   int  // that it opens at most at once
	// Znodes are the names of what it makes below the root.
	Znodes recipes.Znodes
	Do     func(ctx context.Context, s Stage) error
}

// Stage is what an act is carried out on. Its functions may be called from many goroutines.
type Stage struct {
	Root      string   // an existing znode, which is removed with all below it
	Addresses []string // of the servers
	Variants  []string // of the profile
	Rounds    int      // the profile's repetitions
	Engine    string   // the profile's, and its session timeout
	Timeout   time.Duration
	Document  *results.Run
	// Identity is who the sessions of the run are, and DialAs opens one that is somebody else.
	Identity access.Identity
	DialAs   func(ctx context.Context, who access.Identity) (zk.Session, error)
	// Dial opens a session of the profile's engine at these addresses.
	Dial func(ctx context.Context, addresses []string) (zk.Session, error)
	// Tell shows a line of progress.
	Tell func(message string)
}

// kind is the act as far as a profile is checked against it: it has no options.
func (a Act) kind() workloads.Kind {
	k := workloads.Kind{Doc: a.Doc, Workload: profiles.Workload{Name: a.Name, Shape: profiles.Played, Once: a.Once}}
	for _, v := range a.Variants() {
		k.Variants = append(k.Variants, workloads.Variant{Name: v, Persistent: a.Persistent != nil && a.Persistent(v)})
	}
	return k
}

// perform carries an act out. An interrupt ends its context.
func (r *runner) perform(ctx context.Context, a Act) error {
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	var opened atomic.Uint64 // each session has a seed of its own, which spreads them over the servers
	within := func(ctx context.Context, dial func(context.Context, uint64) (zk.Session, error)) (zk.Session, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		s, err := dial(ctx, r.profile.Seed+opened.Add(1))
		if err != nil {
			return nil, err
		}
		return zk.Within(s, r.Root), nil
	}
	who := r.access
	if who == nil {
		who = access.Plain(r.most(r.profile))
	}
	err := a.Do(ctx, Stage{Root: r.Root, Addresses: r.Ensemble.Addresses(), Variants: r.profile.Variants, Rounds: r.profile.Repetitions,
		Engine: r.engine.Name, Timeout: r.profile.SessionTimeout, Document: r.doc, Tell: r.tell,
		Identity: who.Session(0),
		Dial: func(ctx context.Context, addresses []string) (zk.Session, error) {
			return within(ctx, func(ctx context.Context, seed uint64) (zk.Session, error) {
				return r.engine.Dial(ctx, addresses, r.profile.SessionTimeout, seed)
			})
		},
		DialAs: func(ctx context.Context, who access.Identity) (zk.Session, error) {
			return within(ctx, func(ctx context.Context, seed uint64) (zk.Session, error) {
				return r.engine.DialAs(ctx, r.Ensemble.Addresses(), r.profile.SessionTimeout, seed, who)
			})
		}})
	if err == nil {
		r.checkRoot(ctx)
	}
	if r.uprooted() { // a trial may have taken it for its recipe's fault
		r.doc.Findings = nil
	}
	return r.cause(err)
}
