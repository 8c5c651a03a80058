package workloads

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// Load is what a cell asks of its workload, in words that every workload understands.
type Load struct {
	Dir      string // znode that the workload makes and lives under
	Sessions int
	Shared   bool          // other processes have sessions of the load too: who holds what is not known here
	Merged   bool          // what all of them did is here together, and nothing is carried out: with Shared
	Open     bool          // the loop is open: work comes by the clock, whatever becomes of the work before
	Deadline time.Duration // of one operation; 0: none
	// Stall is how long somebody may wait for what is free before liveness is violated. A lost wake-up stalls forever and a crash for a
	// session timeout and a tick, so two session timeouts tell them from a slow machine.
	Stall   time.Duration
	Foreign *Foreign // of a driver, what it says of itself; nil: the sessions are of the profile's engine
	// Values of the workload's own fields, at this point of the profile.
	profiles.Values
}

// Objects is how many locks, queues, ... there are; the sessions are spread over them evenly.
func (l Load) Objects() int { return max(min(l.Int(objects), l.Sessions), 1) }

// Hold is how long a grant is held, or work takes.
func (l Load) Hold() profiles.Distribution { return l.Distribution(hold) }

// contenders is how many sessions are at the object that has the most.
func (l Load) contenders() int { return (l.Sessions + l.Objects() - 1) / l.Objects() }

// ObjectsKey is the field of a profile that says how many locks, queues, ... there are.
const ObjectsKey = "objects"

// Fields that several workloads have.
var (
	objects = profiles.Field{Key: ObjectsKey, Type: profiles.WholeNumber, Axis: true, Aside: true, Example: "100", Default: "1", Min: 1, Max: 1e6}
	hold    = profiles.Field{Key: "hold", Type: profiles.DurationDistribution, Axis: true, Aside: true, Example: "{exponential: 5ms}", Default: "0s", Max: float64(24 * time.Hour)}
)

// described is a field with its meaning in one workload.
func described(f profiles.Field, doc string) profiles.Field {
	f.Doc = doc
	return f
}

// objectsOf are the numbers of objects that a profile asks for.
func objectsOf(p profiles.Profile) []int {
	if given := p.Ints(objects); len(given) > 0 {
		return given
	}
	return []int{1}
}

// crowded are the problems of more objects than the smallest number of sessions can serve, when each needs so many.
func crowded(p profiles.Profile, each int, name string) (problems []profiles.Problem) {
	least := slices.Min(p.Sessions)
	for i, n := range objectsOf(p) {
		if n*each > least && n > 1 {
			problems = append(problems, profiles.Problem{Key: objects.Key, Index: i, Message: fmt.Sprintf("%s need at least %s, got %d", phrase.Count(n, name),
				phrase.Count(n*each, "session"), least)})
		}
	}
	return problems
}
