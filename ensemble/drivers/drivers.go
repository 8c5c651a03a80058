package drivers

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
	"github.com/zkbench/zkbench/internal/program"
)

// Options are of servers that are started.
type Options struct {
	NoFsync           bool
	MaxSessionTimeout time.Duration // 0 means 20 ticks
	Home              string        // of ZooKeeper, for processes; "" is ZOOKEEPER_HOME, then the usual places
}

// Staying is a target of addresses, with Up set if they are those of the ensemble that stays, in its order.
func Staying(t ensemble.Target) ensemble.Target {
	if e, err := Load(""); err == nil {
		t.Up = slices.Equal(e.Addresses(), t.Addresses)
		_ = e.Close()
	}
	return t
}

// Kind is an ensemble of the type that a target will have: a nil pointer, which tells what can be done with it.
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

// Start starts the servers of a target, which go with this process, or connects to those that somebody else runs.
func Start(ctx context.Context, t ensemble.Target, o Options) (ensemble.Ensemble, error) {
	return start(ctx, t, o, "")
}

// start starts an ensemble; with the directory of a state file, one that stays.
func start(ctx context.Context, t ensemble.Target, o Options, dir string) (ensemble.Ensemble, error) {
	switch {
	case t.Up:
		return Load("")
	case t.Local > 0:
		return made(local.Start(ctx, local.Config{Servers: t.Local, NoFsync: o.NoFsync, MaxSessionTimeout: o.MaxSessionTimeout, Home: o.Home, Secure: t.Secure,
			Detach: dir != "", StateDir: dir}))
	case t.Compose > 0:
		return made(compose.Start(ctx, compose.Config{Servers: t.Compose, Observers: t.Observers, Secure: t.Secure, NoFsync: o.NoFsync, MaxSessionTimeout: o.MaxSessionTimeout,
			Detach: dir != "", StateDir: dir}))
	}
	return made(ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: t.Addresses, Dial: t.Dial}))
}

// made is an ensemble, or nothing: never an interface that holds a nil pointer.
func made[E ensemble.Ensemble](e E, err error) (ensemble.Ensemble, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Up starts an ensemble that stays until Down. Its state file lies in dir, "" meaning the usual place. ErrUp when there is one already; one
// that is gone is cleared away first.
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

// Load finds the ensemble that stays, whose state file lies in dir. ErrNotUp when there is none, ErrGone when its servers have all ended,
// ErrElsewhere when that cannot be told. Servers that are down while others run are no error: Preflight names them.
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

// find is the directory of the state file, and whether it is of an ensemble in containers.
func find(asked string) (dir string, containers bool, err error) {
	if dir, err = driver.StateDir(asked); err != nil {
		return "", false, err
	}
	var state struct{ Compose *struct{} }
	err = driver.ReadState(dir, &state)
	return dir, state.Compose != nil, err
}

// Down ends the ensemble that stays, whose state file lies in dir, and removes its state file and its data if they were temporary. An ensemble
// that is gone is cleared away without an error; ErrNotUp when there is none, ErrElsewhere, and nothing is removed, when it may live where its
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

// Instead is the target in containers that takes the place of a local one where Java or ZooKeeper is missing and Docker is there, and why;
// otherwise it is the target itself, with a nil reason. JAVA_HOME or ZOOKEEPER_HOME selects the local installation, never containers.
// ctx bounds the questions to Docker.
func Instead(ctx context.Context, t ensemble.Target) (ensemble.Target, error) {
	return instead(ctx, t, local.Missing())
}

func instead(ctx context.Context, t ensemble.Target, missing error) (ensemble.Target, error) {
	containers := ensemble.Target{Compose: t.Local, Secure: t.Secure}
	if missing == nil || containers.Check() != nil || os.Getenv("JAVA_HOME") != "" || os.Getenv("ZOOKEEPER_HOME") != "" ||
		compose.Available(ctx) != nil {
		return t, nil
	}
	return containers, missing
}
