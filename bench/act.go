package bench

import (
	"context"
	"sync/atomic"
	"time"

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
	err := a.Do(ctx, Stage{Root: r.Root, Addresses: r.Ensemble.Addresses(), Variants: r.profile.Variants, Rounds: r.profile.Repetitions,
		Engine: r.engine.Name, Timeout: r.profile.SessionTimeout, Document: r.doc, Tell: r.tell,
		Dial: func(ctx context.Context, addresses []string) (zk.Session, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			s, err := r.engine.Dial(ctx, addresses, r.profile.SessionTimeout, r.profile.Seed+opened.Add(1))
			if err != nil {
				return nil, err
			}
			return zk.Within(s, r.Root), nil
		}})
	if err == nil {
		r.checkRoot(ctx)
	}
	if r.uprooted() { // a trial may have taken it for its recipe's fault
		r.doc.Findings = nil
	}
	return r.cause(err)
}
