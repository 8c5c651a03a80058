package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/fencing"
)

// childEnv makes the test binary run as zkbench, for tests that need a separate process. Its value is a mode.
const childEnv = "ZKBENCH_TEST_CHILD"

// withDefects is the mode of a child whose catalogue also has the deliberately broken recipes.
const withDefects = "defects"

// starved is the mode of a child that has one CPU, and other work on it.
const starved = "starved"

// Modes that mount a file system for a child, followed by the directory of the mount.
const (
	tiny   = "tiny:"   // of two pages
	hidden = "hidden:" // an empty one that hides what is there
)

func child() int {
	mode := os.Getenv(childEnv)
	for prefix, size := range map[string]string{tiny: "size=8k", hidden: "size=1m"} {
		dir, ok := strings.CutPrefix(mode, prefix)
		if !ok {
			continue
		}
		if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""), syscall.Mount("zkbench", dir, "tmpfs", 0, size)); err != nil {
			fmt.Fprintln(os.Stderr, "mount:", err)
			return 99
		}
	}
	os.Args[0] = "zkbench"
	if mode == starved {
		runtime.GOMAXPROCS(1)
		go func() {
			for spins := new(atomic.Int64); ; {
				spins.Add(1)
			}
		}()
	}
	if mode == withDefects {
		return process(brokenSetup(), fencing.Locks{}, nil)
	}
	if mode == announcing {
		return process(announce(setup()), fencing.Locks{}, nil)
	}
	if mode == refused {
		return Main(refusedOwn)
	}
	return Main(recipes.Variants{})
}

// childMayTake bounds every wait for a child, also on a busy machine.
const childMayTake = 30 * time.Minute

// inChild runs a command line in a separate process. If before is not empty, a shell runs it first.
func inChild(t *testing.T, mode, before string, args ...string) ending {
	t.Helper()
	return toTheEnd(t, childCommand(t, mode, before, args...))
}

// toTheEnd runs a command to its end, and returns its output and exit code.
func toTheEnd(t *testing.T, cmd *exec.Cmd) ending {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bound := time.AfterFunc(childMayTake, func() {
		t.Errorf("%q had not ended after %v; what its goroutines did is in its standard error:", cmd.Args, childMayTake)
		cmd.Process.Signal(syscall.SIGQUIT)
	})
	err := cmd.Wait()
	bound.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ending{t, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func childCommand(t *testing.T, mode, before string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	if before != "" {
		cmd = exec.CommandContext(t.Context(), "sh", append([]string{"-c", before + `; exec "$0" "$@"`, self}, args...)...)
	}
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	if strings.HasPrefix(mode, tiny) || strings.HasPrefix(mode, hidden) { // a separate mount, which ends with the process
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if id := os.Getuid(); id != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
	}
	return cmd
}
