package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/calibrate"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/backend"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

func (a *app) calibrate(ctx context.Context, args []string) error {
	f := a.flags("calibrate [--ensemble local:N | --servers HOST:PORT,...]", `Measures what this machine adds to every figure: late timers, sockets, the disk, zkbench's own client at full speed, by how much identical runs
differ, and zkbench's own share of a throughput. It says which loads and which differences can be trusted here, and stores that in the user's cache directory, for this boot of this machine.
It puts full load on the servers; everything lives under one znode, removed at the end.`)
	var r runFlags
	f.StringVar(&r.servers, "servers", "", "host:port of the servers to load, comma separated, instead of an ensemble started for the measurement")
	f.StringVar(&r.ensemble, "ensemble", "", "ensemble to start: local:N or compose:N (default local:1)")
	r.addZooKeeper(f)
	dir := f.String("dir", os.TempDir(), "existing directory to measure the fsync time in: that of the servers' data, if they run here")
	sessions := f.Int("sessions", 32, "sessions of each run")
	runs := f.Int("runs", 7, "identical runs with reads, and as many with writes")
	each := f.Duration("for", 2*time.Second, "how long each run lasts")
	pairs := f.Int("pairs", 7, "pairs of a run and a bare loop of the same load, of locks and of reads, that give zkbench's own share; 0 leaves it out")
	f.StringVar(&r.root, "root", "", "znode to create, and to remove at the end (default "+root.DefaultBase+"/RUN)")
	r.access.add(f)
	f.BoolVarP(&r.quiet, "quiet", "q", false, "no progress")
	asJSON := f.Bool("json", false, "write the document, of schema "+results.CalibrationSchema)
	if err := alone(f, args); err != nil {
		return err
	}
	info, err := os.Stat(*dir)
	switch {
	case r.servers != "" && r.ensemble != "":
		return usagef("--servers and --ensemble cannot be combined (remove one of them)")
	case err != nil:
		return usagef("--dir: %w", err)
	case !info.IsDir():
		return usagef("--dir: %s is not a directory", *dir)
	case *sessions < 1 || *sessions > 1000:
		return usagef("--sessions: must be 1 to 1000, got %d", *sessions)
	case *runs < 3 || *runs > 100:
		return usagef("--runs: must be 3 to 100, got %d", *runs)
	case *pairs != 0 && *pairs < calibrate.MinPairs || *pairs > 100:
		return usagef("--pairs: must be 0 or %d to 100, got %d", calibrate.MinPairs, *pairs)
	case *each < 100*time.Millisecond || *each > 10*time.Minute:
		return usagef("--for: must be 100ms to 10m, got %v", *each)
	}
	if err := checkRoot(r.root); err != nil {
		return err
	}
	as, err := r.access.load()
	if err != nil {
		return err
	}
	t, err := a.target(ctx, r, cmp.Or(r.ensemble, "local:1"), r.zookeeper)
	if err != nil {
		return err
	}
	if err := backend.Check(t); err != nil {
		return usagef("--zookeeper: %w", err)
	}
	t.Dial = ensemble.Dialer(as.Dialer())
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	e, err := a.open(ctx, t, true, 0)
	if err != nil {
		return a.interrupted(ctx, err)
	}
	servers := inTurn(e.Addresses())
	p := calibrate.Plan{Dir: filepath.Clean(*dir), Sessions: *sessions, Runs: *runs, For: *each, Here: len(t.Addresses) == 0, Tell: func(string) {},
		Open: func(ctx context.Context) (zk.Session, error) {
			opening, cancel := context.WithTimeout(ctx, cleanTimeout)
			defer cancel()
			return a.setup.OpenAs(opening, a.setup.Engines[0].Name, servers(), cleanTimeout, as)
		}}
	if self, err := os.Executable(); err == nil {
		p.Seam = func(ctx context.Context, n int, atMost time.Duration) (*metrics.Histogram, error) {
			return drivers.Seam(ctx, []string{self, "driver", "null"}, n, atMost)
		}
	}
	if !r.quiet {
		p.Tell = func(what string) { fmt.Fprintf(a.stderr, "measuring: %s\n", what) }
	}
	about := e.Describe()
	doc, err := measureIn(ctx, p, r.root)
	if err == nil && *pairs > 0 {
		doc.Own, err = a.ownShare(ctx, p, place{e, as, r.root}, *pairs)
	}
	if err := errors.Join(err, e.Close()); err != nil {
		return a.interrupted(ctx, err)
	}
	calibrate.Conclude(&doc)
	doc.Host, doc.BootID = calibrate.Here()
	doc.Made, doc.Zkbench = time.Now().UTC(), versionText()
	doc.Ensemble, doc.ZooKeeper, doc.Servers, doc.Encrypted = t.String(), about.Version, len(e.Addresses()), about.Encrypted
	stored, err := calibrate.Store(doc)
	if err != nil {
		return fmt.Errorf("store the calibration: %w", err)
	}
	shown := report.Text(report.Calibration(doc), a.look())
	if *asJSON {
		shown = report.JSON(doc)
	}
	if err := shown(a.stdout); err != nil || *asJSON {
		return err
	}
	fmt.Fprintf(a.stdout, "\nStored: %s\n", stored)
	return nil
}

