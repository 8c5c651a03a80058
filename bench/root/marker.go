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

// DefaultBase is the znode below which runs create their roots.
const DefaultBase = "/zkbench"

// The children of a root that do not belong to its load.
const (
	MarkerName = "zkbench-root"  // says which run owns the root; without it nothing is removed
	AliveName  = "zkbench-alive" // ephemeral: the run is active
	claimName  = "zkbench-clean" // ephemeral: 'zkbench clean' is removing the root
)

// Reasons why a root cannot be created or no longer exists. In these cases nothing was touched.
var (
	// ErrExists means that the znode of the new root already exists.
	ErrExists = errors.New("the root already exists")
	// ErrNested means that the root would be below the root of another run.
	ErrNested = errors.New("below the root of another run")
	// ErrParent means that a parent of the root would not survive the run, or would not let the root be removed.
	ErrParent = errors.New("unsuitable parent")
	// ErrGone means that the root was removed during its run.
	ErrGone = errors.New("the root was removed by another client")
	// ErrTaken means that the root is being removed, or belongs to another run by now.
	ErrTaken = errors.New("the root was taken by another client")
	// ErrNotOurs means that the znode to be removed is not the root that was found.
	ErrNotOurs = errors.New("not a root of zkbench")
)

// Marker is what a root records about the run that made it.
type Marker struct {
	ID             string    `json:"id,omitempty"`   // random and unique to the run
	Path           string    `json:"path,omitempty"` // path of the root; a marker elsewhere is a copy
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
	// UnusedParent allows a parent that has never had a child, though it may be a container, which ZooKeeper removes when it is empty again.
	UnusedParent bool `json:"-"`
	// Names identify zkbench's znodes below the root.
	Names Names `json:"-"`

	czxid int64 // of the root; 0 while unknown
}

// New describes the root that a run will create; names are those of all znodes that zkbench may create below it.
func New(path, run, profile string, sessionTimeout time.Duration, names Names) *Root {
	host, _ := os.Hostname()
	return &Root{Names: names, Marker: Marker{ID: rand.Text(), Path: path, Run: run, Profile: profile, Host: host, PID: os.Getpid(),
		Started: time.Now().UTC(), SessionTimeout: sessionTimeout.Milliseconds()}}
}

// parentMark returns the data of a parent that zkbench had to create. It names its path, so that a copy of it marks nothing.
func parentMark(path string) string { return "made by zkbench at " + path }

// olderParentMark is the data written by versions whose markers have no path.
const olderParentMark = "made by zkbench"

// Found is a marked root.
type Found struct {
	Root
	Older bool // by a zkbench whose markers did not name their path: only its transaction shows that it is not a copy
}

// read reads the marker of the znode at path. ok is false if there is none, and also if the marker was not created in one transaction with the znode at path
// or names another path: then it is a copy, or somebody else's.
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

// Verify reports whether the root still belongs to the run: it returns nil, ErrGone or ErrTaken.
func (r *Root) Verify(ctx context.Context, s zk.Session) error {
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

// syncAt makes the session's server catch up, if it is a follower. It is the first request that a command sends to a peer, which may not be a server at all.
// So it is a sync and not the transaction of zk.CatchUp, because a read is repeated until zk.Prompt gives up.
func syncAt(ctx context.Context, s zk.Session, path string) error {
	if err := s.Sync(ctx, path); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}
