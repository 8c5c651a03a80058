package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// revocations are the data that request a grant back in the layouts of all libraries.
var revocations = []string{"unlock", "__REVOKE__"}

func isRevoked(data []byte) bool {
	for _, word := range revocations {
		if strings.TrimSpace(string(data)) == word {
			return true
		}
	}
	return false
}

// revocable is a readWrite that reads and watches its own znode from its creation on, so that no revocation is missed: one that came before the watch
// is in the data, and one that came while the session had no server fires the watch on its return.
type revocable struct {
	readWrite
	guard *guard // of the held znode
}

func newRevocable(s zk.Session, dir string, o recipes.Options) *revocable {
	o.WatchOwn = false // the guard does it
	return &revocable{readWrite: *newReadWrite(s, dir, o, sharedTurn(o.ReaderWatch == "first"))}
}

// AcquireRead waits until no writer is before us.
func (l *revocable) AcquireRead(ctx context.Context) (recipes.Grant, error) {
	return l.enterGuarded(ctx, true)
}

// AcquireWrite waits until nobody is before us.
func (l *revocable) AcquireWrite(ctx context.Context) (recipes.Grant, error) {
	return l.enterGuarded(ctx, false)
}

func (l *revocable) enterGuarded(ctx context.Context, reads bool) (recipes.Grant, error) {
	var g *guard
	grant, err := l.enter(ctx, reads, func(ctx context.Context, self string) error {
		if g != nil { // it checks again, because its lease ended
			g.end()
		}
		var err error
		if g, err = l.protect(ctx, l.Dir+"/"+self, l.Session.Lease()); err != nil {
			return err
		}
		l.Options.Pause(recipes.PauseGuarded)
		return l.waitFor(ctx, self, g.refused)
	})
	if err != nil {
		if g != nil {
			g.end()
		}
		return recipes.Grant{}, err
	}
	l.guard = g
	grant.Lost, grant.Revoked = g.lost, g.revoked
	return grant, nil
}

// Downgrade turns the write grant into a read grant.
func (l *revocable) Downgrade(ctx context.Context) (recipes.Grant, error) {
	lease := l.Session.Lease()
	written, err := l.share(ctx)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("downgrade %s: %w", l.Dir, err)
	}
	g, err := l.protect(ctx, l.Held.Path, lease)
	if err != nil {
		l.unshare(ctx, written)
		return recipes.Grant{}, fmt.Errorf("downgrade %s: %w", l.Dir, err)
	}
	err = l.leave(ctx, written)
	l.guard.end()
	l.guard = g
	if err != nil {
		g.end()
		l.guard = nil
		return recipes.Grant{}, fmt.Errorf("downgrade %s: %w", l.Dir, err)
	}
	return recipes.Grant{Path: l.Held.Path, Token: l.Held.Czxid, Lost: g.lost, Revoked: g.revoked}, nil
}

// Release gives up what is held.
func (l *revocable) Release(ctx context.Context) error {
	err := l.readWrite.Release(ctx)
	if l.guard != nil {
		l.guard.end()
		l.guard = nil
	}
	return err
}

// Holders lists the znodes of the current holders.
func (l *revocable) Holders(ctx context.Context) ([]string, error) {
	children, _, err := l.Session.Children(ctx, l.Dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("holders of %s: %w", l.Dir, err)
	}
	var all []string
	for _, c := range children {
		if r, _ := parseRole(c); r == foreigner {
			continue
		}
		if ahead, err := sharedPosition(children, c, false, func(string) {}); err == nil && ahead == "" {
			all = append(all, l.Dir+"/"+c)
		}
	}
	return all, nil
}

// Revoke requests the grant of a znode back, and waits until the znode is gone.
func (l *revocable) Revoke(ctx context.Context, path string) (int64, error) {
	token, err := l.revoke(ctx, path)
	if err != nil {
		return token, fmt.Errorf("revoke %s: %w", path, err)
	}
	return token, nil
}

func (l *revocable) revoke(ctx context.Context, path string) (int64, error) {
	var st zk.Stat
	err := znode.Insist(ctx, func() (err error) { // asking twice does no harm
		st, err = l.Session.Set(ctx, path, []byte(l.Options.Layout.Revoke), zk.AnyVersion)
		return
	})
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var timeout <-chan time.Time
	if l.Options.Force > 0 {
		t := time.NewTimer(l.Options.Force)
		defer t.Stop()
		timeout = t.C
	}
	for {
		_, there, w, err := l.Session.ExistsW(ctx, path)
		if err != nil {
			return st.Czxid, err
		}
		if !there {
			w.Stop()
			return st.Czxid, nil
		}
		select {
		case e := <-w.C():
			if e.Err != nil {
				return st.Czxid, e.Err
			}
		case <-timeout:
			w.Stop()
			if err := znode.Remove(ctx, l.Session, path); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return st.Czxid, err
			}
			return st.Czxid, nil
		case <-ctx.Done():
			w.Stop()
			return st.Czxid, ctx.Err()
		}
	}
}

// guard watches the own znode until end.
type guard struct {
	revoked chan struct{} // closed when the grant is requested back
	lost    chan struct{} // closed when the znode is gone, or the lease has ended
	refused chan error    // yields one error when a wait must be abandoned: revoked or gone
	stop    context.CancelFunc
	done    chan struct{}
}

// protect reads the own znode, which shows a revocation that came earlier, and keeps watching it.
func (l *revocable) protect(ctx context.Context, path string, lease <-chan struct{}) (*guard, error) {
	data, _, w, err := l.Session.GetW(ctx, path)
	if err != nil {
		return nil, err
	}
	g := &guard{revoked: make(chan struct{}), lost: make(chan struct{}), refused: make(chan error, 1), done: make(chan struct{})}
	if isRevoked(data) {
		g.revoke()
	}
	ctx, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.Session.Go(func() {
		defer close(g.done)
		defer close(g.lost)
		g.watch(ctx, l.Session, path, w, lease)
	})
	return g, nil
}

// watch returns when the grant is lost or the guard has been ended.
func (g *guard) watch(ctx context.Context, s zk.Session, path string, w *zk.Watch, lease <-chan struct{}) {
	defer func() { w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lease:
			return
		case e := <-w.C():
			if e.Type == zk.EventDeleted || e.Err != nil {
				g.refuse(cmp.Or(e.Err, error(zk.ErrNoNode)))
				return
			}
		}
		// The change may be anything: foreign data, or after a reconnect a revocation and more.
		data, _, next, err := s.GetW(ctx, path)
		if err != nil {
			g.refuse(err)
			return
		}
		w = next
		if isRevoked(data) {
			g.revoke()
		}
	}
}

func (g *guard) revoke() {
	select {
	case <-g.revoked: // requested twice
	default:
		close(g.revoked)
		g.refuse(recipes.ErrRevoked)
	}
}

func (g *guard) refuse(err error) {
	select {
	case g.refused <- err:
	default:
	}
}

// end stops the goroutine and waits for it. The own znode has been deleted, or is left to somebody else.
func (g *guard) end() {
	g.stop()
	<-g.done
}

// revocableWakes returns readWriteWakes plus the event of a guard that sees its own znode deleted.
func revocableWakes(l recipes.Load) (release, arrival float64) {
	release, arrival = readWriteWakes(l)
	return release + 1, arrival
}
