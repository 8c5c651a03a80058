package fencing

import "syscall"

// orphanAttr: SIGKILL when the starting process ends, however it ends, stopped or not; and a process group of its own, so that an
// interrupt typed at the terminal reaches the process that leads the trial, and not the client.
func orphanAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
