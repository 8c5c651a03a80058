package scenarios

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Violation is a broken promise. The packages that play scenarios define more of them, and say how each is decided.
type Violation string

// Violations that several packages use.
const (
	None      Violation = ""
	Exclusion Violation = "exclusion"
	Liveness  Violation = "liveness"
)

// Trial is a variant in a scenario, with its expected outcome.
type Trial struct {
	Variant, Scenario string
	Expect            Violation // None: the variant passes
}

// Row says what a variant is expected to do in some scenarios, whose names are separated by spaces.
type Row struct {
	Variant   string
	Expect    Violation
	Scenarios string
}

// Trials returns the trials of a table.
func Trials[R ~struct {
	Variant   string
	Expect    Violation
	Scenarios string
}](table []R) (all []Trial) {
	for _, row := range table {
		r := Row(row)
		for name := range strings.FieldsSeq(r.Scenarios) {
			all = append(all, Trial{Variant: r.Variant, Scenario: name, Expect: r.Expect})
		}
	}
	return all
}

// Variants returns the names of the variants of trials, in order.
func Variants(trials []Trial) (names []string) {
	for _, t := range trials {
		if !slices.Contains(names, t.Variant) {
			names = append(names, t.Variant)
		}
	}
	return names
}

// Of returns the trials of some variants.
func Of(trials []Trial, variants []string) (some []Trial) {
	for _, t := range trials {
		if slices.Contains(variants, t.Variant) {
			some = append(some, t)
		}
	}
	return some
}

// Finding is the outcome of a trial.
type Finding struct {
	Trial
	Seen    Violation
	Witness string // what shows the violation, or that there is none
	// Err says why the trial could not be completed; nothing was found then.
	Err error
}

// Config says how trials are played.
type Config struct {
	Variants []string // the variants to play
	Parallel int      // number of concurrent trials; 0 means 1
	// Played, if not nil, is called after each trial, from one goroutine at a time.
	Played func(n, of int, f Finding)
}

// Run plays trials with play, which gets the index of the trial; each is attempted up to tries times until it completes, with try counting from 0. The findings
// are in the order of the trials. When ctx ends, it returns its error, which trials that had not started have too.
func Run(ctx context.Context, c Config, trials []Trial, tries int, play func(ctx context.Context, i, try int) (seen Violation, witness string, err error)) ([]Finding, error) {
	findings := make([]Finding, len(trials))
	begun := make([]bool, len(trials))
	played := 0
	err := Each(ctx, c.Parallel, len(trials), tries, func(ctx context.Context, i, try int) (f Finding, err error) {
		f.Trial = trials[i]
		f.Seen, f.Witness, f.Err = play(ctx, i, try)
		return f, f.Err
	}, func(i, _ int, f Finding) {
		findings[i], begun[i] = f, true
		if played++; c.Played != nil {
			c.Played(played, len(trials), f)
		}
	})
	for i, t := range trials {
		if !begun[i] {
			findings[i] = Finding{Trial: t, Err: err}
		}
	}
	return findings, err
}

// Each executes n plays, up to parallel (at least one) at once; each is attempted up to tries times until it completes, with try counting from 0. It calls
// done with each outcome and the number of repetitions, from one goroutine at a time. When ctx ends, it starts no more plays and returns its error.
func Each[T any](ctx context.Context, parallel, n, tries int, play func(ctx context.Context, i, try int) (T, error), done func(i, again int, result T)) error {
	next := make(chan int)
	var workers sync.WaitGroup
	var one sync.Mutex
	for range max(parallel, 1) {
		workers.Go(func() {
			for i := range next {
				try := 0
				result, err := play(ctx, i, try)
				for err != nil && try+1 < tries && ctx.Err() == nil {
					try++
					result, err = play(ctx, i, try)
				}
				one.Lock()
				done(i, try, result)
				one.Unlock()
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return ctx.Err()
}
