package scenarios

import (
	"context"
	"slices"
	"sync"
)

// Violation is a broken promise. The packages that play have more of them, and say how each is decided.
type Violation string

// Violations that several packages know.
const (
	None      Violation = ""
	Exclusion Violation = "exclusion"
	Liveness  Violation = "liveness"
)

// Trial is a variant in a scenario, with what it is expected to do there.
type Trial struct {
	Variant, Scenario string
	Expect            Violation // None: it comes through
}

// Trials are those of a table.
func Trials[Row ~struct {
	Variant, Scenario string
	Expect            Violation
}](table []Row) (all []Trial) {
	for _, r := range table {
		all = append(all, Trial(r))
	}
	return all
}

// Variants are the names of the variants of trials, in their order.
func Variants(trials []Trial) (names []string) {
	for _, t := range trials {
		if !slices.Contains(names, t.Variant) {
			names = append(names, t.Variant)
		}
	}
	return names
}

// Of are the trials of some variants.
func Of(trials []Trial, variants []string) (some []Trial) {
	for _, t := range trials {
		if slices.Contains(variants, t.Variant) {
			some = append(some, t)
		}
	}
	return some
}

// Finding is what came of a trial.
type Finding struct {
	Trial
	Seen    Violation
	Witness string // what shows it, or that there is nothing to show
	// Err is why the trial could not be played to its end; nothing was found then.
	Err error
}

// Config is how trials are played.
type Config struct {
	Variants []string // whose trials
	Parallel int      // trials that go on at once; 0: one
	// Played, if not nil, is told of each trial that is over, from one goroutine at a time.
	Played func(n, of int, f Finding)
}

// Run plays trials: the i-th with play, up to so many times until it comes to its end, try from 0 on. The findings are in the order of the trials, the
// error is the end of ctx; what had not begun by then has it too.
func Run(ctx context.Context, c Config, trials []Trial, tries int, play func(ctx context.Context, i, try int) (seen Violation, witness string, err error)) ([]Finding, error) {
	findings := make([]Finding, len(trials))
	next := make(chan int)
	var workers sync.WaitGroup
	var told sync.Mutex
	played := 0
	for range max(c.Parallel, 1) {
		workers.Go(func() {
			for i := range next {
				f := Finding{Trial: trials[i]}
				for try := 0; try < tries && (try == 0 || f.Err != nil && ctx.Err() == nil); try++ {
					f.Seen, f.Witness, f.Err = play(ctx, i, try)
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
			findings[i] = Finding{Trial: trials[i], Err: ctx.Err()}
		}
	}
	close(next)
	workers.Wait()
	return findings, ctx.Err()
}
