package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/host"
	"github.com/zkbench/zkbench/internal/program"
)

// Head is the start of the state file of every detached ensemble, of whatever kind.
type Head struct {
	Schema  string
	Started time.Time
	About   ensemble.Description
}

const schema = "zkbench.ensemble/1"

// NewHead returns the head for an ensemble that has just been started.
func NewHead(about ensemble.Description) Head { return Head{schema, time.Now().UTC(), about} }

// Gone returns the error for an ensemble of which nothing runs any more.
func (h Head) Gone(servers int) error {
	return fmt.Errorf("%w: none of the %d servers of %s is running (a reboot, or they were stopped by hand); %[4]s down "+
		"cleans up, %[4]s up starts again", ensemble.ErrGone, servers, h.Started.Local().Format(time.DateTime), program.Name())
}

// StateDir returns the directory of the state file: the one that was asked for, or zkbench in the user's cache directory.
func StateDir(asked string) (string, error) {
	if asked != "" {
		return filepath.Abs(asked)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("where to keep the state of the ensemble: %w", err)
	}
	return filepath.Join(cache, "zkbench"), nil
}

// StateFile returns the path of the state file in a directory.
func StateFile(dir string) string { return filepath.Join(dir, "ensemble.json") }

// WriteState replaces the state file atomically: a reader sees either the old or the new one. state embeds a Head.
func WriteState(dir string, state any) error {
	text, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	path := StateFile(dir)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// RemoveState removes the state file, if there is one.
func RemoveState(dir string) error {
	if err := os.Remove(StateFile(dir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadState reads the state file into a struct that embeds a Head. It returns ErrNotUp if there is none.
func ReadState(dir string, state any) error {
	text, err := os.ReadFile(StateFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (there is no %s); %s up starts one", ensemble.ErrNotUp, StateFile(dir), program.Name())
	}
	if err != nil {
		return err
	}
	var head Head
	if err := errors.Join(json.Unmarshal(text, &head), json.Unmarshal(text, state)); err != nil {
		return fmt.Errorf("state file %s: %w", StateFile(dir), err)
	}
	if head.Schema != schema {
		return fmt.Errorf("state file %s: schema %q, this zkbench reads %q", StateFile(dir), head.Schema, schema)
	}
	return nil
}

// WithLock keeps two processes from starting or ending a detached ensemble at the same time.
func WithLock(dir string, do func() error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "ensemble.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := host.TryLock(lock); errors.Is(err, host.ErrLinuxOnly) {
		return fmt.Errorf("an ensemble that stays: %w; a run may start servers of its own, or name some with --servers", err)
	} else if err != nil {
		return fmt.Errorf("%s: another zkbench is starting or stopping the ensemble: %w", lock.Name(), err)
	}
	return do()
}
