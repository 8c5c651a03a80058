package ensemble

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ExternalConfig describes servers that somebody else runs.
type ExternalConfig struct {
	Addresses []string // host:port of the clients' ports
	// AdminPort is the port of the servers' AdminServers, which are asked if four-letter words are disabled; 0 means 8080, ZooKeeper's default.
	AdminPort int
	Dial      Dialer // opens connections to the servers; nil: plain ones
}

// External is an ensemble of servers that somebody else runs. zkbench observes them, but can neither end them nor inject faults into them.
type External struct {
	Probe
	about Description
}

var _ Ensemble = (*External)(nil)

// Connect checks the servers and returns when at least one of them serves. It returns ErrUnreachable if none accepts a connection, and
// ErrNoQuorum if they run but none serves; each error names every server. It keeps no connection open and creates no znode:
// opening a session shows that a server serves, because the quorum must agree to it.
func Connect(ctx context.Context, cfg ExternalConfig) (*External, error) {
	addresses, err := parseAddresses(strings.Join(cfg.Addresses, ","))
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	e := &External{Probe: Probe{Hosts: addresses, Dial: cfg.Dial, Admin: adminOf(addresses, cfg.AdminPort)}}
	all := e.examine(ctx)
	if err := oneServes(all); err != nil {
		return nil, err
	}
	e.about = Description{Kind: "external", Source: strings.Join(addresses, ","), Servers: len(addresses), Fsync: "unknown", Encrypted: cfg.Dial != nil}
	for _, f := range all {
		if f.Down != nil {
			continue
		}
		if e.about.Version = f.Stats.Version; e.about.Version == "" {
			e.about.Version, _ = cfg.Dial.Version(ctx, f.Stats.Address) // srvr may be enabled where mntr is not
		}
		if e.about.Tick == 0 {
			e.about.Tick = cfg.Dial.Tick(ctx, f.Stats.Address)
		}
		if e.about.Version != "" {
			break
		}
	}
	return e, nil
}

// oneServes returns nil if a server serves, and otherwise which of the two errors applies.
func oneServes(all []facts) error {
	var causes []error
	reached := false
	for _, f := range all {
		if f.Down == nil {
			return nil
		}
		reached = reached || !errors.Is(f.Down, ErrUnreachable)
		causes = append(causes, fmt.Errorf("server %d: %w", f.Stats.Server, f.Down))
	}
	for _, f := range all {
		if errors.Is(f.Down, ErrNoTLS) { // the addresses are right; the others report the same
			return fmt.Errorf("server %d: %w", f.Stats.Server, f.Down)
		}
	}
	if reached {
		return fmt.Errorf("%w: none of %d servers serves; start at least %d of them%s", ErrNoQuorum, len(all), len(all)/2+1, listed(causes))
	}
	return fmt.Errorf("%w: none of %d accepts a connection; check the addresses and that the servers run%s", ErrUnreachable, len(all), listed(causes))
}

// Describe returns what Connect found.
func (e *External) Describe() Description { return e.about }

// Close does nothing: the servers belong to somebody else.
func (e *External) Close() error { return nil }
