package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// Revocable is a read/write lock whose grants can be asked back. Grant.Revoked tells the holder, who consents by releasing. A
// waiting handle that is revoked gives its place up with ErrRevoked.
type Revocable interface {
	RWLock
	// Holders lists the znodes of those who hold the lock at this moment. It may be called from any goroutine.
	Holders(ctx context.Context) ([]string, error)
	// Revoke asks for the grant of a znode, and returns when the znode is gone; when it was gone before, the token is 0, otherwise
	// that of the grant. With Options.Force it does not wait for consent longer than that, and deletes the znode; the holder then
	// learns it as Grant.Lost. When the context ends first, the holder has been asked, or may have been. It may be called from any
	// goroutine.
	Revoke(ctx context.Context, path string) (token int64, err error)
}

// revocations are the words that ask for a grant in the layouts of all libraries.
var revocations = []string{"unlock", "__REVOKE__"}

func isRevoked(data []byte) bool {
	for _, word := range revocations {
		if strings.TrimSpace(string(data)) == word {
			return true
		}
	}
	return false
}

// revocable is a readWrite that reads and watches its own znode from its creation on, so that no revocation is missed: one that
// came before the watch is in the data, and one that came while the session had no server fires the watch on its return.
type revocable struct {
	readWrite
	guard *guard // of the held znode
}

func newRevocable(s zk.Session, dir string, o Options) *revocable {
	o.WatchOwn = false // the guard does it
	return &revocable{readWrite: *newReadWrite(s, dir, o)}
}

// AcquireRead is described at RWLock.
func (l *revocable) AcquireRead(ctx context.Context) (Grant, error) { return l.enterGuarded(ctx, true) }

// AcquireWrite is described at RWLock.
func (l *revocable) AcquireWrite(ctx context.Context) (Grant, error) {
	return l.enterGuarded(ctx, false)
}

func (l *revocable) enterGuarded(ctx context.Context, reads bool) (Grant, error) {
	var g *guard
	grant, err := l.enter(ctx, reads, func(ctx context.Context, self string) error {
		if g != nil { // it looks again, because its lease ended
			g.end()
		}
		var err error
		if g, err = l.protect(ctx, l.dir+"/"+self, l.s.Lease()); err != nil {
			return err
		}
		l.o.pause(PauseGuarded)
		return l.waitFor(ctx, self, g.refused)
	})
	if err != nil {
		if g != nil {
			g.end()
		}
		return Grant{}, err
	}
	l.guard = g
	grant.Lost, grant.Revoked = g.lost, g.revoked
	return grant, nil
}

// Downgrade is described at RWLock.
func (l *revocable) Downgrade(ctx context.Context) (Grant, error) {
	lease := l.s.Lease()
	written, err := l.share(ctx)
	if err != nil {
		return Grant{}, fmt.Errorf("downgrade %s: %w", l.dir, err)
	}
	g, err := l.protect(ctx, l.held.Path, lease)
	if err != nil { // back to the write grant
		remove(ctx, l.s, l.held.Path, l.o)
		l.held.Path, l.reads = written, false
		return Grant{}, fmt.Errorf("downgrade %s: %w", l.dir, err)
	}
	err = l.leave(ctx, written)
	l.guard.end()
	l.guard = g
	if err != nil {
		g.end()
		l.guard = nil
		return Grant{}, fmt.Errorf("downgrade %s: %w", l.dir, err)
	}
	return Grant{Path: l.held.Path, Token: l.held.Czxid, Lost: g.lost, Revoked: g.revoked}, nil
}

// Release is described at RWLock.
func (l *revocable) Release(ctx context.Context) error {
	err := l.readWrite.Release(ctx)
	if l.guard != nil {
		l.guard.end()
		l.guard = nil
	}
	return err
}

// Holders is described at Revocable.
func (l *revocable) Holders(ctx context.Context) ([]string, error) {
	children, _, err := l.s.Children(ctx, l.dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("holders of %s: %w", l.dir, err)
	}
	var all []string
	for _, c := range children {
		if r, _ := parseRole(c); r == foreigner {
			continue
		}
		if ahead, err := sharedPosition(children, c, false, func(string) {}); err == nil && ahead == "" {
			all = append(all, l.dir+"/"+c)
		}
	}
	return all, nil
}

// Revoke is described at Revocable.
func (l *revocable) Revoke(ctx context.Context, path string) (int64, error) {
	token, err := l.revoke(ctx, path)
	if err != nil {
		return token, fmt.Errorf("revoke %s: %w", path, err)
	}
	return token, nil
}

func (l *revocable) revoke(ctx context.Context, path string) (int64, error) {
	var st zk.Stat
	err := insist(ctx, func() (err error) { // asking twice does no harm
		st, err = l.s.Set(ctx, path, []byte(l.o.Layout.revoke), zk.AnyVersion)
		return
	})
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var patience <-chan time.Time
	if l.o.Force > 0 {
		t := time.NewTimer(l.o.Force)
		defer t.Stop()
		patience = t.C
	}
	for {
		_, there, w, err := l.s.ExistsW(ctx, path)
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
		case <-patience:
			w.Stop()
			if err := remove(ctx, l.s, path, l.o); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return st.Czxid, err
			}
			return st.Czxid, nil
		case <-ctx.Done():
			w.Stop()
			return st.Czxid, ctx.Err()
		}
	}
}

// guard watches one's own znode until end.
type guard struct {
	revoked chan struct{} // closed when the grant is asked for
	lost    chan struct{} // closed when the znode is gone, or the lease over
	refused chan error    // yields one error when a wait must be given up: revoked or gone
	stop    context.CancelFunc
	done    chan struct{}
}

// protect reads the own znode, which tells of a revocation that was faster than we are, and keeps watching it.
func (l *revocable) protect(ctx context.Context, path string, lease <-chan struct{}) (*guard, error) {
	data, _, w, err := l.s.GetW(ctx, path)
	if err != nil {
		return nil, err
	}
	g := &guard{revoked: make(chan struct{}), lost: make(chan struct{}), refused: make(chan error, 1), done: make(chan struct{})}
	if isRevoked(data) {
		g.revoke()
	}
	ctx, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(g.done)
		defer close(g.lost)
		g.watch(ctx, l.s, path, w, lease)
	}()
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
		// A change may be anything: somebody else's data, or after a reconnect a revocation and more.
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
	case <-g.revoked: // asked for twice
	default:
		close(g.revoked)
		g.refuse(ErrRevoked)
	}
}

func (g *guard) refuse(err error) {
	select {
	case g.refused <- err:
	default:
	}
}

// end waits for the goroutine. The own znode's deletion has ended it, or the znode is left to somebody else.
func (g *guard) end() {
	g.stop()
	<-g.done
}

// revocableWakes is readWriteWakes, and the event of a guard that sees its own znode go.
func revocableWakes(l Load) (release, arrival float64) {
	release, arrival = readWriteWakes(l)
	return release + 1, arrival
}
