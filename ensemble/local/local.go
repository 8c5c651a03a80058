package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
	"github.com/zkbench/zkbench/ensemble/internal/secrets"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/zk"
)

// Local is an ensemble of ZooKeeper servers on this machine, on the loopback address.
type Local struct {
	driver.Ensemble[*server]
	cfg       Config
	java      string
	program   versions.Program
	dir       string
	temporary bool     // dir was created by Start and is removed with the servers
	hold      *os.File // its lock says that this process lives; nil if detached
	ports     []serverPorts
	launcher  *launcher // nil if detached
}

var (
	_ ensemble.Ensemble   = (*Local)(nil)
	_ ensemble.Upgrader   = (*Local)(nil)
	_ ensemble.Accountant = (*Local)(nil)
)

// Start starts servers and returns when a write has gone through every one of them. The servers live until Close or, with
// cfg.Detach, until they are ended; ctx only bounds the start. If the start fails, nothing is left running, the error names the
// server, its log and the log's last lines, and the log stays.
func Start(ctx context.Context, cfg Config) (*Local, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("local ensemble: %w", err)
	}
	java, err := findJava(cfg.Java, runtime.GOOS, os.Getenv)
	if err != nil {
		return nil, err
	}
	program, err := versions.Find(cfg.ZooKeeper)
	if err != nil {
		return nil, err
	}
	if err := cfg.possible(program); err != nil {
		return nil, err
	}
	dir, temporary, hold, err := prepareDir(cfg)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	var l *Local
	err = driver.WithFreePorts(ctx, cfg.ClientPorts, func() error {
		l = &Local{cfg: cfg, java: java, program: program, dir: dir, temporary: temporary, hold: hold}
		return l.launchAll(ctx)
	})
	if err == nil {
		if err = errors.Join(l.describe(ctx), l.saveDetached()); err == nil {
			return l, nil
		}
		err = errors.Join(err, l.killAll(), l.forget())
	}
	return nil, fmt.Errorf("start %d servers: %w", cfg.Servers, errors.Join(err, l.abandon(ctx)))
}

// abandon keeps the directory of a failed start for its logs. It removes a directory without logs, or one that nobody
// will read because the caller has canceled the start.
func (l *Local) abandon(ctx context.Context) error {
	if l.temporary && (len(l.All()) == 0 || errors.Is(ctx.Err(), context.Canceled)) {
		return os.RemoveAll(l.dir)
	}
	return keep(l.dir)
}

// launchAll starts the servers once. After an error none of them runs.
func (l *Local) launchAll(ctx context.Context) error {
	if err := l.choosePorts(); err != nil {
		return err
	}
	if err := l.cfg.writeFiles(l.dir, l.ports); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if !l.cfg.Detach {
		l.launcher = newLauncher()
	}
	var servers []*server
	for i, p := range l.ports {
		servers = append(servers, l.server(i+1, driver.Loopback(p.Client)))
	}
	if err := l.take(servers); err != nil {
		return err
	}
	var err error
	for _, s := range servers {
		err = errors.Join(err, s.launch())
	}
	if err == nil {
		// Before the wait: if zkbench is killed during it, zkbench down still finds the servers.
		err = l.saveDetached()
	}
	if err == nil {
		err = l.Ready(ctx)
	}
	if err != nil {
		err = errors.Join(err, l.killAll(), l.forget())
	}
	return err
}

// take makes the servers those of the ensemble.
func (l *Local) take(servers []*server) error {
	dial, err := secrets.Dialer(l.Credentials())
	if err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	cfg := driver.Config[*server]{Servers: servers, Dial: dial, StartTimeout: l.cfg.StartTimeout, Changed: l.saveDetached}
	if l.cfg.AdminServer {
		cfg.Admin = func(i int) string { return driver.Loopback(l.ports[i].Admin) }
	}
	if !l.cfg.Detach {
		cfg.Finish = l.finish
	}
	l.Init(cfg)
	return nil
}

// choosePorts finds ports, and removes what a start with other ports has written.
func (l *Local) choosePorts() error {
	for _, port := range l.cfg.ClientPorts {
		if err := driver.PortFree(port); err != nil {
			return err
		}
	}
	free, err := driver.FreePorts(4 * l.cfg.Servers)
	if err != nil {
		return err
	}
	for i, four := range slices.Collect(slices.Chunk(free, 4)) {
		l.ports = append(l.ports, serverPorts{Client: four[0], Quorum: four[1], Election: four[2], Admin: four[3]})
		if len(l.cfg.ClientPorts) > 0 {
			l.ports[i].Client = l.cfg.ClientPorts[i]
		}
		if err := os.RemoveAll(filepath.Join(l.dir, serverDir(i+1))); err != nil {
			return err
		}
	}
	return nil
}

