package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/ensemble/internal/host"
)

const tempPattern = "zkbench-ensemble-*"

// prepareDir creates the directory for data and logs and returns its absolute path. It refuses a directory that is not empty: a measurement starts from
// an empty tree, and the data might belong to somebody.
// hold, if not nil, keeps the lock that says that the directory's owner lives.
func prepareDir(cfg Config) (dir string, temporary bool, hold *os.File, err error) {
	switch {
	case cfg.Dir == "" && cfg.Detach: // next to its state: a system clears the directory for temporary files now and then
		dir, err = os.MkdirTemp(cfg.StateDir, "data-*")
		return dir, true, nil, err
	case cfg.Dir == "":
		dir, hold, err = temporaryDir(os.TempDir())
		return dir, true, hold, err
	}
	if dir, err = filepath.Abs(cfg.Dir); err != nil {
		return "", false, nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", false, nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false, nil, err
	}
	if len(entries) > 0 {
		return "", false, nil, fmt.Errorf("%s is not empty: a local ensemble needs an empty directory", dir)
	}
	return dir, false, nil, nil
}

// owner is written into a temporary directory and names the process that will remove it. It holds a lock on the file as long as it lives.
type owner struct {
	PID       int
	Start     uint64 // clock ticks since boot
	Namespace host.Namespace
}

func ownerFile(dir string) string { return filepath.Join(dir, "owner.json") }

// temporaryDir creates a directory that is removed with the ensemble. A process that was killed with kill -9 could not remove its
// own: the next start does.
func temporaryDir(parent string) (dir string, hold *os.File, err error) {
	sweep(parent)
	if dir, err = os.MkdirTemp(parent, tempPattern); err != nil {
		return "", nil, err
	}
	self := owner{PID: os.Getpid(), Namespace: host.Here()}
	if stat, err := host.ReadStat(self.PID); err == nil {
		self.Start = stat.Start
	}
	if hold, err = os.OpenFile(ownerFile(dir), os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return "", nil, err
	}
	if host.LockShared(hold) != nil {
		self.Namespace = host.Namespace{} // without the lock nobody can tell whether it lives
	}
	text, err := json.Marshal(self)
	if err == nil {
		_, err = hold.Write(text)
	}
	return dir, hold, err
}

// sweep removes the temporary directories whose owner is certainly gone. It is best effort: it leaves what it cannot read, judge or remove.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, tempPattern))
	for _, dir := range dirs {
		var o owner
		text, err := os.ReadFile(ownerFile(dir))
		if err != nil || json.Unmarshal(text, &o) != nil || o.Start == 0 {
			continue
		}
		free := !host.Held(ownerFile(dir))
		logs, _ := filepath.Glob(filepath.Join(dir, serverDirs, logName))
		for _, log := range logs {
			free = free && !host.Held(log)
		}
		if o.Namespace.Dead(o.PID, o.Start, free) {
			os.RemoveAll(dir)
		}
	}
}

// keep protects a directory from sweep, because an error has named the logs in it.
func keep(dir string) error {
	if err := os.Remove(ownerFile(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
