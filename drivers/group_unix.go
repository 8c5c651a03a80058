//go:build unix

package drivers

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group: an interrupt from a terminal only reaches zkbench, which then ends its drivers.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process and those that it started, if they exist.
func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// stopGroup stops a process and those that it started until continueGroup. It returns when all threads of the process have stopped, because the signal is
// delivered some time after it was sent.
func stopGroup(c *exec.Cmd) error {
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil, !status.Stopped():
			return ErrEnded
		default:
			return nil
		}
	}
}

func continueGroup(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGCONT) }
