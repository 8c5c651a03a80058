package command

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/zk"
)

// The first signal, in each phase of a run on the user's servers: the run ends in good order, keeps what it has, says that it is partial,
// and leaves no znode.
func TestAnInterruptInEachPhase(t *testing.T) { // alone: it counts goroutines
	address := servers.Get(t, 1).Addresses()[0]
	for _, test := range []struct {
		phase   string
		lines   []string // of the profile
		at      string   // on standard error
		cells   int      // in the result
		partial bool     // the last of these cells
	}{
		{"warm-up", []string{"warmup: 60s"}, ", warm-up ", 1, true},
		{"steady", []string{"duration: 60s"}, ", steady ", 1, true},
		{"steady, while sessions hold and wait for long", []string{"hold: 30s", "duration: 60s", "session_timeout: 20s", "rate: 100/s"}, ", steady ", 1, true},
		{"drain", []string{"hold: 30s", "drain: 60s", "session_timeout: 20s", "rate: 100/s"}, ", drain ", 1, true},
		{"judge", []string{"repetitions: 2"}, ", judge", 1, false},
	} {
		t.Run(test.phase, func(t *testing.T) {
			dir, goroutines := out(t), runtime.NumGoroutine()
			o := newTerminal(t).interruptAt(test.at, 1).run("run", small(t, test.lines...), "--servers", address, "--out", dir)
			o.want(exitInterrupted, "interrupted: finishing in-flight work", "zkbench: interrupted", "PARTIAL RESULT: interrupted", "Result: "+dir)
			r := result(t, dir)
			if !r.Partial || r.Exit.Code != exitInterrupted || !strings.HasPrefix(r.Exit.Reason, "interrupted") {
				t.Errorf("partial %v, exit %+v; want a partial result that says why", r.Partial, r.Exit)
			}
			if len(r.Cells) != test.cells || r.Cells[len(r.Cells)-1].Partial != test.partial {
				t.Errorf("cells %+v, want %d, the last partial: %v", r.Cells, test.cells, test.partial)
			}
			wantGoroutines(t, goroutines)
			wantEmpty(t, address)
		})
	}
}

