package stores

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/scenarios"
)

// Config is one run of the scenarios.
type Config struct {
	scenarios.Config // with Variants()
	// Drivers are the programs that drive the locks of a store, as drivers.Find takes them; one that is not here has the store's name.
	Drivers map[string]string
}

// tries is how often a trial is played until it comes to its end: a machine that is too slow may let a lock expire too early for what is to be staged.
const tries = 3

// patience bounds one play: servers, or drivers, that take longer do not serve.
const patience = time.Minute

// Run plays the scenarios of the variants. The findings are in the order of Expectations. The error says that a driver is not there, or is the end of ctx.
func Run(ctx context.Context, c Config) ([]scenarios.Finding, error) {
	trials := scenarios.Of(Expectations, c.Variants)
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
	return scenarios.Run(ctx, c.Config, trials, tries, func(ctx context.Context, i, _ int) (Violation, string, error) {
		return play(ctx, commands, trials[i])
	})
}

// play plays one trial, and leaves neither a process nor a server.
func play(ctx context.Context, commands map[string][]string, e scenarios.Trial) (seen Violation, witness string, err error) {
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
