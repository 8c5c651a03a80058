package workloads

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Foreign describes a driver as far as its workload has to know. zkbench sees neither requests nor events of a driver's sessions.
type Foreign struct {
	Tokens bool // its grants have tokens
	Znodes bool // its locks are znodes below the given path
	Claims bool // for queues: a take claims an item, which is available again if its session ends before it is finished
	FIFO   bool // for queues: items are taken in the order in which they were put
	// Open opens an additional session of the driver, to inspect what is left, in the process whose turn it is. If nil, the driver cannot be
	// asked.
	Open func(ctx context.Context, client int) (zk.Session, error)
}

// open opens n sessions. closeAll closes those that were opened, even after an error.
func (f *Foreign) open(ctx context.Context, n int) (all []zk.Session, closeAll func(), err error) {
	for i := 0; i < n && err == nil; i++ {
		var s zk.Session
		if s, err = f.Open(ctx, i); err == nil {
			all = append(all, s)
		}
	}
	return all, func() {
		for _, s := range all {
			s.Close()
		}
	}, err
}

// processes has no default, so that profiles without drivers do not show it.
var processes = profiles.Field{Key: "processes", Type: profiles.WholeNumber, Example: "2", Min: 1, Max: 1000,
	Doc: "Processes of each driver that the sessions of a cell are spread over; by default 1. For variants that are drivers."}

// Processes returns the number of processes that a driver starts for the sessions of a cell.
func (l Load) Processes() int { return max(l.Int(processes), 1) }

// Driving returns k extended by the variants of drivers whose hello lists the capability can. entry returns the catalogue entry for a name.
func Driving[T any](k Kind, can string, entry func(name string) recipes.Variant[T], workload func(recipes.Variant[T], recipes.Options, Load) Workload) Kind {
	k.Fields = append(k.Fields, processes)
	own := k.Check
	k.Check = func(p profiles.Profile) []profiles.Problem { return append(own(p), checkProcesses(p)...) }
	k.Drive = func(program string) Variant {
		all := []recipes.Variant[T]{entry(profiles.DriverPrefix + program)}
		v := fenceable(all, variantsOf(all, func(recipes.Variant[T]) []Option { return nil }, workload))[0]
		create := v.New
		v.Program, v.Can, v.New = program, can, func(l Load, options map[string]string) (Workload, error) {
			if l.Foreign == nil { // the driver has not been asked yet
				l.Foreign = &Foreign{}
			}
			return create(l, options)
		}
		return v
	}
	return k
}

// foreignChecks returns the checks that do not need a driver's requests. Starvation and the order of arrivals cannot be judged without them.
// The checks of tokens are included if its grants have tokens.
func (l Load) foreignChecks(tokens []check.Check, promises ...check.Check) []check.Check {
	if l.Foreign.Tokens {
		promises = append(promises, tokens...)
	}
	if l.Foreign.Znodes {
		promises = append(promises, check.NothingLeft())
	}
	return promises
}

// seen returns the measures that are available: without visible requests there are no phases.
func (l Load) seen(all []Measure) []Measure {
	if l.Foreign != nil {
		all = slices.DeleteFunc(all, func(m Measure) bool { return m.Role == Phase })
	}
	return all
}

// checkProcesses returns the problems of the number of processes.
func checkProcesses(p profiles.Profile) []profiles.Problem {
	if n, least := p.Values().Int(processes), slices.Min(p.Sessions); n > least {
		return []profiles.Problem{{Key: processes.Key, Message: fmt.Sprintf("%d processes need as many sessions, got %d", n, least)}}
	}
	return nil
}

// CheckDrivers reports fields that a profile sets for drivers although none of its variants is one.
func CheckDrivers(p profiles.Profile) []profiles.Problem {
	if hasDriver(p) || p.Values().Int(processes) == 0 {
		return nil
	}
	return []profiles.Problem{{Key: processes.Key, Message: "no variant is a driver (remove it)"}}
}

// hasDriver reports whether a variant of a profile is a driver.
func hasDriver(p profiles.Profile) bool {
	return slices.ContainsFunc(p.Variants, func(v string) bool { return strings.HasPrefix(v, profiles.DriverPrefix) })
}
