//go:build unix

package local

import "syscall"

const (
	signalKill   = syscall.SIGKILL
	signalStop   = syscall.SIGTERM
	signalPause  = syscall.SIGSTOP
	signalResume = syscall.SIGCONT
)
