package bench

import (
	"sync"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// rollCall records which servers answered at any time of the run, and how many servers vote in their ensemble. Its methods may be called
// from several goroutines.
type rollCall struct {
	mu       sync.Mutex
	answered map[string]bool
	voting   int      // 0 if no server has reported it
	versions []string // of each server at the end; nil if they cannot have changed
}

func (r *rollCall) call(all []ensemble.ServerStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered == nil {
		r.answered = map[string]bool{}
	}
	for _, st := range all {
		if load.Serves(st) {
			r.answered[st.Address] = true
		}
		if r.voting = max(r.voting, st.QuorumSize); r.voting == 0 && st.State == "standalone" && len(all) == 1 {
			r.voting = 1
		}
	}
}

// last records the version of each server at the end of the run; "" for one that does not report it.
func (r *rollCall) last(all []ensemble.ServerStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions = make([]string, len(all))
	for i, st := range all {
		r.versions[i] = st.Version
	}
}

func (r *rollCall) tell(e *results.Environment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.ZooKeeperAtEnd = r.versions
	if e.Answered = new(len(r.answered)); r.voting > 0 {
		e.Voting = new(r.voting)
	}
}
