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

// Scenario is a situation that a lock must survive.
type Scenario struct {
	Name string
	Doc  string // one line
	play func(t *trial)
}

// Scenarios is the catalogue.
var Scenarios = []Scenario{
	{"holder-dies", "the process of the holder is killed", (*trial).holderDies},
	{"dies-acquiring", "the process is killed when the server has carried out the first command of its acquisition", (*trial).diesAcquiring},
	{"holds-too-long", "the holder is alive and works for longer than its lock lasts", (*trial).holdsTooLong},
	{"late-release", "the holder releases when its time is over and another one holds", func(t *trial) { t.lateRelease("") }},
	{"same-id", "the same, with clients that have the same id", func(t *trial) { t.lateRelease("thread-1") }},
	{"release-delayed", "the last command of a release is on its way while the lock expires and another one takes it", (*trial).releaseDelayed},
	{"paused", "the holder's process is stopped past its expiry, the next holder writes, then the first one writes", func(t *trial) { t.paused(false) }},
	{"paused-fenced", "the same, and what they write compares tokens", func(t *trial) { t.paused(true) }},
	{"server-restarted", "a server is killed and started again while the lock is held", func(t *trial) { t.restarted(false) }},
	{"server-restarted-fenced", "the same, the next holder writes, then the first one, and what they write compares tokens", func(t *trial) { t.restarted(true) }},
	{"outage-and-restart", "two of five servers were down at the grant, and one of the three others is killed and started again", (*trial).outage},
	{"fail-over", "the server dies before its replica has got the key, and the replica takes over", func(t *trial) { t.failOver(false) }},
	{"fail-over-fenced", "the same, the next holder writes, then the first one, and what they write compares tokens", func(t *trial) { t.failOver(true) }},
}

// Expectations says what each variant does in the scenarios that apply to it. A lock whose time cannot run out is not tested for what it does then.
var Expectations = scenarios.Trials([]expectation{
	{"setnx", Liveness, "holder-dies dies-acquiring"},
	{"setnx", None, "holds-too-long"},
	{"setnx-expire", Liveness, "dies-acquiring"},
	{"setnx-expire", Exclusion, "holds-too-long late-release"},
	{"setnx-expire", None, "holder-dies"},
	{"set-nx-ex", Exclusion, "holds-too-long late-release"},
	{"set-nx-ex", None, "holder-dies dies-acquiring"},
	{"get-del", Exclusion, "holds-too-long same-id release-delayed"},
	{"get-del", None, "holder-dies late-release"},
	{"lua", Exclusion, "holds-too-long same-id server-restarted fail-over"},
	{"lua", StaleWrite, "paused"},
	{"lua", None, "holder-dies dies-acquiring late-release release-delayed"},
	{"renew", StaleWrite, "paused"},
	{"renew", Exclusion, "server-restarted fail-over"},
	{"renew", None, "holder-dies holds-too-long late-release"},
	{"fenced", StaleWrite, "paused server-restarted-fenced fail-over-fenced"},
	{"fenced", Exclusion, "server-restarted fail-over"},
	{"fenced", None, "holder-dies dies-acquiring holds-too-long paused-fenced"},
	{"redsync", Exclusion, "holds-too-long server-restarted fail-over"},
	{"redsync", StaleWrite, "paused"},
	{"redsync", None, "holder-dies late-release"},
	{"redsync-5", StaleWrite, "paused"},
	{"redsync-5", Exclusion, "outage-and-restart"},
	{"redsync-5", None, "holder-dies server-restarted"},
	{"etcd", StaleWrite, "paused"},
	{"etcd", None, "holder-dies holds-too-long late-release paused-fenced server-restarted"},
})

type expectation scenarios.Row

// Variants returns the locks that have expectations, in order.
func Variants() []string { return scenarios.Variants(Expectations) }

// variant describes a lock for a trial.
type variant struct {
	store   string
	servers int
	renews  bool // its holders renew it, and are notified if that fails
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

// command returns the arguments of a client whose locks last for ttl; it has its own id if id is "".
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
