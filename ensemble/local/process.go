package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// process is one Java process. If attached, it is our child and a goroutine waits for it; if detached, it is checked in /proc,
// whether this process or another one started it.
type process struct {
	pid    int
	start  uint64      // when it started, as in host.Stat; together with pid it identifies the process
	handle *os.Process // a pidfd on Linux: signals reach this process, never a later one with its pid
	exited chan struct{}
	used   atomic.Int64 // user and system time in nanoseconds, once it has ended, if it was our child
	before int64        // those of the server's earlier processes
}

// adopt finds a process that was started earlier. It opens the handle before it checks the start time, so that signals reach the
// process that was checked.
func adopt(pid int, start uint64) (*process, bool) {
	handle, err := os.FindProcess(pid)
	if err != nil {
		return nil, false
	}
	p := &process{pid: pid, start: start, handle: handle}
	if !p.running() {
		handle.Release()
		return nil, false
	}
	return p, true
}

func (p *process) running() bool {
	if p.exited != nil {
		select {
		case <-p.exited:
			return false
		default:
			return true
		}
	}
	stat, err := host.ReadStat(p.pid)
	return err == nil && stat.Start == p.start && stat.State != 'Z' && stat.State != 'X'
}

// paused waits until the process has stopped, or runs again: SIGSTOP takes effect a moment after kill has returned.
func (p *process) paused(ctx context.Context, want bool) error {
	return driver.Poll(ctx, func() bool {
		stat, err := host.ReadStat(p.pid)
		return err != nil || (stat.State == 'T') == want
	})
}

func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return nil
	}
	if err := p.handle.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %v to process %d: %w", s, p.pid, err)
	}
	return nil
}

// ended waits until the process has ended.
func (p *process) ended(ctx context.Context) error {
	if p.exited == nil {
		err := driver.Poll(ctx, func() bool { return !p.running() })
		if err == nil {
			p.reap() // for somebody else's process it fails at once
		}
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reap waits for our child; how it ended is in its log.
func (p *process) reap() {
	if end, err := p.handle.Wait(); err == nil {
		p.used.Store(int64(end.UserTime() + end.SystemTime()))
	}
}

// launcher starts attached processes. Linux sends the parent-death signal when the thread that started the child ends, so the
// thread must live as long as the children: one goroutine keeps it to itself until close.
type launcher struct {
	jobs chan func()
	wait sync.WaitGroup // the thread's goroutine and those that wait for children
}

func newLauncher() *launcher {
	n := &launcher{jobs: make(chan func())}
	n.wait.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for job := range n.jobs {
			job()
		}
	})
	return n
}

// close ends the thread; the children must have ended.
func (n *launcher) close() {
	close(n.jobs)
	n.wait.Wait()
}

// launch starts a child that dies with this process. Its output is appended to the log.
func (n *launcher) launch(name string, args []string, log *os.File) (*process, error) {
	var handle *os.Process
	err := errors.New("not started")
	done := make(chan struct{})
	n.jobs <- func() {
		defer close(done)
		handle, err = spawn(name, args, log, attachedAttr())
	}
	<-done
	if err != nil {
		return nil, err
	}
	p := &process{pid: handle.Pid, handle: handle, exited: make(chan struct{})}
	n.wait.Go(func() {
		defer close(p.exited)
		p.reap()
	})
	return p, nil
}

// launchDetached starts a process that stays. If it ends while we live, it is a zombie until we end, which running() takes into account.
func launchDetached(name string, args []string, log *os.File) (*process, error) {
	attr, err := detachedAttr()
	if err != nil {
		return nil, fmt.Errorf("detach: %w", err)
	}
	handle, err := spawn(name, args, log, attr)
	if err != nil {
		return nil, err
	}
	stat, err := host.ReadStat(handle.Pid)
	if err != nil {
		handle.Kill()
		return nil, err
	}
	return &process{pid: handle.Pid, start: stat.Start, handle: handle}, nil
}

func spawn(name string, args []string, log *os.File, attr *syscall.SysProcAttr) (*os.Process, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return os.StartProcess(name, append([]string{name}, args...), &os.ProcAttr{Files: []*os.File{null, log, log}, Sys: attr})
}

// endedProcess stands for a process that had already ended.
func endedProcess(pid int) *process {
	exited := make(chan struct{})
	close(exited)
	return &process{pid: pid, exited: exited, handle: &os.Process{Pid: pid}}
}
