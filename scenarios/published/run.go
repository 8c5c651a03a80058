package published

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
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
	scenarios.Config // with Variants(); most of the time of a trial it listens to silence
	Servers          Servers
	Own              []recipes.Variant[recipes.Lock] // locks that are none of zkbench's, which Variants may name
	Dir              string                          // an existing znode; each trial makes one below it, and leaves it
}

// Run plays the scenarios of the variants, and each of these with the control. The findings are in the order of Expectations. The
// error is the end of ctx.
func Run(ctx context.Context, c Config) ([]scenarios.Finding, error) {
	trials := plan(c.Variants, c.Own)
	return scenarios.Run(ctx, c.Config, trials, 1, func(ctx context.Context, i, _ int) (Violation, string, error) {
		return play(ctx, c, fmt.Sprintf("%s/trial-%d", c.Dir, i), trials[i])
	})
}

// play plays one trial.
func play(ctx context.Context, c Config, dir string, e scenarios.Trial) (seen Violation, witness string, err error) {
	of, ok := subjectOf(e.Variant, c.Own)
	if !ok {
		return None, "", fmt.Errorf("no recipe is called %s", e.Variant)
	}
	i := slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == e.Scenario })
	if i < 0 {
		return None, "", fmt.Errorf("no scenario is called %s", e.Scenario)
	}
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	t, err := newTrial(ctx, c.Servers, of, dir)
	if err != nil {
		return None, "", err
	}
	t.cancel = cancel
	defer context.AfterFunc(ctx, func() { t.fail(ctx.Err()) })()
	t.directory()
	Scenarios[i].play(t)
	t.end()
	return t.seen, t.witness, t.err
}

// errNotStaged: the situation did not come about.
var errNotStaged = errors.New("the situation could not be staged")
