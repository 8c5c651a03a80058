package bench

import (
	"context"
	"errors"
	"fmt"

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
	fewWatchers  = 10   // sessions that share the watches of a prefill, where its znodes are enough
	mostWatchers = 1000 // of which each has one watch on each znode
)

// watchersFor is how many sessions hold so many watches on n znodes: a session has one on a znode.
func watchersFor(watches, n int) int {
	if n == 0 {
		return 0
	}
	return min(watches, max(fewWatchers, (watches+n-1)/n))
}

// mostPrefillWatchers is how many sessions the watches of any prefill of a profile take.
func mostPrefillWatchers(p profiles.Profile) (most int) {
	for _, n := range p.Prefill {
		most = max(most, watchersFor(p.PrefillWatches, n))
	}
	return most
}

// checkPrefill reports watches that the znodes of a prefill have no room for.
func checkPrefill(p profiles.Profile) (problems []error) {
	for _, n := range p.Prefill {
		if k := watchersFor(p.PrefillWatches, n); k > mostWatchers {
			problems = append(problems, fmt.Errorf("%s: prefill_watches: %s on %s need %d sessions, one watch on a znode each (expected at most %d sessions: fewer watches, or more znodes)",
				p.At("prefill_watches", 0), phrase.Count(p.PrefillWatches, "watch"), phrase.Count(n, "znode"), k, mostWatchers))
		}
	}
	return problems
}

// watchPrefill opens the sessions of the prefill, each of which arms its share of the watches on its znodes and keeps them until close.
func (r *runner) watchPrefill(ctx context.Context, n int) error {
	count := watchersFor(r.profile.PrefillWatches, n)
	if count == 0 {
		return nil
	}
	dir, fan := r.Root+"/"+root.PrefillName, fanFor(n, r.profile.PrefillDepth)
	sessions, errs := make([]zk.Session, count), make([]error, count)
	inParallel(count, fewWatchers, func(i int) {
		s, err := r.openWatcher(ctx, i)
		if err != nil {
			errs[i] = err
			return
		}
		sessions[i], s = s, r.prompt(s)
		for k := i; k < r.profile.PrefillWatches; k += count {
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
	r.filled.watches = r.profile.PrefillWatches
	return errors.Join(errs...)
}

// openWatcher opens a session of the prefill, which goes to the servers as a client of the load does, and is one of these where sessions have an identity.
func (r *runner) openWatcher(ctx context.Context, i int) (zk.Session, error) {
	seed := r.profile.Seed + 1 + uint64(i%max(r.most(r.profile), 1))
	if r.profile.ACL == profiles.ACLCreator { // the administrative session has made the znodes
		seed = r.profile.Seed
	}
	return r.dial(ctx, r.Ensemble.Addresses(), seed)
}

// close ends the sessions of the prefill, and with them its watches.
func (w *watchers) close() {
	inParallel(len(w.sessions), fewWatchers, func(i int) {
		w.sessions[i].Close() // its error says that the servers did not answer: the session then expires there
	})
	*w = watchers{}
}

// note says what the sessions of the prefill held, and which of them were lost.
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
