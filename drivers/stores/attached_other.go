//go:build !linux

package stores

import "syscall"

// attached does nothing on other systems: a server there outlives a zkbench that is killed.
func attached() *syscall.SysProcAttr { return nil }
