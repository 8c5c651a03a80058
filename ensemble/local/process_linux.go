package local

import "syscall"

// attachedAttr: a process group of its own, so that an interrupt typed at the terminal reaches zkbench and not the servers
// it still needs to finish; and SIGKILL when the starting thread ends, which it does with the process, however that ends.
func attachedAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// detachedAttr: a session of its own, so that nothing that happens to the terminal or to zkbench reaches the server.
func detachedAttr() (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{Setsid: true}, nil }

const (
	signalKill   = syscall.SIGKILL
	signalStop   = syscall.SIGTERM
	signalPause  = syscall.SIGSTOP
	signalResume = syscall.SIGCONT
)
