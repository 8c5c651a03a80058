//go:build !linux

package local

import (
	"syscall"

	"github.com/zkbench/zkbench/ensemble/internal/host"
)

func attachedAttr() *syscall.SysProcAttr          { return &syscall.SysProcAttr{} }
func detachedAttr() (*syscall.SysProcAttr, error) { return nil, host.ErrLinuxOnly }
