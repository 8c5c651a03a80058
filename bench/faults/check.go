package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
)

// Environment describes what a run will use, before it exists: enough to tell which faults can be injected.
type Environment struct {
	Name    string            // for example local:3
	Servers int               // the number of servers
	Driver  ensemble.Ensemble // of the type that the ensemble will have; may be a nil pointer
	// Encrypted connections hide the protocol, which the proxy must read for most faults of clients. Connections of a profile with tls are always encrypted.
	Encrypted bool
	// Upgrades says whether servers can be upgraded, as ensemble.Upgrader does; nil if that cannot be said yet.
	Upgrades func(from, to string) (version string, err error)
}

// The kinds of faults, grouped by what they act on.
var (
	// the process of a server
	ofProcesses = []string{profiles.Kill, profiles.StopServer, profiles.Pause, profiles.Restart, profiles.RollingRestart, profiles.RollingUpgrade}
	// what a server sends
	ofNetwork = []string{profiles.AddLatency, profiles.AddLoss}
	// a session, through its own means
	ofSessions = []string{profiles.Expire, profiles.Crash}
	// the processes of a driver
	ofDrivers = []string{profiles.KillDriver, profiles.KillHolder, profiles.PauseHolder}
	// the connections of clients, through the proxy in front of the servers
	ofConnections = []string{profiles.CutReply, profiles.CutRequest, profiles.Silence, profiles.DelayEvents, profiles.HoldEvents,
		profiles.RepeatEvents, profiles.DropEvents, profiles.Reset}
)

// Shareable reports whether one process can inject a fault for all processes of a run: it acts on servers, not on clients.
func Shareable(f profiles.PlannedFault) bool {
	return f.Kind == profiles.Disconnect || slices.Contains(ofProcesses, f.Kind) || slices.Contains(ofNetwork, f.Kind)
}

// Check reports every planned fault that cannot be injected in the environment, with its place in the profile and the faults that can be.
func Check(p profiles.Profile, on Environment) []error {
	var problems []error
	on.Encrypted = on.Encrypted || p.TLS != profiles.TLS{}
	for i, f := range p.Faults {
		if why := on.impossible(f); why != "" {
			problems = append(problems, fmt.Errorf("%s: %s cannot be injected on %s: %s; possible: %s", p.AtFault(i, "kind"), f.Kind, on.Name,
				why, strings.Join(on.possible(), ", ")))
			continue
		}
		if why := on.missing(f.Server); why != "" {
			problems = append(problems, fmt.Errorf("%s: %s", p.AtFault(i, "server"), why))
		}
	}
	if len(problems) == 0 && on.Upgrades != nil {
		_, problems = upgrades(p, on.Upgrades)
	}
	return problems
}

// upgrades returns the versions to which a profile upgrades the servers, in the order of time, without those that are unknown, and every upgrade that is impossible.
func upgrades(p profiles.Profile, possible func(from, to string) (version string, err error)) (versions []string, problems []error) {
	var all []int
	for i, f := range p.Faults {
		if f.Kind == profiles.RollingUpgrade {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(p.Faults[a].At, p.Faults[b].At) })
	from := ""
	for _, i := range all {
		version, err := possible(from, p.Faults[i].To)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: faults: rolling-upgrade to %s: %w", p.AtFault(i, "to"), p.Faults[i].To, err))
			continue
		}
		if from = p.Faults[i].To; version != "" {
			versions = append(versions, version)
		}
	}
	return versions, problems
}

// Upgraded returns the versions that servers are upgraded to during the run, as far as they are known.
func Upgraded(p profiles.Profile, e ensemble.Ensemble) []string {
	possible := func(_, to string) (string, error) { // another process upgrades them, and knows what a path names
		return profiles.VersionOf(to), nil
	}
	if upgrader, ok := e.(ensemble.Upgrader); ok {
		possible = upgrader.Upgrades
	}
	versions, _ := upgrades(p, possible)
	return versions
}

// CheckThere is Check for an ensemble that already exists. It asks the ensemble for what the planned faults need.
func CheckThere(ctx context.Context, p profiles.Profile, e ensemble.Ensemble) []error {
	about := e.Describe()
	on := Environment{Name: fmt.Sprintf("%s:%d", about.Kind, e.Servers()), Servers: e.Servers(), Driver: e, Encrypted: encrypted(e)}
	if upgrader, ok := e.(ensemble.Upgrader); ok {
		on.Upgrades = upgrader.Upgrades
	}
	problems := Check(p, on)
	if len(problems) > 0 {
		return problems
	}
	for i, f := range p.Faults {
		var err error
		if key, why := f.ExpiresTooLate(p, tickOf(about)); key != "" {
			problems = append(problems, fmt.Errorf("%s: faults: %s", p.AtFault(i, key), why))
		}
		switch {
		case f.Kind == profiles.Disconnect:
			err = e.(ensemble.Partitioner).Partitions(ctx, ensemble.Side(f.From))
		case slices.Contains(ofNetwork, f.Kind):
			err = e.(ensemble.Degrader).Degrades(ctx)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s cannot be injected here: %w", p.AtFault(i, "kind"), f.Kind, err))
		}
	}
	return problems
}

