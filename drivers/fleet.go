package drivers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// Config describes the processes of one driver over which a load is distributed.
type Config struct {
	Program   string // in the form that Find accepts
	Processes int    // at least 1
	Servers   []string
	Timeout   time.Duration // session timeout
	// Broken is called once, from any goroutine, if the driver breaks the protocol: its measurements are then meaningless.
	Broken func(error)
}

// Fleet is a set of processes of one driver. A process that ended is started again when a session needs it. Its methods may be called
// concurrently.
type Fleet struct {
	cfg     Config
	command []string
	slots   []slot
	broken  sync.Once

	mu     sync.Mutex
	all    []*Process
	ended  int
	killed map[*Process]bool
	closed bool
	asked  sync.WaitGroup
}

// slot is the place of one process.
type slot struct {
	mu sync.Mutex
	p  *Process
}

// NewFleet finds the program. Dial starts the processes.
func NewFleet(c Config) (*Fleet, error) {
	command, err := Find(c.Program)
	if err != nil {
		return nil, err
	}
	return &Fleet{cfg: c, command: command, slots: make([]slot, max(c.Processes, 1)), killed: map[*Process]bool{}}, nil
}

// Dial opens a session for the client with that number, in the process assigned to it.
func (f *Fleet) Dial(ctx context.Context, client int) (zk.Session, error) {
	p, err := f.process(ctx, &f.slots[client%len(f.slots)])
	if err != nil {
		return nil, err
	}
	s, err := p.Open(ctx, f.cfg.Servers, f.cfg.Timeout)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// process returns the process of a slot and starts it if needed.
func (f *Fleet) process(ctx context.Context, s *slot) (*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p != nil && !closed(s.p.Ended()) {
		return s.p, nil
	}
	p, err := Start(ctx, f.command)
	if err != nil {
		if errors.Is(err, ErrProtocol) {
			f.tell(err)
		}
		return nil, err
	}
	s.p = p
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, p)
	f.asked.Go(func() { f.watch(p) })
	return p, nil
}

// watch waits for the end of a process, and counts it if it was not intended.
func (f *Fleet) watch(p *Process) {
	<-p.Ended()
	f.mu.Lock()
	if !f.closed && !f.killed[p] {
		f.ended++
	}
	f.mu.Unlock()
	if err := p.why(); errors.Is(err, ErrProtocol) {
		f.tell(fmt.Errorf("driver %s: %w%s", p, err, p.errors.said()))
	}
}

func (f *Fleet) tell(err error) {
	f.broken.Do(func() {
		if f.cfg.Broken != nil {
			f.cfg.Broken(err)
		}
	})
}

// Figures holds what is known about the processes of a fleet.
type Figures struct {
	Hello
	Ended            int                // processes that ended prematurely, except those that Kill ended
	Killed           int                // processes that Kill ended
	Holds, Suspended int64              // grants and claims given up, and how many of them the driver had suspended: Process.Suspended
	Seam             *metrics.Histogram // overhead of going through the driver: Process.Seam
	Bound            time.Duration      // the largest error of the offsets between the clocks
}

// Figures returns the figures over all processes so far.
func (f *Fleet) Figures() Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Figures{Ended: f.ended, Killed: len(f.killed), Seam: metrics.NewHistogram()}
	for _, p := range f.all {
		out.Hello = p.Hello
		out.Seam.Merge(p.Seam())
		suspended, holds := p.Suspended()
		out.Suspended, out.Holds = out.Suspended+suspended, out.Holds+holds
		out.Bound = max(out.Bound, p.ClockBound())
	}
	return out
}

var errNoneRuns = errors.New("no process of the driver runs")

// running returns the process assigned to a client.
func (f *Fleet) running(client int) (*Process, error) {
	s := &f.slots[client%len(f.slots)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p == nil || closed(s.p.Ended()) {
		return nil, errNoneRuns
	}
	return s.p, nil
}

// Together reports whether two clients are assigned to the same process.
func (f *Fleet) Together(client, other int) bool { return client%len(f.slots) == other%len(f.slots) }

// Pause stops the process assigned to a client, as Process.Pause does, until resume is called. A process that is killed meanwhile need not be resumed.
func (f *Fleet) Pause(client int) (resume func() error, err error) {
	p, err := f.running(client)
	if err == nil {
		err = p.Pause()
	}
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := p.Resume(); !errors.Is(err, ErrEnded) {
			return err
		}
		return nil
	}, nil
}

// Kill ends the process assigned to each client at once, or all processes if no client is given, and waits until they are gone: their sessions then look like
// those of clients that crashed. It returns an error if none is running.
func (f *Fleet) Kill(clients ...int) error {
	victims := f.slots
	if len(clients) > 0 {
		i := clients[0] % len(f.slots)
		victims = f.slots[i : i+1]
	}
	n := 0
	for i := range victims {
		s := &victims[i]
		s.mu.Lock()
		p := s.p
		s.mu.Unlock()
		if p == nil || closed(p.Ended()) {
			continue
		}
		f.mu.Lock()
		f.killed[p] = true
		f.mu.Unlock()
		p.Kill()
		n++
	}
	if n == 0 {
		return errNoneRuns
	}
	return nil
}

// PIDs returns the ids of the running processes.
func (f *Fleet) PIDs() (pids []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.all {
		if !closed(p.Ended()) {
			pids = append(pids, p.cmd.Process.Pid)
		}
	}
	return pids
}

// Close ends all processes and waits for them.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.closed = true
	all := f.all
	f.mu.Unlock()
	failed := make([]error, len(all))
	var wait sync.WaitGroup
	for i, p := range all {
		wait.Go(func() { failed[i] = p.Close() })
	}
	wait.Wait()
	f.asked.Wait()
	return errors.Join(failed...)
}
