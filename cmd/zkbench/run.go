package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	pathpkg "path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// runFlags is what 'zkbench run' was asked for.
type runFlags struct {
	servers, ensemble, engine, root, out string
	sets                                 []string
	quiet                                bool
	target                               ensemble.Target
}

func (a *app) runProfile(ctx context.Context, args []string) error {
	f := a.flags("run PROFILE [flags]", `Runs a profile, a built-in one by name or a YAML file ('-' reads standard input), and prints the result.
Without --servers it starts an ensemble for the run and removes it afterwards: local servers, or containers with --ensemble compose:3, or
where only Docker is there. Everything lives under one znode, which is removed at the end, after an interrupt too.`)
	var r runFlags
	f.StringVar(&r.servers, "servers", "", "host:port of servers to load, comma separated, instead of an ensemble for the run")
	f.StringArrayVar(&r.sets, "set", nil, "change a field of the profile, as `key=value`; may be repeated")
	f.StringVar(&r.out, "out", "", "directory of the result (default results/PROFILE-TIME)")
	f.StringVar(&r.engine, "engine", "", "client library, instead of the profile's")
	f.StringVar(&r.ensemble, "ensemble", "", "local:N or compose:N, instead of the profile's")
	f.StringVar(&r.root, "root", "", "znode to make and to remove at the end (default "+bench.DefaultBase+"/RUN)")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "no progress")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usagef("run takes one profile; 'zkbench list profiles' lists the built-in ones")
	}
	if f.Changed("servers") && r.servers == "" { // such as --servers "$(zkbench up --print-servers)" where nothing is up
		return usagef("--servers is empty; give host:port of the servers to load, or leave it out to start an ensemble for the run")
	}
	if r.engine != "" {
		r.sets = append(r.sets, "engine="+r.engine)
	}
	if r.ensemble != "" {
		r.sets = append(r.sets, "ensemble="+r.ensemble)
	}
	p, err := a.profile(f.Arg(0), r.sets)
	if err != nil {
		return err
	}
	if r.target, err = a.target(ctx, r, p.Ensemble); err != nil {
		return err
	}
	if err := checkRoot(r.root); err != nil {
		return err
	}
	if err := bench.CheckFaults(p, ground(r.target)); err != nil {
		return usageError{err}
	}
	return a.carryOut(ctx, p, r, append([]string{"zkbench", "run"}, args...))
}

// checkRoot says whether a path can be the root of a run: "" leaves the choice to the run.
func checkRoot(path string) error {
	if path == "" || strings.HasPrefix(path, "/") && path != "/" && path == pathpkg.Clean(path) && path != "/zookeeper" && !strings.HasPrefix(path, "/zookeeper/") {
		return nil
	}
	return usagef("--root %q: a root is an absolute path of a znode to make, such as /zkbench/mine, and not one of ZooKeeper's own", path)
}

// carryOut runs a checked profile: the directory first, so that a result that cannot be kept is never measured.
func (a *app) carryOut(ctx context.Context, p profiles.Profile, r runFlags, command []string) error {
	name := p.Name + "-" + time.Now().UTC().Format("20060102T150405.000")
	if r.out == "" {
		r.out = filepath.Join("results", name)
	}
	resolved, err := profiles.Marshal(p)
	if err != nil {
		return err
	}
	dir, err := results.Create(r.out, resolved)
	if err != nil {
		return err
	}
	defer dir.Close()
	doc, err := a.measure(ctx, p, r, bench.Config{Setup: a.setup, Profile: p, Root: r.root, Name: name, Command: command,
		Version: versionText(), Out: dir})
	if doc == nil {
		if errors.Is(err, bench.ErrProfile) { // the ensemble has to be there to tell
			err = usageError{err}
		}
		return errors.Join(err, dir.Discard())
	}
	if err := a.show(doc, dir); err != nil {
		return err
	}
	if doc.Exit.Code == 0 {
		return err
	}
	fmt.Fprintf(a.stderr, "zkbench: %s\n", doc.Exit.Reason)
	if err != nil && !bench.Interrupted(err) {
		a.detail(err, doc.Exit.Reason)
	}
	return exitError(doc.Exit.Code)
}

// detail prints the lines of an error that the reason does not say already, such as the end of a server's log; each once, because a
// full disk fails every write in the same words.
func (a *app) detail(err error, reason string) {
	told := map[string]bool{}
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimRight(line, "\n")
		if !told[line] && !strings.Contains(reason, line) {
			fmt.Fprintln(a.stderr, line)
		}
		told[line] = true
	}
}

// measure starts the ensemble and runs the profile on it. The first signal ends the run in good order, the second at once.
func (a *app) measure(ctx context.Context, p profiles.Profile, r runFlags, c bench.Config) (*results.Run, error) {
	s := a.watchSignals(ctx)
	defer s.end()
	e, err := a.open(s.starting, r.target, p.Fsync, p.SessionTimeout)
	if err != nil {
		if s.stopped() {
			return nil, exitError(exitInterrupted)
		}
		return nil, err
	}
	c.Ensemble, c.Stop = e, s.stop
	if !r.quiet {
		shown := newProgress(a.stderr)
		c.Progress = shown.update
		defer shown.clear()
	}
	doc, err := bench.Run(s.working, c)
	closed := e.Close()
	if errors.Is(closed, ensemble.ErrServerEnded) && err != nil {
		closed = nil // the run has told it
	}
	return doc, errors.Join(err, closed)
}

// show prints the result, and where it is kept.
func (a *app) show(doc *results.Run, dir *results.Dir) error {
	look := report.Look{}
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		look.Box = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			look.Width = width
		}
	}
	if err := report.Text(*doc, look)(a.stdout); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nResult: %s\n", dir.Path())
	return nil
}

// signals turns the process's signals into the two ways of ending a run.
type signals struct {
	stop              chan struct{}   // closed by the first
	starting, working context.Context // ended by the first, by the second
	end               func()
}

func (s *signals) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func (a *app) watchSignals(ctx context.Context) *signals {
	s := &signals{stop: make(chan struct{})}
	var cancelStart, cancelWork context.CancelFunc
	s.starting, cancelStart = context.WithCancel(ctx)
	s.working, cancelWork = context.WithCancel(ctx)
	over, watching := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-a.signals:
			fmt.Fprintln(a.stderr, "interrupted: finishing what is under way and cleaning up; once more leaves at once")
			close(s.stop)
			cancelStart()
		case <-over:
			return
		}
		select {
		case <-a.signals:
			fmt.Fprintln(a.stderr, "leaving at once; 'zkbench clean' removes what is left on servers of yours")
			cancelWork()
		case <-over:
		}
	}()
	s.end = func() {
		close(over)
		<-watching
		cancelStart()
		cancelWork()
	}
	return s
}
