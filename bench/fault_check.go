package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
)

// Ground is what a run will go on, before it is there: enough to tell which faults can be carried out.
type Ground struct {
	Name    string            // such as local:3
	Servers int               // how many there are
	Driver  ensemble.Ensemble // of the type that the ensemble will have; it may be a nil pointer
}

// The kinds of faults by what they need.
var (
	// of the process of a server
	processFaults = []string{profiles.Kill, profiles.StopServer, profiles.Pause, profiles.Restart}
	// of what a server sends
	degradingFaults = []string{profiles.AddLatency, profiles.AddLoss}
	// of a session, by its own means
	sessionFaults = []string{profiles.Expire, profiles.Crash}
	// of the connections of clients, by the proxy in front of the servers
	proxyFaults = []string{profiles.CutReply, profiles.CutRequest, profiles.Silence, profiles.DelayEvents, profiles.HoldEvents,
		profiles.RepeatEvents, profiles.Reset}
)

// CheckFaults reports every planned fault that cannot be carried out there, with its place and with what can be. The error is
// ErrProfile.
func CheckFaults(p profiles.Profile, on Ground) error {
	var faults []error
	for i, f := range p.Faults {
		if why := on.impossible(f); why != "" {
			faults = append(faults, fmt.Errorf("%s: %s cannot be carried out on %s: %s; possible there are %s", p.AtFault(i, "kind"), f.Kind, on.Name,
				why, strings.Join(on.possible(), ", ")))
			continue
		}
		if why := on.missing(f.Server); why != "" {
			faults = append(faults, fmt.Errorf("%s: %s", p.AtFault(i, "server"), why))
		}
	}
	return joined(faults)
}

// possible are the kinds of faults that can be carried out there.
func (g Ground) possible() []string {
	var all []string
	for _, k := range profiles.FaultKinds() {
		if g.impossible(profiles.PlannedFault{Kind: k.Name}) == "" {
			all = append(all, k.Name)
		}
	}
	return all
}

// impossible says why a fault cannot be carried out there, and what to do; "" if it can.
func (g Ground) impossible(f profiles.PlannedFault) string {
	_, breaks := g.Driver.(ensemble.Breaker)
	_, cuts := g.Driver.(ensemble.Partitioner)
	_, degrades := g.Driver.(ensemble.Degrader)
	ofNetwork := f.Kind == profiles.Disconnect || slices.Contains(degradingFaults, f.Kind)
	switch {
	case !breaks && (ofNetwork || slices.Contains(processFaults, f.Kind)):
		return "zkbench does not break servers that somebody else runs (let the run start its own: --ensemble compose:3 or local:3)"
	case f.Kind == profiles.Disconnect && !cuts:
		return "its servers share the network of one machine, and nothing cuts it between them (choose --ensemble compose:3, or another fault: " +
			"pause, of a server that stands still, or silence, of one that its clients do not reach while its peers do)"
	case ofNetwork && !degrades:
		return "its servers share the network of one machine (choose --ensemble compose:3)"
	}
	return ""
}

// missing says that there is no such server.
func (g Ground) missing(server string) string {
	number, err := strconv.Atoi(server)
	switch {
	case err == nil && number > g.Servers:
		return fmt.Sprintf("there is no server %d on %s; allowed is 1 to %d", number, g.Name, g.Servers)
	case server == profiles.Follower && g.Servers < 3:
		return fmt.Sprintf("there is no follower on %s, which needs three servers; allowed is leader, or a number from 1 to %d", g.Name, g.Servers)
	}
	return ""
}

// ground is what this run goes on.
func (r *runner) ground() Ground {
	about := r.Ensemble.Describe()
	return Ground{Name: fmt.Sprintf("%s:%d", about.Kind, r.Ensemble.Servers()), Servers: r.Ensemble.Servers(), Driver: r.Ensemble}
}

// checkFaults asks the ensemble, which is there by now, what the planned faults need of it.
func (r *runner) checkFaults(ctx context.Context) error {
	if err := CheckFaults(r.profile, r.ground()); err != nil {
		return err
	}
	var faults []error
	for i, f := range r.profile.Faults {
		var err error
		switch {
		case f.Kind == profiles.Disconnect:
			err = r.Ensemble.(ensemble.Partitioner).Partitions(ctx, ensemble.Side(f.From))
		case slices.Contains(degradingFaults, f.Kind):
			err = r.Ensemble.(ensemble.Degrader).Degrades(ctx)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %s cannot be carried out here: %w", r.profile.AtFault(i, "kind"), f.Kind, err))
		}
	}
	return joined(faults)
}

// mostDown is how many servers the planned faults take away from the sessions at the same time, at most.
func mostDown(p profiles.Profile) int {
	most := 0
	for _, f := range p.Faults {
		if !takesServer(f) {
			continue
		}
		n := 0
		for _, g := range p.Faults {
			if takesServer(g) && g.At <= f.At && (g.For == 0 || g.At+g.For > f.At) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// takesServer reports whether sessions have to leave the server that a fault strikes.
func takesServer(f profiles.PlannedFault) bool {
	return slices.Contains(processFaults, f.Kind) || f.Kind == profiles.Disconnect || f.Kind == profiles.Silence && f.Server != ""
}

// errNotStruck: a fault that waits for a request has met none.
var errNotStruck = errors.New("no such request came")
