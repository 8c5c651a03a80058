//go:build unix

package fencing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// leave is how long a client may take to close its sessions when the trial is over, before it is killed.
const leave = 5 * time.Second

// process is a client in its own process.
//
// It never outlives the process that started it. It ends with its standard input, and is killed with the context; neither helps
// if it is stopped and its parent is killed, so see orphanAttr.
type process struct {
	io.Reader // its output
	stdin     io.WriteCloser
	cmd       *exec.Cmd
	stderr    bytes.Buffer // not read before its end
	stopped   bool
}

// Process starts a program that calls Serve on its standard input and output.
func Process(ctx context.Context, name string, args ...string) (Client, error) {
	p := &process{cmd: exec.CommandContext(ctx, name, args...)}
	p.cmd.SysProcAttr, p.cmd.Stderr, p.cmd.WaitDelay = orphanAttr(), &p.stderr, leave
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Reader, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a client: %w", err)
	}
	return p, nil
}

func (p *process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Pause stops the process and waits until all of its threads have stopped. The signal alone is not enough: it is delivered some time
// after it was sent.
func (p *process) Pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop the client: %w", err)
	}
	p.stopped = true
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return os.NewSyscallError("wait4", err)
		case status.Stopped():
			return nil
		default:
			return errors.New("the client has ended instead of being stopped")
		}
	}
}

// Resume continues the process.
func (p *process) Resume() error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("resume the client: %w", err)
	}
	p.stopped = false
	return nil
}

// Close ends the process and waits for it: gracefully, or by force if it is stopped or does not end.
func (p *process) Close() error {
	p.stdin.Close()
	if p.stopped {
		p.cmd.Process.Kill()
	}
	late := time.AfterFunc(leave, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	// Remaining output is read so that a full pipe does not block the process; Wait ends the reading when the process has ended, even if a
	// process that it started keeps the pipe open.
	drained := make(chan struct{})
	go func() { defer close(drained); io.Copy(io.Discard, p.Reader) }()
	err := p.cmd.Wait()
	<-drained
	if p.stopped || p.cmd.ProcessState == nil { // killed above, or reaped by Pause
		return nil
	}
	if said := strings.TrimSpace(p.stderr.String()); err != nil && said != "" {
		return fmt.Errorf("the client: %w: %s", err, said)
	}
	return err
}
