package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// watchers are the sessions that hold the watches on the znodes of a prefill.
type watchers struct {
	sessions []zk.Session
	watches  int
}

const (
	fewWatchers  = 10   // sessions that share the watches of a prefill, if it has enough znodes
	mostWatchers = 1000 // the most sessions, each with one watch on each znode
)

// watchersFor returns how many sessions hold the watches on n znodes: a session has at most one on a znode.
func watchersFor(watches, n int) int {
	if n == 0 {
		return 0
	}
	return min(watches, max(fewWatchers, (watches+n-1)/n))
}

// mostPrefillWatchers returns the largest number of sessions that the watches of a prefill of a profile take.
func mostPrefillWatchers(p profiles.Profile) (most int) {
	for _, n := range p.Prefill {
		most = max(most, watchersFor(p.PrefillWatches, n))
	}
	return most
}

// checkPrefill returns a problem for each prefill with too few znodes for its watches.
func checkPrefill(p profiles.Profile) (problems []error) {
	for _, n := range p.Prefill {
		if k := watchersFor(p.PrefillWatches, n); k > mostWatchers {
			problems = append(problems, fmt.Errorf("%s: prefill_watches: %s on %s need %d sessions, one watch on a znode each (expected at most %d sessions: fewer watches, or more znodes)",
				p.At("prefill_watches", 0), phrase.Count(p.PrefillWatches, "watch"), phrase.Count(n, "znode"), k, mostWatchers))
		}
	}
	return problems
}

// watchPrefill opens the sessions of the prefill. Each session arms its share of the watches on the znodes and keeps them until close.
func (r *runner) watchPrefill(ctx context.Context, n int) error {
	count := watchersFor(r.target.Profile.PrefillWatches, n)
	if count == 0 {
		return nil
	}
	dir, fan := r.Root+"/"+root.PrefillName, fanFor(n, r.target.Profile.PrefillDepth)
	sessions, errs := make([]zk.Session, count), make([]error, count)
	load.InParallel(count, fewWatchers, func(i int) {
		s, err := r.openWatcher(ctx, i)
		if err != nil {
			errs[i] = err
			return
		}
		sessions[i], s = s, r.target.Prompt(s)
		for k := i; k < r.target.Profile.PrefillWatches; k += count {
			if _, _, _, err := s.ExistsW(ctx, dir+grown(k/count+1, fan)); err != nil {
				errs[i] = err
				return
			}
		}
	})
	for _, s := range sessions {
		if s != nil {
			r.filled.sessions = append(r.filled.sessions, s)
		}
	}
	r.filled.watches = r.target.Profile.PrefillWatches
	return errors.Join(errs...)
}

// openWatcher opens a session of the prefill. It connects to the servers as a client of the load does and, if sessions have identities, has that of a client.
func (r *runner) openWatcher(ctx context.Context, i int) (zk.Session, error) {
	seed := r.target.Profile.Seed + 1 + uint64(i%max(r.most(r.target.Profile), 1))
	if r.target.Profile.ACL == profiles.ACLCreator { // the administrative session has created the znodes
		seed = r.target.Profile.Seed
	}
	return r.target.Dial(ctx, r.Ensemble.Addresses(), seed)
}

// close ends the sessions of the prefill, and with them its watches.
func (w *watchers) close() {
	load.InParallel(len(w.sessions), fewWatchers, func(i int) {
		w.sessions[i].Close() // an error means that the servers did not answer: the session then expires
	})
	*w = watchers{}
}

// note describes the watches of the prefill's sessions, and how many sessions were lost.
func (w watchers) note() (text string) {
	if w.watches == 0 {
		return ""
	}
	text = fmt.Sprintf(", with %s of %s", phrase.Count(w.watches, "watch"), phrase.Count(len(w.sessions), "session"))
	lost := 0
	for _, s := range w.sessions {
		if s.Err() != nil {
			lost++
		}
	}
	if lost > 0 {
		text += fmt.Sprintf(" (%d of which were lost, and their watches with them)", lost)
	}
	return text
}