// wantGoroutines waits until there are no more goroutines than there were.
func wantGoroutines(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			text := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, text[:runtime.Stack(text, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// While sessions are being opened nothing has been measured: the partial result has no cell.
func TestAnInterruptWhileConnecting(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	m := newTerminal(t)
	open := m.setup.Engines[0].Open
	var once sync.Once
	m.setup.Engines[0].Open = func(ctx context.Context, d target.Dialing) (zk.Session, error) {
		if d.Seed > 1 { // not the session that administers the root, which has the seed of the profile: for the sessions of the load the servers seem to be slow
			once.Do(func() { m.interrupt(1) })
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return open(ctx, d)
	}
	o := m.run("run", small(t), "--servers", address, "--out", dir)
	o.want(exitInterrupted, "interrupted")
	if r := result(t, dir); !r.Partial || len(r.Cells) != 0 || r.Exit.Code != exitInterrupted {
		t.Errorf("result %+v, want a partial one without a cell", r)
	}
	wantEmpty(t, address)
}

// While the ensemble starts there is nothing to keep: no result, and no server.
func TestAnInterruptWhileTheEnsembleStarts(t *testing.T) {
	ensembletest.NeedServers(t)
	dir, before := out(t), javas(t)
	newTerminal(t).interruptAt("starting 1 ZooKeeper server", 1).run("run", small(t), "--out", dir).want(exitInterrupted, "interrupted")
	wantMissing(t, dir)
	if after := javas(t); len(after) != len(before) {
		t.Errorf("servers %v run, before %v", after, before)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	newTerminal(t).interruptAt("starting 1 ZooKeeper server", 1).run("up", "-n", "1").want(exitInterrupted, "interrupted")
	zkbench(t, "down").want(exitFailed, "no ensemble is up")
	if after := javas(t); len(after) != len(before) {
		t.Errorf("servers %v run, before %v", after, before)
	}
}

// A complete measurement is not partial, even if an interrupt comes while the root is being removed. The exit code reports the interrupt, and
// the root is removed.
func TestAnInterruptWhileCleaningUp(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	newTerminal(t).interruptAt(", judge", 1).run("run", small(t), "--servers", address, "--out", dir).want(exitInterrupted, "interrupted: finishing in-flight work", "zkbench: interrupted")
	if r := result(t, dir); r.Partial || len(r.Cells) != 1 || r.Exit.Code != exitInterrupted {
		t.Errorf("result %+v, want a whole one that tells of the interrupt", r)
	}
	wantEmpty(t, address)
}

// Every signal that asks the process to end, even twice at once, ends the run in good order: there is a partial result, and nothing is left.
func TestEverySignalEndsARunInGoodOrder(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // processes started under nohup ignore it, and so would the commands here without this
	t.Cleanup(func() { signal.Stop(hangUps) })
	for name, signals := range map[string][]os.Signal{
		"INT": {syscall.SIGINT}, "HUP": {syscall.SIGHUP}, "QUIT": {syscall.SIGQUIT}, "TERM twice, as timeout does": {syscall.SIGTERM, syscall.SIGTERM},
		"INT and TERM": {syscall.SIGINT, syscall.SIGTERM}, "no reader of its output": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, at := out(t), "/signals-"+strings.ToLower(strings.Fields(name)[0])+fmt.Sprint(len(signals))
			cmd := childCommand(t, "process", "", "run", small(t, "hold: 30s", "duration: 60s", "session_timeout: 20s"), "--servers", address, "--root", at, "--out", dir)
			if signals == nil {
				closeAt(t, cmd, ", steady ")
			} else if said := interruptProcess(t, cmd, ", steady ", signals...); strings.Contains(said, "interrupted again") {
				t.Errorf("a second signal at once counts:\n%s", said)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
			if r := result(t, dir); !r.Partial || r.Exit.Code != exitInterrupted || r.LeftBehind != "" {
				t.Errorf("result %+v, want a partial one, and nothing left behind", r)
			}
			if _, there, err := session(t, address).Exists(t.Context(), at); there || err != nil {
				t.Errorf("the root is left: %v, %v", there, err)
			}
		})
	}
}

// closeAt runs the process with both outputs in one pipe, whose reader closes it when it has read the text.
func closeAt(t *testing.T, cmd *exec.Cmd, text string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for lines := bufio.NewScanner(r); lines.Scan() && !strings.Contains(lines.Text(), text); {
	}
	r.Close()
	cmd.Wait()
}

// A second signal within a second of the first counts as the same one; a later one bounds the clean-up.
func TestASecondSignalCountsAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan os.Signal, 8)
		said := &console{}
		s := (&app{stderr: said, signals: c}).watchSignals(t.Context())
		defer s.end()
		c <- syscall.SIGTERM
		synctest.Wait()
		if !s.stopped() || s.starting.Err() == nil || s.working.Err() != nil {
			t.Error("the first signal does not end the run in good order")
		}
		time.Sleep(sameSignal - time.Millisecond)
		c <- syscall.SIGTERM
		synctest.Wait()
		if s.working.Err() != nil {
			t.Error("the same signal counts twice")
		}
		time.Sleep(2 * time.Millisecond)
		c <- syscall.SIGTERM
		synctest.Wait()
		if s.working.Err() == nil || !strings.Contains(said.String(), "interrupted again") {
			t.Errorf("the second signal does not count: %s", said.String())
		}
	})
}

// A hang-up that nohup ignores stays ignored.
func TestAHangUpThatIsIgnoredStaysIgnored(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	dir := out(t)
	cmd := childCommand(t, "process", "trap '' HUP", "run", small(t, "duration: 1500ms"), "--servers", address, "--root", "/nohup", "--out", dir)
	interruptProcess(t, cmd, ", steady ", syscall.SIGHUP)
	if r := result(t, dir); cmd.ProcessState.ExitCode() != r.Exit.Code || r.Exit.Code != exitOK && r.Exit.Code != exitUnknown || r.Partial {
		t.Errorf("exit code %d, result %+v; want a whole run", cmd.ProcessState.ExitCode(), r)
	}
}

// interruptProcess sends the signals when the process's standard error contains text, waits for its end and returns its output.
func interruptProcess(t *testing.T, cmd *exec.Cmd, text string, signals ...os.Signal) string {
	t.Helper()
	seen := make(chan struct{})
	said := &console{on: text, do: func() { close(seen) }}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-seen:
	case <-ended:
		t.Fatalf("the process ended before it said %q:\n%s", text, said.String())
	}
	for _, s := range signals {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	<-ended
	return said.String()
}
