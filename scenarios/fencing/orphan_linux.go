package fencing

import "syscall"

// orphanAttr requests SIGKILL when the starting process ends, however it ends, even for a stopped child; and a separate process group, so that an
// interrupt typed at the terminal reaches the process that leads the trial, but not the client.
func orphanAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
