package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/zkbench/zkbench/internal/program"
)

// notify sends to c the signals that ask the process to end. A hang-up that is ignored, as under nohup, stays ignored.
func notify(c chan<- os.Signal) {
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	// Without this, a reader that closes its pipe would end the process before anything is cleaned up. The signal itself says nothing:
	// broken connections raise it too. The output detects a closed pipe when it writes.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// output is standard output or standard error. Once its reader has gone, as in '2>&1 | head', it discards what is written and interrupts
// the command.
type output struct {
	file    *os.File
	signals chan<- os.Signal
	gone    atomic.Bool // the reader has gone, and the command was told
}

// Fd returns the file descriptor, by which terminalOf recognizes a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if !errors.Is(err, syscall.EPIPE) {
		return n, err
	}
	if !o.gone.Swap(true) {
		o.signals <- syscall.SIGPIPE // the channel has room: each output sends at most one
	}
	return len(p), nil
}

// terminalOf returns the file descriptor of a file, and whether it is a terminal.
func terminalOf(file any) (fd int, ok bool) {
	f, ok := file.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// sameSignal is how long after the first signal another one counts as the same: 'timeout' and others send it to the process and to its group.
const sameSignal = time.Second

// signals turns the process's signals into the two ways of ending a run.
type signals struct {
	stop              chan struct{}   // closed by the first signal
	starting, working context.Context // canceled by the first signal, by the second
	end               func()
}

func (s *signals) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func (a *app) watchSignals(ctx context.Context) *signals {
	s := &signals{stop: make(chan struct{})}
	var cancelStart, cancelWork context.CancelFunc
	s.starting, cancelStart = context.WithCancel(ctx)
	s.working, cancelWork = context.WithCancel(ctx)
	over, watching := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		if !a.signalled(over, time.Time{}) {
			return
		}
		first := time.Now()
		fmt.Fprintln(a.stderr, "interrupted: finishing in-flight work and cleaning up (interrupt again to clean up for a few seconds at most)")
		close(s.stop)
		cancelStart()
		if a.signalled(over, first.Add(sameSignal)) {
			fmt.Fprintln(a.stderr, "interrupted again: cleaning up for a few seconds at most")
			cancelWork()
		}
	}()
	s.end = func() {
		close(over)
		<-watching
		cancelStart()
		cancelWork()
	}
	return s
}

// signalled waits for a signal after a time. It returns false if over is closed first.
func (a *app) signalled(over <-chan struct{}, after time.Time) bool {
	for {
		select {
		case <-a.signals:
			if time.Now().After(after) {
				return true
			}
		case <-over:
			return false
		}
	}
}

// interruptible returns a context that the first signal cancels. The caller calls end.
func (a *app) interruptible(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-a.signals:
			cancel(errSignal)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-over
	}
}

// errSignal is the cause of a context that a signal has canceled.
var errSignal = errors.New("interrupted")

// interrupted returns the error of a command that ended with err, where ctx comes from interruptible. If a signal was the cause, it says so and returns
// exitInterrupted.
func (a *app) interrupted(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errSignal) {
		return err
	}
	fmt.Fprintln(a.stderr, program.Name()+": interrupted")
	return exitError(exitInterrupted)
}
