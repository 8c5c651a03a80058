package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/compose"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/workloads"
)

// catalogue lists what the profiles of the tests may name.
var catalogue = func() profiles.Catalogue {
	locks := workloads.Locks(lock.Variants())
	return profiles.Catalogue{&locks.Workload}
}()

func TestFaultsThatCannotBeInjected(t *testing.T) {
	three := Environment{Name: "local:3", Servers: 3, Driver: (*local.Local)(nil)}
	alone := Environment{Name: "local:1", Servers: 1, Driver: (*local.Local)(nil)}
	encrypted := three
	encrypted.Encrypted = true
	external := Environment{Name: "host:2181", Servers: 1, Driver: (*ensemble.External)(nil)}
	contained := Environment{Name: "compose:3", Servers: 3, Driver: (*compose.Compose)(nil)}
	versions := three
	versions.Upgrades = func(from, to string) (string, error) {
		if to == "3.9.4" {
			return "", errors.New("not found after " + from)
		}
		return to, nil
	}
	for _, c := range []struct {
		fault string
		on    Environment
		want  string // "" if it can be injected
	}{
		{"{at: 1s, kind: kill, server: leader}", three, ""},
		{"{at: 1s, kind: restart, server: 3}", three, ""},
		{"{at: 1s, kind: rolling-restart}", alone, ""},
		{"{at: 1s, kind: rolling-restart}", external, "rolling-restart cannot be injected on host:2181: zkbench injects no faults into servers that somebody else runs"},
		{"{at: 1s, kind: rolling-upgrade, to: 3.9.3}", external, "rolling-upgrade cannot be injected on host:2181: zkbench injects no faults into servers that somebody else runs"},
		{"{at: 1s, kind: rolling-upgrade, to: 3.9.3}", contained, "p.yaml:6:20: rolling-upgrade cannot be injected on compose:3: its servers run the ZooKeeper of their image " +
			"(choose --ensemble local:3, or rolling-restart); possible: kill, stop, pause, restart, rolling-restart, disconnect, "},
		{"{at: 1s, kind: rolling-upgrade, to: 3.9.3}", three, ""},
		{"{at: 1s, kind: rolling-upgrade, to: 3.9.3}", versions, ""},
		{"{at: 1s, kind: rolling-upgrade, to: 3.9.3}\n  - {at: 2s, kind: rolling-upgrade, to: 3.8.0}", versions, ""},
		{"{at: 2s, kind: rolling-upgrade, to: 3.9.3}\n  - {at: 1s, kind: rolling-upgrade, to: 3.9.4}", versions, "p.yaml:7:41: faults: rolling-upgrade to 3.9.4: not found after "},
		{"{at: 1s, kind: cut-reply}", external, ""},
		{"{at: 1s, kind: reset}", encrypted, ""},
		{"{at: 1s, kind: reset, session: 1}", encrypted, "p.yaml:6:20: reset cannot be injected on local:3: it is injected by a proxy that reads the protocol, which TLS hides"},
		{"{at: 1s, kind: silence}", encrypted, "possible: kill, stop, pause, restart, rolling-restart, rolling-upgrade, expire, crash, reset"},
		{"{at: 1s, kind: expire, session: 1}", external, ""},
		{"{at: 1s, kind: kill, server: leader}", alone, ""},
		{"{at: 1s, kind: kill, server: follower}", alone, "p.yaml:6:34: there is no follower on local:1"},
		{"{at: 1s, kind: kill, server: 4}", three, "p.yaml:6:34: there is no server 4 on local:3 (expected 1 to 3)"},
		{"{at: 1s, kind: silence, server: 2}", external, "p.yaml:6:37: there is no server 2 on host:2181"},
		{"{at: 1s, kind: disconnect, server: 1}", three, "p.yaml:6:20: disconnect cannot be injected on local:3: its servers share the network"},
		{"{at: 1s, kind: loss, server: 1, percent: 5}", three, "p.yaml:6:20: loss cannot be injected on local:3: its servers share the network of one " +
			"machine (choose --ensemble compose:3); possible: kill, stop, pause, restart, rolling-restart, rolling-upgrade, expire, "},
		{"{at: 1s, kind: pause, server: 1}", external, "zkbench injects no faults into servers that somebody else runs (let the run start its own"},
		{"{at: 1s, kind: latency, server: 1, delay: 5ms}", external, "possible: expire, crash, cut-reply, "},
	} {
		p, err := catalogue.Parse("p.yaml", []byte("workload: lock\nvariants: predecessor\nsessions: 5\nduration: 5s\nfaults:\n  - "+c.fault+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(Check(p, c.on)...)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s on %s: %v, want %q", c.fault, c.on.Name, err, c.want)
		}
	}
}

// Each upgrade starts from what the previous one, by time, has led to; those of servers that another process upgrades are known by their versions only.
func TestWhatServersAreUpgradedTo(t *testing.T) {
	p, err := catalogue.Parse("p.yaml", []byte("workload: lock\nvariants: predecessor\nsessions: 5\nduration: 9s\nfaults: [{at: 5s, kind: rolling-upgrade, to: 3.8.0}, "+
		"{at: 1s, kind: rolling-upgrade, to: 3.9.3}, {at: 2s, kind: expire, session: 1}, {at: 7s, kind: rolling-upgrade, to: ./mine}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	got, problems := upgrades(p, func(from, to string) (string, error) {
		steps = append(steps, from+" to "+to)
		return map[string]string{"./mine": "3.9.9"}[to], nil
	})
	if want := []string{" to 3.9.3", "3.9.3 to 3.8.0", "3.8.0 to ./mine"}; !slices.Equal(steps, want) || !slices.Equal(got, []string{"3.9.9"}) || problems != nil {
		t.Errorf("steps %q, versions %q, %v; want %q and the one that is known", steps, got, problems, want)
	}
	if got := Upgraded(p, (*ensemble.External)(nil)); !slices.Equal(got, []string{"3.9.3", "3.8.0"}) {
		t.Errorf("elsewhere: %q, want what has a version for a name", got)
	}
}

func TestServersThatFaultsTakeAwayAtOnce(t *testing.T) {
	for _, c := range []struct {
		faults string
		want   int
	}{
		{"", 0},
		{"{at: 1s, kind: expire, session: 1}, {at: 1s, kind: silence}", 0},
		{"{at: 1s, kind: kill, server: 1, for: 1s}, {at: 2s, kind: pause, server: 2, for: 1s}", 1},
		{"{at: 1s, kind: kill, server: 1, for: 2s}, {at: 2s, kind: disconnect, server: 2, for: 1s}", 2},
		{"{at: 3s, kind: silence, server: 1}, {at: 2s, kind: stop, server: 2}", 2},
	} {
		p, err := catalogue.Parse("p.yaml", []byte("workload: lock\nvariants: predecessor\nsessions: 5\nduration: 5s\nfaults: ["+c.faults+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := MostDown(p); got != c.want {
			t.Errorf("%s: %d servers, want %d", c.faults, got, c.want)
		}
	}
}

// A kind that is in no group would pass every check and be refused in the middle of a run.
func TestEveryKindOfFaultIsInOneGroup(t *testing.T) {
	for _, k := range profiles.FaultKinds() {
		groups := 0
		for _, of := range [][]string{ofProcesses, ofNetwork, ofSessions, ofDrivers, ofConnections, {profiles.Disconnect}} {
			if slices.Contains(of, k.Name) {
				groups++
			}
		}
		if (profiles.PlannedFault{Kind: k.Name}).IsStorm() {
			groups++
		}
		if groups != 1 {
			t.Errorf("%s is in %d groups of check.go, want one", k.Name, groups)
		}
	}
}
