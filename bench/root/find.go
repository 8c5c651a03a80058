package root

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/zk"
)

// Findings is the result of Find.
type Findings struct {
	Roots   []Found  // innermost first, so that they can be removed in this order
	Parents []string // empty znodes that runs had to create above their roots, innermost first
	Older   []string // such znodes of an older zkbench, which did not name their path: they may be copies
	Denied  []string // znodes whose children this session may not list
}

// Find lists the marked roots at path: path itself or its children; if deep, all roots there or below. A missing znode has none. What is below the roots is
// identified by names. Find sends two requests per znode that it looks at, two dozen at a time, and changes nothing.
func Find(ctx context.Context, s zk.Session, names Names, path string, deep bool) (Findings, error) {
	if err := syncAt(ctx, s, path); err != nil {
		return Findings{}, err
	}
	var f Findings
	var faults []error
	denied, err := walk(ctx, s, path, func(at string, st zk.Stat, children []string) []string {
		marked := slices.Contains(children, MarkerName)
		if marked && at != "/" {
			found, ok, err := read(ctx, s, at)
			faults = append(faults, err)
			found.Names = names
			if marked = ok; ok {
				f.Roots = append(f.Roots, found)
			}
		}
		if n := int(st.DataLength); len(children) == 0 && (n == len(parentMark(at)) || n == len(olderParentMark)) {
			faults = append(faults, f.parent(ctx, s, at))
		}
		if !deep && (marked || at != path) {
			return nil
		}
		return children
	})
	f.Denied = denied
	innermost := func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") }
	slices.SortStableFunc(f.Roots, func(a, b Found) int { return innermost(a.Path, b.Path) })
	slices.SortStableFunc(f.Parents, innermost)
	slices.SortStableFunc(f.Older, innermost)
	return f, errors.Join(append(faults, err)...)
}

// parent adds path to the findings if a run had to create it.
func (f *Findings) parent(ctx context.Context, s zk.Session, path string) error {
	data, _, err := s.Get(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
		return nil
	case string(data) == parentMark(path):
		f.Parents = append(f.Parents, path)
	case string(data) == olderParentMark:
		f.Older = append(f.Older, path)
	}
	return err
}

// RemoveParent removes an empty znode that Find has found, and those above it that become empty.
func RemoveParent(ctx context.Context, s zk.Session, path string) error {
	data, st, err := s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	if string(data) != parentMark(path) && string(data) != olderParentMark {
		return fmt.Errorf("%w: %s", ErrNotOurs, path)
	}
	switch err := s.Delete(ctx, path, st.Version); {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrBadVersion):
		return nil // it is in use, or another client is removing it too
	case err != nil:
		return err
	}
	return (&Root{Marker: Marker{Path: path}}).removeAbove(ctx, s)
}

// Survey describes what is below a root.
type Survey struct {
	Znodes   int       // zkbench's znodes, including the root and its marker
	Foreign  []Foreign // znodes that zkbench did not create; nothing below them is examined
	Sessions []int64   // sessions that own ephemeral znodes, so they are alive
	Newest   time.Time // when the latest znode was created or written, by the ensemble's clock
}

// Survey examines every znode of a root. It changes nothing.
func (f Found) Survey(ctx context.Context, s zk.Session) (Survey, error) {
	var v Survey
	x := &remover{s: s, names: f.Names}
	_, err := walk(ctx, s, f.Path, func(path string, st zk.Stat, names []string) []string {
		ours := x.oursBelow(path)
		if path == f.Path {
			names = slices.DeleteFunc(names, func(name string) bool { return name == claimName }) // the claim of this removal
			ours = func(name string) bool { return isOfRoot(name) || isTop(name) }
		} else if slices.Contains(names, MarkerName) {
			x.left = append(x.left, Foreign{path, anothersRoot})
			return nil
		}
		v.Znodes++
		if at := time.UnixMilli(max(st.Ctime, st.Mtime)); at.After(v.Newest) {
			v.Newest = at
		}
		if owner := st.EphemeralOwner; isEphemeral(st) && !slices.Contains(v.Sessions, owner) {
			v.Sessions = append(v.Sessions, owner)
		}
		return x.sort(path, names, ours)
	})
	v.Foreign = x.left
	return v, err
}

