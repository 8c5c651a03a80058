package root

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/zk"
)

// Foreign is a znode below a root that zkbench did not make.
type Foreign struct {
	Path string
	Why  string // how it differs from zkbench's own znodes
}

func (f Foreign) String() string { return f.Path + " (" + f.Why + ")" }

// CleanCommand returns the command that removes a root; flags, which start with a space, say how to reach its servers.
func CleanCommand(servers, path, flags string) string {
	return fmt.Sprintf("%s clean --servers %s --root %s%s", program.Name(), servers, path, flags)
}

// LeftError says what was kept because zkbench did not create it, and how to remove it from these servers, which are reached with the flags.
func LeftError(left []Foreign, servers, path, flags string) error {
	const most = 10
	some := left[:min(len(left), most)]
	var text strings.Builder
	fmt.Fprintf(&text, "znodes below %s that zkbench did not create were kept, with those above them: %v", path, some[0])
	for _, f := range some[1:] {
		fmt.Fprintf(&text, ", %v", f)
	}
	if more := len(left) - most; more > 0 {
		fmt.Fprintf(&text, " and %d more", more)
	}
	for _, f := range some {
		fmt.Fprintf(&text, "\nif it is not needed: zkCli.sh -server %s deleteall %s", servers, f.Path)
	}
	fmt.Fprintf(&text, "\nthen: %s", CleanCommand(servers, path, flags))
	return errors.New(text.String())
}

// Remove removes the root, everything that zkbench created below it, and the unused parents that a run of zkbench had to create. Foreign znodes stay, with
// everything above them, and are returned; the marker then says that the run is over. own reports which sessions belong to the run: an ephemeral znode of
// another session is foreign whatever its name; if own is nil, names alone decide.
//
// The error is ErrGone or ErrTaken if the root no longer belongs to the run; then only empty parents are touched. An interrupted removal can be resumed.
func (r *Root) Remove(ctx context.Context, s zk.Session, own func(session int64) bool) ([]Foreign, error) {
	if there, err := r.find(ctx, s); err != nil || !there {
		return nil, errors.Join(err, r.removeAbove(ctx, s))
	}
	var t tries
	for {
		x := &remover{s: s, names: r.Names, own: own}
		if err := x.below(ctx, r.Path); err != nil {
			return nil, err
		}
		if len(x.left) > 0 {
			return x.left, r.leave(ctx, s)
		}
		err := r.finish(ctx, s)
		if err == nil {
			return nil, r.removeAbove(ctx, s)
		}
		if !again(ctx, s, err) {
			return nil, err
		}
		if err := t.next(ctx, s, err); err != nil {
			return nil, err
		}
		switch err := r.Verify(ctx, s); {
		case errors.Is(err, ErrGone):
			return nil, r.removeAbove(ctx, s)
		case err != nil:
			return nil, err
		}
	}
}

// find makes sure that the znode at the path is the root; it returns false if the run has no root there.
func (r *Root) find(ctx context.Context, s zk.Session) (there bool, err error) {
	if r.czxid != 0 {
		return true, r.Verify(ctx, s)
	}
	if err := syncAt(ctx, s, r.Path); err != nil {
		return false, err
	}
	f, ok, err := read(ctx, s, r.Path)
	if err != nil || !ok || f.ID != r.ID {
		return false, err
	}
	r.czxid = f.czxid
	return true, nil
}

// finish removes the rest of the root, and the parents that are not needed without it, in one transaction.
func (r *Root) finish(ctx context.Context, s zk.Session) error {
	names, _, err := s.Children(ctx, r.Path)
	if err != nil {
		return err
	}
	var ops []zk.Op
	for _, name := range []string{AliveName, claimName, MarkerName} {
		if slices.Contains(names, name) {
			ops = append(ops, zk.DeleteOp(r.Path+"/"+name, zk.AnyVersion))
		}
	}
	ops = append(ops, zk.DeleteOp(r.Path, zk.AnyVersion))
	alone := len(ops)
	for path := parent(r.Path); path != "/"; path = parent(path) {
		data, st, err := s.Get(ctx, path)
		if err != nil || string(data) != parentMark(path) || st.NumChildren != 1 {
			break // removeAbove looks again
		}
		ops = append(ops, zk.DeleteOp(path, st.Version))
	}
	_, err = s.Multi(ctx, ops...)
	if len(ops) > alone && (errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrBadVersion)) { // another run has started below a parent
		_, err = s.Multi(ctx, ops[:alone]...)
	}
	return err
}

// removeAbove removes the parents of the root, lowest first, as long as they are empty and zkbench created them.
func (r *Root) removeAbove(ctx context.Context, s zk.Session) error {
	for path := parent(r.Path); path != "/"; path = parent(path) {
		data, st, err := s.Get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err == nil && (string(data) != parentMark(path) || st.NumChildren > 0) {
			return nil
		}
		if err == nil {
			err = s.Delete(ctx, path, st.Version)
		}
		switch {
		case errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoAuth):
			return nil // another run has arrived, or it belongs to somebody else by now
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return err
		}
	}
	return nil
}

