package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/exporter"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/backend"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// runFlags holds the command line of 'zkbench run'.
type runFlags struct {
	servers, ensemble, zookeeper, engine, root, out, record string
	sets, gates                                             []string
	unused                                                  bool
	watching
	target  ensemble.Target
	targets []ensemble.Target // one for each ensemble of the profile; the first is target
	output  automation
	access  accessFlags
	pages   pages
	fleet   fleetFlags
	stores  storeFlags
}

func (a *app) runProfile(ctx context.Context, args []string) error {
	f := a.flags("run PROFILE [flags]", `Runs a profile, a built-in one by name or a YAML file ('-' reads standard input), and prints the result.
Without --servers it starts an ensemble for the run and removes it afterwards: local servers, or containers with --ensemble compose:3 or
if only Docker is available. Everything lives under one znode, which is removed at the end, even after an interrupt.`)
	var r runFlags
	r.add(f)
	if err := r.parse(a, f, args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usagef("run takes one profile; '%s list profiles' lists the built-in ones", program.Name())
	}
	return a.runOne(ctx, f.Arg(0), r, append([]string{program.Name(), "run"}, concealed(args)...))
}

// add adds the flags of a run.
func (r *runFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.servers, "servers", "", "host:port of the servers to load, comma separated, instead of an ensemble started for the run")
	f.StringArrayVar(&r.sets, "set", nil, "change a field of the profile, as `key=value`; may be repeated")
	f.StringArrayVar(&r.gates, "gate", nil, "additional gate, a `limit` such as 'errors < 0.1%'; may be repeated")
	f.StringVar(&r.out, "out", "", "directory of the result (default results/PROFILE-TIME)")
	f.StringVar(&r.record, "record", "", "write a trace of the run to `FILE`, which must not exist: the sessions go through a recording proxy, which 'docs/traffic.md' measures")
	r.output.flags(f, "each gate and each check")
	f.StringVar(&r.engine, "engine", "", "client library, instead of the profile's")
	f.StringVar(&r.ensemble, "ensemble", "", "ensemble to start, instead of the profile's: local:N, compose:N or compose:3+1")
	r.addZooKeeper(f)
	f.StringVar(&r.root, "root", "", "znode to create, and to remove at the end (default "+root.DefaultBase+"/RUN)")
	f.BoolVar(&r.unused, "unused-parent", false, "allow --root in a znode that has never had a child: only safe if it is not a container znode")
	r.stores.add(f)
	r.access.add(f)
	r.pages.flags(f)
	r.fleet.add(f)
	r.watching.flags(f)
}

// parse parses the command line of a run.
func (r *runFlags) parse(a *app, f *pflag.FlagSet, args []string) error {
	if err := parse(f, args); err != nil {
		return err
	}
	if err := r.watching.check(a); err != nil {
		return err
	}
	if f.Changed("servers") && r.servers == "" { // such as --servers "$(zkbench up --print-servers)" if nothing is up
		return usagef("--servers is empty; give host:port of the servers to load, or leave it out to start an ensemble for the run")
	}
	if r.servers != "" && r.ensemble != "" {
		return usagef("--servers and --ensemble cannot be combined (remove one of them)")
	}
	if err := r.fleet.check(f, r.servers); err != nil {
		return err
	}
	if r.engine != "" {
		r.sets = append(r.sets, "engine="+r.engine)
	}
	if r.ensemble != "" {
		r.sets = append(r.sets, "ensemble="+r.ensemble)
	}
	return checkRoot(r.root)
}

// runOne runs a profile.
func (a *app) runOne(ctx context.Context, profile string, r runFlags, command []string) error {
	p, err := a.prepare(ctx, profile, &r)
	if err != nil {
		return err
	}
	return a.carryOut(ctx, p, r, command)
}

// addZooKeeper adds the flag that chooses the servers' version.
func (r *runFlags) addZooKeeper(f *pflag.FlagSet) {
	f.StringVar(&r.zookeeper, "zookeeper", "", "`VERSION` of ZooKeeper, such as 3.9.3, or its home directory or jar, instead of the profile's; '"+program.Name()+" zookeeper list' lists those found here")
}

// prepare returns a profile with its assignments, checked against the targets that it will run on. It writes the targets into r.
func (a *app) prepare(ctx context.Context, name string, r *runFlags) (profiles.Profile, error) {
	sets := append(slices.Clip(r.sets), r.access.sets()...)
	if r.zookeeper != "" {
		sets = append(sets, "zookeeper="+r.zookeeper)
	}
	p, err := a.profile(name, sets, r.gates...)
	if err != nil {
		return p, err
	}
	environments := p.Environments()
	if r.servers != "" && len(environments) > 1 {
		return p, usagef("%s: the profile starts %s, but --servers names running servers (remove --servers, or add --set ensemble=%s and --set secure=%s)",
			p.DifferingAxis(), phrase.Count(len(environments), "ensemble"), profiles.Given, profiles.NotSecured)
	}
	ran := map[string]string{}
	for _, one := range environments {
		t, err := a.targetOf(ctx, *r, one)
		if err != nil {
			return p, err
		}
		r.targets = append(r.targets, t)
		if ran[one.Ensemble[0]] = t.String(); len(t.Addresses) > 0 {
			ran[one.Ensemble[0]] = profiles.Given
		}
	}
	if err := a.setup.CheckVersions(p); err != nil {
		return p, usageError{err}
	}
	r.target = r.targets[0]
	p.Ensemble = slices.Clone(p.Ensemble)
	for i, asked := range p.Ensemble { // a repetition must use the ensemble that was used
		p.Ensemble[i] = ran[asked]
	}
	return p, nil
}