// tickOf returns the servers' unit of time, to which they round session timeouts up: the default if they do not report it.
func tickOf(about ensemble.Description) time.Duration { return cmp.Or(about.Tick, 2*time.Second) }

// encrypted reports whether the run has started the ensemble with an encrypted client port.
func encrypted(e ensemble.Ensemble) bool {
	s, ok := e.(ensemble.Secured)
	return ok && s.Credentials().CA != ""
}

// possible returns the kinds of faults that can be injected in the environment.
func (e Environment) possible() []string {
	var all []string
	for _, k := range profiles.FaultKinds() {
		if e.impossible(profiles.PlannedFault{Kind: k.Name, Session: profiles.AnySession}) == "" {
			all = append(all, k.Name)
		}
	}
	return all
}

// impossible says why a fault cannot be injected there, and what to do; it is "" if the fault can be injected.
func (e Environment) impossible(f profiles.PlannedFault) string {
	_, injects := e.Driver.(ensemble.FaultInjector)
	_, cuts := e.Driver.(ensemble.Partitioner)
	_, degrades := e.Driver.(ensemble.Degrader)
	_, upgrades := e.Driver.(ensemble.Upgrader)
	network := f.Kind == profiles.Disconnect || slices.Contains(ofNetwork, f.Kind)
	switch {
	case e.Encrypted && slices.Contains(ofConnections, f.Kind) && !unread(f):
		return "it is injected by a proxy that reads the protocol, which TLS hides (use the plain port, or secure: none)"
	case !injects && (network || slices.Contains(ofProcesses, f.Kind)):
		return "zkbench injects no faults into servers that somebody else runs (let the run start its own: --ensemble compose:3 or local:3, or give the addresses of 'zkbench up')"
	case f.Kind == profiles.Disconnect && !cuts:
		return "its servers share the network of one machine, which cannot be cut between them (choose --ensemble compose:3, or another fault: " +
			"pause for a server that hangs, or silence for one that its clients cannot reach but its peers can)"
	case f.Kind == profiles.RollingUpgrade && !upgrades:
		return "its servers run the ZooKeeper of their image (choose --ensemble local:3, or rolling-restart)"
	case network && !degrades:
		return "its servers share the network of one machine (choose --ensemble compose:3)"
	}
	return ""
}

// unread reports whether the proxy can inject a fault into connections that it cannot read.
func unread(f profiles.PlannedFault) bool {
	return f.Kind == profiles.Reset && f.Session == profiles.AnySession
}

// missing says why there is no such server; it is "" if there is.
func (e Environment) missing(server string) string {
	number, err := strconv.Atoi(server)
	switch {
	case err == nil && number > e.Servers:
		return fmt.Sprintf("there is no server %d on %s (expected 1 to %d)", number, e.Name, e.Servers)
	case server == profiles.Follower && e.Servers < 3:
		return fmt.Sprintf("there is no follower on %s, which needs three servers (expected leader, or a number from 1 to %d)", e.Name, e.Servers)
	}
	return ""
}

// MostDown returns the maximum number of servers that the planned faults take away from the sessions at the same time.
func MostDown(p profiles.Profile) int {
	most, all := 0, p.Schedule()
	for _, f := range all {
		if !takesServer(f) {
			continue
		}
		n := 0
		for _, g := range all {
			if takesServer(g) && g.At <= f.At && (g.For == 0 || g.At+g.For > f.At) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// takesServer reports whether sessions must leave the server that a fault is injected into.
func takesServer(f profiles.PlannedFault) bool {
	return slices.Contains(ofProcesses, f.Kind) || f.Kind == profiles.Disconnect || f.Kind == profiles.Silence && f.Server != ""
}

// NeedsProxy reports whether a profile plans a fault of the connections between clients and servers.
func NeedsProxy(p profiles.Profile) bool {
	return slices.ContainsFunc(p.Faults, func(f profiles.PlannedFault) bool { return slices.Contains(ofConnections, f.Kind) })
}

// ProxyNote is what a reader must know about numbers measured through the proxy.
const ProxyNote = "The sessions went through zkbench's fault proxy: its delay is part of every response, and its CPU time part of zkbench's."
