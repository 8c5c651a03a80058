//go:build !linux

package host

import (
	"os"
	"syscall"
	"time"
)

type Stat struct {
	State      byte
	CPU, Start uint64
	RSS        uint64
}

func OwnGroup() *syscall.SysProcAttr                          { return &syscall.SysProcAttr{} }
func ReadStat(pid int) (Stat, error)                          { return Stat{}, ErrLinuxOnly }
func ReadUsage(pid int) (time.Duration, int64, uint64, error) { return 0, 0, 0, ErrLinuxOnly }
func Files() (limit, open int64, err error)                   { return 0, 0, ErrLinuxOnly }
func OutgoingPorts() int                                      { return 32768 }
func LockShared(f *os.File) error                             { return ErrLinuxOnly }
func TryLock(f *os.File) error                                { return ErrLinuxOnly }
func Held(path string) bool                                   { return false }
func InMemory(dir string) bool                                { return false }