// prepareWhole is prepare for a plan of many loads, each of which is shared separately: see canShare.
func (a *app) prepareWhole(ctx context.Context, name string, r *runFlags) (profiles.Profile, error) {
	whole := *r
	whole.fleet = fleetFlags{}
	p, err := a.prepare(ctx, name, &whole)
	r.target, r.targets = whole.target, whole.targets
	return p, err
}

// canShare returns an error if the shares cannot carry out a load.
func (a *app) canShare(f fleetFlags, p profiles.Profile) error {
	if err := a.setup.CheckShare(p, f.part); err != nil {
		return usageError{err}
	}
	if f.on() && len(p.Faults) > 0 {
		return usagef("%s: faults are not supported in searches and comparisons of several shares (remove them)", p.AtFault(0, "kind"))
	}
	return nil
}

// targetOf returns the target of a profile with one ensemble, and checks the profile against it.
func (a *app) targetOf(ctx context.Context, r runFlags, p profiles.Profile) (ensemble.Target, error) {
	t, err := a.target(ctx, r, p.Ensemble[0], p.ZooKeeperOf())
	if err != nil {
		return t, err
	}
	as, err := a.setup.LoadAccess(p, access.SettingsOf(p))
	if err != nil {
		return t, usageError{err}
	}
	t.Dial, t.Secure = ensemble.Dialer(as.Dialer()), p.SecureWay()
	if t.Secure != "" && len(t.Addresses) > 0 {
		return t, usagef("%s: secure is for ensembles that zkbench starts (for running servers use tls and auth, --tls-ca and --auth-file, with --set secure=%s)",
			p.At("secure", 0), profiles.NotSecured)
	}
	if err := backend.Check(t); err != nil {
		return t, usagef("%s: %w", p.At("zookeeper", 0), err)
	}
	problems := a.setup.CheckShare(p, r.fleet.part)
	if r.fleet.part.Lowest() { // the lowest share injects the faults
		if len(t.Addresses) > 0 && len(p.Faults) > 0 {
			t = backend.Staying(t)
		}
		problems = errors.Join(bench.CheckFaults(p, environment(t)), problems)
	}
	if problems != nil {
		return t, usageError{problems}
	}
	return t, nil
}

// checkRoot returns an error if a path cannot be the root of a run. An empty path leaves the choice to the run.
func checkRoot(path string) error {
	if path == "" || path != "/" && zk.CheckPath(path) == nil && path != "/zookeeper" && !strings.HasPrefix(path, "/zookeeper/") {
		return nil
	}
	return usagef("--root %q: must be the absolute path of a znode to create, such as /zkbench/mine, outside /zookeeper", path)
}

// runName names a run after its profile and the time. The characters at the end distinguish runs that start in the same millisecond, on any host.
func runName(profile string, at time.Time) string {
	return profile + "-" + at.UTC().Format("20060102T150405.000") + "-" + strings.ToLower(rand.Text()[:6])
}

// carryOut runs a checked profile. It creates the directory first, so that a result that cannot be saved is never measured.
func (a *app) carryOut(ctx context.Context, p profiles.Profile, r runFlags, command []string) error {
	name := runName(p.Name, time.Now())
	if r.out == "" {
		r.out = r.fleet.out(name)
	}
	resolved, err := profiles.Marshal(p)
	if err != nil {
		return err
	}
	r.output.name, r.output.profile = p.Name, p
	if err := r.output.begin(); err != nil {
		return err
	}
	dir, err := results.Create(r.out, resolved)
	if err != nil {
		return r.output.failed(a, err)
	}
	defer dir.Close()
	c := bench.Config{Setup: a.setup, Profile: p, Root: r.root, UnusedParent: r.unused, Name: name, Command: command,
		Version: versionText(), Out: dir, Stores: r.stores.given()}
	if r.record == "" {
		return a.conclude(ctx, p, r, c)
	}
	recorded, err := startRecording(r.record, "run "+p.Name, r.target.String(), true)
	if err != nil {
		return errors.Join(r.output.failed(a, err), dir.Discard())
	}
	c.Record = recorded
	err = a.conclude(ctx, p, r, c)
	if recorded.Counts().Sessions == 0 { // the run could not start
		return errors.Join(err, recorded.discard())
	}
	failed := recorded.end(a)
	if failed != nil && err != nil { // which decides on the exit code, and may have been printed
		fmt.Fprintf(a.stderr, "%s: %v\n", program.Name(), failed)
		return err
	}
	return errors.Join(err, failed)
}

