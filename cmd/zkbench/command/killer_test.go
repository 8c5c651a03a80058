package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/zk"
)

// announcing is the mode of a child that says on standard error when it is about to send the request that starts a phase that the progress does not show.
const announcing = "announcing"

// announce makes the sessions of a catalogue's engines say which phase their requests start.
func announce(s bench.Setup) bench.Setup {
	var said sync.Map
	say := func(phase string) {
		if _, before := said.LoadOrStore(phase, true); !before {
			fmt.Fprintf(os.Stderr, "phase: %s\n", phase)
		}
	}
	s.Engines = slices.Clone(s.Engines)
	for i, e := range s.Engines {
		s.Engines[i].Open = func(ctx context.Context, d target.Dialing) (zk.Session, error) {
			say("session")
			s, err := e.Open(ctx, d)
			if err != nil {
				return nil, err
			}
			return &announcer{s, say}, nil
		}
	}
	return s
}

type announcer struct {
	zk.Session
	say func(phase string)
}

func (a *announcer) Unwrap() zk.Session { return a.Session }

func (a *announcer) Sync(ctx context.Context, path string) error {
	if strings.Count(path, "/") <= 3 {
		a.say("look")
	}
	return a.Session.Sync(ctx, path)
}

func (a *announcer) Delete(ctx context.Context, path string, version int32) error {
	if strings.Contains(path[strings.LastIndexByte(path, '/'):], "/cell-") {
		a.say("removal")
	}
	return a.Session.Delete(ctx, path, version)
}

func (a *announcer) Multi(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
	for _, op := range ops {
		switch name := op.Path[strings.LastIndexByte(op.Path, '/')+1:]; {
		case op.Kind == zk.KindCreate && name == root.MarkerName:
			a.say("root")
		case op.Kind == zk.KindDelete && name == root.MarkerName:
			a.say("end")
		case op.Kind == zk.KindCreate && name == "zkbench-clean" && len(ops) < 4:
			a.say("claim")
		}
	}
	return a.Session.Multi(ctx, ops...)
}

// missed stands for the exit code of a process that ended before the signal.
const missed = -2

// blow is what the killer does to a process.
type blow struct {
	name    string
	signals []syscall.Signal
	between time.Duration // between two signals
	exits   []int         // codes that the command may end with; -1 means by the signal itself
}

var blows = []blow{
	{"KILL", []syscall.Signal{syscall.SIGKILL}, 0, []int{-1, 0, 5}},
	{"INT", []syscall.Signal{syscall.SIGINT}, 0, []int{130, 0, 5}},
	{"INT twice", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 1100 * time.Millisecond, []int{130, 0, 5}},
	{"HUP", []syscall.Signal{syscall.SIGHUP}, 0, []int{130, 0, 5}},
	{"HUP twice at once", []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP}, 0, []int{130, 0, 5}},
	{"TERM", []syscall.Signal{syscall.SIGTERM}, 0, []int{130, 0, 5}},
	{"TERM twice at once", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 0, []int{130, 0, 5}},
	{"TERM twice", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 1100 * time.Millisecond, []int{130, 0, 5}},
	{"STOP and CONT", []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT}, 300 * time.Millisecond, []int{0, 1, 5}},
	{"STOP past the session timeout and CONT", []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT}, 9 * time.Second, []int{0, 1, 5}},
}

// victimPhases are the phases in which the killer strikes: what the process says on standard error, and lines of its profile. Those of 'clean' come last.
var victimPhases = []struct {
	name, said string
	lines      []string
	clean      bool
}{
	{name: "connect", said: "phase: session"},
	{name: "parents", said: "phase: look"},
	{name: "root", said: "phase: root"},
	{name: "sessions", said: ", connect"},
	{name: "warm-up", said: ", warm-up ", lines: []string{"warmup: 2s"}},
	{name: "steady", said: ", steady "},
	{name: "drain", said: ", drain ", lines: []string{"hold: 4s", "drain: 5s", "rate: 100/s"}},
	{name: "judge", said: ", judge"},
	{name: "removal", said: "phase: removal"},
	{name: "end", said: "phase: end"},
	{name: "clean, connecting", said: "phase: session", clean: true},
	{name: "clean, claim", said: "phase: claim", clean: true},
	{name: "clean, removal", said: "phase: removal", clean: true},
}

