//go:build unix

package drivers

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group: an interrupt from a terminal reaches zkbench alone, which then ends its drivers.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process and those that it started, if any are there.
func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// stopGroup has a process and those that it started do nothing until continueGroup.
func stopGroup(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGSTOP) }

func continueGroup(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGCONT) }
