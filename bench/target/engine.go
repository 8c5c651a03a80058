package target

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/zk"
)

// Engine is a client library that opens sessions.
type Engine struct {
	Name string
	// Persistent reports that its sessions support persistent watches, which some variants need.
	Persistent bool
	// Identities reports that its sessions can have an identity; SASL, that they support SASL authentication and a chroot.
	Identities, SASL bool
	// Open opens one session.
	Open func(ctx context.Context, d Dialing) (zk.Session, error)

	access *access.Access
	seed   uint64 // of the profile
	powers zk.Powers
}

// Dialing is how a session is opened.
type Dialing struct {
	Servers  []string
	Timeout  time.Duration
	Seed     uint64 // determines the order in which it tries the servers
	Identity access.Identity
	Powers   zk.Powers // of the servers: a session asks them only for what they can do
}

// As returns the engine with the sessions of an access. A session's number is its seed minus that of the profile.
func (e Engine) As(a *access.Access, seed uint64) (Engine, error) {
	if a == nil {
		return e, nil
	}
	if !e.Identities {
		return e, fmt.Errorf("engine %s does not support sessions with an identity; use engine: native", e.Name)
	}
	if !e.SASL {
		if err := a.Unsupported(e.Name); err != nil {
			return e, err
		}
	}
	e.access, e.seed = a, seed
	return e, nil
}

// On returns the engine with sessions that ask servers only for what they can do.
func (e Engine) On(servers zk.Powers) Engine {
	e.powers = servers
	return e
}

// Dial opens a session with the identity that its seed gives it.
func (e Engine) Dial(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error) {
	var who access.Identity
	if e.access != nil {
		who = e.access.Session(int(seed - e.seed))
	}
	return e.DialAs(ctx, servers, timeout, seed, who)
}

// DialAs opens a session with an identity.
func (e Engine) DialAs(ctx context.Context, servers []string, timeout time.Duration, seed uint64, who access.Identity) (zk.Session, error) {
	return e.Open(ctx, Dialing{servers, timeout, seed, who, e.powers})
}
