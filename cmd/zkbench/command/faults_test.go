package command

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// The leader of the run's own servers is killed and comes back, a session expires, replies are lost: the lock keeps its promise, and the
// result reports what each fault did.
func TestFaultsOnRealServers(t *testing.T) {
	tier.Long(t, "waits for faults of servers; TestAServerIsKilledDuringTheRun has one of them")
	t.Parallel()
	ensembletest.NeedServers(t)
	var dir string
	var o ending
	for _, stretch := range []int{1, 6} { // a busy machine needs longer to have undisturbed times between the faults
		dir = out(t)
		at := func(seconds int) string { return fmt.Sprintf("at: %ds, kind: ", seconds*stretch) }
		o = zkbench(t, "run", small(t, "sessions: 12", "hold: 2ms", "warmup: 500ms", fmt.Sprintf("duration: %ds", 9*stretch), "drain: 10s", "ensemble: local:3",
			"faults: [{"+at(1)+"kill, server: leader, for: 2s}, {"+at(5)+"expire, session: 3}, {"+at(6)+"cut-reply, op: create, times: 2}, {"+
				at(7)+"silence, session: 1, for: 500ms}, {"+at(8)+"reset}]"), "--out", dir)
		if o.code == exitViolated || o.code == exitOK && inTime(result(t, dir)) {
			break
		}
	}
	o.want(exitOK, "kill, leader (server", "expire, session 3", "cut-reply", "Faults: what was broken on purpose")
	r := result(t, dir)
	if len(r.Cells) != 1 || len(r.Cells[0].Faults) != 5 {
		t.Fatalf("faults %+v, want five", r.Cells)
	}
	for _, c := range r.Cells[0].Checks {
		if c.Verdict != "holds" {
			t.Errorf("%s is %s: %s", c.Name, c.Verdict, c.Detail)
		}
	}
	of := map[string]results.Fault{}
	defer func() {
		if t.Failed() {
			all, _ := json.MarshalIndent(r.Cells[0].Faults, "", "  ")
			t.Logf("the faults: %s", all)
		}
	}()
	for _, f := range r.Cells[0].Faults {
		of[f.Kind] = f
		if f.Error != "" || f.HealedS == nil || *f.HealedS < f.AtS || f.Orphans != 0 || f.LongestPause == nil {
			t.Errorf("%+v; want that it was carried out and healed, and left no orphans", f)
		}
	}
	const election = 200. // milliseconds; an election waits at least that long for better votes
	if f := of["kill"]; *f.HealedS < f.AtS+2 || f.SessionsMoved == nil || *f.SessionsMoved == 0 || f.PauseBefore == nil || *f.LongestPause < election {
		t.Errorf("the kill: %+v; want that its sessions moved, and a pause as long as an election", f)
	}
	if f := of["expire"]; f.SessionsExpired != 1 {
		t.Errorf("the expiry: %+v; want one session that expired", f)
	}
	if f := of["cut-reply"]; f.Strikes != 2 {
		t.Errorf("the cut replies: %+v; want that it struck twice", f)
	}
}

// inTime reports whether each cut reply struck twice, and each kill moved sessions before the next fault, which a busy machine may not leave the time for.
func inTime(r *results.Run) bool {
	for _, c := range r.Cells {
		for _, f := range c.Faults {
			if f.Kind == "cut-reply" && f.Strikes < 2 || f.Kind == "kill" && (f.SessionsMoved == nil || *f.SessionsMoved == 0) {
				return false
			}
		}
	}
	return true
}

// The servers do not hear a holder, which still hears them: its own fault must not make zkbench condemn a sound lock. All sessions but one
// have the fault, so the holder nearly always has it.
func TestAHolderThatTheServersDoNotHearLosesItsLockInTime(t *testing.T) {
	tier.Long(t, "waits for session timeouts; the leases of recipes and engines have tests in virtual time")
	t.Parallel()
	ensembletest.NeedServers(t)
	var planned []string
	for session := range 5 {
		planned = append(planned, fmt.Sprintf("{at: 500ms, kind: silence, direction: to-server, session: %d, for: 8s}", session))
	}
	dir := out(t)
	zkbench(t, "run", small(t, "variants: persistent", "sessions: 6", "session_timeout: 4s", "deadline: 700ms", "hold: 15s", "warmup: 500ms", "duration: 9s",
		"drain: 10s", "ensemble: local:1", "faults: ["+strings.Join(planned, ", ")+"]"), "--out", dir)
	for _, c := range result(t, dir).Cells[0].Checks {
		if c.Verdict == "violated" {
			t.Errorf("%s is violated: %s", c.Name, c.Detail)
		}
	}
}