// Upgrades returns the version of a ZooKeeper, or why servers that have run another one cannot run it.
func (l *Local) Upgrades(from, to string) (version string, err error) {
	if from != "" {
		return CheckUpgrade(l.cfg, from, to)
	}
	for number := range l.All() { // some of a detached ensemble may have been upgraded before
		if err := l.Change(context.Background(), number+1, func(s *server, _ driver.State) error {
			p, err := l.cfg.upgraded(s.program, to)
			version = p.Version
			return err
		}); err != nil {
			return "", err
		}
	}
	return version, nil
}

// Upgrade chooses the program that a server that is down runs when it is started again.
func (l *Local) Upgrade(ctx context.Context, number int, to string) (version string, err error) {
	err = l.Change(ctx, number, func(s *server, was driver.State) error {
		if was.Up {
			return ensemble.ErrRunning
		}
		p, err := versions.Find(to)
		if err != nil {
			return err
		}
		s.noSnapshot = s.noSnapshot || zk.PowersOf(p.Version).Has(zk.PowerCreate2) && !zk.PowersOf(s.program.Version).Has(zk.PowerCreate2)
		version, s.program = p.Version, p
		return l.saveDetached()
	})
	return version, err
}

// killAll kills every process and waits for it; it also ends the launcher's thread.
func (l *Local) killAll() error {
	var failed []error
	for _, s := range l.All() {
		if p := s.process.Load(); p != nil {
			failed = append(failed, p.signal(signalKill))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err // waiting for a server that was not signalled would be in vain
	}
	for _, s := range l.All() {
		if p := s.process.Load(); p != nil {
			failed = append(failed, p.ended(context.Background())) // SIGKILL needs no deadline
		}
	}
	if l.launcher != nil {
		l.launcher.close()
		l.launcher = nil
	}
	return errors.Join(failed...)
}

// finish ends the servers and removes a temporary directory, which stays if one of them had ended by itself.
func (l *Local) finish(_ context.Context, unasked error) error {
	if err := errors.Join(unasked, l.killAll()); err != nil {
		return errors.Join(err, keep(l.dir))
	}
	if l.temporary {
		return os.RemoveAll(l.dir)
	}
	return nil
}

// Usage returns what the servers' processes have used, with those that have ended; nil for a server of which nothing is known.
func (l *Local) Usage() []*ensemble.Usage {
	var all []*ensemble.Usage
	for _, s := range l.All() {
		all = append(all, s.usage())
	}
	return all
}

// Preflight checks the servers, their data directory and this process.
func (l *Local) Preflight(ctx context.Context, need ensemble.Need) []ensemble.Problem {
	problems := l.Probe.Preflight(ctx, need)
	if !l.cfg.NoFsync && host.InMemory(l.dir) {
		problems = append(problems, ensemble.Problem{
			What:   fmt.Sprintf("the servers' data directory %s lies in memory (tmpfs): a write does not wait for a disk", l.dir),
			Remedy: "choose a directory on a disk, or read the latencies of writes as those of an ensemble without fsync"})
	}
	return problems
}

// describe describes the servers, and compares the version of their program with the one that answers, which is an error if they differ.
func (l *Local) describe(ctx context.Context) error {
	l.About = ensemble.Description{
		Kind: "local", Source: l.program.Source, Version: l.program.Version, Servers: l.Servers(), Fsync: "on",
		Java: strings.TrimSpace(l.java + " " + javaVersion(l.java)), Tick: l.cfg.Tick, Heap: l.cfg.Heap, DataDir: l.dir,
		Encrypted: l.cfg.Secure != "",
	}
	if l.cfg.NoFsync {
		l.About.Fsync = "off"
	}
	// A running server is more reliable than the name of its jar.
	version, err := l.Dial.Version(ctx, l.Hosts[0])
	if err != nil {
		return nil
	}
	if l.About.Version = version; l.program.Version != "" && version != l.program.Version {
		return fmt.Errorf("%w: server 1 says that it is ZooKeeper %s, but %s is %s: jars of both are in its class path; remove one",
			ensemble.ErrVersion, version, l.program.Source, l.program.Version)
	}
	return nil
}
