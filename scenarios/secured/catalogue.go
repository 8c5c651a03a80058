package secured

import (
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/scenarios"
)

// Violation is a broken promise; the package comment says how each is decided.
type Violation = scenarios.Violation

// The violations.
const (
	None               = scenarios.None
	Liveness           = scenarios.Liveness
	Session  Violation = "session"
)

// Rules are what the servers require.
type Rules struct {
	Enforced   bool // credentials before anything else: any earlier request ends the session (-124)
	ReadLook   bool // READ on a znode for exists: since ZooKeeper 3.7.3, 3.8.4 and 3.9.2
	ReadEvents bool // READ on a znode for events of a watch: since ZooKeeper 3.8.4 and 3.9.2
}

// subject is what a trial tests.
type subject struct {
	name, doc string
	scenarios []string
	lock      string // its variant
	watch     string // how a waiter watches; "": the variant's default
	fault     Fault  // of the holder's client
	expect    func(scenario string, r Rules) Violation
}

func comes(string, Rules) Violation { return None }

func fails(string, Rules) Violation { return Liveness }

// The scenarios.
const (
	creatorOnly = "creator-only"
	reconnect   = "reconnect"
	pingFirst   = "ping-first"
)

var subjects = []subject{
	{name: "predecessor", doc: "the lock, which watches the znode before its own with getData: that needs READ", scenarios: []string{creatorOnly},
		lock: "predecessor", expect: fails},
	{name: "predecessor-exists", doc: "the same with exists (watch: exists), which needed no permission until ZooKeeper 3.8.3", scenarios: []string{creatorOnly},
		lock: "predecessor", watch: "exists", expect: func(_ string, r Rules) Violation {
			if r.ReadLook || r.ReadEvents {
				return Liveness
			}
			return None
		}},
	{name: "persistent", doc: "a lock that follows the queue with one recursive watch, whose events are filtered since ZooKeeper 3.8.4", scenarios: []string{creatorOnly},
		lock: "persistent", expect: func(_ string, r Rules) Violation {
			if r.ReadEvents {
				return Liveness
			}
			return None
		}},
	{name: "naive", doc: "a lock that watches the directory, which both may read", scenarios: []string{creatorOnly}, lock: "naive", expect: comes},
	{name: "engine", doc: "the engine of the run, which authenticates on each connection before anything else", scenarios: []string{reconnect, pingFirst},
		lock: "naive", expect: comes},
	{name: "credentials-once", doc: "the same, which presents its credential only on the first connection", scenarios: []string{reconnect}, lock: "naive",
		fault: Forgetful, expect: fails},
	{name: "early-ping", doc: "the same, whose ping overtakes the credentials when it reconnects", scenarios: []string{pingFirst}, lock: "naive",
		fault: PingsFirst, expect: func(string, Rules) Violation { return Session }},
}

// Variants returns the names of the variants that can be played.
func Variants() (all []string) {
	for _, s := range subjects {
		all = append(all, s.name)
	}
	return all
}

// Persistent reports whether a variant needs sessions that keep watches set.
func Persistent(variant string) bool { return variant == "persistent" }

// Znodes returns the names of the znodes that the scenarios create: a directory each, with the lock.
func Znodes() recipes.Znodes {
	all := recipes.Znodes{Persistent: []string{`trial-[0-9]+/(lock|own|last)`}}
	for _, v := range lock.Variants() {
		all = all.And(v.Znodes.Of("lock"))
	}
	return all
}

// Plan returns the trials of these variants that are possible on servers with these rules. Servers that enforce nothing refuse no ping.
func Plan(variants []string, r Rules) (all []scenarios.Trial) {
	for _, s := range subjects {
		for _, scenario := range s.scenarios {
			if slices.Contains(variants, s.name) && (scenario != pingFirst || r.Enforced) {
				all = append(all, scenarios.Trial{Variant: s.name, Scenario: scenario, Expect: s.expect(scenario, r)})
			}
		}
	}
	return all
}
