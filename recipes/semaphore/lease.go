package semaphore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// leaseMarkers precede the number of a lease.
var leaseMarkers = []string{"lease-"}

// leases counts the leases among children, and says whether self is one of them.
func leases(children []string, self string, foreign func(string)) (count int, listed bool) {
	for _, c := range children {
		if _, ok := znode.Parse(c, leaseMarkers); !ok {
			foreign(c)
			continue
		}
		count++
		listed = listed || c == self
	}
	return count, listed
}

// lease is Apache Curator's InterProcessSemaphoreV2. The znodes under 'leases' are the permits in use. A session that wants one acquires the lock
// under 'locks', creates its lease, and waits until there are no more leases than permits. The lock keeps the order, and lets only one client at a
// time watch the leases; the bound is enforced by the leases alone, each of which is created before they are counted.
type lease struct {
	s       zk.Session
	dir     string
	o       recipes.Options
	layout  recipes.Layout // of leases
	permits int
	held    []zk.Created
}

func newLease(s zk.Session, dir string, o recipes.Options) *lease {
	layout := recipes.LayoutGoZookeeper
	if o.Layout == recipes.LayoutCurator {
		layout = recipes.LayoutCurator
	}
	return &lease{s: s, dir: dir, o: o, layout: znode.Marking(layout, leaseMarkers[0]), permits: max(o.Permits, 1)}
}

func (l *lease) leases() string { return l.dir + "/leases" }

func (l *lease) agreed() string { return l.dir + "/max" }

// Acquire waits for n permits.
func (l *lease) Acquire(ctx context.Context, n int) ([]recipes.Grant, error) {
	switch {
	case len(l.held) > 0:
		return nil, recipes.ErrHeld
	case n < 1, n > l.permits && !l.o.SharedPermits:
		return nil, fmt.Errorf("acquire %d permits of %s: %w", n, l.dir, recipes.ErrPermits)
	}
	grants, err := l.acquire(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	return grants, nil
}

// acquire holds the lock from the first lease to the last. Every return releases the lock, and an error the leases too.
func (l *lease) acquire(ctx context.Context, n int) (grants []recipes.Grant, err error) {
	order := lock.NewPredecessor(l.s, l.dir+"/locks", l.o)
	g, err := order.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	var taken []zk.Created
	defer func() {
		if err != nil {
			for _, c := range taken {
				znode.GiveUp(ctx, l.s, c.Path, err)
			}
			znode.GiveUp(ctx, l.s, g.Path, err)
		}
	}()
	lost := l.s.Lease() // before the last check, so that no loss after it is missed
	for range n {
		c, err := l.take(ctx)
		if err != nil {
			return nil, err
		}
		taken = append(taken, c)
	}
	if znode.Lapsed(l.s, lost) { // while others held; if there is a permit for the last of this session's leases, there are permits for all
		if lost, err = znode.Leased(l.s, func() error { return l.wait(ctx, znode.Base(taken[n-1].Path)) }); err != nil {
			return nil, err
		}
	}
	// It does no harm if the lock was lost in the meantime; and an unlock whose context ends continues in the background.
	if err := order.Release(ctx); znode.SessionOver(err) {
		return nil, err
	}
	if lost, err = znode.Confirm(ctx, l.s, lost, taken...); err != nil {
		return nil, znode.Revoked(err)
	}
	for _, c := range taken {
		grants = append(grants, recipes.Grant{Path: c.Path, Token: c.Czxid, Lost: lost})
	}
	l.held = taken
	l.o.Pause(recipes.PauseGranted)
	return grants, nil
}

// take creates a lease and waits until there is a permit for it. A lease that somebody else deletes in the meantime is created again.
func (l *lease) take(ctx context.Context) (zk.Created, error) {
	var passes znode.Passes
	for {
		c, err := znode.Enlist(ctx, l.s, l.leases(), l.layout, nil)
		if err != nil {
			return zk.Created{}, err
		}
		l.o.Pause(recipes.PauseLeased)
		err = l.wait(ctx, znode.Base(c.Path))
		if err == nil {
			c.Czxid, err = zk.Token(ctx, l.s, c)
		}
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, znode.ErrNotListed), errors.Is(err, zk.ErrNoNode): // somebody deleted it
			if err := passes.Next(ctx, nil); err != nil {
				return zk.Created{}, err
			}
		default:
			return zk.Created{}, znode.GiveUp(ctx, l.s, c.Path, err)
		}
	}
}

