package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/zk"
)

func TestCleanRemovesMarkedRootsOnly(t *testing.T) {
	address := servers.Get(t, 1).Addresses()[0]
	s, ctx := session(t, address), t.Context()
	create := func(path string, data any, mode zk.Mode) {
		t.Helper()
		text, _ := json.Marshal(data)
		if _, err := s.Create(ctx, path, text, mode); err != nil {
			t.Fatal(err)
		}
	}
	marker := map[string]any{"run": "gone-1", "profile": "locks", "host": "elsewhere", "pid": 42, "started": "2026-01-02T03:04:05Z"}
	s.Create(ctx, "/zkbench", []byte("made by zkbench"), zk.Persistent)
	create("/zkbench/gone-1", nil, zk.Persistent)
	create("/zkbench/gone-1/zkbench-root", marker, zk.Persistent)
	create("/zkbench/gone-1/cell-1", nil, zk.Persistent)
	create("/zkbench/gone-1/cell-1/lock-0", nil, zk.Persistent)
	create("/zkbench/living", nil, zk.Persistent)
	create("/zkbench/living/zkbench-root", marker, zk.Persistent)
	create("/zkbench/living/zkbench-alive", nil, zk.Ephemeral)
	create("/zkbench/theirs", "precious", zk.Persistent)
	create("/zkbench/similar", nil, zk.Persistent)
	create("/zkbench/similar/zkbench-root", "no marker", zk.Persistent)
	there := func(path string) bool { _, ok, err := s.Exists(ctx, path); return ok && err == nil }

	zkbench(t, "clean", "--servers", address, "--dry-run").want(exitOK, "would remove /zkbench/gone-1 (profile locks, started 2026-01-0", "on elsewhere by process 42",
		"left alone, its run goes on: /zkbench/living")
	if !there("/zkbench/gone-1/cell-1/lock-0") {
		t.Error("--dry-run removed something")
	}
	o := zkbench(t, "clean", "--servers", address).want(exitOK, "removing /zkbench/gone-1", "left alone, its run goes on: /zkbench/living")
	for path, want := range map[string]bool{"/zkbench/gone-1": false, "/zkbench/living/zkbench-root": true, "/zkbench/theirs": true, "/zkbench/similar/zkbench-root": true} {
		if there(path) != want {
			t.Errorf("%s is there: %v, want %v", path, !want, want)
		}
		if name := filepath.Base(path); (name == "theirs" || name == "similar") && strings.Contains(o.stdout, name) {
			t.Errorf("clean speaks of %s", path)
		}
	}
	zkbench(t, "clean", "--servers", address, "--force", "--root", "/zkbench/living").want(exitOK, "removing /zkbench/living")
	for _, path := range []string{"/zkbench/similar/zkbench-root", "/zkbench/similar", "/zkbench/theirs"} {
		if err := s.Delete(ctx, path, zk.AnyVersion); err != nil {
			t.Error(err)
		}
	}
	zkbench(t, "clean", "--servers", address).want(exitOK, "nothing of zkbench at /zkbench")
	s.Delete(ctx, "/zkbench", zk.AnyVersion)
	zkbench(t, "clean", "--servers", address).want(exitOK, "nothing of zkbench at /zkbench")
	wantEmpty(t, address)
}

func TestUpAndDown(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	before := javas(t)
	zkbench(t, "up", "--print-servers").want(exitFailed, "no ensemble is up", "zkbench up starts one")
	zkbench(t, "down").want(exitFailed, "no ensemble is up")
	o := zkbench(t, "up", "-n", "1").want(exitOK, "starting 1 ZooKeeper server\n", "data and logs in")
	address := strings.TrimSpace(o.stdout)
	defer func() {
		if t.Failed() {
			zkbench(t, "down")
		}
	}()
	zkbench(t, "up", "-n", "1").want(exitFailed, "an ensemble is up already at "+address, "zkbench down ends it")
	if o := zkbench(t, "up", "--print-servers").want(exitOK); o.stdout != address+"\n" {
		t.Errorf("up --print-servers prints %q, want %q", o.stdout, address)
	}
	wantEmpty(t, address)
	zkbench(t, "down").want(exitOK, "the ensemble is down")
	if after := javas(t); len(after) != len(before) {
		t.Errorf("servers %v run, before %v", after, before)
	}
	zkbench(t, "down").want(exitFailed, "no ensemble is up")
}
