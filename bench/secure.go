package bench

import (
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// most returns how many sessions the largest cell of a profile has.
func (b Setup) most(p profiles.Profile) (n int) {
	for _, sessions := range p.Sessions {
		n = max(n, sessions)
	}
	if act, ok := b.act(p.Workload); ok {
		n = act.Sessions
	}
	return n + p.Beside()
}

// LoadAccess reads the secrets and certificates that set refers to: those of the profile, or others in their place. It returns nil if the sessions
// are plain. The error is ErrProfile: a problem with a reference, or something that cannot be done with an identity.
func (b Setup) LoadAccess(p profiles.Profile, set access.Settings) (*access.Access, error) {
	a, err := access.Load(set, b.most(p))
	if err != nil || a == nil {
		return nil, joined(err)
	}
	if e, ok := b.engine(p.Engine); ok {
		if _, err := e.As(a, p.Seed); err != nil {
			return nil, joined(err)
		}
	}
	if act, isAct := b.act(p.Workload); isAct && !act.Secured {
		return nil, joined(fmt.Errorf("workload %s does not support auth, tls, acl and chroot, because it breaks connections in its own proxies or "+
			"starts client processes (remove them, or use another profile)", p.Workload))
	}
	if b.drives(p) {
		return nil, joined(errors.New("drivers do not support auth, tls, acl and chroot (remove the driver from variants, or use the plain port)"))
	}
	return a, nil
}

// refused reports whether the servers refused to carry anything out because of the session's identity, or because it has none.
func refused(err error) bool {
	return load.IsAny(err, zk.ErrAuthRequired, zk.ErrAuthFailed, zk.ErrNoAuth, zk.ErrInvalidACL)
}

// secure gives the engine the access of the run.
func (r *runner) secure() (err error) {
	if r.target.Access = r.Access; r.target.Access == nil {
		set := access.SettingsOf(r.target.Profile)
		if s, ok := r.Ensemble.(ensemble.Secured); ok {
			set = set.With(s.Credentials())
		}
		if r.target.Access, err = r.LoadAccess(r.target.Profile, set); err != nil {
			return err
		}
	}
	if r.target.Access == nil && r.several() && r.target.Engine.Identities { // connections to other ensembles may be compared with these
		r.target.Access = access.Plain(r.most(r.target.Profile))
	}
	r.target.Engine, err = r.target.Engine.As(r.target.Access, r.target.Profile.Seed)
	return err
}

// tellConnecting adds the phases of the connections to the current ensemble to the document.
func (r *runner) tellConnecting() {
	if r.target.Access == nil {
		return
	}
	all, resumed := r.target.Access.Phases()
	if r.Meeting != nil {
		var parts []results.PartPhase
		for _, p := range all {
			h := metrics.NewHistogram()
			for _, took := range p.Each {
				h.Record(took)
			}
			part := results.PartPhase{Phase: p.Phase, Times: results.PartTimesOf(h)}
			if p.Phase == "tls" {
				part.Resumed = resumed
			}
			parts = append(parts, part)
		}
		_ = r.Out.Phases(parts) // an error also appears when the document is written
	}
	r.results.Connected(all, resumed, r.number, r.settings, r.several() || !r.target.Access.IsPlain())
}
