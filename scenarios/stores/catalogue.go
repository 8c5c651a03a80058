package stores

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/drivers/stores"
	"github.com/zkbench/zkbench/scenarios"
)

// Violation is a broken promise of a lock.
type Violation = scenarios.Violation

// The violations; the package comment says how each is decided.
const (
	None                 = scenarios.None
	Exclusion            = scenarios.Exclusion
	Liveness             = scenarios.Liveness
	StaleWrite Violation = "stale-write"
)

// Scenario is a situation that a lock has to come through.
type Scenario struct {
	Name string
	Doc  string // one line
	play script
}

// Scenarios is the catalogue.
var Scenarios = []Scenario{
	{"holder-dies", "the process of the holder is killed", holderDies},
	{"dies-acquiring", "the process is killed when the server has carried out the first command of its acquisition", diesAcquiring},
	{"holds-too-long", "the holder is alive and works for longer than its lock lasts", holdsTooLong},
	{"late-release", "the holder releases when its time is over and another one holds", lateRelease},
	{"same-id", "the same, with clients that have the same id", sameID},
	{"release-delayed", "the last command of a release is on its way while the lock expires and another one takes it", releaseDelayed},
	{"paused", "the holder's process is stopped past its expiry, the next holder writes, then the first one writes", paused},
	{"paused-fenced", "the same, and what they write compares tokens", pausedFenced},
	{"server-restarted", "a server is killed and started again while the lock is held", restarted},
	{"server-restarted-fenced", "the same, the next holder writes, then the first one, and what they write compares tokens", restartedFenced},
	{"outage-and-restart", "two of five servers were down at the grant, and one of the three others is killed and started again", outage},
	{"fail-over", "the server dies before its replica has got the key, and the replica takes over", failOver},
	{"fail-over-fenced", "the same, the next holder writes, then the first one, and what they write compares tokens", failOverFenced},
}

// Expectations say what each variant does in the scenarios that concern it. A lock whose time cannot run out is not asked what it does then.
var Expectations = scenarios.Trials([]expectation{
	{"setnx", "holder-dies", Liveness}, {"setnx", "dies-acquiring", Liveness}, {"setnx", "holds-too-long", None},

	{"setnx-expire", "holder-dies", None}, {"setnx-expire", "dies-acquiring", Liveness}, {"setnx-expire", "holds-too-long", Exclusion},
	{"setnx-expire", "late-release", Exclusion},

	{"set-nx-ex", "holder-dies", None}, {"set-nx-ex", "dies-acquiring", None}, {"set-nx-ex", "holds-too-long", Exclusion}, {"set-nx-ex", "late-release", Exclusion},

	{"get-del", "holder-dies", None}, {"get-del", "holds-too-long", Exclusion}, {"get-del", "late-release", None}, {"get-del", "same-id", Exclusion},
	{"get-del", "release-delayed", Exclusion},

	{"lua", "holder-dies", None}, {"lua", "dies-acquiring", None}, {"lua", "holds-too-long", Exclusion}, {"lua", "late-release", None}, {"lua", "same-id", Exclusion},
	{"lua", "release-delayed", None}, {"lua", "paused", StaleWrite}, {"lua", "server-restarted", Exclusion}, {"lua", "fail-over", Exclusion},

	{"renew", "holder-dies", None}, {"renew", "holds-too-long", None}, {"renew", "late-release", None}, {"renew", "paused", StaleWrite},
	{"renew", "server-restarted", Exclusion}, {"renew", "fail-over", Exclusion},

	{"fenced", "holder-dies", None}, {"fenced", "dies-acquiring", None}, {"fenced", "holds-too-long", None}, {"fenced", "paused", StaleWrite}, {"fenced", "paused-fenced", None},
	{"fenced", "server-restarted", Exclusion}, {"fenced", "server-restarted-fenced", StaleWrite},
	{"fenced", "fail-over", Exclusion}, {"fenced", "fail-over-fenced", StaleWrite},

	{"redsync", "holder-dies", None}, {"redsync", "holds-too-long", Exclusion}, {"redsync", "late-release", None}, {"redsync", "paused", StaleWrite},
	{"redsync", "server-restarted", Exclusion}, {"redsync", "fail-over", Exclusion},

	{"redsync-5", "holder-dies", None}, {"redsync-5", "paused", StaleWrite}, {"redsync-5", "server-restarted", None}, {"redsync-5", "outage-and-restart", Exclusion},

	{"etcd", "holder-dies", None}, {"etcd", "holds-too-long", None}, {"etcd", "late-release", None}, {"etcd", "paused", StaleWrite}, {"etcd", "paused-fenced", None},
	{"etcd", "server-restarted", None},
})

type expectation scenarios.Trial

// Variants are the locks that there are expectations of, in their order.
func Variants() []string { return scenarios.Variants(Expectations) }

// variant is a lock as a trial needs it.
type variant struct {
	store   string
	servers int
	renews  bool // its holders renew it, and are told when that fails
	args    []string
}

func variantOf(name string) variant {
	switch name {
	case "etcd":
		return variant{store: stores.Etcd, servers: 1, renews: true}
	case "redsync-5":
		return variant{store: stores.Redis, servers: 5, args: []string{"-stage", "redsync", "-servers", "5"}}
	}
	return variant{store: stores.Redis, servers: 1, renews: name == "renew" || name == "fenced", args: []string{"-stage", name}}
}

// command is the arguments of a client whose locks last so long, with an id of its own if that is "".
func (v variant) command(ttl time.Duration, id string) []string {
	if v.store == stores.Etcd { // a lease lasts the session timeout
		return nil
	}
	args := append(slices.Clone(v.args), "-ttl", fmt.Sprint(ttl))
	if id != "" {
		args = append(args, "-id", id)
	}
	return args
}