// TestTheKiller kills the real command in every phase, in a dozen rounds or as many as ZKBENCH_KILLER_ROUNDS says. Afterwards clean leaves
// nothing behind, and the onlooker finds that no foreign znode has changed.
func TestTheKiller(t *testing.T) {
	tier.Long(t, "a process for each phase and each signal; TestAnInterruptInEachPhase interrupts without processes")
	rounds := len(victimPhases)
	if n := killerRounds(); n > 0 {
		rounds = n
	}
	address := servers.Get(t, 1).Addresses()[0]
	s := session(t, address)
	var mu sync.Mutex
	counts := map[string]int{}
	t.Run("rounds", func(t *testing.T) {
		lanes := make(chan struct{}, 4)
		for i := range rounds {
			phase, b := victimPhases[i%len(victimPhases)], blows[i%len(blows)] // the two lengths have no common divisor, so every pair has its turn
			t.Run(fmt.Sprintf("%d: %s in %s", i, b.name, phase.name), func(t *testing.T) {
				t.Parallel()
				lanes <- struct{}{}
				defer func() { <-lanes }()
				at := fmt.Sprintf("/killer-%d/parent/run", i)
				args := []string{"run", small(t, append([]string{"duration: 2s"}, phase.lines...)...), "--servers", address, "--root", at, "--out", out(t)}
				if phase.clean {
					abandon(t, s, at)
					args = []string{"clean", "--servers", address, "--root", at, "--yes"}
				}
				code, output := kill(t, b, phase.said, args...)
				left := ""
				if _, there, err := s.Exists(t.Context(), at); err != nil {
					t.Error(err)
				} else if there {
					left = ", root left"
				}
				exits := slices.Concat(b.exits, map[bool][]int{true: {0}}[phase.clean])
				if !slices.Contains(append(exits, missed), code) {
					t.Errorf("exit code %d, want one of %v:\n%s", code, exits, output)
				}
				if left != "" && !phase.clean && b.name != "KILL" && !strings.Contains(output, "zkbench clean --servers") {
					t.Errorf("the root is left, and nobody says so:\n%s", output)
				}
				mu.Lock()
				defer mu.Unlock()
				if code == missed {
					counts["missed"]++
					return
				}
				counts[fmt.Sprintf("%s: exit %d%s", b.name, code, left)]++
			})
		}
	})
	if counts["missed"] > rounds/4 {
		t.Errorf("%d of %d processes ended before they were struck", counts["missed"], rounds)
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[line], line)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) { // a killed run counts as active until its sessions expire
		o := zkbench(t, "clean", "--servers", address, "--deep", "--yes")
		if !strings.Contains(o.stdout, "skipped, run still active") || time.Now().After(deadline) {
			o.want(exitOK)
			break
		}
	}
	zkbench(t, "clean", "--servers", address, "--deep", "--yes").want(exitOK)
	wantEmpty(t, address)
}

// killerRounds returns the requested number of rounds, or 0 for the default.
func killerRounds() int {
	n, _ := strconv.Atoi(os.Getenv("ZKBENCH_KILLER_ROUNDS"))
	return n
}

// abandon creates a root as a run leaves it that was killed long ago.
func abandon(t *testing.T, s zk.Session, at string) {
	t.Helper()
	r := root.New(at, "abandoned", "small", time.Millisecond, setup().Names())
	if err := r.Make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	plant(t, s, at+"/cell-1", "", at+"/cell-1/queue-0", "")
	for i := range 300 {
		plant(t, s, fmt.Sprintf("%s/cell-1/queue-0/qn-%010d", at, i), "item")
	}
	if err := s.Delete(t.Context(), at+"/"+root.AliveName, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
}

// kill runs the command, signals it some milliseconds after it has printed the text, and returns its exit code, -1 for a signal, and its output.
func kill(t *testing.T, b blow, text string, args ...string) (code int, said string) {
	t.Helper()
	cmd := childCommand(t, announcing, "", args...)
	seen := make(chan struct{})
	output := &console{on: text, do: func() { close(seen) }}
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-seen:
	case err := <-ended: // on a busy machine a second may pass between two lines of the progress, and the phase with it
		t.Logf("the process ended (%v) before it said %q:\n%s", err, text, output.String())
		return missed, output.String()
	}
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // before, in and after the request
	for i, sig := range b.signals {
		if i > 0 {
			time.Sleep(b.between)
		}
		if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	}
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
	case <-time.After(2 * time.Minute):
		cmd.Process.Kill()
		t.Fatalf("the process did not end after %s:\n%s", b.name, output.String())
	}
	return cmd.ProcessState.ExitCode(), output.String()
}
