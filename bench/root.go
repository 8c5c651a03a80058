package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// DefaultBase is the znode below which runs make their roots.
const DefaultBase = "/zkbench"

const (
	markerName = "zkbench-root"    // child of every root of ours; without it nothing is removed
	aliveName  = "zkbench-alive"   // ephemeral child of the root of a run that still goes on
	ours       = "made by zkbench" // data of the parents of roots that runs had to make
)

// ErrRootExists: the znode that was to be the root of a run is there already. It was not touched.
var ErrRootExists = errors.New("the root is there already")

// ErrNotOurs: the znode that was to be removed does not carry the marker of a run. It was not touched.
var ErrNotOurs = errors.New("not a root of zkbench")

// Marker is what a root says of the run that made it.
type Marker struct {
	Run     string    `json:"run"`
	Profile string    `json:"profile"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// makeRoot creates the one znode that everything of a run lives under, with its marker in the same transaction, so that no root of
// ours is ever without. Parents that are missing are made too, and carry our name.
func makeRoot(ctx context.Context, s zk.Session, path, run, profile string) error {
	host, _ := os.Hostname()
	marker, err := json.Marshal(Marker{Run: run, Profile: profile, Host: host, PID: os.Getpid(), Started: time.Now().UTC()})
	if err != nil {
		return err
	}
	for {
		if err := makeAbove(ctx, s, path); err != nil {
			return err
		}
		_, err := s.Multi(ctx, zk.CreateOp(path, nil, zk.Persistent), zk.CreateOp(path+"/"+markerName, marker, zk.Persistent),
			zk.CreateOp(path+"/"+aliveName, nil, zk.Ephemeral))
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return fmt.Errorf("%w: %s; choose another with --root, or remove it with 'zkbench clean' if an interrupted run left it",
				ErrRootExists, path)
		case errors.Is(err, zk.ErrNoNode): // the parent was another run's, which has ended in between
		case zk.Classify(err) == zk.ClassMaybeApplied && ctx.Err() == nil:
			if made, err := isRootOf(ctx, s, path, run); made || err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// makeAbove creates the parents of path that are missing.
func makeAbove(ctx context.Context, s zk.Session, path string) error {
	for i, c := range path {
		if c != '/' || i == 0 {
			continue
		}
		_, err := s.Create(ctx, path[:i], []byte(ours), zk.Persistent)
		for zk.Classify(err) == zk.ClassMaybeApplied && ctx.Err() == nil {
			_, err = s.Create(ctx, path[:i], []byte(ours), zk.Persistent)
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// isRootOf reports whether path is the root that the run made.
func isRootOf(ctx context.Context, s zk.Session, path, run string) (bool, error) {
	if err := s.Sync(ctx, path); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return false, err
	}
	f, ok, err := marked(ctx, s, path)
	return ok && f.Marker.Run == run, err
}

// removeRoot takes the root of a run away, if it is there and the run's.
func removeRoot(ctx context.Context, s zk.Session, path, run string) error {
	made, err := isRootOf(ctx, s, path, run)
	if err != nil {
		return err
	}
	if made {
		return RemoveRoot(ctx, s, Found{Path: path})
	}
	return removeAbove(ctx, s, path)
}

// RemoveRoot removes a root that FindRoots found, and the znodes above it that a run of zkbench made and that nobody uses any more.
// The error is ErrNotOurs when the marker is gone by now; nothing is touched then.
func RemoveRoot(ctx context.Context, s zk.Session, f Found) error {
	if err := removeMarked(ctx, s, f.Path); err != nil {
		return err
	}
	return removeAbove(ctx, s, f.Path)
}

// removeAbove removes the parents of path, from below, as far as they are empty and made by zkbench.
func removeAbove(ctx context.Context, s zk.Session, path string) error {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path, '/') {
		path = path[:i]
		data, st, err := s.Get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err == nil && (string(data) != ours || st.NumChildren > 0) {
			return nil
		}
		if err == nil {
			err = s.Delete(ctx, path, st.Version)
		}
		switch {
		case errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrBadVersion):
			return nil // another run has come
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return err
		}
	}
	return nil
}

// removeMarked removes a marked root; the marker goes last, together with the root itself, so that an interrupted removal can be
// taken up again.
func removeMarked(ctx context.Context, s zk.Session, path string) error {
	for {
		names, _, err := s.Children(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.Contains(names, markerName) {
			return fmt.Errorf("%w: %s", ErrNotOurs, path)
		}
		for _, name := range names {
			if name == markerName {
				continue
			}
			if err := removeTree(ctx, s, path+"/"+name); err != nil {
				return err
			}
		}
		_, err = s.Multi(ctx, zk.DeleteOp(path+"/"+markerName, zk.AnyVersion), zk.DeleteOp(path, zk.AnyVersion))
		if err == nil || !again(ctx, err) {
			return err
		}
		if err := s.Sync(ctx, path); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
}

// again reports whether a removal has to look again: its outcome is in doubt, or there are children that this session's server did
// not list, because it lags or because they have come meanwhile.
func again(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoNode) || zk.Classify(err) == zk.ClassMaybeApplied)
}

// batch is how many deletes go into one transaction: below the servers' limit of 1 MiB for any name of ours.
const batch = 200

// removeTree removes a znode and all below it. Znodes that go in the meantime, as those of a dying session do, are fine.
func removeTree(ctx context.Context, s zk.Session, path string) error {
	for {
		names, _, err := s.Children(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for len(names) > 0 {
			n := min(batch, len(names))
			if err := removeChildren(ctx, s, path, names[:n]); err != nil {
				return err
			}
			names = names[n:]
		}
		err = s.Delete(ctx, path, zk.AnyVersion)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if !again(ctx, err) {
			return err
		}
		if err := s.Sync(ctx, path); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
}

// removeChildren removes a batch of children at once, or, if they have children of their own or are gone, one by one.
func removeChildren(ctx context.Context, s zk.Session, path string, names []string) error {
	ops := make([]zk.Op, len(names))
	for i, name := range names {
		ops[i] = zk.DeleteOp(path+"/"+name, zk.AnyVersion)
	}
	_, err := s.Multi(ctx, ops...)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case s.Err() != nil:
		return err
	}
	for _, name := range names {
		if err := removeTree(ctx, s, path+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// Found is a marked root.
type Found struct {
	Path   string
	Marker Marker
	Alive  bool // a run is using it at this moment
}

// FindRoots lists the marked roots at path: path itself, or its children. Znodes without our marker are not among them.
func FindRoots(ctx context.Context, s zk.Session, path string) ([]Found, error) {
	if err := s.Sync(ctx, path); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	f, ok, err := marked(ctx, s, path)
	if err != nil {
		return nil, err
	}
	if ok {
		return []Found{f}, nil
	}
	names, _, err := s.Children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []Found
	for _, name := range names {
		f, ok, err := marked(ctx, s, strings.TrimSuffix(path, "/")+"/"+name)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, f)
		}
	}
	return found, nil
}

func marked(ctx context.Context, s zk.Session, path string) (Found, bool, error) {
	f := Found{Path: path}
	path = strings.TrimSuffix(path, "/")
	data, _, err := s.Get(ctx, path+"/"+markerName)
	if errors.Is(err, zk.ErrNoNode) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	if err := json.Unmarshal(data, &f.Marker); err != nil || f.Marker.Run == "" {
		return f, false, nil // somebody else's znode of that name
	}
	_, f.Alive, err = s.Exists(ctx, path+"/"+aliveName)
	return f, true, err
}
