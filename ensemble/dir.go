package ensemble

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const tempPattern = "zkbench-ensemble-*"

// prepareDir makes the directory for data and logs, absolute. One that holds something is refused: a measurement starts from
// an empty tree, and the data might be somebody's.
func prepareDir(cfg LocalConfig) (dir string, temporary bool, err error) {
	switch {
	case cfg.Dir == "" && cfg.Detach: // beside its state: a system clears the directory for temporary files now and then
		dir, err = os.MkdirTemp(cfg.StateDir, "data-*")
		return dir, true, err
	case cfg.Dir == "":
		return temporaryDir(os.TempDir())
	}
	if dir, err = filepath.Abs(cfg.Dir); err != nil {
		return "", false, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false, err
	}
	if len(entries) > 0 {
		return "", false, fmt.Errorf("%s is not empty: a local ensemble starts from nothing", dir)
	}
	return dir, false, nil
}

// owner is written into a temporary directory: the process that will remove it.
type owner struct {
	PID   int
	Start uint64 // clock ticks since boot
}

func ownerFile(dir string) string { return filepath.Join(dir, "owner.json") }

// temporaryDir makes a directory that goes with the ensemble. A process that was killed with kill -9 could not remove its
// own: whoever comes next does.
func temporaryDir(parent string) (string, bool, error) {
	sweep(parent)
	dir, err := os.MkdirTemp(parent, tempPattern)
	if err != nil {
		return "", false, err
	}
	self := owner{PID: os.Getpid()}
	if stat, err := readStat(self.PID); err == nil {
		self.Start = stat.start
	}
	text, err := json.Marshal(self)
	if err != nil {
		return "", false, err
	}
	return dir, true, os.WriteFile(ownerFile(dir), text, 0o644)
}

// sweep removes the temporary directories whose owner is gone. It is a courtesy: what it cannot read or remove it leaves.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, tempPattern))
	for _, dir := range dirs {
		var o owner
		text, err := os.ReadFile(ownerFile(dir))
		if err != nil || json.Unmarshal(text, &o) != nil || o.Start == 0 {
			continue
		}
		stat, err := readStat(o.PID)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && stat.start != o.Start) {
			os.RemoveAll(dir)
		}
	}
}

// keep takes a directory out of sweep's reach, because an error has named the logs in it.
func keep(dir string) error {
	if err := os.Remove(ownerFile(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
