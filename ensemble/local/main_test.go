package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/internal/driver"
	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// TestMain lets the test binary play the process that is killed: if this variable is set, it starts a server and waits.
func TestMain(m *testing.M) {
	if os.Getenv("ZKBENCH_TEST_VICTIM") != "" {
		victim()
	}
	os.Exit(m.Run())
}

func victim() {
	l, err := Start(context.Background(), small(1))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p := l.All()[0].process.Load()
	stat, err := host.ReadStat(p.pid)
	fmt.Println(p.pid, stat.Start, err)
	select {}
}

// small returns a configuration that starts fast and needs few resources.
func small(servers int) Config {
	return Config{Servers: servers, Heap: "128m", Tick: 500 * time.Millisecond}
}

// start starts an ensemble whose temporary files are removed with the test, and checks that nothing is left of it.
func start(t *testing.T, cfg Config) *Local {
	t.Helper()
	goroutines := runtime.NumGoroutine()
	t.Setenv("TMPDIR", t.TempDir())
	l, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("second Close() = %v, want nil", err)
		}
		if l.temporary {
			if _, err := os.Stat(l.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("temporary directory after Close: %v, want it gone", err)
			}
		}
		if now := runtime.NumGoroutine(); now > goroutines {
			t.Errorf("%d goroutines after Close, want %d", now, goroutines)
		}
	})
	return l
}

func TestKillOfTheParentKillsTheServers(t *testing.T) {
	needServers(t)
	t.Setenv("TMPDIR", t.TempDir())
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "ZKBENCH_TEST_VICTIM=1")
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	output.(*os.File).SetReadDeadline(time.Now().Add(2 * time.Minute)) // time to report that its server runs
	line, said := bufio.NewReader(output).ReadString('\n')
	if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	var pid int
	var began uint64
	if n, err := fmt.Sscan(line, &pid, &began); n != 2 {
		t.Fatalf("the parent said %q, %v, instead of which server runs: %v", line, said, err)
	}
	server := &process{pid: pid, start: began}
	if err := driver.Poll(t.Context(), func() bool { return !server.running() }); err != nil {
		t.Fatalf("server %d lives after its parent was killed: %v", pid, err)
	}
	// The parent could not remove its directory; the next start does.
	parentDirs := dirsIn(t, os.TempDir())
	if len(parentDirs) != 1 {
		t.Fatalf("directories of the killed parent: %v, want one", parentDirs)
	}
	swept := func() bool { sweep(os.TempDir()); return len(dirsIn(t, os.TempDir())) == 0 }
	if driver.Poll(t.Context(), swept) != nil { // the last thread of a killed process releases its locks a moment after the first has ended
		t.Errorf("after sweep: %v, want none", dirsIn(t, os.TempDir()))
	}
}

func dirsIn(t *testing.T, parent string) []string {
	t.Helper()
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "zkbench-ensemble-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// needServers is ensembletest.NeedServers, which imports this package.
func needServers(t *testing.T) {
	t.Helper()
	if err := Check(Config{}); err != nil && os.Getenv("ZKBENCH_REQUIRE_PACKAGES") != "" {
		t.Fatalf("ZKBENCH_REQUIRE_PACKAGES is set: %v", err)
	} else if err != nil {
		t.Skip(err)
	}
}
