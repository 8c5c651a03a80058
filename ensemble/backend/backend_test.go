package backend

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/compose"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
	"github.com/zkbench/zkbench/internal/tier"
)

// ends ensures that nothing runs after the test.
func ends(t *testing.T, dir string) {
	t.Cleanup(func() {
		if err := Down(dir); err != nil && !errors.Is(err, ensemble.ErrNotUp) {
			t.Error(err)
		}
	})
}

func TestProcessesThatStay(t *testing.T) {
	ensembletest.NeedServers(t)
	ctx, dir := t.Context(), t.TempDir()
	one := ensemble.Target{Local: 1}
	if _, err := Load(dir); !errors.Is(err, ensemble.ErrNotUp) {
		t.Fatalf("Load() before the start = %v, want ErrNotUp", err)
	}
	ends(t, dir)
	first, err := Up(ctx, dir, one, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ensemble.Dialer(nil).Serves(ctx, first.Addresses()[0]); err != nil {
		t.Fatalf("Close ended an ensemble that stays: %v", err)
	}
	if _, err := Up(ctx, dir, one, Options{}); !errors.Is(err, ensemble.ErrUp) {
		t.Errorf("second Up() = %v, want ErrUp", err)
	}

	second := loaded(t, dir)
	if second.Describe() != first.Describe() || second.Addresses()[0] != first.Addresses()[0] {
		t.Errorf("Load() = %+v %v, want %+v %v", second.Describe(), second.Addresses(), first.Describe(), first.Addresses())
	}
	injector := second.(ensemble.FaultInjector)
	for _, err := range []error{injector.Kill(ctx, 1), injector.Restart(ctx, 1), injector.Ready(ctx)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := second.Stats(ctx)[0]; s.Err != nil || s.Usage == nil {
		t.Errorf("Stats() = %+v, %v", s.Stats, s.Err)
	}
	third := loaded(t, dir) // the restart changed the pid, which the state file records
	started := func(e ensemble.Ensemble) uint64 { return e.(ensemble.Accountant).Usage()[0].Start }
	if started(third) != started(second) {
		t.Errorf("Load() found a process started at %d, want %d", started(third), started(second))
	}
	if err := Down(dir); err != nil {
		t.Fatal(err)
	}
	if u := second.(ensemble.Accountant).Usage()[0]; u == nil || u.Start != 0 || u.Ended == 0 {
		t.Errorf("Usage() after Down = %+v, want what the killed process had used, and no process", u)
	}
	if _, err := os.Stat(first.Describe().DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data directory after Down: %v, want it gone", err)
	}
	if err := Down(dir); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("second Down() = %v, want ErrNotUp", err)
	}
}

func loaded(t *testing.T, dir string) ensemble.Ensemble {
	t.Helper()
	e, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// written writes the state file of an ensemble that another version of zkbench has started.
func written(t *testing.T, dir string, more map[string]any) {
	t.Helper()
	all := map[string]any{"Schema": "zkbench.ensemble/1", "Started": "2026-01-02T03:04:05Z"}
	for key, value := range more {
		all[key] = value
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(driver.StateFile(dir), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// After a reboot the pids of the state file belong to nobody, or to another process, which must not be harmed: here to this test.
func TestProcessesThatAreGone(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	written(t, dir, map[string]any{"Dir": data, "Temporary": true, "Config": map[string]any{"Detach": true}, "Servers": []map[string]any{
		{"Address": "127.0.0.1:1", "PID": os.Getpid(), "Start": 1}, {"Address": "127.0.0.1:2", "PID": 1 << 30, "Start": 1}}})
	if _, err := Load(dir); !errors.Is(err, ensemble.ErrGone) || !strings.Contains(err.Error(), "2 servers of 2026-01-02") {
		t.Errorf("Load() = %v, want ErrGone", err)
	}
	if err := Down(dir); err != nil {
		t.Errorf("Down() = %v, want nil", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data directory after Down: %v, want it gone", err)
	}
	if _, err := Load(dir); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("Load() after Down = %v, want ErrNotUp", err)
	}
}

// An ensemble that may run where it cannot be seen is neither replaced nor removed.
func TestUpLeavesWhatMayLive(t *testing.T) {
	dir := t.TempDir()
	elsewhere := host.Here()
	elsewhere.Boot, elsewhere.Host = "x", "y"
	written(t, dir, map[string]any{"Namespace": elsewhere, "Servers": []map[string]any{{"Address": "127.0.0.1:1", "PID": 7, "Start": 1}}})
	if _, err := Up(t.Context(), dir, ensemble.Target{Local: 1}, Options{}); !errors.Is(err, ensemble.ErrElsewhere) {
		t.Errorf("Up() = %v, want ErrElsewhere", err)
	}
	if _, err := os.Stat(driver.StateFile(dir)); err != nil {
		t.Error(err)
	}
}

func TestStateFileOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"{", `{"Schema": "zkbench.ensemble/99"}`} {
		if err := os.WriteFile(driver.StateFile(dir), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if e, err := Load(dir); err == nil {
			t.Errorf("Load() of %s = %v, want an error", text, e)
		}
	}
}

// A failed start leaves no state behind: the next one does not report that an ensemble is up.
func TestUpFails(t *testing.T) {
	ensembletest.NeedServers(t)
	dir, broken := t.TempDir(), filepath.Join(t.TempDir(), "zookeeper.jar")
	if err := os.WriteFile(broken, []byte("no jar"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Up(t.Context(), dir, ensemble.Target{Local: 1, ZooKeeper: broken}, Options{}); !errors.Is(err, ensemble.ErrNotReady) {
		t.Errorf("Up() = %v, want ErrNotReady", err)
	}
	if _, err := Load(dir); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("Load() = %v, want ErrNotUp", err)
	}
}

func TestContainersThatStay(t *testing.T) {
	tier.Long(t, "containers; TestProcessesThatStay has the same for processes")
	ensembletest.NeedDocker(t)
	ctx, dir := t.Context(), t.TempDir()
	one := ensemble.Target{Compose: 1}
	ends(t, dir)
	first, err := Up(ctx, dir, one, Options{NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Up(ctx, dir, one, Options{}); !errors.Is(err, ensemble.ErrUp) {
		t.Errorf("second Up() = %v, want ErrUp", err)
	}
	e := loaded(t, dir)
	if e.Describe() != first.Describe() || e.Describe().Fsync != "off" || !ensemble.Dialer(nil).Answers(ctx, e.Addresses()[0]) {
		t.Errorf("Load() = %+v, want %+v, and that it answers", e.Describe(), first.Describe())
	}
	if err := e.(*compose.Compose).Kill(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); !errors.Is(err, ensemble.ErrGone) {
		t.Errorf("Load() of what has ended = %v, want ErrGone", err)
	}
	if err := Down(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("Load() after Down() = %v, want ErrNotUp", err)
	}
}

// Containers replace local servers only if those cannot be started and Docker can start containers.
func TestContainersInsteadOfLocalServers(t *testing.T) {
	const docker = "#!/bin/sh\n" + `[ "$1" = version ] && echo 20.10.24 && exit; [ "$1" = compose ] && echo 2.24.5 && exit`
	with := t.TempDir()
	if err := os.WriteFile(filepath.Join(with, "docker"), []byte(docker), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		missing error
		path    string
		home    string
		local   int
		want    ensemble.Target
	}{
		{"all is there", nil, with, "", 3, ensemble.Target{Local: 3}},
		{"no Java", ensemble.ErrNoJava, with, "", 3, ensemble.Target{Compose: 3}},
		{"no ZooKeeper", ensemble.ErrNoZooKeeper, with, "", 5, ensemble.Target{Compose: 5}},
		{"no Java where it was named", ensemble.ErrNoJava, with, "/nowhere", 3, ensemble.Target{Local: 3}},
		{"no file for seven containers", ensemble.ErrNoJava, with, "", 7, ensemble.Target{Local: 7}},
		{"no Docker either", ensemble.ErrNoJava, t.TempDir(), "", 3, ensemble.Target{Local: 3}},
	} {
		t.Setenv("PATH", c.path)
		t.Setenv("JAVA_HOME", c.home)
		t.Setenv("ZOOKEEPER_HOME", "")
		got, why := instead(t.Context(), ensemble.Target{Local: c.local}, c.missing)
		if got.String() != c.want.String() || (why != nil) != (c.want.Compose > 0) || why != nil && !errors.Is(why, c.missing) {
			t.Errorf("%s: instead() = %v, %v, want %v", c.what, got, why, c.want)
		}
	}
}