// inTurn returns a function that returns the servers in another order each time, so that sessions with the same seed, which try them in the same order, are
// spread evenly over them, as those of a run are. It is safe for concurrent use.
func inTurn(servers []string) func() []string {
	var next atomic.Uint64
	return func() []string {
		i := (next.Add(1) - 1) % uint64(len(servers))
		return slices.Concat(servers[i:], servers[:i])
	}
}

// calibration returns the stored calibration of this machine, or nil if there is none. If it cannot be read, it prints a warning and returns nil.
func (a *app) calibration() *results.Calibration {
	doc, err := calibrate.Read()
	if err != nil && !errors.Is(err, calibrate.ErrNone) {
		fmt.Fprintf(a.stderr, "warning: %v\n", err)
	}
	return doc
}

// calibrated reports, before any load, what the stored calibration says about an ensemble, or that there is none.
func (a *app) calibrated(e ensemble.Ensemble, quiet bool, says func(results.Calibrated, results.Environment) string) {
	env := bench.EnvironmentOf(e)
	if c := a.calibration().For(env); c != nil {
		a.tell(quiet, "%s", says(*c, env))
	} else {
		a.tell(quiet, "%v: which loads and differences can be trusted here is unknown", calibrate.ErrNone)
	}
}

// measureIn measures below a root, which it creates and removes.
func measureIn(ctx context.Context, p calibrate.Plan, at string) (doc results.Calibration, err error) {
	err = inRoot(ctx, "calibrate", at, p.Open, func(_ zk.Session, dir string) (err error) {
		p.Path = dir
		doc, err = calibrate.Measure(ctx, p)
		return err
	})
	return doc, err
}

// inRoot calls do with a directory below a root. It creates the root and removes it, however do ends. The root is at the path at, or at the default
// path if at is empty.
func inRoot(ctx context.Context, what, at string, open func(context.Context) (zk.Session, error), do func(s zk.Session, dir string) error) (err error) {
	name := runName(what, time.Now())
	if at == "" {
		at = root.DefaultBase + "/" + name
	}
	s, err := open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	asked := zk.Prompt(s, cleanTimeout)
	home := root.New(at, name, what, cleanTimeout, setup().Names())
	if err := home.Make(ctx, asked); err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		left, wrong := home.Remove(clean, s, nil)
		if wrong != nil {
			wrong = fmt.Errorf("%s was left behind: %w", at, wrong)
		} else if len(left) > 0 {
			wrong = fmt.Errorf("%s was left: it contains znodes that zkbench did not create: %s", at, left[0])
		}
		err = errors.Join(err, wrong)
	}()
	dir := at + "/cell-1"
	if _, err := asked.Create(ctx, dir, nil, zk.Persistent); err != nil {
		return err
	}
	return do(s, dir)
}
