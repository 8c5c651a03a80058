package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/results"
)

// ErrNone says that this machine has no calibration: none was stored, or it is of another host or from before the last boot.
var ErrNone = fmt.Errorf("no calibration of this machine ('%s calibrate' makes one)", program.Name())

// File returns the path of this user's calibration: zkbench/calibration.json in the cache directory.
func File() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "zkbench", "calibration.json"), err
}

// Here returns the name of this host and the identity of its last boot, which is "" if the kernel reports none.
func Here() (host, boot string) {
	host, _ = os.Hostname()
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return host, strings.TrimSpace(string(text))
}

// Store replaces the stored calibration and returns its path. A concurrent reader gets the old or the new one, complete.
func Store(doc results.Calibration) (path string, err error) {
	if path, err = File(); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return path, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".calibration-*")
	if err != nil {
		return path, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return path, err
	}
	return path, os.Rename(f.Name(), path)
}

// Read returns the stored calibration. The error is ErrNone if there is none for this boot of this machine.
func Read() (*results.Calibration, error) {
	path, err := File()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	} else if err != nil {
		return nil, err
	}
	var doc results.Calibration
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w; '%s calibrate' replaces it", path, err, program.Name())
	}
	host, boot := Here()
	if doc.Schema != results.CalibrationSchema || doc.Host != host || doc.BootID != boot {
		return nil, ErrNone
	}
	return &doc, nil
}
