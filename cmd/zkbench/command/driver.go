package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
	"github.com/zkbench/zkbench/drivers/stores"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/zk"
)

const (
	driverTimeout       = 4 * time.Second // session timeout in the conformance kit: the shortest that servers grant by default
	driverAnswerTimeout = 10 * time.Second
)

func (a *app) driver(ctx context.Context, args []string) error {
	f := a.flags("driver check PROGRAM [flags]", `Checks that a driver, a program that holds sessions and locks for 'variants: [driver:PROGRAM]', follows the protocol and keeps its promises:
requests, exclusion, tries, deadlines, cancellation, the items of queues, the end of a session, of a process and of the input. PROGRAM is a path with a slash in it, or
the name of a driver such as kazoo; put it in quotes with its arguments. Exit code 4: two sessions held a lock at once, too many held permits, or an item was lost or taken twice; 1: any other problem.
docs/drivers.md specifies the protocol. '`+program.Name()+` driver null' is itself a driver, with its locks in memory: it shows the overhead of the driver interface.`)
	var r runFlags
	f.StringVar(&r.servers, "servers", "", "host:port of the servers to use, comma separated, instead of an ensemble started for the check")
	f.StringVar(&r.ensemble, "ensemble", "", "ensemble to start: local:N or compose:N (default local:1)")
	r.stores.add(f)
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() == 1 && f.Arg(0) == "null" {
		return serve.Run(a.stdin, a.stdout, serve.InMemory())
	}
	switch {
	case f.NArg() != 2 || f.Arg(0) != "check":
		return usagef("driver takes check and one program: %s driver check ./mine", program.Name())
	case r.servers != "" && r.ensemble != "":
		return usagef("--servers and --ensemble cannot be combined (remove one of them)")
	}
	command, err := drivers.Find(f.Arg(1))
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	p, err := drivers.Start(ctx, command)
	if err != nil {
		fmt.Fprintln(a.stdout, drivers.Finding{Step: "hello", Err: err})
		return a.interrupted(ctx, exitError(exitFailed))
	}
	hello := p.Hello
	if err := p.Close(); err != nil {
		return err
	}
	c := drivers.Conformance{Command: command, Dir: "/check", Timeout: driverTimeout, AnswerTimeout: driverAnswerTimeout}
	if stores.Known(hello.Store) {
		return a.interrupted(ctx, a.checkOnStore(ctx, hello, c, r.stores))
	}
	if hello.Store != drivers.ZooKeeper {
		return a.interrupted(ctx, a.checkDriver(ctx, c))
	}
	t, err := a.target(ctx, r, cmp.Or(r.ensemble, "local:1"), "")
	if err != nil {
		return err
	}
	e, err := a.open(ctx, t, true, driverTimeout)
	if err != nil {
		return a.interrupted(ctx, err)
	}
	if of, capable := e.(ensemble.Capable); capable {
		needs, _ := hello.Powers() // the driver has said hello, so they are known
		if err := of.Powers(ctx).Refuse("driver "+hello.Name, needs...); err != nil {
			return a.interrupted(ctx, errors.Join(err, e.Close()))
		}
	}
	return a.interrupted(ctx, errors.Join(a.checkOn(ctx, e, c), e.Close()))
}

// checkOn checks a driver whose locks are znodes.
func (a *app) checkOn(ctx context.Context, e ensemble.Ensemble, c drivers.Conformance) error {
	c.Servers = e.Addresses()
	open := func(ctx context.Context) (zk.Session, error) {
		return a.setup.Open(ctx, a.setup.Engines[0].Name, c.Servers, cleanTimeout)
	}
	return inRoot(ctx, "driver", "", open, func(s zk.Session, dir string) error {
		c.Dir = dir
		c.Child = func(ctx context.Context, path string) error {
			_, err := s.Create(ctx, path, nil, zk.Persistent)
			return err
		}
		err := a.checkDriver(ctx, c)
		gone := time.NewTimer(2 * driverTimeout) // sessions of killed processes keep their znodes for a session timeout and a tick
		defer gone.Stop()
		select {
		case <-gone.C:
		case <-ctx.Done():
		}
		return err
	})
}

// checkDriver runs the conformance kit and prints its findings.
func (a *app) checkDriver(ctx context.Context, c drivers.Conformance) error {
	code := exitOK
	drivers.Check(ctx, c, func(f drivers.Finding) {
		fmt.Fprintln(a.stdout, strings.ReplaceAll(f.String(), "\n", "\n  "))
		switch {
		case drivers.Unsafe(f.Err):
			code = exitViolated
		case f.Err != nil && code == exitOK:
			code = exitFailed
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if code != exitOK {
		return exitError(code)
	}
	return nil
}
