package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// deadRoot creates a root as a killed run leaves it, some time after its session timeout.
func deadRoot(t *testing.T, s zk.Session, path string) {
	t.Helper()
	r := root.New(path, "gone-1", "locks", time.Millisecond, setup().Names())
	if err := r.Make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), path+"/"+root.AliveName, zk.AnyVersion); err != nil { // its session has expired
		t.Fatal(err)
	}
	plant(t, s, path+"/cell-1", "", path+"/cell-1/lock-0", "")
	time.Sleep(5 * time.Millisecond) // of the ensemble's clock
}

// plant creates znodes from pairs of a path and its data.
func plant(t *testing.T, s zk.Session, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if _, err := s.Create(t.Context(), pairs[i], []byte(pairs[i+1]), zk.Persistent); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCleanRemovesMarkedRootsOnly(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	s, ctx := session(t, address), t.Context()
	there := func(path string) bool { _, ok, err := s.Exists(ctx, path); return ok && err == nil }
	deadRoot(t, s, "/zkbench/gone-1")
	living := root.New("/zkbench/living", "living-1", "locks", 10*time.Second, setup().Names())
	if err := living.Make(ctx, s); err != nil {
		t.Fatal(err)
	}
	marker, _ := json.Marshal(living.Marker)
	plant(t, s, "/zkbench/theirs", "precious", "/zkbench/similar", "", "/zkbench/similar/"+root.MarkerName, "no marker", "/zkbench/copied", "",
		"/zkbench/copied/"+root.MarkerName, string(marker), "/zkbench/copied/data", "precious")

	zkbench(t, "clean", "--servers", address, "--dry-run").want(exitOK, "would remove /zkbench/gone-1 (profile locks, started ", "by process ", ": 4 znodes",
		"skipped, run still active: /zkbench/living", "1 open session")
	zkbench(t, "clean", "--servers", address).want(exitUsage, "to remove /zkbench/gone-1", "no terminal to ask on", "--yes")
	if !there("/zkbench/gone-1/cell-1/lock-0") {
		t.Error("something was removed without a yes")
	}
	o := zkbench(t, "clean", "--servers", address, "--yes").want(exitOK, "removing /zkbench/gone-1", "skipped, run still active: /zkbench/living")
	for path, want := range map[string]bool{"/zkbench/gone-1": false, "/zkbench/living/zkbench-root": true, "/zkbench/theirs": true,
		"/zkbench/similar/zkbench-root": true, "/zkbench/copied/data": true} {
		if there(path) != want {
			t.Errorf("%s is there: %v, want %v", path, !want, want)
		}
		if name := filepath.Base(filepath.Dir(path + "/")); (name == "theirs" || name == "similar" || name == "copied") && strings.Contains(o.stdout, name) {
			t.Errorf("clean speaks of %s", path)
		}
	}
	zkbench(t, "clean", "--servers", address, "--yes", "--force", "--root", "/zkbench/living").want(exitOK, "removing /zkbench/living")
	for _, path := range []string{"/zkbench/similar/zkbench-root", "/zkbench/similar", "/zkbench/theirs", "/zkbench/copied/data", "/zkbench/copied/zkbench-root", "/zkbench/copied"} {
		if err := s.Delete(ctx, path, zk.AnyVersion); err != nil {
			t.Error(err)
		}
	}
	zkbench(t, "clean", "--servers", address, "--yes").want(exitOK, "to remove /zkbench: empty, created as a parent of a root")
	zkbench(t, "clean", "--servers", address, "--yes").want(exitOK, "no zkbench data under /zkbench")
	wantEmpty(t, address)
}

// After kill -9 a root is free when its sessions have expired: clean says how long that takes at most, and with --wait it waits.
func TestCleanWaitsForSessionsThatExpire(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	s := session(t, address)
	waited := false
	for range 10 {
		dead := root.New("/zkbench/killed", "killed-1", "locks", 4*time.Second, setup().Names())
		dead.PID = 1 << 22 // no process
		dying, err := wire.Dial(t.Context(), wire.Config{Servers: []string{address}, Timeout: 4 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := dead.Make(t.Context(), dying); err != nil {
			t.Fatal(err)
		}
		if err := dying.Crash(); err != nil {
			t.Fatal(err)
		}
		zkbench(t, "clean", "--servers", address, "--yes").want(exitOK, "skipped, run still active: /zkbench/killed", "1 open session",
			"process 4194304 is gone; expires within 6 s; --wait waits for that, --force removes it now")
		// On a busy machine the session may have expired since.
		if o := zkbench(t, "clean", "--servers", address, "--yes", "--wait").want(exitOK, "removing /zkbench/killed"); strings.Contains(o.stderr, "waiting up to 6 s for /zkbench/killed") {
			waited = true
			break
		}
	}
	if !waited {
		t.Error("clean --wait never said that it waits")
	}
	if _, there, err := s.Exists(t.Context(), "/zkbench/killed"); there || err != nil {
		t.Errorf("the root is there: %v, %v", there, err)
	}
	wantEmpty(t, address)
}

func TestCleanLeavesWhatIsForeign(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	s := session(t, address)
	deadRoot(t, s, "/zkbench/gone-2")
	plant(t, s, "/zkbench/gone-2/cell-1/lock-0/precious", "x")
	zkbench(t, "clean", "--servers", address, "--dry-run").want(exitOK, "kept, not created by zkbench: /zkbench/gone-2/cell-1/lock-0/precious")
	zkbench(t, "clean", "--servers", address, "--yes").want(exitFailed, "zkCli.sh -server "+address+" deleteall /zkbench/gone-2/cell-1/lock-0/precious",
		"then: zkbench clean --servers "+address+" --root /zkbench/gone-2")
	if err := s.Delete(t.Context(), "/zkbench/gone-2/cell-1/lock-0/precious", zk.AnyVersion); err != nil {
		t.Error(err)
	}
	zkbench(t, "clean", "--servers", address, "--yes", "--root", "/zkbench/gone-2").want(exitOK, "removing /zkbench/gone-2")
	wantEmpty(t, address)
}

func TestCleanDeepFindsEveryRoot(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	s := session(t, address)
	plant(t, s, "/apps", "mine", "/apps/other", "")
	deadRoot(t, s, "/apps/x/y/run")
	deadRoot(t, s, "/elsewhere")
	zkbench(t, "clean", "--servers", address, "--yes").want(exitOK, "no zkbench data under /zkbench")
	zkbench(t, "clean", "--servers", address, "--yes", "--deep").want(exitOK, "removing /apps/x/y/run", "removing /elsewhere")
	for _, path := range []string{"/apps/other", "/apps"} { // it contains nothing else
		if err := s.Delete(t.Context(), path, zk.AnyVersion); err != nil {
			t.Error(err)
		}
	}
	wantEmpty(t, address)
}
