package workloads

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// Load is what a cell asks of its workload, in terms that every workload understands.
type Load struct {
	Dir      string // znode that the workload creates and stays below
	Sessions int
	Shared   bool          // other processes have sessions of the load too: who holds an object is not known here
	Merged   bool          // the results of all processes are together here, and nothing is executed: with Shared
	Open     bool          // open loop: work arrives by the clock, even if earlier work is not done
	Rate     float64       // offered per second over all sessions; 0: closed loop
	Span     time.Duration // how long work is offered; 0: until it is done
	Deadline time.Duration // of one operation; 0: none
	// Stall is how long a session may wait for something that is free before liveness is violated. A lost wake-up stalls forever; a crash stalls
	// for a session timeout and a tick. Two session timeouts therefore tell a lost wake-up from a crash or a slow machine.
	Stall   time.Duration
	Foreign *Foreign // what a driver says of itself; nil: the sessions belong to the profile's engine
	// Values holds the workload's own fields at this point of the profile.
	profiles.Values
}

// Objects returns the number of locks, queues, ...; the sessions are spread over them evenly.
func (l Load) Objects() int { return max(min(l.Int(objects), l.Sessions), 1) }

// Hold returns the distribution of how long a grant is held, or work takes.
func (l Load) Hold() profiles.Distribution { return l.Distribution(hold) }

// contenders returns the number of sessions at the object that has the most.
func (l Load) contenders() int { return (l.Sessions + l.Objects() - 1) / l.Objects() }

// ObjectsKey is the profile field for the number of locks, queues, ...
const ObjectsKey = "objects"

// Fields that several workloads share.
var (
	objects = profiles.Field{Key: ObjectsKey, Type: profiles.WholeNumber, Axis: true, Aside: true, Example: "100", Default: "1", Min: 1, Max: 1e6}
	hold    = profiles.Field{Key: "hold", Type: profiles.DurationDistribution, Axis: true, Aside: true, Example: "{exponential: 5ms}", Default: "0s", Max: float64(24 * time.Hour), Role: profiles.Hold}
)

// described returns a field with its meaning in one workload.
func described(f profiles.Field, doc string) profiles.Field {
	f.Doc = doc
	return f
}

// objectsOf returns the numbers of objects that a profile asks for.
func objectsOf(p profiles.Profile) []int {
	if given := p.Ints(objects); len(given) > 0 {
		return given
	}
	return []int{1}
}

// crowded reports numbers of objects that are too large for the smallest number of sessions, if each object needs the given number.
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
