package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Local is ZooKeeper servers on this machine, on the loopback address. It is an Ensemble and a Breaker.
type Local struct {
	cfg       LocalConfig
	java      string
	program   program
	dir       string
	temporary bool // dir was made by Start and goes with the servers
	ports     []serverPorts
	servers   []*server
	nursery   *nursery // nil when detached
	about     Description

	breaking sync.Mutex // one start, break, heal or close at a time
	closed   bool
	closing  error
}

var (
	_ Ensemble = (*Local)(nil)
	_ Breaker  = (*Local)(nil)
)

type server struct {
	id      int
	dir     string
	address string
	process atomic.Pointer[process] // the latest one; read without breaking held
	down    bool                    // somebody asked for its end; guarded by breaking
	logged  int64                   // length of the log when process was started: what is older says nothing of it
}

func (s *server) log() string { return filepath.Join(s.dir, "server.log") }

// Start starts servers and returns when a write went through every one of them. The servers live until Close, or with
// cfg.Detach until Down; ctx bounds the start alone. When the start fails nothing is left running, the error names the
// server, its log and the log's last lines, and the log stays.
func Start(ctx context.Context, cfg LocalConfig) (*Local, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("local ensemble: %w", err)
	}
	if cfg.Detach {
		return startDetached(ctx, cfg)
	}
	return startWith(ctx, cfg, systemFinder())
}

func startWith(ctx context.Context, cfg LocalConfig, find finder) (*Local, error) {
	java, err := find.java(cfg.Java)
	if err != nil {
		return nil, err
	}
	program, err := find.zookeeper(cfg.Home)
	if err != nil {
		return nil, err
	}
	dir, temporary, err := prepareDir(cfg)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	// Free ports can be taken by another process before the servers bind them.
	const tries = 3
	for try := 1; ; try++ {
		l := &Local{cfg: cfg, java: java, program: program, dir: dir, temporary: temporary}
		err := l.launchAll(ctx)
		if err == nil {
			l.describe(ctx)
			return l, nil
		}
		if errors.Is(err, ErrPortTaken) && len(cfg.ClientPorts) == 0 && try < tries && ctx.Err() == nil {
			if err = l.wipe(); err == nil {
				continue
			}
		}
		return nil, fmt.Errorf("start %d servers: %w", cfg.Servers, errors.Join(err, l.abandon(ctx)))
	}
}

// abandon leaves the directory of a failed start to whoever reads its logs, and removes one that holds none, or that nobody
// will read because the caller has cancelled the start.
func (l *Local) abandon(ctx context.Context) error {
	if l.temporary && (len(l.servers) == 0 || errors.Is(ctx.Err(), context.Canceled)) {
		return os.RemoveAll(l.dir)
	}
	return keep(l.dir)
}

// wipe removes what a start has written.
func (l *Local) wipe() error {
	for i := range l.cfg.Servers {
		if err := os.RemoveAll(filepath.Join(l.dir, serverDir(i+1))); err != nil {
			return err
		}
	}
	return nil
}

// launchAll starts the servers once. After an error none of them runs.
func (l *Local) launchAll(ctx context.Context) error {
	if err := l.choosePorts(); err != nil {
		return err
	}
	if err := l.cfg.writeFiles(l.dir, l.ports); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	for i, p := range l.ports {
		dir := filepath.Join(l.dir, serverDir(i+1))
		l.servers = append(l.servers, &server{id: i + 1, dir: dir, address: loopback(p.Client)})
	}
	if !l.cfg.Detach {
		l.nursery = newNursery()
	}
	var err error
	for _, s := range l.servers {
		err = errors.Join(err, l.launch(s))
	}
	if err == nil {
		// Before the wait: if zkbench is killed in it, zkbench down still finds the servers.
		err = l.saveDetached()
	}
	if err == nil {
		err = l.ready(ctx, l.servers)
	}
	if err != nil {
		err = errors.Join(err, l.killAll(), l.forget())
	}
	return err
}

