package local

import "syscall"

// No server is started on Windows (finder.java), so none gets a signal.
const (
	signalKill   = syscall.SIGKILL
	signalStop   = syscall.SIGTERM
	signalPause  = syscall.Signal(-1)
	signalResume = syscall.Signal(-1)
)
