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

// Config configures one run of the scenarios.
type Config struct {
	scenarios.Config // with Variants()
	// Drivers are the programs that drive the locks of a store, in the form that drivers.Find accepts; the default is the store's name.
	Drivers map[string]string
}

// tries is how often a trial is attempted until it completes: on a slow machine a lock may expire before the situation is staged.
const tries = 3

// limit bounds one trial: servers or drivers that take longer are considered broken.
const limit = time.Minute

// Run plays the scenarios of the variants. The findings are in the order of Expectations. It returns an error if a driver is missing, or when ctx ends.
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

// play plays one trial, and leaves neither a process nor a server behind.
func play(ctx context.Context, commands map[string][]string, e scenarios.Trial) (seen Violation, witness string, err error) {
	i := slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == e.Scenario })
	if i < 0 {
		return None, "", fmt.Errorf("no scenario is called %s", e.Scenario)
	}
	v := variantOf(e.Variant)
	return scenarios.Play(ctx, limit, func(stage *scenarios.Stage) {
		t := &trial{Stage: stage, variant: v, command: commands[v.store]}
		defer t.close()
		Scenarios[i].play(t)
	})
}
