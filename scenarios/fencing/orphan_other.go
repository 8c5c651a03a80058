//go:build unix && !linux

package fencing

import "syscall"

// orphanAttr requests a separate process group. When the starting process ends, the group is orphaned, and POSIX requires the kernel to send SIGHUP
// and SIGCONT to an orphaned group with a stopped member (_exit, 'Consequences of Process Termination'), which ends the client.
func orphanAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