// wait returns when self is one of no more leases than permits. It checks without watches first: usually there is a permit, and a watch left armed
// would fire for the next client.
func (l *lease) wait(ctx context.Context, self string) error {
	for {
		children, _, err := l.s.Children(ctx, l.leases())
		done, err := l.decide(ctx, children, self, err)
		if done || err != nil {
			return err
		}
		resized, err := l.watchPermits(ctx)
		if err != nil {
			return err
		}
		children, _, w, err := l.s.ChildrenW(ctx, l.leases())
		done, err = l.decide(ctx, children, self, err)
		if !done && err == nil {
			l.o.Pause(recipes.PauseListed)
			err = znode.AwaitAny(ctx, w, resized)
			l.o.Pause(recipes.PauseWoken)
		}
		for _, armed := range []*zk.Watch{w, resized} {
			if armed != nil {
				armed.Stop()
			}
		}
		if done || err != nil {
			return err
		}
	}
}

// decide says whether there is a permit for self, given a list of the leases.
func (l *lease) decide(ctx context.Context, children []string, self string, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	count, listed := leases(children, self, l.o.Foreign)
	if !listed {
		return false, znode.ErrNotListed
	}
	permits, err := l.permitsNow(ctx)
	return err == nil && count <= permits, err
}

// permitsNow returns the number of permits: the agreed one, if the clients share it.
func (l *lease) permitsNow(ctx context.Context) (int, error) {
	if !l.o.SharedPermits {
		return l.permits, nil
	}
	data, _, err := l.s.Get(ctx, l.agreed())
	if errors.Is(err, zk.ErrNoNode) {
		return l.permits, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("%s holds no number of permits: %w", l.agreed(), recipes.ErrPermits)
	}
	return n, nil
}

// watchPermits watches the shared number of permits; nil if the clients do not share it. The first to wait writes it.
func (l *lease) watchPermits(ctx context.Context) (*zk.Watch, error) {
	if !l.o.SharedPermits {
		return nil, nil
	}
	_, there, w, err := l.s.ExistsW(ctx, l.agreed())
	if err != nil || there {
		return w, err
	}
	w.Stop()
	err = znode.Insist(ctx, func() error { return l.announce(ctx, l.permits) })
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return nil, err
	}
	_, _, w, err = l.s.ExistsW(ctx, l.agreed())
	return w, err
}

func (l *lease) announce(ctx context.Context, permits int) error {
	if err := znode.MakeParents(ctx, l.s, l.dir); err != nil {
		return err
	}
	_, err := l.s.Create(ctx, l.agreed(), []byte(strconv.Itoa(permits)), zk.Persistent)
	return err
}

// Resize sets the number of permits.
func (l *lease) Resize(ctx context.Context, permits int) error {
	var passes znode.Passes
	err := znode.Insist(ctx, func() error { // each of the requests may be repeated
		for {
			_, err := l.s.Set(ctx, l.agreed(), []byte(strconv.Itoa(permits)), zk.AnyVersion)
			if !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			if err := l.announce(ctx, permits); !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
			if err := passes.Next(ctx, nil); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return fmt.Errorf("resize %s: %w", l.dir, err)
	}
	return nil
}

// Release gives all permits back.
func (l *lease) Release(ctx context.Context) error {
	if len(l.held) == 0 {
		return recipes.ErrNotHeld
	}
	held := l.held
	l.held = nil
	var faults []error
	for _, c := range held {
		if err := znode.Remove(ctx, l.s, c.Path); err != nil {
			faults = append(faults, err)
		}
	}
	return znode.ReleaseError(l.dir, errors.Join(faults...))
}

// leaseWakes returns the theoretical events per release among sessions that always ask: a removed lease wakes the one client that holds the lock, and
// the lock that it releases wakes the next in line. It assumes that permits are scarce: if grants are held so briefly that the lock is the
// bottleneck, the session that gets it finds a permit, and only the second event remains. With no more sessions than permits nobody waits for a
// lease, and how many wait for the lock depends on timing: there is no theory.
func leaseWakes(l recipes.Load) (release, arrival float64) {
	switch waiting := l.Sessions - max(l.Permits, 1); {
	case waiting > 1:
		return 2, 0
	case waiting == 1:
		return 1, 0
	}
	return 0, 0
}
