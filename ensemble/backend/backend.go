package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/compose"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/internal/program"
)

// Options apply to servers that are started.
type Options struct {
	NoFsync           bool
	MaxSessionTimeout time.Duration // 0 means 20 ticks
}

// Staying returns a target of addresses with Up set if they are those of the detached ensemble, in its order.
func Staying(t ensemble.Target) ensemble.Target {
	if e, err := Load(""); err == nil {
		t.Up = slices.Equal(e.Addresses(), t.Addresses)
		_ = e.Close()
	}
	return t
}

// Kind returns a nil pointer of the type of ensemble that a target will have, which shows what the ensemble supports.
func Kind(t ensemble.Target) ensemble.Ensemble {
	if _, containers, err := find(""); t.Up && err == nil && containers {
		return (*compose.Compose)(nil)
	} else if t.Up && err == nil {
		return (*local.Local)(nil)
	}
	switch {
	case t.Local > 0:
		return (*local.Local)(nil)
	case t.Compose > 0:
		return (*compose.Compose)(nil)
	}
	return (*ensemble.External)(nil)
}

// Check says why a target cannot have the ZooKeeper that it names; nil if it can, as far as that is known before its servers answer.
func Check(t ensemble.Target) error {
	switch {
	case t.ZooKeeper == "":
		return nil
	case t.Local > 0:
		return local.Check(local.Config{ZooKeeper: t.ZooKeeper, Secure: t.Secure})
	case versions.IsVersion(t.ZooKeeper):
		return nil
	case t.Compose > 0:
		return fmt.Errorf("zookeeper %q: containers run the ZooKeeper of their image (set ZK_IMAGE; a version, such as 3.9.3, is compared with it)", t.ZooKeeper)
	}
	return fmt.Errorf("zookeeper %q: running servers have their own ZooKeeper (expected its version, which is compared with theirs, or nothing)", t.ZooKeeper)
}

// Upgrades returns what ensemble.Upgrader.Upgrades will say of a target whose servers this process will start as local ones; nil if that is not known before
// they run, or if they cannot be upgraded.
func Upgrades(t ensemble.Target) func(from, to string) (version string, err error) {
	if t.Local == 0 || t.Up {
		return nil
	}
	return func(from, to string) (string, error) {
		return local.CheckUpgrade(local.Config{ZooKeeper: t.ZooKeeper, Secure: t.Secure}, from, to)
	}
}

// answered returns an error that wraps ErrVersion if the target asks for a version, and a server that answers has another one, or none says which it has.
func answered(ctx context.Context, t ensemble.Target, e ensemble.Ensemble) error {
	if !versions.IsVersion(t.ZooKeeper) {
		return nil
	}
	has := map[string]bool{}
	for _, s := range e.Stats(ctx) {
		if s.Err != nil {
			continue
		}
		if has[s.Version] = true; s.Version != t.ZooKeeper && s.Version != "" {
			return fmt.Errorf("%w: %s was asked for, but server %d at %s is ZooKeeper %s", ensemble.ErrVersion, t.ZooKeeper, s.Server, s.Address, s.Version)
		}
	}
	if version := e.Describe().Version; !has[t.ZooKeeper] && version != t.ZooKeeper {
		return fmt.Errorf("%w: %s was asked for, but no server says its version (%q): enable mntr or srvr (4lw.commands.whitelist), or do not ask for a version",
			ensemble.ErrVersion, t.ZooKeeper, version)
	}
	return nil
}

// Start starts the servers of a target, which end with this process, or connects to servers that somebody else runs. The error wraps ErrVersion if they
// answer with another version than the target asks for.
func Start(ctx context.Context, t ensemble.Target, o Options) (ensemble.Ensemble, error) {
	return start(ctx, t, o, "")
}

