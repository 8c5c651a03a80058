package root

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// DefaultBase is the znode below which runs make their roots.
const DefaultBase = "/zkbench"

// The children of a root that are not of its load.
const (
	MarkerName = "zkbench-root"  // says whose root it is; without it nothing is removed
	AliveName  = "zkbench-alive" // ephemeral: the run goes on
	claimName  = "zkbench-clean" // ephemeral: 'zkbench clean' is removing the root
)

// Why a root cannot be made or does not stand any more. Nothing was touched then.
var (
	// ErrExists: the znode that was to be the root of a run is there already.
	ErrExists = errors.New("the root already exists")
	// ErrNested: the root would be below the root of another run.
	ErrNested = errors.New("below the root of another run")
	// ErrParent: a parent of the root would not survive the run, or does not let the root be removed.
	ErrParent = errors.New("unsuitable parent")
	// ErrGone: the root was removed while its run went on.
	ErrGone = errors.New("the root was removed by another client")
	// ErrTaken: the root is being removed, or is another run's by now.
	ErrTaken = errors.New("the root was taken by another client")
	// ErrNotOurs: the znode that was to be removed is not the root that was found.
	ErrNotOurs = errors.New("not a root of zkbench")
)

// Marker is what a root says of the run that made it.
type Marker struct {
	ID             string    `json:"id,omitempty"`   // random: two runs never have the same
	Path           string    `json:"path,omitempty"` // of the root; a marker elsewhere is a copy
	Run            string    `json:"run"`
	Profile        string    `json:"profile"`
	Host           string    `json:"host"`
	PID            int       `json:"pid"`
	Started        time.Time `json:"started"`
	SessionTimeout int64     `json:"session_timeout_ms,omitempty"`
	Ended          time.Time `json:"ended,omitzero"` // the run is over and has left its root behind
}

// Root is the root of one run. Its methods may be called from many goroutines once Make has returned.
type Root struct {
	Marker
	// UnusedParent allows a parent that has never had a child, though it may be a container, which goes when it is empty again.
	UnusedParent bool `json:"-"`
	// Names tell what below the root is zkbench's.
	Names Names `json:"-"`

	czxid int64 // of the root; 0 while it is not known
}

// New describes the root that a run is to make; names are those of all znodes that zkbench may make below it.
func New(path, run, profile string, sessionTimeout time.Duration, names Names) *Root {
	host, _ := os.Hostname()
	return &Root{Names: names, Marker: Marker{ID: rand.Text(), Path: path, Run: run, Profile: profile, Host: host, PID: os.Getpid(),
		Started: time.Now().UTC(), SessionTimeout: sessionTimeout.Milliseconds()}}
}

// parentMark is the data of a parent that zkbench had to make. It names its path, so that a copy of it marks nothing.
func parentMark(path string) string { return "made by zkbench at " + path }

// olderParentMark is that of versions whose markers have no path.
const olderParentMark = "made by zkbench"

// Found is a marked root.
type Found struct {
	Root
	Older bool // by a zkbench whose markers did not name their path: nothing tells that it is no copy but its transaction
}

// read reads the marker of the znode at path. ok is false where there is none, also where a znode of that name was not made in one
// transaction with the one at path, or names another path: both are copies, or somebody else's.
func read(ctx context.Context, s zk.Session, path string) (f Found, ok bool, err error) {
	data, st, err := s.Get(ctx, path+"/"+MarkerName)
	if errors.Is(err, zk.ErrNoNode) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	if json.Unmarshal(data, &f.Marker) != nil || f.Run == "" {
		return f, false, nil
	}
	of, there, err := s.Exists(ctx, path)
	if err != nil || !there || of.Czxid != st.Czxid {
		return f, false, err
	}
	f.Older = f.Path == ""
	if f.Older {
		f.Path = path
	}
	f.czxid = of.Czxid
	return f, f.Path == path, nil
}

// Stands tells whether the root is still the run's: nil, ErrGone or ErrTaken.
func (r *Root) Stands(ctx context.Context, s zk.Session) error {
	if err := syncAt(ctx, s, r.Path); err != nil {
		return err
	}
	st, there, err := s.Exists(ctx, r.Path)
	switch {
	case err != nil:
		return err
	case !there:
		return r.lost(ErrGone, "it no longer exists")
	case st.Czxid != r.czxid:
		return r.lost(ErrTaken, "another znode is in its place")
	}
	return nil
}

// syncAt makes the session's server catch up, if it follows. It is the first that a command asks a peer, which may be no server: a sync, and not the
// transaction of zk.CatchUp, because a read is repeated until zk.Prompt gives up.
func syncAt(ctx context.Context, s zk.Session, path string) error {
	if err := s.Sync(ctx, path); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}
