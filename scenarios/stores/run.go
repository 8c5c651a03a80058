package stores

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/drivers"
)

// Config is one run of the scenarios.
type Config struct {
	// Drivers are the programs that drive the locks of a store, as drivers.Find takes them; one that is not here has the store's name.
	Drivers  map[string]string
	Variants []string // of Variants()
	Parallel int      // trials that go on at once; 0: one
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

// tries is how often a trial is played until it comes to its end: a machine that is too slow may let a lock expire too early for what is to be staged.
const tries = 3

// patience bounds one play: servers, or drivers, that take longer do not serve.
const patience = time.Minute

// Run plays the scenarios of the variants. The findings are in the order of Expectations. The error says that a driver is not there, or is the end of ctx.
func Run(ctx context.Context, c Config) ([]Finding, error) {
	trials := plan(c.Variants)
	commands := map[string][]string{}
	for _, e := range trials {
		store := variantOf(e.Variant).store
		if commands[store] != nil {
			continue
		}
		command, err := drivers.Find(cmp.Or(c.Drivers[store], store))
		if err != nil {
			return nil, err
		}
		commands[store] = command
	}
	findings := make([]Finding, len(trials))
	next := make(chan int)
	var workers sync.WaitGroup
	var told sync.Mutex
	played := 0
	for range max(c.Parallel, 1) {
		workers.Go(func() {
			for i := range next {
				f := Finding{Expectation: trials[i]}
				for try := 0; try < tries && (try == 0 || f.Err != nil && ctx.Err() == nil); try++ {
					f.Seen, f.Witness, f.Err = play(ctx, commands, trials[i])
				}
				findings[i] = f
				told.Lock()
				played++
				if c.Played != nil {
					c.Played(played, len(trials), f)
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

// play plays one trial, and leaves neither a process nor a server.
func play(ctx context.Context, commands map[string][]string, e Expectation) (seen Violation, witness string, err error) {
	i := slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == e.Scenario })
	if i < 0 {
		return None, "", fmt.Errorf("no scenario is called %s", e.Scenario)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it has not come to its end within %v", patience))
	defer cancel()
	v := variantOf(e.Variant)
	t := &trial{variant: v, command: commands[v.store]}
	defer t.close()
	seen, witness, err = Scenarios[i].play(ctx, t)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return seen, witness, err
}
