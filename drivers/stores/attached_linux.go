package stores

import "syscall"

// attached puts a server into its own process group, so that an interrupt at the terminal only reaches zkbench, which then ends the server. The server
// gets SIGKILL when the thread that started it ends, which happens however zkbench ends.
func attached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