// conclude measures, and shows the result.
func (a *app) conclude(ctx context.Context, p profiles.Profile, r runFlags, c bench.Config) error {
	dir := c.Out
	doc, err := a.measure(ctx, p, r, c)
	if doc == nil {
		if errors.Is(err, bench.ErrProfile) { // which is only found with a running ensemble
			err = usageError{err}
		}
		return errors.Join(r.output.failed(a, err), dir.Discard())
	}
	inconsistent, failed := a.present(doc, dir, r.pages, r.output)
	if failed != nil {
		return failed
	}
	sent := a.shipped(ctx, r.fleet, dir, r.quiet)
	if doc.LeftBehind != "" && (err == nil || !strings.Contains(err.Error(), doc.LeftBehind)) {
		fmt.Fprintf(a.stderr, "%s: %s\n", program.Name(), doc.LeftBehind)
	}
	if sent != nil {
		fmt.Fprintf(a.stderr, "%s: %v\n", program.Name(), sent)
	}
	if doc.Exit.Code == 0 {
		if inconsistent || sent != nil {
			return exitError(exitFailed)
		}
		return err
	}
	fmt.Fprintf(a.stderr, "%s: %s\n", program.Name(), doc.Exit.Reason)
	if err != nil && !bench.Interrupted(err) {
		a.detail(err, doc.Exit.Reason)
	}
	return exitError(doc.Exit.Code)
}

// present shows a result in every requested form, and reports whether it contradicts itself.
func (a *app) present(doc *results.Run, dir *results.Dir, p pages, output automation) (inconsistent bool, err error) {
	if err := errors.Join(a.show(doc, dir), output.end(a, report.Run(*doc).Tests(""), report.Markdown(report.Run(*doc)))); err != nil {
		return false, err
	}
	p.in(a, a.stdout, results.Document{Dir: dir.Path(), Run: doc})
	return a.contradictions(dir.Path()), nil
}

// detail prints the lines of an error that the reason does not contain already, such as the end of a server's log. It prints each line
// once, because a full disk fails every write with the same message.
func (a *app) detail(err error, reason string) {
	output := map[string]bool{}
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimRight(line, "\n")
		if !output[line] && !strings.Contains(reason, line) {
			fmt.Fprintln(a.stderr, line)
		}
		output[line] = true
	}
}

// measure starts the ensemble and runs the profile on it. The first signal ends the run in good order, the second cuts that short.
func (a *app) measure(ctx context.Context, p profiles.Profile, r runFlags, c bench.Config) (*results.Run, error) {
	shown, err := a.watch(r.watching, exporter.Run{Name: c.Name, Profile: p.Name, Workload: p.Workload, Engine: p.Engine, Version: c.Version}, false)
	if err != nil {
		return nil, err
	}
	defer shown.close()
	s := a.watchSignals(ctx)
	defer s.end()
	e, err := a.open(s.starting, r.target, p.Fsync, p.SessionTimeout)
	if err != nil {
		if s.stopped() {
			return nil, exitError(exitInterrupted)
		}
		return nil, err
	}
	c.Ensemble, c.Stop, c.Calibration = e, s.stop, a.calibration()
	meeting, err := a.meetAs(s.starting, r.fleet, p, r.quiet, &c)
	if err != nil {
		err = errors.Join(err, e.Close())
		if s.stopped() {
			return nil, exitError(exitInterrupted)
		}
		return nil, err
	}
	if meeting != nil {
		defer meeting.Close()
	}
	there := 0
	c.Next = func(ctx context.Context, p profiles.Profile) (ensemble.Ensemble, error) {
		shown.shown.clear()
		if err := e.Close(); err != nil {
			return nil, err
		}
		there++
		next, err := a.open(ctx, r.targets[there], p.Fsync, p.SessionTimeout)
		if err == nil {
			e = next
		}
		return next, err
	}
	c.Progress = shown.update
	doc, err := bench.Run(s.working, c)
	closed := e.Close()
	if errors.Is(closed, ensemble.ErrServerEnded) && err != nil {
		closed = nil // the run has reported it
	}
	return doc, errors.Join(err, closed)
}

// show prints the result and the path of its directory.
func (a *app) show(doc *results.Run, dir *results.Dir) error {
	if err := report.Text(report.Run(*doc), a.look())(a.stdout); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nResult: %s\n", dir.Path())
	return nil
}

// look returns what standard output can display.
func (a *app) look() report.Look {
	look := report.Look{}
	if fd, ok := terminalOf(a.stdout); ok {
		look.Box = true
		if width, _, err := term.GetSize(fd); err == nil {
			look.Width = width
		}
	}
	return look
}
