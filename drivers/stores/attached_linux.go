package stores

import "syscall"

// attached: a process group of its own, so that an interrupt at the terminal is for zkbench, which ends the server; and SIGKILL when the thread that
// started it ends, which it does with zkbench, however that ends.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
