package published

import (
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
)

// Violation is a broken promise of a recipe.
type Violation = scenarios.Violation

// The violations; the package comment says how each is decided.
const (
	None                = scenarios.None
	Exclusion           = scenarios.Exclusion
	Liveness            = scenarios.Liveness
	Reuse     Violation = "reuse"
	Rest      Violation = "rest"
	Enter     Violation = "enter"
	Leave     Violation = "leave"
	Atomicity Violation = "atomicity"
)

// Scenario is a situation that a recipe must survive.
type Scenario struct {
	Name string
	Doc  string // one line
	play func(*trial)
}

// Scenarios is the catalogue.
var Scenarios = []Scenario{
	{"plain-release", "the holder releases while another one waits", plainRelease},
	{"predecessor-vanishes", "the holder releases between the waiter's list and its look at the holder's znode", predecessorVanishes},
	{"middle-vanishes", "a waiter leaves between its successor's list and the look at its znode", middleVanishes},
	{"middle-dies", "the session of a waiter expires while its successor watches it", middleDies},
	{"middle-dies-seen", "a waiter leaves right after its successor has seen that it is there", middleDiesSeen},
	{"lost-create-reply", "the servers create the znode, and the connection breaks before the reply", lostCreateReply},
	{"lost-create-given-up", "the same, and the client that still waits after it gives up", lostCreateGivenUp},
	{"lost-delete", "the connection breaks before the servers hear of a release", lostDelete},
	{"lost-delete-reply", "the servers carry out a release, and the connection breaks before the reply", lostDeleteReply},
	{"interrupted", "a waiter is interrupted and gives up", interrupted},
	{"waiter-deleted", "somebody else deletes the znode of a waiter, then the holder releases", waiterDeleted},
	{"waiter-expires", "the session of a waiter expires, then the holder releases", waiterExpires},
	{"holder-deleted", "somebody else deletes the znode of the holder, who releases and acquires again", holderDeleted},
	{"foreign-zero", "a child called '0' lies in the queue", foreignZero},
	{"foreign-text", "a child called 'content' lies in the queue", foreignText},
	{"foreign-suffix", "a child is called like the last digit of a waiter's number", foreignSuffix},
	{"two-names", "two locks of different names lie side by side", twoNames},
	{"wrap", "the server's counter of 32 bits wraps while the lock is held", wrap},
	{"shared-session", "two handles of one session and a third of another", sharedSession},
	{"shared-session-alone", "two handles of one session, and nobody else", sharedSessionAlone},
	{"acquired-twice", "a handle that holds acquires again", acquiredTwice},
	{"predecessor-data", "somebody else writes to the holder's znode, then the holder releases", predecessorData},
	{"holder-expires", "the session of the holder expires while another one waits", holderExpires},
	{"no-directory", "the directory is not there yet", noDirectory},

	{"released-in-order", "of two permits the one that was granted first is released while a third client waits", releasedInOrder},
	{"released-out-of-order", "of two permits the one that was granted last is released while a third client waits", releasedOutOfOrder},

	{"all-meet", "four members of a double barrier come and go", allMeet},
	{"slow-member", "the others have come, and begun to go, before a member looks who is there", slowMember},
	{"lowest-dies", "the session of the lowest member expires; two have left, and one computes", lowestDies},
	{"all-die-inside", "the sessions of all members expire inside, and others come", allDieInside},
	{"enter-given-up", "a member stops waiting, and three others come", enterGivenUp},

	{"all-vote", "three sites of a transaction vote to commit", allVote},
	{"late-vote", "a site waits in vain until its time-out; others, which learn of the transaction later, see all votes in time", lateVote},
	{"vote-changed", "a site that has voted to commit comes back, when another has decided, and votes to abort", voteChanged},
	{"proposer-dies", "the proposer's session expires when its first request is answered", proposerDies},
}

