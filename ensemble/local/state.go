package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
	"github.com/zkbench/zkbench/ensemble/versions"
)

// state is the state file of a detached ensemble. It stores the processes' start times with their pids, so that a reused pid
// is never signalled.
type state struct {
	driver.Head
	Namespace host.Namespace // in which the pids are valid
	Dir       string
	Temporary bool
	Config    Config // to restart a server
	Java      string
	Program   versions.Program
	Servers   []serverState
}

type serverState struct {
	Address    string
	Ports      serverPorts
	PID        int
	Start      uint64            // clock ticks since boot
	Down       bool              // killed or stopped on purpose
	Program    *versions.Program // that it has been upgraded to; nil: that of the ensemble
	NoSnapshot bool              // see server
}

// saveDetached records the current processes of a detached ensemble.
func (l *Local) saveDetached() error {
	if !l.cfg.Detach {
		return nil
	}
	s := state{
		Head: driver.NewHead(l.About), Namespace: host.Here(), Dir: l.dir, Temporary: l.temporary,
		Config: l.cfg, Java: l.java, Program: l.program,
	}
	for i, server := range l.All() {
		p := server.process.Load()
		saved := serverState{Address: server.address, Ports: l.ports[i], PID: p.pid, Start: p.start, Down: l.IsDown(i), NoSnapshot: server.noSnapshot}
		if server.program.Source != l.program.Source {
			saved.Program = &server.program
		}
		s.Servers = append(s.Servers, saved)
	}
	return driver.WriteState(l.cfg.StateDir, s)
}

// forget removes the state file of a failed start; the directory stays for its logs.
func (l *Local) forget() error {
	if !l.cfg.Detach {
		return nil
	}
	return driver.RemoveState(l.cfg.StateDir)
}

// Load finds the detached ensemble whose state file is in dir. It returns ErrGone if its servers have all ended, and ErrElsewhere if that cannot be
// determined. Servers that are down while others run are not an error: Preflight names them.
func Load(dir string) (*Local, error) {
	var s state
	if err := driver.ReadState(dir, &s); err != nil {
		return nil, err
	}
	l := &Local{cfg: s.Config, java: s.Java, program: s.Program, dir: s.Dir, temporary: s.Temporary}
	l.About = s.About
	l.cfg.StateDir = dir // the directory may have been moved
	running := 0
	var servers []*server
	for i, saved := range s.Servers {
		var p *process
		alive := false
		if s.Namespace.Boot == "" || s.Namespace == host.Here() {
			p, alive = adopt(saved.PID, saved.Start)
		}
		if alive {
			running++
		} else {
			p = endedProcess(saved.PID)
		}
		server := l.server(i+1, saved.Address)
		server.process.Store(p)
		if saved.Program != nil {
			server.program = *saved.Program
		}
		server.noSnapshot = saved.NoSnapshot
		servers = append(servers, server)
		l.ports = append(l.ports, saved.Ports)
	}
	if running == 0 {
		if err := s.mayLive(); err != nil {
			return nil, err
		}
		return nil, s.Gone(len(s.Servers))
	}
	if err := l.take(servers); err != nil {
		return nil, err
	}
	for i, saved := range s.Servers {
		if saved.Down {
			l.SetDown(i)
		}
	}
	return l, nil
}

// Down ends the detached ensemble whose state file is in dir, and removes its data if they were temporary. It is no error if the ensemble is gone.
// It returns ErrElsewhere, without removing anything, if the ensemble may run where its processes cannot be seen from here.
func Down(dir string) error {
	l, err := Load(dir)
	if err == nil {
		err = l.killAll()
	}
	if err != nil && !errors.Is(err, ensemble.ErrGone) {
		return err
	}
	var s state
	if err := driver.ReadState(dir, &s); err != nil || !s.Temporary {
		return err
	}
	return os.RemoveAll(s.Dir)
}

// mayLive says why the ensemble of a state file may still run although none of its processes is found; nil if it does not.
func (s state) mayLive() error {
	for i, server := range s.Servers {
		if host.Held(filepath.Join(s.Dir, serverDir(i+1), logName)) {
			return fmt.Errorf("%w: server %d still writes its log in %s; stop it where it was started", ensemble.ErrElsewhere, i+1, s.Dir)
		}
		if conn, err := net.DialTimeout("tcp", server.Address, time.Second); err == nil {
			conn.Close()
			return fmt.Errorf("%w: %s answers, though process %d does not belong to it; stop it where it was started", ensemble.ErrElsewhere, server.Address, server.PID)
		}
	}
	if now := host.Here(); s.Namespace.Boot != "" && s.Namespace.Boot != now.Boot && s.Namespace.Host != now.Host {
		return fmt.Errorf("%w: it was started on another machine; run 'down' there, or remove the state file if that machine is gone", ensemble.ErrElsewhere)
	}
	return nil
}
