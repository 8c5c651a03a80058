//go:build !linux

package ensemble

import (
	"errors"
	"os"
	"syscall"
)

// Elsewhere than on Linux local servers end with Close, but not with a kill -9 of zkbench, and cannot be detached or paused.
var errLinuxOnly = errors.New("works on Linux only")

const (
	signalKill   = syscall.SIGKILL
	signalStop   = syscall.SIGTERM
	signalPause  = syscall.Signal(-1)
	signalResume = syscall.Signal(-1)
)

type procStat struct {
	state byte
	start uint64
}

func ownGroup() *syscall.SysProcAttr              { return &syscall.SysProcAttr{} }
func attachedAttr() *syscall.SysProcAttr          { return &syscall.SysProcAttr{} }
func detachedAttr() (*syscall.SysProcAttr, error) { return nil, errLinuxOnly }
func readStat(pid int) (procStat, error)          { return procStat{}, errLinuxOnly }
func readUsage(pid int) (Usage, error)            { return Usage{}, errLinuxOnly }
func filesHere() (limit, open int64, err error)   { return 0, 0, errLinuxOnly }
func outgoingPorts() int                          { return 32768 }
func lockFile(f *os.File) error                   { return errLinuxOnly }

func inMemory(dir string) bool { return false }