// Expectations says what the published variants do, by scenario. A scenario that a variant passes is listed if somebody claims that it
// fails, or that it passes.
var Expectations = scenarios.Trials([]expectation{
	{"zookeeper-writelock", Liveness, "predecessor-vanishes middle-vanishes lost-create-reply lost-create-given-up lost-delete interrupted waiter-deleted shared-session"},
	{"zookeeper-writelock", Exclusion, "wrap"},
	{"zookeeper-writelock", None, "shared-session-alone middle-dies"},
	{"exists-on-parent", Liveness, "plain-release"},
	{"zkclient-lock", Exclusion, "middle-vanishes middle-dies waiter-deleted wrap"},
	{"zkclient-lock", Rest, "middle-dies-seen"},
	{"zkclient-lock", Liveness, "lost-create-reply foreign-zero"},
	{"zkclient-lock", Reuse, "lost-delete-reply holder-deleted"},
	{"zkclient-lock", None, "lost-delete predecessor-vanishes"},
	{"dzone-lock", Liveness, "lost-create-reply interrupted waiter-deleted foreign-zero foreign-text two-names acquired-twice"},
	{"dzone-lock", Exclusion, "foreign-suffix wrap"},
	{"dzone-lock", None, "predecessor-vanishes waiter-expires lost-delete"},
	{"zookeeper-leader-election-support", Liveness, "predecessor-vanishes middle-vanishes lost-create-reply lost-create-given-up waiter-deleted predecessor-data " +
		"foreign-zero foreign-text acquired-twice no-directory"},
	{"zookeeper-leader-election-support", Exclusion, "holder-expires wrap"},
	{"zookeeper-leader-election-support", None, "plain-release middle-dies interrupted lost-delete lost-delete-reply"},
	{"index", Liveness, "released-out-of-order"},
	{"index", None, "released-in-order"},
	{"kazoo-double-barrier", Liveness, "slow-member"},
	{"kazoo-double-barrier", Leave, "lowest-dies"},
	{"kazoo-double-barrier", Enter, "all-die-inside"},
	{"kazoo-double-barrier", None, "all-meet"},
	{"curator-double-barrier", Liveness, "slow-member"},
	{"curator-double-barrier", Leave, "lowest-dies"},
	{"curator-double-barrier", Enter, "all-die-inside enter-given-up"},
	{"curator-double-barrier", None, "all-meet"},
	{"recipe-page-two-phase-commit", Atomicity, "late-vote vote-changed"},
	{"recipe-page-two-phase-commit", Liveness, "proposer-dies"},
	{"recipe-page-two-phase-commit", None, "all-vote"},
	{"go-zookeeper", Liveness, "interrupted foreign-zero foreign-text"},
	{"go-zookeeper", Reuse, "lost-delete-reply holder-deleted"},
	{"go-zookeeper", Exclusion, "waiter-deleted wrap"},
	{"go-zookeeper", None, "lost-create-reply lost-create-given-up predecessor-vanishes middle-dies"},
})

type expectation scenarios.Row

// Variants returns the names of the published variants that have expectations.
func Variants() []string { return scenarios.Variants(Expectations) }

// ofOwn returns the trials for a lock that is not zkbench's: all that the control plays apart from published locks. The lock must pass them.
func ofOwn(v recipes.Variant[recipes.Lock]) (all []scenarios.Trial) {
	for _, s := range Scenarios {
		if s.Name == "acquired-twice" && v.Reentrant {
			continue
		}
		for _, e := range Expectations {
			if of, _ := subjectOf(e.Variant, nil); e.Scenario == s.Name && of.control == Control {
				all = append(all, scenarios.Trial{Variant: v.Name, Scenario: s.Name})
				break
			}
		}
	}
	return all
}

// plan returns the trials for these variants: their expectations, and the control in each of their scenarios.
func plan(variants []string, own []recipes.Variant[recipes.Lock]) []scenarios.Trial {
	all := append(scenarios.Of(Expectations, variants), scenarios.Of(Real, variants)...)
	for _, v := range own {
		if slices.Contains(variants, v.Name) {
			all = append(all, ofOwn(v)...)
		}
	}
	var control []scenarios.Trial
	for _, e := range all {
		of, _ := subjectOf(e.Variant, own)
		if real := realSubject(e.Variant); real.byDriver {
			of = real
		}
		if c := (scenarios.Trial{Variant: of.control, Scenario: e.Scenario}); !slices.Contains(control, c) {
			control = append(control, c)
		}
	}
	return append(all, control...)
}
