package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/workloads"
)

// checkDriver returns the problems of a variant with the faults of a profile, which depend on whether the variant is a driver, and with finding its program.
func checkDriver(p profiles.Profile, place int, v workloads.Variant) (problems []error) {
	if v.Program == "" {
		for i, f := range p.Faults {
			if f.Kind == profiles.KillDriver || f.Kind == profiles.KillHolder || f.Kind == profiles.PauseHolder {
				problems = append(problems, fmt.Errorf("%s: %s needs processes of a driver, but %s is one of zkbench's own recipes (remove the fault or the variant; crash ends a "+
					"session of zkbench's own; 'driver:recipes LOCK' runs zkbench's locks in a driver)", p.AtFault(i, "kind"), f.Kind, v.Name))
			}
		}
		return problems
	}
	if _, err := drivers.Find(v.Program); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", p.At("variants", place), err))
	}
	for i, f := range p.Faults {
		if f.Kind == profiles.Expire || f.Kind == profiles.Crash {
			problems = append(problems, fmt.Errorf("%s: %s ends zkbench's own sessions, but those of %s are the driver's (remove the fault or the variant)",
				p.AtFault(i, "kind"), f.Kind, v.Name))
		}
	}
	return problems
}

// drives reports whether a variant of a profile is a driver.
func (b Setup) drives(p profiles.Profile) bool { return len(b.programs(p)) > 0 }

// programs returns the drivers of a profile.
func (b Setup) programs(p profiles.Profile) (all []string) {
	kind, _ := b.workload(p.Workload)
	for _, name := range p.Variants {
		if v, known := kind.Find(name); known && v.Program != "" && !slices.Contains(all, v.Program) {
			all = append(all, v.Program)
		}
	}
	return all
}

// greetBounded is greetDrivers that an interrupt ends.
func (r *runner) greetBounded(ctx context.Context) error {
	ctx, end := r.failure.Bounded(ctx, r.stop)
	defer end()
	if err := r.greetDrivers(ctx); err != nil {
		return r.cause(err)
	}
	return nil
}

// greetDrivers starts each driver of the profile once and reads its hello, before there is any load.
func (r *runner) greetDrivers(ctx context.Context) error {
	r.hellos = map[string]drivers.Hello{}
	kind, _ := r.workload(r.target.Profile.Workload)
	for _, name := range r.programs(r.target.Profile) {
		command, err := drivers.Find(name)
		if err != nil {
			return err
		}
		p, err := drivers.Start(ctx, command)
		if err != nil {
			return fmt.Errorf("%w\nfor details: %s driver check %s", err, program.Name(), name)
		}
		r.hellos[name] = p.Hello
		if err := p.Close(); err != nil {
			return err
		}
		if v, _ := kind.Find(profiles.DriverPrefix + name); !p.Hello.Knows(v.Can) {
			return fmt.Errorf("driver %s does not support the workload %s: its hello lists %s (expected %s)", name, kind.Name, strings.Join(p.Hello.Can, ", "), v.Can)
		}
	}
	return nil
}

// driverOf returns the driver of a variant, or nil for one of zkbench's own variants.
func (r *runner) driverOf(v workloads.Variant) *load.Driver {
	if v.Program == "" {
		return nil
	}
	d := &load.Driver{Hello: r.hellos[v.Program], Program: v.Program, Servers: r.target.Addresses()}
	if s := r.stores[d.Hello.Store]; s != nil {
		d.Servers, d.StoreNote = s.addresses, s.text(d.Hello.Store)
		if s.started != nil {
			d.StorePIDs = s.started.PIDs
		}
	}
	return d
}
