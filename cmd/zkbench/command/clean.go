package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/zk"
)

// cleaning is one execution of 'zkbench clean'.
type cleaning struct {
	*app
	servers, base, engine        string
	deep, dry, force, sure, wait bool
	s                            zk.Session
	flags                        accessFlags
	access                       *access.Access
}

func (a *app) clean(ctx context.Context, args []string) error {
	f := a.flags("clean --servers HOST:PORT,...", `Removes the roots that interrupted runs left behind: znodes that carry zkbench's marker, and what zkbench created below them.
It shows what it will remove and asks; without a terminal it removes nothing unless --yes is given. It skips the roots of runs that may
still be active, and every znode that zkbench did not create; zkbench then exits with 1.`)
	c := cleaning{app: a}
	f.StringVar(&c.servers, "servers", "", "host:port of the servers, comma separated")
	f.StringVar(&c.base, "root", root.DefaultBase, "the root of a run, or the znode above the roots")
	f.BoolVar(&c.deep, "deep", false, "look for roots at every depth below --root, by default in the whole ensemble: reads every znode")
	f.BoolVar(&c.dry, "dry-run", false, "only show what would be removed")
	f.BoolVarP(&c.sure, "yes", "y", false, "do not ask")
	f.BoolVar(&c.wait, "wait", false, "wait for the sessions of runs that ended abruptly to expire")
	f.BoolVar(&c.force, "force", false, "also remove roots of runs that may still be active, and of older versions")
	f.StringVar(&c.engine, "engine", a.setup.Engines[0].Name, "client library")
	c.flags.addConnecting(f)
	if err := parse(f, args); err != nil {
		return err
	}
	if c.deep && !f.Changed("root") {
		c.base = "/"
	}
	if c.servers == "" || f.NArg() > 0 {
		return usagef("clean needs --servers and takes no arguments")
	}
	if c.base != "/" {
		if err := checkRoot(c.base); err != nil {
			return err
		}
	}
	t, err := ensemble.ParseTarget(c.servers)
	if err != nil {
		return usageError{err}
	}
	if len(t.Addresses) == 0 {
		return usagef("clean needs --servers with the addresses of running servers, not %s", t)
	}
	if c.access, err = c.flags.load(); err != nil {
		return err
	}
	t.Dial = ensemble.Dialer(c.access.Dialer())
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	e, err := a.open(ctx, t, true, 0)
	if err != nil {
		return a.interrupted(ctx, err)
	}
	defer e.Close()
	return a.interrupted(ctx, c.carryOut(ctx, e))
}

// cleanTimeout is the session timeout of clean, and how long servers may take to answer.
const cleanTimeout = 10 * time.Second

func (c *cleaning) carryOut(ctx context.Context, e ensemble.Ensemble) (err error) {
	opening, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	s, err := c.setup.OpenAs(opening, c.engine, e.Addresses(), cleanTimeout, c.access)
	if err != nil {
		return err
	}
	defer s.Close()
	c.s = zk.Prompt(s, cleanTimeout)
	found, err := c.find(ctx)
	if err != nil {
		return err
	}
	if c.force {
		found.Parents = append(found.Parents, found.Older...)
		found.Older = nil
	}
	roots, znodes, err := c.show(ctx, found)
	if err != nil {
		return err
	}
	if err := c.denied(found.Denied); err != nil {
		return err
	}
	switch {
	case len(found.Roots)+len(found.Parents)+len(found.Older) == 0:
		fmt.Fprintf(c.stdout, "no zkbench data under %s\n", c.base)
		return nil
	case c.dry, len(roots)+len(found.Parents) == 0:
		return nil
	}
	if err := c.confirm(fmt.Sprintf("remove %s?", counted(znodes+len(found.Parents), "znode"))); err != nil {
		return err
	}
	var faults []error
	for _, f := range roots {
		faults = append(faults, c.remove(ctx, f))
	}
	for _, path := range found.Parents {
		faults = append(faults, root.RemoveParent(ctx, c.s, path))
	}
	return errors.Join(faults...)
}

// denied prints the znodes that this client is not allowed to list. It returns an error if c.base is one of them.
func (c *cleaning) denied(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	const remedy = "give the credentials of the run that created it (--auth-file, or --tls-cert with --tls-key)"
	if slices.Contains(paths, c.base) {
		return fmt.Errorf("%s: its ACL does not allow this client to list it: %s", c.base, remedy)
	}
	fmt.Fprintf(c.stdout, "skipped, not readable by this client because of their ACL: %s, such as %s; %s\n", counted(len(paths), "znode"), paths[0], remedy)
	return nil
}

