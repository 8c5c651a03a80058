package secured

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// Servers opens sessions on the servers of the run.
type Servers interface {
	// Dial opens a session with the credentials of the run's sessions.
	Dial(ctx context.Context) (zk.Session, error)
	// DialAs opens a session with an additional digest credential, USER:PASSWORD, whose owner alone may use what the session creates. Each of its connections
	// passes through wrap, unencrypted, unless wrap is nil.
	DialAs(ctx context.Context, credential []byte, wrap func(net.Conn) net.Conn) (zk.Session, error)
	// DialNobody opens a session without credentials.
	DialNobody(ctx context.Context) (zk.Session, error)
}

// Config configures one run.
type Config struct {
	scenarios.Config // with Variants()
	Servers          Servers
	Dir              string // an existing znode; each trial creates one below it, and leaves it there
}

// tries is how often a trial is attempted until the situation comes about: a slow machine may lose a session.
const tries = 3

// Run asks the servers for their rules, and plays the trials of Plan. It returns an error if the servers could not be asked, or when ctx ends.
func Run(ctx context.Context, c Config) (Rules, []scenarios.Finding, error) {
	rules, err := ask(ctx, c.Servers, c.Dir+"/trial-0")
	if err != nil {
		return rules, nil, fmt.Errorf("ask the servers for their rules: %w", err)
	}
	trials := Plan(c.Variants, rules)
	findings, err := scenarios.Run(ctx, c.Config, trials, tries, func(ctx context.Context, i, try int) (Violation, string, error) {
		return play(ctx, c.Servers, trials[i], fmt.Sprintf("%s/trial-%d", c.Dir, 1+i+try*len(trials)))
	})
	return rules, findings, err
}

// credential returns a new credential for a user. Servers learn digest credentials from those who present them.
func credential(user string) []byte { return []byte(user + ":" + rand.Text()) }

// ask finds out by trial what the servers require.
func ask(ctx context.Context, servers Servers, dir string) (r Rules, err error) {
	ctx, cancel := context.WithTimeout(ctx, scenarios.StepTimeout)
	defer cancel()
	if r.Enforced, err = enforced(ctx, servers); err != nil {
		return r, err
	}
	admin, err := servers.Dial(ctx)
	if err != nil {
		return r, err
	}
	defer admin.Close()
	owner, err := servers.DialAs(ctx, credential("owner"), nil)
	if err != nil {
		return r, err
	}
	defer owner.Close()
	other, err := servers.DialAs(ctx, credential("other"), nil)
	if err != nil {
		return r, err
	}
	defer other.Close()
	if _, err := admin.Create(ctx, dir, nil, zk.Persistent); err != nil {
		return r, err
	}
	if err := catchUp(ctx, other); err != nil {
		return r, err
	}
	var events *zk.Stream
	if w, ok := zk.AsPersistentWatcher(other); ok {
		if events, err = w.AddWatch(ctx, dir, true); err != nil {
			return r, err
		}
		defer events.Stop()
	}
	own, last := dir+"/own", dir+"/last"
	if _, err := owner.Create(ctx, own, nil, zk.Persistent); err != nil {
		return r, err
	}
	if err := catchUp(ctx, other); err != nil {
		return r, err
	}
	switch _, there, err := other.Exists(ctx, own); {
	case errors.Is(err, zk.ErrNoAuth):
		r.ReadLook = true
	case err != nil:
		return r, err
	case !there:
		return r, fmt.Errorf("%s is not there", own)
	}
	if err := owner.Delete(ctx, own, zk.AnyVersion); err != nil || events == nil {
		return r, err
	}
	if _, err := admin.Create(ctx, last, nil, zk.Persistent); err != nil {
		return r, err
	}
	r.ReadEvents, err = filtered(ctx, events, own, last)
	return r, err
}

// enforced reports whether the servers refuse everything to a session without credentials.
func enforced(ctx context.Context, servers Servers) (bool, error) {
	nobody, err := servers.DialNobody(ctx)
	if err == nil {
		defer nobody.Close()
		_, _, err = nobody.Exists(ctx, "/")
	}
	switch {
	case errors.Is(err, zk.ErrAuthRequired):
		return true, nil
	case errors.Is(err, zk.ErrNoAuth): // it was asked for READ, so it was let in
		return false, nil
	}
	return false, err
}

// catchUp makes the session's server apply what others have done.
func catchUp(ctx context.Context, s zk.Session) error {
	if err := zk.CatchUp(ctx, s, "/"); !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	return nil
}

// filtered reports whether the deletion of own is withheld from a watch that is notified of what came after it.
func filtered(ctx context.Context, events *zk.Stream, own, last string) (bool, error) {
	for {
		e, err := events.Next(ctx)
		switch {
		case err != nil:
			return false, err
		case e.Err != nil:
			return false, e.Err
		case e.Type == zk.EventDeleted && e.Path == own:
			return false, nil
		case e.Path == last:
			return true, nil
		}
	}
}
