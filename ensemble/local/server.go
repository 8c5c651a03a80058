package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
	"github.com/zkbench/zkbench/ensemble/versions"
)

// server is one server of a Local.
type server struct {
	of      *Local
	id      int
	dir     string
	address string
	process atomic.Pointer[process] // the latest one
	program versions.Program        // of its next start; guarded by driver.Ensemble.Change
	// noSnapshot says that its data may have no snapshot, because a version before 3.5 wrote them: newer ones do not start with such data unless they are told to
	// (snapshot.trust.empty, which ZooKeeper's administrator's guide names for this upgrade). Guarded like program.
	noSnapshot bool
	logged     int64 // length of the log when process was started: older text does not concern it
}

func (l *Local) server(id int, address string) *server {
	return &server{of: l, id: id, dir: filepath.Join(l.dir, serverDir(id)), address: address, program: l.program}
}

func (s *server) log() string { return filepath.Join(s.dir, logName) }

func (s *server) Address() string { return s.address }

func (s *server) PID() int { return s.process.Load().pid }

func (s *server) State(context.Context) (driver.State, error) {
	p := s.process.Load()
	if !p.running() {
		return driver.State{Text: "its process has ended"}, nil
	}
	stat, err := host.ReadStat(p.pid)
	return driver.State{Up: true, Frozen: err == nil && stat.State == 'T', Text: "it runs"}, nil
}

func (s *server) End(ctx context.Context, kill bool, _ driver.State) error {
	p := s.process.Load()
	var err error
	if kill {
		err = p.signal(signalKill)
	} else if err = p.signal(signalStop); err == nil {
		err = p.signal(signalResume) // a paused server gets SIGTERM only when it runs again
	}
	if err != nil {
		return err
	}
	if err := p.ended(ctx); err != nil {
		return fmt.Errorf("has not ended: %w", err)
	}
	return nil
}

func (s *server) Start(context.Context) (reachable bool, err error) { return true, s.launch() }

func (s *server) Freeze(ctx context.Context, freeze bool) error {
	p, sig := s.process.Load(), signalResume
	if freeze {
		sig = signalPause
	}
	if err := p.signal(sig); err != nil {
		return err
	}
	return p.paused(ctx, freeze)
}

// launch starts the server's process.
func (s *server) launch() error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	host.LockShared(log) // the server inherits the lock with its output, and holds it as long as it lives; a failure only means less evidence
	defer log.Close()
	if info, err := log.Stat(); err == nil {
		s.logged = info.Size()
	}
	l := s.of
	cfg := l.cfg
	if s.noSnapshot {
		cfg.JavaArgs = append(slices.Clone(cfg.JavaArgs), "-Dzookeeper.snapshot.trust.empty=true")
	}
	args := cfg.javaArgs(s.program, l.dir, filepath.Join(s.dir, "zoo.cfg"))
	var p *process
	if l.launcher != nil {
		p, err = l.launcher.launch(l.java, args, log)
	} else {
		p, err = launchDetached(l.java, args, log)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.java, err)
	}
	if last := s.process.Load(); last != nil {
		p.before = last.before + last.used.Load()
	}
	s.process.Store(p)
	return nil
}

// usage returns what the server's processes have used; nil if nothing is known.
func (s *server) usage() *ensemble.Usage {
	p := s.process.Load()
	var u *ensemble.Usage
	if p.running() {
		u = ensemble.UsageOf(p.pid)
	}
	if ended := p.before + p.used.Load(); ended > 0 {
		if u == nil {
			u = &ensemble.Usage{}
		}
		u.Ended = time.Duration(ended)
	}
	return u
}

// Explain adds to an error what the server's log says about it.
func (s *server) Explain(_ context.Context, kind, cause error) error {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return fmt.Errorf("%w: server %d: %w; its log cannot be read: %w", kind, s.id, cause, err)
	}
	text = text[min(s.logged, int64(len(text))):]
	if bytes.Contains(text, []byte("Address already in use")) {
		kind = ensemble.ErrPortTaken
	}
	if mixed := s.program.Mixed(string(text)); mixed != "" {
		cause = fmt.Errorf("%w; %s", cause, mixed)
	}
	return fmt.Errorf("%w: server %d: %w; the log %s %s", kind, s.id, cause, s.log(), driver.LastLines(string(text), 12))
}