// find looks for roots. With --wait it repeats that until no run is active, at most for the time in which the sessions of ended runs expire.
func (c *cleaning) find(ctx context.Context) (found root.Findings, err error) {
	until := time.Time{}
	for {
		if found, err = root.Find(ctx, c.s, c.setup.Names(), c.base, c.deep); err != nil || !c.wait {
			return found, err
		}
		active := 0
		for _, f := range found.Roots {
			v, err := f.Survey(ctx, c.s)
			if err != nil {
				return found, err
			}
			now := time.Now()
			why := f.Active(v, now)
			if why == "" {
				continue
			}
			active++
			if until.IsZero() {
				left := f.Expires(v, now)
				until = now.Add(left + time.Second)
				fmt.Fprintf(c.stderr, "waiting up to %s for %s: %s\n", phrase.Duration(left.Round(time.Second)), f.Path, why)
			}
		}
		if active == 0 || !until.IsZero() && time.Now().After(until) {
			return found, nil
		}
		select {
		case <-time.After(time.Second / 4):
		case <-ctx.Done():
			return found, context.Cause(ctx)
		}
	}
}

// remedy says within what time a skipped root becomes removable, and whether its process is gone.
func remedy(f root.Found, v root.Survey) string {
	host, _ := os.Hostname()
	gone := ""
	if f.PID > 0 && f.Host == host && processGone(f.PID) {
		gone = "process " + strconv.Itoa(f.PID) + " is gone; "
	}
	return fmt.Sprintf("%sexpires within %s; --wait waits for that, --force removes it now", gone, phrase.Duration(f.Expires(v, time.Now()).Round(time.Second)))
}

// processGone reports whether there is surely no process of this id.
func processGone(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) // Windows has no such signal, so nothing is sure there
}

// show prints what was found, and returns the roots to remove and their number of znodes.
func (c *cleaning) show(ctx context.Context, found root.Findings) (roots []root.Found, znodes int, err error) {
	verb := map[bool]string{true: "would remove", false: "to remove"}[c.dry]
	for _, f := range found.Roots {
		v, err := f.Survey(ctx, c.s)
		if err != nil {
			return nil, 0, err
		}
		switch active := f.Active(v, time.Now()); {
		case f.Older && !c.force:
			fmt.Fprintf(c.stdout, "skipped, created by an older zkbench (--force removes it): %s\n", about(f))
			continue
		case active != "" && !c.force:
			fmt.Fprintf(c.stdout, "skipped, run still active: %s: %s (%s)\n", about(f), active, remedy(f, v))
			continue
		}
		fmt.Fprintf(c.stdout, "%s %s: %s\n", verb, about(f), counted(v.Znodes, "znode"))
		roots, znodes = append(roots, f), znodes+v.Znodes
		for _, other := range v.Foreign {
			if !slices.ContainsFunc(roots, func(f root.Found) bool { return other.Path == f.Path || strings.HasPrefix(f.Path, other.Path+"/") }) {
				fmt.Fprintf(c.stdout, "  kept, not created by zkbench: %s\n", other)
			}
		}
	}
	for _, path := range found.Parents {
		fmt.Fprintf(c.stdout, "%s %s: empty, created as a parent of a root\n", verb, path)
	}
	for _, path := range found.Older {
		fmt.Fprintf(c.stdout, "skipped, created by an older zkbench as a parent of a root (--force removes it): %s\n", path)
	}
	return roots, znodes, nil
}

func about(f root.Found) string {
	return fmt.Sprintf("%s (profile %s, started %s on %s by process %d)", f.Path, f.Profile, f.Started.Local().Format(time.DateTime), f.Host, f.PID)
}

// confirm asks on a terminal, unless --yes was given. Without a terminal it returns an error, because nobody can answer.
func (c *cleaning) confirm(question string) error {
	if c.sure {
		return nil
	}
	if _, ok := terminalOf(c.stdin); !ok {
		return usagef("nothing was removed: no terminal to ask on (--yes removes without asking)")
	}
	fmt.Fprintf(c.stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(c.stdin).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was removed")
	}
	return nil
}

// remove removes a root. Time has passed since the root was shown, so it checks again that its run is not active, by the ensemble's own clock.
func (c *cleaning) remove(ctx context.Context, f root.Found) error {
	now, err := f.Take(ctx, c.s, c.force)
	if errors.Is(err, root.ErrTaken) {
		fmt.Fprintf(c.stdout, "skipped, %v: %s\n", err, f.Path)
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", f.Path, err)
	}
	if !c.force {
		v, err := f.Survey(ctx, c.s)
		if err != nil {
			return err
		}
		if active := f.Active(v, now); active != "" {
			fmt.Fprintf(c.stdout, "skipped, run still active: %s: %s (--force removes it now)\n", f.Path, active)
			return f.Release(ctx, c.s)
		}
	}
	fmt.Fprintf(c.stdout, "removing %s\n", f.Path)
	left, err := f.Remove(ctx, c.s, nil)
	if err != nil {
		return fmt.Errorf("remove %s: %w", f.Path, err)
	}
	if len(left) > 0 {
		return errors.Join(root.LeftError(left, c.servers, f.Path, c.access.Flags()), f.Release(ctx, c.s))
	}
	return nil
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
