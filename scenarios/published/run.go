package published

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// Servers is an ensemble whose connections can be broken at named points.
type Servers interface {
	// Dial opens a session. Its engine must report a lost reply as zk.ErrMaybeApplied, as all engines of package zk do.
	Dial(ctx context.Context) (zk.Session, error)
	// Expire ends a session on the servers while its client lives.
	Expire(ctx context.Context, s zk.Session) error
	// Cut breaks the connection of the session at its next request of the kind, once: before the servers receive it, or, if applied is set,
	// after they have executed it and before the client learns of it. wasCut waits until it has happened; it returns false if ctx ends
	// first.
	Cut(s zk.Session, kind zk.Kind, applied bool) (wasCut func(ctx context.Context) bool)
}

// Config configures one run of the scenarios.
type Config struct {
	scenarios.Config // with Variants(); a trial mostly waits for silence
	Servers          Servers
	Own              []recipes.Variant[recipes.Lock] // locks that are not zkbench's, which Variants may name
	Drivers          *Drivers                        // for the variants of Real; nil if Variants names none
	Dir              string                          // an existing znode; each trial creates one below it, and leaves it there
}

// Run plays the scenarios of the variants, and each of these with the control. The findings are in the order of Expectations. It returns an
// error only when ctx ends.
func Run(ctx context.Context, c Config) ([]scenarios.Finding, error) {
	trials := plan(c.Variants, c.Own)
	defer c.Drivers.close()
	return scenarios.Run(ctx, c.Config, trials, 1, func(ctx context.Context, i, _ int) (Violation, string, error) {
		return play(ctx, c, fmt.Sprintf("%s/trial-%d", c.Dir, i), trials[i])
	})
}

// play plays one trial.
func play(ctx context.Context, c Config, dir string, e scenarios.Trial) (seen Violation, witness string, err error) {
	of, ok := subjectOf(e.Variant, c.Own)
	if real := realSubject(e.Variant); real.byDriver {
		of, ok = real, true
	}
	if !ok {
		return None, "", fmt.Errorf("no recipe is called %s", e.Variant)
	}
	i := slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == e.Scenario })
	if i < 0 {
		return None, "", fmt.Errorf("no scenario is called %s", e.Scenario)
	}
	return scenarios.Play(ctx, 4*scenarios.StepTimeout, func(stage *scenarios.Stage) {
		t := &trial{Stage: stage, servers: c.Servers, drivers: c.Drivers, subject: of, dir: dir}
		defer t.end()
		t.prepare()
		t.directory()
		Scenarios[i].play(t)
		t.Found(None, "passes")
	})
}
