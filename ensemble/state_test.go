package ensemble

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

func TestDetached(t *testing.T) {
	ctx := t.Context()
	cfg := small(1)
	cfg.Detach, cfg.StateDir = true, t.TempDir()
	if _, err := Load(cfg.StateDir); !errors.Is(err, ErrNotUp) {
		t.Fatalf("Load() before the start = %v, want ErrNotUp", err)
	}
	first, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Down(cfg.StateDir) })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := probeWrite(ctx, first.Addresses()[0]); err != nil {
		t.Fatalf("Close ended a detached ensemble: %v", err)
	}
	if _, err := Start(ctx, cfg); !errors.Is(err, ErrUp) {
		t.Errorf("second Start() = %v, want ErrUp", err)
	}

	l := loaded(t, cfg.StateDir)
	if l.Describe() != first.Describe() || l.Addresses()[0] != first.Addresses()[0] {
		t.Errorf("Load() = %+v %v, want %+v %v", l.Describe(), l.Addresses(), first.Describe(), first.Addresses())
	}
	if err := l.Kill(ctx, 1); err != nil {
		t.Fatal(err)
	}
	restart(t, ctx, l, 1)
	if s := l.Stats(ctx)[0]; s.Err != nil || s.Usage == nil {
		t.Errorf("Stats() = %+v, %v", s.Stats, s.Err)
	}
	pid := l.servers[0].process.Load().pid

	again := loaded(t, cfg.StateDir) // the restart changed the pid, and the state file knows
	if got := again.servers[0].process.Load().pid; got != pid {
		t.Errorf("pid %d after Load, want %d", got, pid)
	}
	if err := again.Down(); err != nil {
		t.Fatal(err)
	}
	if l.servers[0].process.Load().running() {
		t.Error("the server runs after Down")
	}
	if _, err := os.Stat(l.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data directory after Down: %v, want it gone", err)
	}
	if err := Down(cfg.StateDir); !errors.Is(err, ErrNotUp) {
		t.Errorf("second Down() = %v, want ErrNotUp", err)
	}
}

func loaded(t *testing.T, dir string) *Local {
	t.Helper()
	e, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e.(*Local)
}

// After a reboot the pids of the state file belong to nobody, or to somebody else, who must not be harmed: here to this test.
func TestDetachedGone(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	s := state{Schema: stateSchema, Dir: data, Temporary: true, Config: LocalConfig{Detach: true}}
	s.Servers = []serverState{{Address: "127.0.0.1:1", PID: os.Getpid(), Start: 1}, {Address: "127.0.0.1:2", PID: 1 << 30, Start: 1}}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stateFile(dir), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrGone) {
		t.Errorf("Load() = %v, want ErrGone", err)
	}
	if err := Down(dir); err != nil {
		t.Errorf("Down() = %v, want nil", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data directory after Down: %v, want it gone", err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrNotUp) {
		t.Errorf("Load() after Down = %v, want ErrNotUp", err)
	}
}

func TestStateFileOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"{", `{"Schema": "zkbench.ensemble/99"}`} {
		if err := os.WriteFile(stateFile(dir), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if l, err := Load(dir); err == nil {
			t.Errorf("Load() of %s = %v, want an error", text, l)
		}
	}
}

// A start that fails leaves no state behind: the next one is not told that an ensemble is up.
func TestDetachedStartFails(t *testing.T) {
	cfg := small(1)
	cfg.Detach, cfg.StateDir = true, t.TempDir()
	cfg.Extra = map[string]string{"tickTime": "banana"}
	if _, err := Start(t.Context(), cfg); !errors.Is(err, ErrNotReady) {
		t.Errorf("Start() = %v, want ErrNotReady", err)
	}
	if _, err := Load(cfg.StateDir); !errors.Is(err, ErrNotUp) {
		t.Errorf("Load() = %v, want ErrNotUp", err)
	}
}