// In containers the leader is killed and a follower is cut off from all others, and the lock keeps its promise.
func TestFaultsInContainers(t *testing.T) {
	tier.Long(t, "containers; TestAServerIsKilledDuringTheRun has the same fault of a process")
	t.Parallel()
	ensembletest.NeedDocker(t)
	var dir string
	var o ending
	for _, stretch := range []int{1, 4} { // a busy machine needs longer to have undisturbed times between the faults
		dir = out(t)
		o = zkbench(t, "run", "failover", "--set", "sessions=[12]", "--set", "warmup=500ms", "--set", fmt.Sprintf("duration=%ds", 34*stretch), "--out", dir,
			"--set", fmt.Sprintf("faults=[{at: %ds, kind: kill, server: leader, for: 3s}, {at: %ds, kind: disconnect, server: follower, for: 8s}]", 2*stretch, 14*stretch))
		if o.code != exitUnknown {
			break
		}
	}
	o.want(exitOK, "3 servers (compose, fsync on)", "kill, leader (server", "disconnect, follower (server")
	r := result(t, dir)
	if len(r.Cells) != 1 {
		t.Fatalf("%d cells, want one", len(r.Cells))
	}
	// On a machine that is busy with other things a leader may also be lost without a fault, and is reported as such.
	planned := slices.DeleteFunc(r.Cells[0].Faults, func(f results.Fault) bool { return f.Unplanned })
	if len(planned) != 2 {
		t.Fatalf("faults %+v, want two that were planned", r.Cells[0].Faults)
	}
	for _, c := range r.Cells[0].Checks {
		if c.Verdict != "holds" {
			t.Errorf("%s is %s: %s", c.Name, c.Verdict, c.Detail)
		}
	}
	for _, f := range planned {
		if f.Error != "" || f.HealedS == nil || f.SessionsMoved == nil || *f.SessionsMoved == 0 || f.SessionsExpired != 0 || f.Orphans != 0 {
			t.Errorf("%+v; want that it was carried out and healed, moved sessions, ended none, and left no orphans", f)
		}
	}
	own := fmt.Sprintf("name=zkbench-run-[0-9a-z]+-%d-", os.Getpid()) // other packages' tests have containers too
	if out, err := exec.Command("docker", "ps", "-aq", "--filter", own).Output(); err != nil || len(out) > 0 {
		t.Errorf("containers are left: %s (%v)", out, err)
	}
}

func TestUpAndDownInContainers(t *testing.T) {
	tier.Long(t, "containers; TestUpAndDown does the same with processes")
	zkbench(t, "up", "--driver", "vagrant").want(exitUsage, "expected local or compose")
	zkbench(t, "up", "--driver", "compose", "-n", "7").want(exitUsage, "an ensemble in containers has 1, 3 or 5")
	zkbench(t, "up", "--driver", "compose", "--zookeeper", "/x").want(exitUsage, "ZK_IMAGE")
	zkbench(t, "run", "quickstart", "--servers", "").want(exitUsage, "--servers is empty")
	ensembletest.NeedDocker(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	o := zkbench(t, "up", "--driver", "compose", "-n", "1").want(exitOK, "starting 1 ZooKeeper server in containers")
	defer func() { zkbench(t, "down").want(exitOK, "the ensemble is down") }()
	zkbench(t, "up").want(exitFailed, "an ensemble is already up at "+strings.TrimSpace(o.stdout))
	zkbench(t, "up", "--print-servers").want(exitOK, o.stdout)
	loaded, _ := evident(t, "run", small(t), "--servers", strings.TrimSpace(o.stdout))
	loaded.want(exitOK, "holds")
}

func TestFaultsThatTheEnsembleCannotDo(t *testing.T) {
	t.Parallel()
	zkbench(t, "run", "failover", "--ensemble", "local:3").want(exitUsage, "builtin:failover.yaml:",
		"disconnect cannot be injected on local:3", "--ensemble compose:3", "pause", "possible: kill, stop, ")
	zkbench(t, "run", small(t, "faults: [{at: 100ms, kind: stop, server: 1}]"), "--servers", "127.0.0.1:1").want(exitUsage,
		"small.yaml:", "stop cannot be injected on 127.0.0.1:1: zkbench injects no faults into servers that somebody else runs")
}

// The table of docs/faults.md matches the catalogue, and says for each kind where it can be injected.
func TestTheTableOfFaultsIsRight(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.TrimSpace(line), "|"); len(cells) == 9 && !strings.HasPrefix(cells[1], "-") && cells[1] != " kind " {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells[1:8])
		}
	}
	kinds := profiles.FaultKinds()
	if len(rows) != len(kinds) {
		t.Fatalf("%d rows for %d kinds", len(rows), len(kinds))
	}
	can := func(kind string, driver ensemble.Ensemble) string {
		p := profiles.Profile{Faults: []profiles.PlannedFault{{Kind: kind, Session: profiles.AnySession}}}
		return map[bool]string{true: "yes", false: "no"}[bench.CheckFaults(p, faults.Environment{Servers: 3, Driver: driver}) == nil]
	}
	for i, k := range kinds {
		want := []string{k.Name, strings.Join(k.Needs, ", "), strings.Join(k.May, ", "), rows[i][3], can(k.Name, (*local.Local)(nil)), rows[i][5],
			can(k.Name, (*ensemble.External)(nil))}
		if !slices.Equal(rows[i], want) {
			t.Errorf("row %q, want %q", rows[i], want)
		}
	}
}

// A fault does not excuse the violation that it triggers: an expired waiter lets the one behind it in, if that one does not check again.
func TestAFaultBringsADefectOut(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	// The session that ends must have a waiter before it and one behind it, which six of eight have, while somebody is inside. Seven expiries miss
	// that once in 16,384 runs, if a lock is held for most of the time: also where the server needs 60 ms to pass it on, so it is held for 150 ms.
	var expires []string
	for session := 1; session <= 7; session++ {
		expires = append(expires, fmt.Sprintf("{at: %dms, kind: expire, session: %d}", 200*session, session))
	}
	zkbench(t, "run", small(t, "variants: broken-no-recheck", "sessions: 8", "hold: 150ms", "duration: 2s",
		"faults: ["+strings.Join(expires, ", ")+"]"),
		"--servers", address, "--out", dir).want(exitViolated, "VIOLATED mutual-exclusion in broken-no-recheck", "expire, session 2")
	wantEmpty(t, address)
}
