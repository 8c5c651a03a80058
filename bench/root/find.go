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

// Findings are what Find has found.
type Findings struct {
	Roots   []Found  // the innermost first, so that they can be removed in this order
	Parents []string // empty znodes that runs had to make above their roots, the innermost first
	Older   []string // of these, by a zkbench whose parents did not name their path: nothing tells that they are no copies
	Denied  []string // znodes whose children the servers do not list for this session
}

// Find lists the marked roots at path: path itself or its children; with deep, all that are there or below. A missing znode has none.
// What is below them is told by names. It costs two requests per znode that it looks at, two dozen of them at a time, and changes nothing.
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

// parent remembers a znode that a run had to make.
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

// RemoveParent removes an empty znode that Find has found, and those above it that it leaves empty.
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
		return nil // somebody uses it, or removes it too
	case err != nil:
		return err
	}
	return (&Root{Marker: Marker{Path: path}}).removeAbove(ctx, s)
}

// Survey is what is below a root.
type Survey struct {
	Znodes   int       // of zkbench's, the root and its marker included
	Foreign  []Foreign // what zkbench did not make; what is below such a znode is not looked at
	Sessions []int64   // that own ephemeral znodes: they live
	Newest   time.Time // when the latest znode was made or written, by the ensemble's clock
}

// Survey looks at every znode of a root. It changes nothing.
func (f Found) Survey(ctx context.Context, s zk.Session) (Survey, error) {
	var v Survey
	x := &remover{s: s, names: f.Names}
	_, err := walk(ctx, s, f.Path, func(path string, st zk.Stat, names []string) []string {
		ours := x.oursBelow(path)
		if path == f.Path {
			names = slices.DeleteFunc(names, func(name string) bool { return name == claimName }) // of this very removal
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

// defaultTimeout is for markers that do not tell their run's session timeout.
const defaultTimeout = 40 * time.Second

// Active says why the run of a root may still go on; "" when it is over. now is by the ensemble's clock, or near to it.
func (f Found) Active(v Survey, now time.Time) string {
	if n := len(v.Sessions); n > 0 {
		return phrase.Count(n, "open session")
	}
	if age := now.Sub(v.Newest); f.Ended.IsZero() && age < f.timeout() {
		return fmt.Sprintf("it changed %s ago, and its sessions have %s to reconnect", phrase.Duration(max(age, 0).Round(time.Second)), phrase.Duration(f.timeout()))
	}
	return ""
}

// Expires is how long it takes at most until a run that has ended without a word is over for Active: until its sessions have timed out, which
// servers notice with their next tick, half a timeout later at most.
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

// Take claims the root for its removal, as a Renew of its run does for the run: one of them fails. It returns the ensemble's time. With
// force the run is told that its root is taken. The caller removes the root, or gives the claim back with Release.
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
		return now, errors.Join(err, f.Stands(ctx, s))
	}
	if force {
		if err := s.Delete(ctx, alive, zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return now, err
		}
	}
	return time.UnixMilli(st.Ctime), nil
}

// Release gives a claim of Take back.
func (f Found) Release(ctx context.Context, s zk.Session) error {
	return s.Delete(ctx, f.Path+"/"+claimName, zk.AnyVersion)
}

// width is how many requests of walk are under way.
const width = 24

// walk visits the znode at path and those below it, level by level, but for ZooKeeper's own. visit gets the names of the children and
// returns those to go on with; it is called by one goroutine at a time. A znode that has gone is left out, and so are those
// that may not be read, which it returns.
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
