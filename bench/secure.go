package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// most is how many sessions the largest cell of a profile has.
func (b Setup) most(p profiles.Profile) (n int) {
	for _, sessions := range p.Sessions {
		n = max(n, sessions)
	}
	if act, ok := b.act(p.Workload); ok {
		n = act.Sessions
	}
	return n + p.Beside()
}

// LoadAccess reads the secrets and certificates that a profile refers to, or with others in their place; nil where its sessions are plain. The
// error is ErrProfile: what is wrong with a reference, or what cannot be done with an identity.
func (b Setup) LoadAccess(p profiles.Profile, set access.Settings) (*access.Access, error) {
	a, err := access.Load(set, b.most(p))
	if err != nil || a == nil {
		return nil, joined(err)
	}
	if e, ok := b.engine(p.Engine); ok {
		if _, err := e.as(a, p.Seed); err != nil {
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

// refused reports whether the servers carried nothing out for who the session is, or is not.
func refused(err error) bool {
	return isAny(err, zk.ErrAuthRequired, zk.ErrAuthFailed, zk.ErrNoAuth, zk.ErrInvalidACL)
}

// as is the engine with sessions of an access. Their number follows from their seed, which counts from that of the profile.
func (e Engine) as(a *access.Access, seed uint64) (Engine, error) {
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

// secure gives the engine the access of the run.
func (r *runner) secure() (err error) {
	if r.access = r.Access; r.access == nil {
		set := access.SettingsOf(r.profile)
		if s, ok := r.Ensemble.(ensemble.Secured); ok {
			set = set.With(s.Credentials())
		}
		if r.access, err = r.LoadAccess(r.profile, set); err != nil {
			return err
		}
	}
	if r.access == nil && r.several() && r.engine.DialAs != nil { // others may have connections to compare these with
		r.access = access.Plain(r.most(r.profile))
	}
	r.engine, err = r.engine.as(r.access, r.profile.Seed)
	return err
}

// tookText is a phase of connections with its median and its 99th percentile.
func tookText(p access.Took) string {
	return fmt.Sprintf("%s %s and %s", p.Phase, phrase.Duration(p.P50), phrase.Duration(p.P99))
}

// connectingNote begins the note of how long connections took to make.
const connectingNote = "Making a connection"

// tellConnecting puts the phases of the connections to the ensemble that is there into the document.
func (r *runner) tellConnecting() {
	if r.access == nil {
		return
	}
	all, resumed := r.access.Phases()
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
		_ = r.Out.Phases(parts) // which the document's being written tells
	}
	r.sayConnecting(all, resumed)
}

// mergeConnecting adds up the phases of the connections of all shares.
func (r *runner) mergeConnecting(shares []*results.ShareResult) error {
	r.doc.Notes = slices.DeleteFunc(slices.Clone(r.doc.Notes), func(note string) bool { return strings.HasPrefix(note, connectingNote) })
	var all []access.Took
	var sums []*metrics.Histogram
	resumed := 0
	for _, s := range shares {
		for _, p := range s.Parts[""].Connecting {
			i := slices.IndexFunc(all, func(t access.Took) bool { return t.Phase == p.Phase })
			if i < 0 {
				i = len(all)
				all, sums = append(all, access.Took{Phase: p.Phase}), append(sums, metrics.NewHistogram())
			}
			if err := p.Times.AddTo(sums[i]); err != nil {
				return fmt.Errorf("%s: %w", s.Dir, err)
			}
			resumed += p.Resumed
		}
	}
	for i, h := range sums {
		all[i].Count, all[i].P50, all[i].P99, all[i].Max = int(h.Count()), h.Quantile(0.5), h.Quantile(0.99), h.Max()
	}
	r.sayConnecting(all, resumed)
	return nil
}

// sayConnecting puts phases of connections into the document.
func (r *runner) sayConnecting(all []access.Took, resumed int) {
	var texts []string
	for _, p := range all {
		c := results.Connecting{Phase: p.Phase, Environment: r.number, Count: p.Count, P50: inMillis(p.P50), P99: inMillis(p.P99), Max: inMillis(p.Max)}
		text := tookText(p)
		if p.Phase == "tls" {
			c.Resumed = resumed
			text = fmt.Sprintf("%s (%d of %d resumed)", text, resumed, p.Count)
		}
		r.doc.Connecting, texts = append(r.doc.Connecting, c), append(texts, text)
	}
	if len(texts) > 0 && (r.merges || r.several() || !r.access.IsPlain()) {
		there := ""
		for _, s := range r.apart {
			there += fmt.Sprintf(" with %s %v", s.Key, s.Value)
		}
		r.doc.Notes = append(r.doc.Notes, connectingNote+there+" took, p50 and p99: "+strings.Join(texts, "; ")+".")
	}
}
