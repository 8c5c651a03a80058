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

// Foreign is what a driver says of itself that its workload has to know. Of its sessions zkbench sees neither requests nor events.
type Foreign struct {
	Tokens bool // its grants carry tokens
	Znodes bool // its locks are znodes below the path that it is given
	Claims bool // of queues: a take claims an item, which is there again when its session ends before it is finished
	FIFO   bool // of queues: items are taken in the order in which they were put
	// Open opens a session of the driver beside those of the load, for a look at what is left, in the process whose turn it is; nil: it cannot be asked.
	Open func(ctx context.Context, client int) (zk.Session, error)
}

// open opens some sessions. close ends those that are open, also after an error.
func (f *Foreign) open(ctx context.Context, n int) (all []zk.Session, close func(), err error) {
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

// processes has no default, so that what does not concern it does not show it.
var processes = profiles.Field{Key: "processes", Type: profiles.WholeNumber, Example: "2", Min: 1, Max: 1000,
	Doc: "Processes of each driver that the sessions of a cell are spread over; by default 1. For variants that are drivers."}

// Processes is how many processes a driver has for the sessions of a cell.
func (l Load) Processes() int { return max(l.Int(processes), 1) }

// Driving is the kind with what drivers have beside its own recipes: of those whose hello lists a word, entry is the catalogue's of a name.
func Driving[T any](k Kind, can string, entry func(name string) recipes.Variant[T], workload func(recipes.Variant[T], recipes.Options, Load) Workload) Kind {
	k.Fields = append(k.Fields, processes)
	own := k.Check
	k.Check = func(p profiles.Profile) []profiles.Problem { return append(own(p), checkProcesses(p)...) }
	k.Drive = func(program string) Variant {
		all := []recipes.Variant[T]{entry(profiles.DriverPrefix + program)}
		v := fenceable(all, variantsOf(all, func(recipes.Variant[T]) []Option { return nil }, workload))[0]
		create := v.New
		v.Program, v.Can, v.New = program, can, func(l Load, options map[string]string) (Workload, error) {
			if l.Foreign == nil { // nobody has asked it yet
				l.Foreign = &Foreign{}
			}
			return create(l, options)
		}
		return v
	}
	return k
}

// foreignChecks are the promises that can be judged without the requests of a driver: who forgot whom, and what came before what, cannot. Those of
// tokens are judged if its grants have them.
func (l Load) foreignChecks(tokens []check.Check, promises ...check.Check) []check.Check {
	if l.Foreign.Tokens {
		promises = append(promises, tokens...)
	}
	if l.Foreign.Znodes {
		promises = append(promises, check.NothingLeft())
	}
	return promises
}

// seen are those of some measures that can be had: there are no phases where requests are not seen.
func (l Load) seen(all []Measure) []Measure {
	if l.Foreign != nil {
		all = slices.DeleteFunc(all, func(m Measure) bool { return m.Role == Phase })
	}
	return all
}

// checkProcesses are the problems of a number of processes.
func checkProcesses(p profiles.Profile) []profiles.Problem {
	if n, least := p.Values().Int(processes), slices.Min(p.Sessions); n > least {
		return []profiles.Problem{{Key: processes.Key, Message: fmt.Sprintf("%d processes need as many sessions, got %d", n, least)}}
	}
	return nil
}

// CheckDriven reports what a profile says of drivers though none of its variants is one.
func CheckDriven(p profiles.Profile) []profiles.Problem {
	if hasDriver(p) || p.Values().Int(processes) == 0 {
		return nil
	}
	return []profiles.Problem{{Key: processes.Key, Message: "no variant is a driver (remove it)"}}
}

// hasDriver tells whether a variant of a profile is a driver.
func hasDriver(p profiles.Profile) bool {
	return slices.ContainsFunc(p.Variants, func(v string) bool { return strings.HasPrefix(v, profiles.DriverPrefix) })
}
