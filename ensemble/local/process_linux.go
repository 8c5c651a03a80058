package local

import "syscall"

// attachedAttr requests a separate process group, so that an interrupt typed at the terminal reaches zkbench but not the servers
// it still needs to finish; and SIGKILL when the starting thread ends, which happens however the process ends.
func attachedAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// detachedAttr requests a separate session, so that nothing that happens to the terminal or to zkbench reaches the server.
func detachedAttr() (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{Setsid: true}, nil }
