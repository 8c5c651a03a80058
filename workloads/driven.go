package workloads

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
)

// Foreign is what a driver says of itself that its workload has to know. Of its sessions zkbench sees neither requests nor events.
type Foreign struct {
	Tokens bool // its grants carry tokens
	Znodes bool // its locks are znodes below the path that it is given
}

// processes has no default, so that what does not concern it does not show it.
var processes = profiles.Field{Key: "processes", Type: profiles.WholeNumber, Example: "2", Min: 1, Max: 1000,
	Doc: "Processes of each driver that the sessions of a cell are spread over; 1 without it. It concerns variants that are drivers."}

// Processes is how many processes a driver has for the sessions of a cell.
func (l Load) Processes() int { return max(l.Int(processes), 1) }

// DrivenLocks is the kind with the locks of drivers beside its own: lock makes the one of a name.
func DrivenLocks(k Kind, lock func(name string) recipes.Variant[recipes.Lock]) Kind {
	k.Fields = append(k.Fields, processes)
	own := k.Check
	k.Check = func(p profiles.Profile) []profiles.Problem { return append(own(p), checkProcesses(p)...) }
	k.Drive = func(program string) Variant {
		all := []recipes.Variant[recipes.Lock]{lock(profiles.DriverPrefix + program)}
		v := fenceable(all, variantsOf(all, func(recipes.Variant[recipes.Lock]) []Option { return nil }, NewLock))[0]
		make := v.New
		v.Program, v.New = program, func(l Load, options map[string]string) (Workload, error) {
			if l.Foreign == nil { // nobody has asked it yet
				l.Foreign = &Foreign{}
			}
			return make(l, options)
		}
		return v
	}
	return k
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
	driven := slices.ContainsFunc(p.Variants, func(v string) bool { return strings.HasPrefix(v, profiles.DriverPrefix) })
	if driven || p.Values().Int(processes) == 0 {
		return nil
	}
	return []profiles.Problem{{Key: processes.Key, Message: "no variant is a driver, whose processes it would be (leave it out)"}}
}
