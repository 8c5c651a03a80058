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

// Config is the processes of one driver that a load is spread over.
type Config struct {
	Program   string // as Find takes it
	Processes int    // at least 1
	Servers   []string
	Timeout   time.Duration // of the sessions
	// Broken is told once, from any goroutine, that the driver broke the protocol: what it was measured to do means nothing.
	Broken func(error)
}

// Fleet is some processes of one driver. One that ends is started again when a session is needed. Its methods may be called from many
// goroutines.
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
	told   sync.WaitGroup
}

// slot is the place of one process.
type slot struct {
	mu sync.Mutex
	p  *Process
}

// NewFleet finds the program. Its processes are started by Dial.
func NewFleet(c Config) (*Fleet, error) {
	command, err := Find(c.Program)
	if err != nil {
		return nil, err
	}
	return &Fleet{cfg: c, command: command, slots: make([]slot, max(c.Processes, 1)), killed: map[*Process]bool{}}, nil
}

// Dial opens a session of the client of that number, in the process whose turn it is.
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

// process is that of a slot, started if need be.
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
	f.told.Go(func() { f.watch(p) })
	return p, nil
}

// watch waits for the end of a process, and counts it if nobody wanted it.
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

// Figures is what is known of the processes of a fleet.
type Figures struct {
	Hello
	Ended            int                // processes that ended before they were to, but for those that Kill ended
	Killed           int                // processes that Kill ended
	Holds, Suspended int64              // grants and claims that were given up, and those of them that the driver had suspended: Process.Suspended
	Seam             *metrics.Histogram // what the way to the driver and back took: Process.Seam
	Bound            time.Duration      // the largest error of the offsets between the clocks
}

// Figures are those of all processes so far.
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

// running is the process whose turn a client is.
func (f *Fleet) running(client int) (*Process, error) {
	s := &f.slots[client%len(f.slots)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p == nil || closed(s.p.Ended()) {
		return nil, errNoneRuns
	}
	return s.p, nil
}

// Together tells whether the turns of two clients are those of one process.
func (f *Fleet) Together(client, other int) bool { return client%len(f.slots) == other%len(f.slots) }

// Pause stops the process whose turn a client is, as Process.Pause does, until resume is called. One that is killed meanwhile needs no resuming.
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

// Kill ends the process whose turn a client is, or all of them if no client is given, at once, and waits until they are gone: their sessions are those of
// clients that have crashed. The error says that none runs.
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

// PIDs are the numbers of the processes that run.
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
	f.told.Wait()
	return errors.Join(failed...)
}
