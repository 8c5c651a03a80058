package ensemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var (
	// ErrUp: a detached ensemble is up already.
	ErrUp = errors.New("an ensemble is up already")
	// ErrNotUp: there is no detached ensemble.
	ErrNotUp = errors.New("no ensemble is up")
	// ErrGone: there was a detached ensemble, and none of its servers runs any more, as after a reboot.
	ErrGone = errors.New("the ensemble is gone")
)

// state is the state file of a detached ensemble. Its pids are read together with the processes' start times, so that a pid
// that was used again is never signalled.
type state struct {
	Schema    string // zkbench.ensemble/1
	Started   time.Time
	Dir       string
	Temporary bool
	About     Description
	Config    LocalConfig // to restart a server
	Java      string
	Program   program
	Servers   []serverState
	Compose   *composeState `json:",omitempty"` // of an ensemble in containers, which has nothing of Dir to Program
}

type serverState struct {
	Address string
	Ports   serverPorts
	PID     int
	Start   uint64 // clock ticks since boot
	Down    bool   // killed or stopped on purpose
}

const stateSchema = "zkbench.ensemble/1"

func stateDir(asked string) (string, error) {
	if asked != "" {
		return filepath.Abs(asked)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("where to keep the state of the ensemble: %w", err)
	}
	return filepath.Join(cache, "zkbench"), nil
}

func stateFile(dir string) string { return filepath.Join(dir, "ensemble.json") }

// withLock keeps two processes from starting or ending a detached ensemble at the same time.
func withLock(dir string, do func() error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "ensemble.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := lockFile(lock); err != nil {
		return fmt.Errorf("%s: another zkbench starts or ends the ensemble now: %w", lock.Name(), err)
	}
	return do()
}

// startDetached starts local servers that stay.
func startDetached(ctx context.Context, cfg LocalConfig) (l *Local, err error) {
	if cfg.StateDir, err = stateDir(cfg.StateDir); err != nil {
		return nil, err
	}
	err = whenNoneIsUp(cfg.StateDir, func() error {
		if l, err = startWith(ctx, cfg, systemFinder()); err != nil {
			return err
		}
		if err := l.save(); err != nil {
			return errors.Join(err, l.killAll())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// whenNoneIsUp starts a detached ensemble. It refuses when one is up, and clears away one that is gone.
func whenNoneIsUp(dir string, start func() error) error {
	return withLock(dir, func() error {
		old, err := find(dir)
		switch {
		case err == nil:
			return fmt.Errorf("%w at %s; zkbench down ends it", ErrUp, strings.Join(old.Addresses(), ","))
		case errors.Is(err, ErrGone):
			if err := clearAway(dir); err != nil {
				return err
			}
		case !errors.Is(err, ErrNotUp):
			return err
		}
		return start()
	})
}

// saveDetached records which processes a detached ensemble has now.
func (l *Local) saveDetached() error {
	if !l.cfg.Detach {
		return nil
	}
	return l.save()
}

// forget removes the state file of a start that failed; the directory stays for its logs.
func (l *Local) forget() error {
	if !l.cfg.Detach {
		return nil
	}
	if err := os.Remove(stateFile(l.cfg.StateDir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// save writes the state file.
func (l *Local) save() error {
	s := state{
		Schema: stateSchema, Started: time.Now().UTC(), Dir: l.dir, Temporary: l.temporary, About: l.about,
		Config: l.cfg, Java: l.java, Program: l.program,
	}
	for i, server := range l.servers {
		p := server.process.Load()
		s.Servers = append(s.Servers, serverState{server.address, l.ports[i], p.pid, p.start, server.down})
	}
	return s.write(l.cfg.StateDir)
}

// write replaces the state file; a reader sees the old one or the new one whole.
func (s state) write(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := stateFile(dir)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// gone is the error for an ensemble of which nothing runs any more.
func (s state) gone() error {
	return fmt.Errorf("%w: none of the %d servers of %s runs any more (a reboot, or they were ended by hand); zkbench down "+
		"clears it away, zkbench up starts anew", ErrGone, len(s.Servers), s.Started.Local().Format(time.DateTime))
}

func readState(dir string) (state, error) {
	text, err := os.ReadFile(stateFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, fmt.Errorf("%w (there is no %s); zkbench up starts one", ErrNotUp, stateFile(dir))
	}
	if err != nil {
		return state{}, err
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, fmt.Errorf("state file %s: %w", stateFile(dir), err)
	}
	if s.Schema != stateSchema {
		return state{}, fmt.Errorf("state file %s: schema %q, this zkbench reads %q", stateFile(dir), s.Schema, stateSchema)
	}
	return s, nil
}

// Load finds the detached ensemble whose state file lies in dir, "" meaning the usual place: a *Local or a *Compose. ErrNotUp when there is
// none, ErrGone when its servers have all ended. Servers that are down while others run are no error: Preflight names them.
func Load(dir string) (Ensemble, error) {
	dir, err := stateDir(dir)
	if err != nil {
		return nil, err
	}
	return find(dir)
}

func find(dir string) (Ensemble, error) {
	s, err := readState(dir)
	if err != nil {
		return nil, err
	}
	if s.Compose != nil {
		c, err := loadCompose(context.Background(), dir, s)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	l, err := loadLocal(dir, s)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func loadLocal(dir string, s state) (*Local, error) {
	l := &Local{cfg: s.Config, java: s.Java, program: s.Program, dir: s.Dir, temporary: s.Temporary, about: s.About}
	l.cfg.StateDir = dir // the directory may have been moved
	running := 0
	for i, saved := range s.Servers {
		p, alive := adopt(saved.PID, saved.Start)
		if alive {
			running++
		} else {
			p = endedProcess(saved.PID)
		}
		server := &server{id: i + 1, dir: filepath.Join(s.Dir, serverDir(i+1)), address: saved.Address, down: saved.Down}
		server.process.Store(p)
		l.servers = append(l.servers, server)
		l.ports = append(l.ports, saved.Ports)
	}
	if running == 0 {
		return nil, s.gone()
	}
	return l, nil
}

// Down ends the detached ensemble whose state file lies in dir, "" meaning the usual place, and removes its state file and
// its data if that was temporary. An ensemble that is gone is cleared away without an error; ErrNotUp when there is none.
func Down(dir string) error {
	dir, err := stateDir(dir)
	if err != nil {
		return err
	}
	return withLock(dir, func() error {
		e, err := find(dir)
		if err == nil {
			switch e := e.(type) {
			case *Local:
				err = e.killAll()
			case *Compose:
				err = e.docker.remove(context.Background(), e.project)
			}
		}
		if err != nil && !errors.Is(err, ErrGone) {
			return err
		}
		return clearAway(dir)
	})
}

// Down ends the servers, detached or not, and removes temporary data.
func (l *Local) Down() error {
	if err := l.Close(); err != nil || !l.cfg.Detach {
		return err
	}
	return Down(l.cfg.StateDir)
}

// clearAway removes what an ended ensemble has left.
func clearAway(dir string) error {
	s, err := readState(dir)
	if errors.Is(err, ErrNotUp) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Compose != nil { // stopped containers and volumes
		d, err := findDocker(context.Background())
		if err == nil {
			err = d.remove(context.Background(), s.Compose.Project)
		}
		if err != nil {
			return err
		}
	}
	if s.Temporary {
		if err := os.RemoveAll(s.Dir); err != nil {
			return err
		}
	}
	return os.Remove(stateFile(dir))
}