func (l *Local) choosePorts() error {
	for _, port := range l.cfg.ClientPorts {
		if err := portFree(port); err != nil {
			return err
		}
	}
	free, err := freePorts(4 * l.cfg.Servers)
	if err != nil {
		return err
	}
	l.ports = nil
	for i, four := range slices.Collect(slices.Chunk(free, 4)) {
		l.ports = append(l.ports, serverPorts{Client: four[0], Quorum: four[1], Election: four[2], Admin: four[3]})
		if len(l.cfg.ClientPorts) > 0 {
			l.ports[i].Client = l.cfg.ClientPorts[i]
		}
	}
	return nil
}

// launch starts one server's process.
func (l *Local) launch(s *server) error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil {
		s.logged = info.Size()
	}
	args := l.cfg.javaArgs(l.program, l.dir, filepath.Join(s.dir, "zoo.cfg"))
	var p *process
	if l.nursery != nil {
		p, err = l.nursery.launch(l.java, args, log)
	} else {
		p, err = launchDetached(l.java, args, log)
	}
	if err != nil {
		return fmt.Errorf("server %d: %s: %w", s.id, l.java, err)
	}
	s.process.Store(p)
	s.down = false
	return nil
}

// killAll ends every process and waits for it; the thread that kept them goes too.
func (l *Local) killAll() error {
	var faults []error
	for _, s := range l.servers {
		if p := s.process.Load(); p != nil {
			faults = append(faults, p.signal(signalKill))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err // who was not signalled would be waited for in vain
	}
	for _, s := range l.servers {
		if p := s.process.Load(); p != nil {
			faults = append(faults, p.ended(context.Background())) // SIGKILL needs no deadline
		}
	}
	if l.nursery != nil {
		l.nursery.close()
		l.nursery = nil
	}
	return errors.Join(faults...)
}

// Close ends the servers and removes a temporary directory. If a server had ended by itself, the error wraps ErrServerEnded,
// names its log, and the directory stays. Close on a detached ensemble leaves it running; see Down.
func (l *Local) Close() error {
	l.breaking.Lock()
	defer l.breaking.Unlock()
	if l.closed {
		return l.closing
	}
	l.closed = true
	if l.cfg.Detach {
		for _, s := range l.servers {
			s.process.Load().handle.Release()
		}
		return nil
	}
	l.closing = l.end()
	return l.closing
}

func (l *Local) end() error {
	if err := errors.Join(l.unasked(), l.killAll()); err != nil {
		return errors.Join(err, keep(l.dir))
	}
	if l.temporary {
		return os.RemoveAll(l.dir)
	}
	return nil
}

// Ended tells of the servers that ended though nobody asked for it: nil, or an error per server that wraps ErrServerEnded and
// names its log. A measurement that goes on beside such a death is one of another ensemble.
func (l *Local) Ended() error {
	l.breaking.Lock()
	defer l.breaking.Unlock()
	if l.closed {
		return nil
	}
	return l.unasked()
}

func (l *Local) unasked() error {
	var faults []error
	for _, s := range l.servers {
		if !s.down && !s.process.Load().running() {
			faults = append(faults, s.explain(ErrServerEnded, errors.New("nobody asked for it")))
		}
	}
	return errors.Join(faults...)
}

// Addresses are the clients' addresses of the servers.
func (l *Local) Addresses() []string {
	addresses := make([]string, len(l.servers))
	for i, s := range l.servers {
		addresses[i] = s.address
	}
	return addresses
}

// Servers is the number of servers.
func (l *Local) Servers() int { return len(l.servers) }

// Describe says what was started.
func (l *Local) Describe() Description { return l.about }

// Logs are the paths of the servers' logs.
func (l *Local) Logs() []string {
	logs := make([]string, len(l.servers))
	for i, s := range l.servers {
		logs[i] = s.log()
	}
	return logs
}

func (l *Local) describe(ctx context.Context) {
	l.about = Description{
		Kind: "local", Source: l.program.Source, Version: l.program.Version, Servers: len(l.servers), Fsync: "on",
		Java: strings.TrimSpace(l.java + " " + javaVersion(l.java)), Tick: l.cfg.Tick, Heap: l.cfg.Heap, DataDir: l.dir,
	}
	if l.cfg.NoFsync {
		l.about.Fsync = "off"
	}
	// What runs knows better than the name of its jar.
	if version, err := askVersion(ctx, l.servers[0].address); err == nil {
		l.about.Version = version
	}
}
