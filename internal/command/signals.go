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

// notify sends to c what asks the process to end. A hang-up that is ignored, as below nohup, stays so.
func notify(c chan<- os.Signal) {
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	// A reader that closes its pipe would end the process before anything is cleaned up. The signal itself says nothing: broken
	// connections raise it too. The writer finds out.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// output is standard output or standard error. Once its reader has gone, as in '2>&1 | head', what is written is lost, and the command is
// interrupted.
type output struct {
	file    *os.File
	signals chan<- os.Signal
	gone    atomic.Bool // the reader, and the command knows
}

// Fd is the file descriptor, which tells whether this is a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if !errors.Is(err, syscall.EPIPE) {
		return n, err
	}
	if !o.gone.Swap(true) {
		o.signals <- syscall.SIGPIPE // there is room: each output sends one
	}
	return len(p), nil
}

// terminalOf is the file descriptor of a terminal.
func terminalOf(file any) (fd int, ok bool) {
	f, ok := file.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// sameSignal is how long after the first a signal is taken for the same one: 'timeout' and others send it to the process and to its group.
const sameSignal = time.Second

// signals turns the process's signals into the two ways of ending a run.
type signals struct {
	stop              chan struct{}   // closed by the first
	starting, working context.Context // ended by the first, by the second
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

// signalled waits for a signal after a time; false when over is closed before.
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

// interruptible is a context that the first signal ends. The caller calls end.
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

// errSignal is the cause of a context that a signal has ended.
var errSignal = errors.New("interrupted")

// interrupted is what a command ends with that failed with err under a context of interruptible.
func (a *app) interrupted(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errSignal) {
		return err
	}
	fmt.Fprintln(a.stderr, program.Name()+": interrupted")
	return exitError(exitInterrupted)
}