// start starts an ensemble; with the directory of a state file, a detached one.
func start(ctx context.Context, t ensemble.Target, o Options, dir string) (ensemble.Ensemble, error) {
	if err := Check(t); err != nil {
		return nil, err
	}
	e, err := open(ctx, t, o, dir)
	if err != nil {
		return nil, err
	}
	if err := answered(ctx, t, e); err != nil {
		if dir != "" {
			return nil, errors.Join(err, e.Close(), down(dir))
		}
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func open(ctx context.Context, t ensemble.Target, o Options, dir string) (ensemble.Ensemble, error) {
	switch {
	case t.Up:
		return Load("")
	case t.Local > 0:
		return made(local.Start(ctx, local.Config{Servers: t.Local, NoFsync: o.NoFsync, MaxSessionTimeout: o.MaxSessionTimeout, ZooKeeper: t.ZooKeeper, Secure: t.Secure,
			Detach: dir != "", StateDir: dir}))
	case t.Compose > 0:
		return made(compose.Start(ctx, compose.Config{Servers: t.Compose, Observers: t.Observers, Secure: t.Secure, NoFsync: o.NoFsync, MaxSessionTimeout: o.MaxSessionTimeout,
			Detach: dir != "", StateDir: dir}))
	}
	return made(ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: t.Addresses, Dial: t.Dial}))
}

// made returns an ensemble or nil: never an interface that holds a nil pointer.
func made[E ensemble.Ensemble](e E, err error) (ensemble.Ensemble, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Up starts a detached ensemble, which stays until Down. Its state file is in dir, "" meaning the usual place. It returns ErrUp if there is one already; one
// that is gone is removed first.
func Up(ctx context.Context, dir string, t ensemble.Target, o Options) (e ensemble.Ensemble, err error) {
	if dir, err = driver.StateDir(dir); err != nil {
		return nil, err
	}
	err = driver.WithLock(dir, func() error {
		old, err := Load(dir)
		switch {
		case err == nil:
			return fmt.Errorf("%w at %s; %s down stops it", ensemble.ErrUp, strings.Join(old.Addresses(), ","), program.Name())
		case errors.Is(err, ensemble.ErrGone):
			if err := down(dir); err != nil {
				return err
			}
		case !errors.Is(err, ensemble.ErrNotUp):
			return err
		}
		e, err = start(ctx, t, o, dir)
		return err
	})
	return e, err
}

// Load finds the detached ensemble whose state file is in dir. It returns ErrNotUp if there is none, ErrGone if its servers have all ended, and
// ErrElsewhere if that cannot be determined. Servers that are down while others run are not an error: Preflight names them.
func Load(dir string) (ensemble.Ensemble, error) {
	dir, containers, err := find(dir)
	switch {
	case err != nil:
		return nil, err
	case containers:
		return made(compose.Load(dir))
	}
	return made(local.Load(dir))
}

// find returns the directory of the state file, and whether it belongs to an ensemble in containers.
func find(asked string) (dir string, containers bool, err error) {
	if dir, err = driver.StateDir(asked); err != nil {
		return "", false, err
	}
	var state struct{ Compose *struct{} }
	err = driver.ReadState(dir, &state)
	return dir, state.Compose != nil, err
}

// Down ends the detached ensemble whose state file is in dir, and removes its state file, and its data if they were temporary. An ensemble
// that is gone is removed without an error. It returns ErrNotUp if there is none, and ErrElsewhere, without removing anything, if it may run where its
// processes cannot be seen from here.
func Down(dir string) error {
	dir, err := driver.StateDir(dir)
	if err != nil {
		return err
	}
	return driver.WithLock(dir, func() error { return down(dir) })
}

func down(dir string) error {
	dir, containers, err := find(dir)
	switch {
	case err != nil:
	case containers:
		err = compose.Down(dir)
	default:
		err = local.Down(dir)
	}
	if err != nil {
		return err
	}
	return driver.RemoveState(dir)
}

// Instead returns the target in containers that replaces a local one, and why, if Java or ZooKeeper is missing and Docker is available;
// otherwise it returns the target itself and a nil reason. JAVA_HOME, ZOOKEEPER_HOME or a target that names its ZooKeeper selects local servers, never
// containers.
// ctx bounds the questions to Docker.
func Instead(ctx context.Context, t ensemble.Target) (ensemble.Target, error) {
	return instead(ctx, t, local.Check(local.Config{}))
}

func instead(ctx context.Context, t ensemble.Target, missing error) (ensemble.Target, error) {
	containers := ensemble.Target{Compose: t.Local, Secure: t.Secure}
	if missing == nil || t.ZooKeeper != "" || containers.Check() != nil || os.Getenv("JAVA_HOME") != "" || os.Getenv("ZOOKEEPER_HOME") != "" ||
		compose.Available(ctx) != nil {
		return t, nil
	}
	return containers, missing
}
