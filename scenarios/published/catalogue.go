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

// Scenario is a situation that a recipe has to come through.
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

// Expectations is what the published variants do, by scenario. That a variant comes through is listed where it is claimed that it does
// not, or that it does.
var Expectations = scenarios.Trials([]expectation{
	{"article-000-writelock", "predecessor-vanishes", Liveness},
	{"article-000-writelock", "middle-vanishes", Liveness},
	{"article-000-writelock", "lost-create-reply", Liveness},
	{"article-000-writelock", "lost-create-given-up", Liveness},
	{"article-000-writelock", "lost-delete", Liveness},
	{"article-000-writelock", "waiter-deleted", Liveness},
	{"article-000-writelock", "wrap", Exclusion},
	{"article-000-writelock", "shared-session", Liveness},
	{"article-000-writelock", "shared-session-alone", None},
	{"article-000-writelock", "middle-dies", None},

	{"article-001-exists-parent", "plain-release", Liveness},

	{"article-003-zklockimpl", "middle-vanishes", Exclusion},
	{"article-003-zklockimpl", "middle-dies", Exclusion},
	{"article-003-zklockimpl", "middle-dies-seen", Rest},
	{"article-003-zklockimpl", "lost-create-reply", Liveness},
	{"article-003-zklockimpl", "lost-delete", None},
	{"article-003-zklockimpl", "lost-delete-reply", Reuse},
	{"article-003-zklockimpl", "waiter-deleted", Exclusion},
	{"article-003-zklockimpl", "holder-deleted", Reuse},
	{"article-003-zklockimpl", "foreign-zero", Liveness},
	{"article-003-zklockimpl", "wrap", Exclusion},
	{"article-003-zklockimpl", "predecessor-vanishes", None},

	{"article-004-dzone", "lost-create-reply", Liveness},
	{"article-004-dzone", "interrupted", Liveness},
	{"article-004-dzone", "waiter-deleted", Liveness},
	{"article-004-dzone", "foreign-zero", Liveness},
	{"article-004-dzone", "foreign-text", Liveness},
	{"article-004-dzone", "foreign-suffix", Exclusion},
	{"article-004-dzone", "two-names", Liveness},
	{"article-004-dzone", "wrap", Exclusion},
	{"article-004-dzone", "acquired-twice", Liveness},
	{"article-004-dzone", "predecessor-vanishes", None},
	{"article-004-dzone", "waiter-expires", None},
	{"article-004-dzone", "lost-delete", None},

	{"article-000-election", "predecessor-vanishes", Liveness},
	{"article-000-election", "middle-vanishes", Liveness},
	{"article-000-election", "lost-create-reply", Liveness},
	{"article-000-election", "lost-create-given-up", Liveness},
	{"article-000-election", "waiter-deleted", Liveness},
	{"article-000-election", "predecessor-data", Liveness},
	{"article-000-election", "holder-expires", Exclusion},
	{"article-000-election", "foreign-zero", Liveness},
	{"article-000-election", "foreign-text", Liveness},
	{"article-000-election", "wrap", Exclusion},
	{"article-000-election", "acquired-twice", Liveness},
	{"article-000-election", "no-directory", Liveness},
	{"article-000-election", "plain-release", None},
	{"article-000-election", "middle-dies", None},
	{"article-000-election", "interrupted", None},
	{"article-000-election", "lost-delete", None},
	{"article-000-election", "lost-delete-reply", None},

	{"index", "released-out-of-order", Liveness},
	{"index", "released-in-order", None},

	{"kazoo-double-barrier", "slow-member", Liveness},
	{"kazoo-double-barrier", "lowest-dies", Leave},
	{"kazoo-double-barrier", "all-die-inside", Enter},
	{"kazoo-double-barrier", "all-meet", None},

	{"curator-double-barrier", "slow-member", Liveness},
	{"curator-double-barrier", "lowest-dies", Leave},
	{"curator-double-barrier", "all-die-inside", Enter},
	{"curator-double-barrier", "enter-given-up", Enter},
	{"curator-double-barrier", "all-meet", None},

	{"article-001-two-phase-commit", "late-vote", Atomicity},
	{"article-001-two-phase-commit", "vote-changed", Atomicity},
	{"article-001-two-phase-commit", "proposer-dies", Liveness},
	{"article-001-two-phase-commit", "all-vote", None},

	{"go-zookeeper", "interrupted", Liveness},
	{"go-zookeeper", "lost-delete-reply", Reuse},
	{"go-zookeeper", "waiter-deleted", Exclusion},
	{"go-zookeeper", "holder-deleted", Reuse},
	{"go-zookeeper", "foreign-zero", Liveness},
	{"go-zookeeper", "foreign-text", Liveness},
	{"go-zookeeper", "wrap", Exclusion},
	{"go-zookeeper", "lost-create-reply", None},
	{"go-zookeeper", "lost-create-given-up", None},
	{"go-zookeeper", "predecessor-vanishes", None},
	{"go-zookeeper", "middle-dies", None},
})

type expectation scenarios.Trial

// Variants are the names of the published variants that there are expectations of.
func Variants() []string { return scenarios.Variants(Expectations) }

// ofOwn is what is played for a lock that is none of zkbench's: all that the control is played in beside published locks. It has to come through.
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

// plan is what is played for these variants: their expectations, and the control in each of their scenarios.
func plan(variants []string, own []recipes.Variant[recipes.Lock]) []scenarios.Trial {
	all := scenarios.Of(Expectations, variants)
	for _, v := range own {
		if slices.Contains(variants, v.Name) {
			all = append(all, ofOwn(v)...)
		}
	}
	var control []scenarios.Trial
	for _, e := range all {
		of, _ := subjectOf(e.Variant, own)
		if c := (scenarios.Trial{Variant: of.control, Scenario: e.Scenario}); !slices.Contains(control, c) {
			control = append(control, c)
		}
	}
	return append(all, control...)
}