// defaultTimeout is used for markers that do not record their run's session timeout.
const defaultTimeout = 40 * time.Second

// Active says why the run of a root may still be active; it is "" when the run is over. now is by the ensemble's clock, or close to it.
func (f Found) Active(v Survey, now time.Time) string {
	if n := len(v.Sessions); n > 0 {
		return phrase.Count(n, "open session")
	}
	if age := now.Sub(v.Newest); f.Ended.IsZero() && age < f.timeout() {
		return fmt.Sprintf("it changed %s ago, and its sessions have %s to reconnect", phrase.Duration(max(age, 0).Round(time.Second)), phrase.Duration(f.timeout()))
	}
	return ""
}

// Expires returns the longest time until Active considers a run over that ended without saying so: until its sessions have timed out, which servers detect at
// their next tick, at most half a timeout later.
func (f Found) Expires(v Survey, now time.Time) time.Duration {
	if len(v.Sessions) > 0 {
		return f.timeout() + f.timeout()/2
	}
	return max(f.timeout()-now.Sub(v.Newest), 0)
}

func (f Found) timeout() time.Duration {
	if f.SessionTimeout == 0 {
		return defaultTimeout
	}
	return time.Duration(f.SessionTimeout) * time.Millisecond
}

// Take claims the root for its removal; it conflicts with Renew of the root's run, so one of them fails. It returns the ensemble's time. With force, the run
// learns that its root is taken. The caller removes the root, or gives up the claim with Release.
func (f Found) Take(ctx context.Context, s zk.Session, force bool) (now time.Time, err error) {
	claim, alive := f.Path+"/"+claimName, f.Path+"/"+AliveName
	ops := []zk.Op{zk.CreateOp(claim, nil, zk.Ephemeral)}
	if !force {
		ops = []zk.Op{zk.CreateOp(alive, nil, zk.Ephemeral), zk.DeleteOp(alive, zk.AnyVersion), ops[0]}
	}
	if _, err := s.Multi(ctx, ops...); errors.Is(err, zk.ErrNodeExists) {
		return now, fmt.Errorf("%w: its run is back, or another '%s clean' is removing it", ErrTaken, program.Name())
	} else if err != nil {
		return now, err
	}
	st, there, err := s.Exists(ctx, claim)
	if err != nil || !there {
		return now, errors.Join(err, f.Verify(ctx, s))
	}
	if force {
		if err := s.Delete(ctx, alive, zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return now, err
		}
	}
	return time.UnixMilli(st.Ctime), nil
}

// Release gives up a claim of Take.
func (f Found) Release(ctx context.Context, s zk.Session) error {
	return s.Delete(ctx, f.Path+"/"+claimName, zk.AnyVersion)
}

// width is how many requests walk has in flight.
const width = 24

// walk visits the znode at path and those below it, level by level, except ZooKeeper's own. visit gets the names of the children and returns those to
// continue with; it is called by one goroutine at a time. walk skips znodes that have disappeared and those that may not be read; it returns the latter.
func walk(ctx context.Context, s zk.Session, path string, visit func(path string, st zk.Stat, names []string) []string) (denied []string, err error) {
	type listed struct {
		st    zk.Stat
		names []string
		err   error
	}
	for level := []string{path}; len(level) > 0; {
		seen := make([]listed, len(level))
		var wait sync.WaitGroup
		for lane := range min(width, len(level)) {
			wait.Go(func() {
				for i := lane; i < len(level) && ctx.Err() == nil; i += width {
					seen[i].names, seen[i].st, seen[i].err = s.Children(ctx, level[i])
				}
			})
		}
		wait.Wait()
		if err := ctx.Err(); err != nil {
			return denied, err
		}
		var next []string
		for i, at := range level {
			switch err := seen[i].err; {
			case errors.Is(err, zk.ErrNoNode):
				continue
			case errors.Is(err, zk.ErrNoAuth):
				denied = append(denied, at)
				continue
			case err != nil:
				return denied, err
			}
			for _, name := range visit(at, seen[i].st, seen[i].names) {
				if child := strings.TrimSuffix(at, "/") + "/" + name; child != "/zookeeper" {
					next = append(next, child)
				}
			}
		}
		level = next
	}
	return denied, nil
}
