package local

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// Processes that cannot be judged dead are left alone: those of other PID namespaces, which have their own pids, and of other machines.
func TestSweepLeavesWhatItCannotJudge(t *testing.T) {
	now := host.Here()
	other := func(change func(*host.Namespace)) host.Namespace {
		h := now
		change(&h)
		return h
	}
	space := other(func(h *host.Namespace) { h.Space = "pid:[1]" })
	for name, test := range map[string]struct {
		owner owner
		lock  bool
		stays bool
	}{
		"a dead process of here":            {owner{1 << 30, 7, now}, false, false},
		"a pid that was used again":         {owner{os.Getpid(), 7, now}, false, false},
		"one whose lock is held":            {owner{1 << 30, 7, now}, true, true},
		"another namespace":                 {owner{1 << 30, 7, space}, false, false},
		"another namespace, lock held":      {owner{1 << 30, 7, space}, true, true},
		"before a reboot":                   {owner{1 << 30, 7, other(func(h *host.Namespace) { h.Boot = "x" })}, false, false},
		"another machine":                   {owner{1 << 30, 7, other(func(h *host.Namespace) { h.Boot, h.Host = "x", "y" })}, false, true},
		"a zkbench that did not say where":  {owner{1 << 30, 7, host.Namespace{}}, false, true},
		"another namespace, log still held": {owner{1 << 30, 7, space}, false, true},
	} {
		parent := t.TempDir()
		dir := filepath.Join(parent, "zkbench-ensemble-1")
		log := filepath.Join(dir, serverDir(1), logName)
		if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(test.owner)
		for path, text := range map[string][]byte{ownerFile(dir): text, log: nil} {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if test.lock {
			defer lock(t, ownerFile(dir)).Close()
		}
		if name == "another namespace, log still held" {
			defer lock(t, log).Close()
		}
		sweep(parent)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) == test.stays {
			t.Errorf("%s: %v, want that it stays: %v", name, err, test.stays)
		}
	}
}

func lock(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err == nil {
		err = host.LockShared(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A state file whose pids match nothing here does not mean that the ensemble is gone, as long as its ports answer or its logs are being written.
func TestDownLeavesWhatMayLive(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := host.Here()
	space, machine := now, now
	space.Space = "pid:[1]"
	machine.Boot, machine.Host = "x", "y"
	for name, test := range map[string]struct {
		address string
		where   host.Namespace
		locked  bool
	}{
		"its port answers":                {l.Addr().String(), now, false},
		"its port answers, as before":     {l.Addr().String(), host.Namespace{}, false},
		"another namespace, port answers": {l.Addr().String(), space, false},
		"another namespace, log held":     {"127.0.0.1:1", space, true},
		"another machine":                 {"127.0.0.1:1", machine, false},
	} {
		dir, data := t.TempDir(), t.TempDir()
		log := filepath.Join(data, serverDir(1), logName)
		if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o755), os.WriteFile(log, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if test.locked {
			defer lock(t, log).Close()
		}
		s := state{Head: driver.NewHead(ensemble.Description{}), Namespace: test.where, Dir: data, Temporary: true, Config: Config{Detach: true},
			Servers: []serverState{{Address: test.address, PID: os.Getpid(), Start: 1}}}
		if err := driver.WriteState(dir, s); err != nil {
			t.Fatal(err)
		}
		_, loaded := Load(dir)
		if err := Down(dir); !errors.Is(err, ensemble.ErrElsewhere) || !errors.Is(loaded, ensemble.ErrElsewhere) {
			t.Errorf("%s: Down() = %v, Load() = %v, want ErrElsewhere", name, err, loaded)
		}
		for _, path := range []string{log, driver.StateFile(dir)} {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The servers hold the locks of their logs, and nobody else does.
func TestAServerHoldsTheLockOfItsLog(t *testing.T) {
	needServers(t)
	l := start(t, small(1))
	log := l.All()[0].log()
	if !host.Held(log) || !host.Held(ownerFile(l.dir)) {
		t.Errorf("the log is held: %v, the owner's file: %v; want both", host.Held(log), host.Held(ownerFile(l.dir)))
	}
	if err := l.Kill(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if host.Held(log) {
		t.Error("the log of a dead server is held")
	}
}

// sweep leaves what a living process owns, and what an error has named.
func TestSweepLeaves(t *testing.T) {
	parent := t.TempDir()
	owned, _, err := temporaryDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := temporaryDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(kept); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	if left := dirsIn(t, parent); len(left) != 2 {
		t.Errorf("after sweep: %v, want %s and %s", left, owned, kept)
	}
}
