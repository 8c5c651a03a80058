package published

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkbench/zkbench/zk"
)

// Servers is an ensemble whose connections can be broken at named points.
type Servers interface {
	// Dial opens a session. Its engine must tell a lost reply with zk.ErrMaybeApplied, as all of package zk's do.
	Dial(ctx context.Context) (zk.Session, error)
	// Expire ends a session on the servers while its client lives.
	Expire(ctx context.Context, s zk.Session) error
	// Cut breaks the connection of the session at its next request of the kind, once: before the servers hear of it, or, applied,
	// after they have carried it out and before the client hears of that. wasCut waits until it has happened; false when ctx ends
	// before.
	Cut(s zk.Session, kind zk.Kind, applied bool) (wasCut func(ctx context.Context) bool)
}

// Config is one run of the scenarios.
type Config struct {
	Servers  Servers
	Dir      string   // an existing znode; each trial makes one below it, and leaves it
	Variants []string // of Variants()
	// Parallel is how many trials go on at once; 0: one. Most of their time they listen to silence.
	Parallel int
	// Played, if not nil, is told of each trial that is over, from one goroutine at a time.
	Played func(n, of int, f Finding)
}

// Finding is what came of one trial.
type Finding struct {
	Expectation
	Seen    Violation
	Witness string // what shows it, or that there is nothing to show
	// Err is why the trial could not be played to its end; nothing was found then.
	Err error
}

// Run plays the scenarios of the variants, and each of these with the control. The findings are in the order of Expectations. The
// error is the end of ctx.
func Run(ctx context.Context, c Config) ([]Finding, error) {
	trials := plan(c.Variants)
	findings := make([]Finding, len(trials))
	next := make(chan int)
	var workers sync.WaitGroup
	var told sync.Mutex
	played := 0
	for range max(c.Parallel, 1) {
		workers.Go(func() {
			for i := range next {
				findings[i] = play(ctx, c.Servers, fmt.Sprintf("%s/trial-%d", c.Dir, i), trials[i])
				told.Lock()
				played++
				if c.Played != nil {
					c.Played(played, len(trials), findings[i])
				}
				told.Unlock()
			}
		})
	}
	for i := range trials {
		select {
		case next <- i:
		case <-ctx.Done():
			findings[i] = Finding{Expectation: trials[i], Err: ctx.Err()}
		}
	}
	close(next)
	workers.Wait()
	return findings, ctx.Err()
}

// play plays one trial.
func play(ctx context.Context, servers Servers, dir string, e Expectation) Finding {
	f := Finding{Expectation: e}
	of, ok := subjectOf(e.Variant)
	if !ok {
		f.Err = fmt.Errorf("no recipe is called %s", e.Variant)
		return f
	}
	for _, s := range Scenarios {
		if s.Name != e.Scenario {
			continue
		}
		t, err := newTrial(ctx, servers, of, dir)
		if err != nil {
			f.Err = err
			return f
		}
		t.directory()
		s.play(t)
		t.end()
		f.Seen, f.Witness, f.Err = t.seen, t.witness, t.err
		return f
	}
	f.Err = fmt.Errorf("no scenario is called %s", e.Scenario)
	return f
}

// errNotStaged: the situation did not come about.
var errNotStaged = errors.New("the situation could not be staged")
