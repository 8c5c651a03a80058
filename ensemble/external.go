package ensemble

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// ExternalConfig says which servers somebody else runs.
type ExternalConfig struct {
	Addresses []string // host:port of the clients' ports
	// AdminPort of the servers' AdminServers, asked where four-letter words are off; 0 means 8080, ZooKeeper's default.
	AdminPort int
}

// External is servers that somebody else runs. zkbench looks at them and can neither end nor break them.
type External struct {
	addresses []string
	adminPort int
	about     Description
}

var _ Ensemble = (*External)(nil)

// Connect looks at servers and returns when at least one of them serves. ErrUnreachable when none accepts a connection,
// ErrNoQuorum when they run but none serves; each error names every server. It keeps no connection open and writes no znode:
// that a server serves is seen from a session, which the quorum must agree to.
func Connect(ctx context.Context, cfg ExternalConfig) (*External, error) {
	addresses, err := parseAddresses(strings.Join(cfg.Addresses, ","))
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	if cfg.AdminPort == 0 {
		cfg.AdminPort = 8080
	}
	e := &External{addresses: addresses, adminPort: cfg.AdminPort}
	all := examine(ctx, e.addresses, e.admin)
	if err := oneServes(all); err != nil {
		return nil, err
	}
	e.about = Description{Kind: "external", Source: strings.Join(addresses, ","), Servers: len(addresses), Fsync: "unknown"}
	for _, f := range all {
		if f.Down != nil {
			continue
		}
		if e.about.Version = f.Stats.Version; e.about.Version == "" {
			e.about.Version, _ = askVersion(ctx, f.Stats.Address) // srvr may be on where mntr is off
		}
		if e.about.Version != "" {
			break
		}
	}
	return e, nil
}

// oneServes is nil if a server serves, and otherwise says which of the two ways to fail it is.
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
	if reached {
		return fmt.Errorf("%w: none of %d servers serves; start at least %d of them%s", ErrNoQuorum, len(all), len(all)/2+1, listed(causes))
	}
	return fmt.Errorf("%w: none of %d accepts a connection; are the addresses right, do the servers run?%s", ErrUnreachable, len(all), listed(causes))
}

func (e *External) admin(i int) string {
	host, _, err := net.SplitHostPort(e.addresses[i])
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(e.adminPort))
}

// Addresses are the servers' addresses as they were given.
func (e *External) Addresses() []string { return slices.Clone(e.addresses) }

// Servers is the number of addresses.
func (e *External) Servers() int { return len(e.addresses) }

// Stats asks every server with mntr, or its AdminServer.
func (e *External) Stats(ctx context.Context) []ServerStats {
	return statsOf(ctx, e.addresses, e.admin)
}

// Preflight looks at the servers and at this process.
func (e *External) Preflight(ctx context.Context, need Need) []Problem {
	return judge(need, examine(ctx, e.addresses, e.admin), lookHere())
}

// Describe says what Connect found.
func (e *External) Describe() Description { return e.about }

// Close has nothing to end: the servers belong to somebody else.
func (e *External) Close() error { return nil }
