//go:build !linux

package local

import (
	"syscall"

	"github.com/zkbench/zkbench/ensemble/internal/host"
)

const (
	signalKill   = syscall.SIGKILL
	signalStop   = syscall.SIGTERM
	signalPause  = syscall.Signal(-1)
	signalResume = syscall.Signal(-1)
)

func attachedAttr() *syscall.SysProcAttr          { return &syscall.SysProcAttr{} }
func detachedAttr() (*syscall.SysProcAttr, error) { return nil, host.ErrLinuxOnly }
