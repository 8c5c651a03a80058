package root

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/zk"
)

// Make creates the root, its marker and the missing parents in one transaction: even if the process ends at any point, no parent is without a root and no
// root without its marker. The same transaction creates and removes a znode in place of the topmost of them, so that nothing is created that cannot be
// removed.
//
// Make may be called again after it failed, with another session too: it recognises a root that an earlier call created. The errors ErrExists, ErrNested and
// ErrParent mean that nothing was created.
func (r *Root) Make(ctx context.Context, s zk.Session) error {
	var t tries
	for {
		missing, err := r.look(ctx, s)
		if err != nil || missing == nil {
			return err
		}
		ops, err := r.making(missing)
		if err != nil {
			return err
		}
		results, err := s.Multi(ctx, ops...)
		switch {
		case err == nil:
			return r.made(ctx, s)
		case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode): // another run has arrived, or left
		case zk.Classify(err) == zk.ClassMaybeApplied && ctx.Err() == nil: // the marker will tell
		case errors.Is(err, zk.ErrNoAuth) && len(results) > 1 && results[1].Err != nil && !errors.Is(results[1].Err, zk.ErrRolledBack):
			return fmt.Errorf("%w: %s: its ACL allows this client to create znodes but not to delete them, so the root could not be removed; "+
				"grant DELETE, or choose another parent with --root", ErrParent, parent(missing[0]))
		default:
			return fmt.Errorf("create the root %s: %w", r.Path, err)
		}
		if err := t.next(ctx, s, err); err != nil {
			return fmt.Errorf("create the root %s: %w", r.Path, err)
		}
	}
}

// look returns the missing znodes, from the topmost parent to the root; none if the root exists and belongs to the run.
func (r *Root) look(ctx context.Context, s zk.Session) (missing []string, err error) {
	if err := syncAt(ctx, s, r.Path); err != nil {
		return nil, err
	}
	if err := r.nested(ctx, s); err != nil {
		return nil, err
	}
	above := zk.Stat{}
	for _, path := range ancestors(r.Path) {
		st, there, err := s.Exists(ctx, path)
		switch {
		case err != nil:
			return nil, err
		case !there:
			missing = append(missing, path)
		case missing == nil:
			above = st
		}
	}
	if _, there, err := s.Exists(ctx, r.Path); err != nil {
		return nil, err
	} else if there {
		return nil, r.recognise(ctx, s)
	}
	missing = append(missing, r.Path)
	if why := fleeting(above); why != "" {
		return nil, fmt.Errorf("%w: %s is %s; choose another parent with --root", ErrParent, parent(missing[0]), why)
	}
	return missing, r.unused(ctx, s, parent(missing[0]), above)
}

// unused rejects somebody's parent that has never had a child. Servers may show a container, or a znode with a time to live, as a persistent znode. But a
// znode that has had a child, has none and still exists after a minute is not a container, and a container that has other children stays.
func (r *Root) unused(ctx context.Context, s zk.Session, path string, st zk.Stat) error {
	if path == "/" || r.UnusedParent || st.Cversion > 0 || st.NumChildren > 0 {
		return nil
	}
	data, _, err := s.Get(ctx, path)
	if err != nil && !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	if err == nil && (string(data) == parentMark(path) || string(data) == olderParentMark) {
		return nil
	}
	return fmt.Errorf("%w: %s has never had a child. If it is a container znode, which cannot be detected, ZooKeeper removes it after the run, once it is empty; "+
		"if it is not one, use --unused-parent; or choose a parent that has children or does not exist", ErrParent, path)
}

// nested looks for markers above the root. A marker is created with its znode or never, so a parent without one will not get one.
func (r *Root) nested(ctx context.Context, s zk.Session) error {
	for _, path := range ancestors(r.Path) {
		f, ok, err := read(ctx, s, path)
		if err != nil {
			return err
		}
		if ok {
			return fmt.Errorf("%w: %s is the root of the run %s; choose another root with --root, or remove that one with '%s clean' if an "+
				"interrupted run left it", ErrNested, path, f.Run, program.Name())
		}
	}
	return nil
}

// recognise takes over a root that an earlier call of Make created whose reply was lost, perhaps with its session.
func (r *Root) recognise(ctx context.Context, s zk.Session) error {
	f, ok, err := read(ctx, s, r.Path)
	if err != nil {
		return err
	}
	if !ok || f.ID != r.ID {
		return fmt.Errorf("%w: %s; choose another with --root, or remove it with '%s clean' if an interrupted run left it", ErrExists, r.Path, program.Name())
	}
	r.czxid = f.czxid
	return r.Renew(ctx, s)
}

// isEphemeral reports whether a znode ends with its session: servers mark containers and znodes with a time to live in the same field.
func isEphemeral(st zk.Stat) bool {
	return st.EphemeralOwner != 0 && st.EphemeralOwner != container && uint64(st.EphemeralOwner)>>56 != ttl
}

// The EphemeralOwner of a container, and the highest byte of the EphemeralOwner of a znode with a time to live.
const container, ttl = -1 << 63, 0xff

// fleeting says why a znode without children does not stay, for servers that report the type of their znodes.
func fleeting(st zk.Stat) string {
	switch {
	case st.EphemeralOwner == container:
		return "a container znode, which ZooKeeper removes once it is empty: it would go after the run"
	case uint64(st.EphemeralOwner)>>56 == ttl:
		return "a znode with a time to live, which ZooKeeper may remove once it is empty: it could go after the run"
	case st.EphemeralOwner != 0:
		return "an ephemeral znode, which cannot have children"
	}
	return ""
}

// making returns the transaction. Its first two operations show that what is created there can be removed.
func (r *Root) making(missing []string) ([]zk.Op, error) {
	marker, err := json.Marshal(r.Marker)
	if err != nil {
		return nil, err
	}
	ops := []zk.Op{zk.CreateOp(missing[0], nil, zk.Persistent), zk.DeleteOp(missing[0], zk.AnyVersion)}
	for _, path := range missing[:len(missing)-1] {
		ops = append(ops, zk.CreateOp(path, []byte(parentMark(path)), zk.Persistent))
	}
	return append(ops, zk.CreateOp(r.Path, nil, zk.Persistent), zk.CreateOp(r.Path+"/"+MarkerName, marker, zk.Persistent),
		zk.CreateOp(r.Path+"/"+AliveName, nil, zk.Ephemeral)), nil
}

// made records what identifies the root from now on, and looks above it once more: if a parent was removed in between and created again as the root of
// another run, that run was first.
func (r *Root) made(ctx context.Context, s zk.Session) error {
	st, there, err := s.Exists(ctx, r.Path)
	if err != nil {
		return err
	}
	if !there {
		return r.lost(ErrGone, "it no longer exists")
	}
	r.czxid = st.Czxid
	if err := r.nested(ctx, s); err != nil {
		if _, removal := r.Remove(ctx, s, nil); removal != nil {
			return errors.Join(err, removal)
		}
		return err
	}
	return nil
}

// ancestors returns the parents of a path, topmost first, without "/".
func ancestors(path string) (all []string) {
	for path = parent(path); path != "/"; path = parent(path) {
		all = append(all, path)
	}
	slices.Reverse(all)
	return all
}

// base returns the last name of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
