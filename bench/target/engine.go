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
	// Dial opens one session. The seed determines the order in which it tries the servers.
	Dial func(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error)
	// DialAs is Dial with an identity; nil if the engine does not support identities.
	DialAs func(ctx context.Context, servers []string, timeout time.Duration, seed uint64, id access.Identity) (zk.Session, error)
	// On returns the engine with sessions that ask servers only for what they can do; nil if it makes no difference.
	On func(zk.Powers) Engine
	// SASL reports that its sessions support SASL authentication and a chroot.
	SASL bool
}

// As returns the engine with the sessions of an access. A session's number is its seed minus that of the profile.
func (e Engine) As(a *access.Access, seed uint64) (Engine, error) {
	if a == nil {
		return e, nil
	}
	if e.DialAs == nil {
		return e, fmt.Errorf("engine %s does not support sessions with an identity; use engine: native", e.Name)
	}
	if !e.SASL {
		if err := a.Unsupported(e.Name); err != nil {
			return e, err
		}
	}
	e.Dial = func(ctx context.Context, servers []string, timeout time.Duration, by uint64) (zk.Session, error) {
		return e.DialAs(ctx, servers, timeout, by, a.Session(int(by-seed)))
	}
	return e, nil
}