// leave records in the marker that the run is over, so that the rest can be removed at once.
func (r *Root) leave(ctx context.Context, s zk.Session) error {
	r.Ended = time.Now().UTC()
	marker, err := json.Marshal(r.Marker)
	if err != nil {
		return err
	}
	if _, err = s.Set(ctx, r.Path+"/"+MarkerName, marker, zk.AnyVersion); errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// Beat rewrites the marker and returns its version, which each beat increases: if the version is not higher than before, the servers have lost writes that
// they had acknowledged. Beat returns ErrTaken, and writes nothing, if the marker belongs to another run.
func (r *Root) Beat(ctx context.Context, s zk.Session) (version int32, err error) {
	marker, err := json.Marshal(r.Marker)
	if err != nil {
		return 0, err
	}
	path := r.Path + "/" + MarkerName
	st, there, err := s.Exists(ctx, path)
	if err != nil {
		return 0, err
	}
	if !there || st.Czxid != r.czxid { // both are created in one transaction
		return 0, ErrTaken
	}
	st, err = s.Set(ctx, path, marker, st.Version)
	return st.Version, err
}

// RemoveBelow removes a znode below the root, and what zkbench created below it. Foreign znodes stay; Remove reports them.
func (r *Root) RemoveBelow(ctx context.Context, s zk.Session, path string, own func(session int64) bool) error {
	x := &remover{s: s, names: r.Names, own: own}
	return x.tree(ctx, path)
}

// again reports whether a removal must look again: its outcome is in doubt, or there are children that this session's server did not list, because it lags or
// because they are new.
func again(ctx context.Context, s zk.Session, err error) bool {
	return ctx.Err() == nil && s.Err() == nil && (errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoNode) || zk.Classify(err) == zk.ClassMaybeApplied)
}

// remover removes what zkbench created and records what it left.
type remover struct {
	s     zk.Session
	names Names
	own   func(session int64) bool
	left  []Foreign
}

// batch is how many deletes go into one transaction: below the servers' limit of 1 MiB for any of zkbench's names.
const batch = 200

// below removes what is below a root, except the znodes that make it a root.
func (x *remover) below(ctx context.Context, path string) error {
	names, _, err := x.s.Children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, isOfRoot)
	return x.children(ctx, path, x.sort(path, names, isTop))
}

// oursBelow returns a function that reports whether a name is that of a zkbench child of path.
func (x *remover) oursBelow(path string) func(name string) bool {
	return func(name string) bool { return x.names.isOurs(base(path), name) }
}

// sort returns the names that can be zkbench's, and records the others as foreign.
func (x *remover) sort(path string, names []string, ours func(string) bool) (kept []string) {
	for _, name := range names {
		if ours(name) {
			kept = append(kept, name)
		} else {
			x.left = append(x.left, Foreign{path + "/" + name, notOurName})
		}
	}
	return kept
}

const (
	notOurName    = "not a name that zkbench uses"
	anothersRoot  = "the root of another run"
	notOurSession = "ephemeral, of session 0x%x, which is not one of this run"
)

// tree removes a znode and everything of zkbench's below it. It tolerates znodes that disappear in the meantime, such as those of a dying session.
func (x *remover) tree(ctx context.Context, path string) error {
	var t tries
	for {
		names, _, err := x.s.Children(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		if slices.Contains(names, MarkerName) {
			x.left = append(x.left, Foreign{path, anothersRoot})
			return nil
		}
		before := len(x.left)
		if err := x.children(ctx, path, x.sort(path, names, x.oursBelow(path))); err != nil || len(x.left) > before {
			return err
		}
		err = x.s.Delete(ctx, path, zk.AnyVersion)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if !again(ctx, x.s, err) {
			return err
		}
		if err := t.next(ctx, x.s, err); err != nil {
			return err
		}
		if err := syncAt(ctx, x.s, path); err != nil {
			return err
		}
	}
}

// children removes children of a znode in batches.
func (x *remover) children(ctx context.Context, path string, names []string) error {
	for some := range slices.Chunk(names, batch) {
		some, err := x.dropOthers(ctx, path, some)
		if err != nil {
			return err
		}
		if err := x.batch(ctx, path, some); err != nil {
			return err
		}
	}
	return nil
}

// batch removes some children in one transaction, or one by one if any of them has children or is gone.
func (x *remover) batch(ctx context.Context, path string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	ops := make([]zk.Op, len(names))
	for i, name := range names {
		ops[i] = zk.DeleteOp(path+"/"+name, zk.AnyVersion)
	}
	_, err := x.s.Multi(ctx, ops...)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case x.s.Err() != nil:
		return err
	case errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth), zk.Classify(err) == zk.ClassMaybeApplied:
	default: // each single request would fail in the same way
		return err
	}
	for _, name := range names {
		if err := x.tree(ctx, path+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// dropOthers removes from names the ephemeral znodes of sessions that do not belong to the run.
func (x *remover) dropOthers(ctx context.Context, path string, names []string) ([]string, error) {
	if x.own == nil {
		return names, nil
	}
	var kept []string
	for _, name := range names {
		if x.names.isPersistent(base(path), name) {
			kept = append(kept, name)
			continue
		}
		st, there, err := x.s.Exists(ctx, path+"/"+name)
		if err != nil {
			return nil, err
		}
		switch owner := st.EphemeralOwner; {
		case !there:
		case isEphemeral(st) && !x.own(owner):
			x.left = append(x.left, Foreign{path + "/" + name, fmt.Sprintf(notOurSession, owner)})
		default:
			kept = append(kept, name)
		}
	}
	return kept, nil
}
