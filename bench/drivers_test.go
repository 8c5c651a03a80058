package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk/zktest"
)

// nullDriver builds the null driver.
func nullDriver(t *testing.T) string { return built(t, "../drivers/null") }

// built builds the program of a package and returns its path.
func built(t *testing.T, pkg string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", file, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// script writes a driver as a shell script and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// external runs a driver, whose processes run in real time, on an ensemble in memory.
func external(t *testing.T, program string, lines ...string) (*results.Run, error) {
	t.Helper()
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "duration:") }) {
		lines = append(lines, "duration: 700ms")
	}
	r := newRig(t, zktest.Config{}, append([]string{"variants: ['driver:" + program + "']", "warmup: 100ms", "hold: 2ms"}, lines...)...)
	doc, err := Run(context.Background(), r.config)
	if doc != nil {
		consistent(t, r.config.Out.Path())
		r.clean()
	}
	return doc, err
}

func TestCellOfADriver(t *testing.T) {
	null := nullDriver(t)
	doc, err := external(t, null)
	if err != nil || doc.Exit.Code != 0 {
		t.Fatalf("exit %+v, %v", doc.Exit, err)
	}
	c := doc.Cells[0]
	for _, name := range []string{"mutual-exclusion", "liveness", "token-order"} {
		if k := checkOf(t, c, name); k.Verdict != "holds" {
			t.Errorf("%+v", k)
		}
	}
	if len(c.Checks) != 3 { // what cannot be observed is not reported to hold
		t.Errorf("checks: %+v", c.Checks)
	}
	if c.Fanout != nil || c.Costs != nil || c.Cost["create"] != 0 {
		t.Errorf("what went over a wire that nobody sees: %+v, %+v, %v", c.Fanout, c.Costs, c.Cost)
	}
	if _, phase := c.Latency["list.service"]; phase || c.Latency["acquire.service"].Count == 0 || c.Latency["hand-off.service"].Count == 0 {
		t.Errorf("latencies: %v", c.Latency)
	}
	d := c.Driver
	if d == nil || d.Name != "null" || d.Store != drivers.OwnMemory || d.Processes != 1 || d.Ended != 0 || runtime.GOOS == "linux" && (d.KiBPerSession == nil || *d.KiBPerSession < 100) ||
		runtime.GOOS == "linux" && d.CPUPerOp == nil && d.Seam.Count > 2000 || d.ClockErrorUS <= 0 || d.Seam.Count < 2*c.Operations {
		t.Errorf("driver: %+v", d)
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "driver null 1 in 1 process: the round trip to it takes") || !strings.Contains(notes, "not judged") {
		t.Errorf("notes: %s", notes)
	}
}

// Two null drivers know nothing of each other's locks.
func TestTwoProcessesThatDoNotExcludeAreConvicted(t *testing.T) {
	doc, err := external(t, nullDriver(t), "processes: 2")
	if err != nil || doc.Exit.Code != 4 || checkOf(t, doc.Cells[0], "mutual-exclusion").Verdict != "violated" {
		t.Errorf("exit %+v, %v", doc.Exit, err)
	}
}

// A driver that stops granting violates liveness if the run continues for two more session timeouts, and in no case does liveness hold.
func TestADriverThatStopsGrantingDoesNotHold(t *testing.T) {
	stops := script(t, `sed -u '/"op":"release"/{x;s/$/n/;/^n\{21,\}$/{x;s/"op":"release"/"op":"put"/;x};x}' | `+nullDriver(t))
	for _, c := range []struct {
		timeout, reason string
		code            int
	}{
		{"10s", "no evidence: liveness of driver:", 5},
		{"1s", "violated: liveness of driver:", 4},
	} {
		doc, err := external(t, stops, "drain: 2500ms", "session_timeout: "+c.timeout)
		if err != nil {
			t.Fatal(err)
		}
		wantExit(t, doc, c.code, c.reason)
		k := checkOf(t, doc.Cells[0], "liveness")
		if want := "sessions 0, 1, 2, 3 waited for it to the end: for "; c.code == 5 && !strings.Contains(k.Detail, want) {
			t.Errorf("%q lacks %q", k.Detail, want)
		}
	}
}

// suspending returns a driver of locks without tokens that says right after each grant that it cannot be relied on, and right before the next that it can again.
func suspending(t *testing.T, null string) string {
	t.Helper()
	events := func(name string) (all string) {
		for session := range 20 { // there are no other sessions
			all += fmt.Sprintf(`{"event":"%s","session":%d}\n`, name, 1+session)
		}
		return all
	}
	return script(t, null+` | sed -u 's/"tokens":true,//; /"token":/{s/,"token":[0-9]*//; s/.*/`+events("connected")+`&\n`+strings.TrimSuffix(events("suspended"), `\n`)+`/}'`)
}

// A driver that suspends each grant ends each hold before it can overlap with another: there is hardly any evidence that it excludes, although it does.
// On a busy machine some holds end before their suspension is read: then it runs again.
func TestADriverThatSuspendsEachGrantIsNotSaidToExclude(t *testing.T) {
	null := nullDriver(t)
	for workload, name := range map[string]string{"lock": "mutual-exclusion", "read-write": "reader-writer-exclusion", "semaphore": "permits"} {
		var c results.Cell
		for range 3 {
			doc, err := external(t, suspending(t, null), "workload: "+workload)
			if err != nil || doc.Exit.Code != 5 {
				t.Fatalf("%s: exit %+v, %v", workload, doc.Exit, err)
			}
			if c = doc.Cells[0]; 10*c.Driver.Suspended >= 9*c.Driver.Holds {
				break
			}
		}
		if k := checkOf(t, c, name); k.Verdict != "unknown" || !strings.Contains(k.Detail, "suspended") {
			t.Errorf("%+v", k)
		}
		if d := c.Driver; d.Holds == 0 || 10*d.Suspended < 9*d.Holds || !strings.Contains(strings.Join(c.Notes, "\n"), "the driver suspended") {
			t.Errorf("%s: %+v, notes %q", workload, d, c.Notes)
		}
	}
}

// other runs a driver with a workload other than 'lock', and asserts the exit code and the verdict of a check.
func other(t *testing.T, program, workload, check, verdict string, code int, lines ...string) {
	t.Helper()
	doc, err := external(t, program, append(lines, "workload: "+workload, "sessions: 6")...)
	if err != nil || doc.Exit.Code != code {
		t.Fatalf("exit %+v, %v", doc.Exit, err)
	}
	c := doc.Cells[0]
	if k := checkOf(t, c, check); k.Verdict != verdict {
		t.Errorf("%+v", k)
	}
	if code == 0 {
		for _, k := range c.Checks {
			if k.Verdict != "holds" {
				t.Errorf("%+v", k)
			}
		}
	}
	if c.Fanout != nil || c.Costs != nil {
		t.Errorf("what went over a wire that nobody sees: %+v, %+v", c.Fanout, c.Costs)
	}
}

// A driver with read/write locks, and one that treats a writer as a reader.
func TestReadWriteLocksOfADriver(t *testing.T) {
	null := nullDriver(t)
	other(t, null, "read-write", "reader-writer-exclusion", "holds", 0, "readers: 50")
	other(t, script(t, `sed -u 's/"mode":"write"/"mode":"read"/' | `+null), "read-write", "reader-writer-exclusion", "violated", 4, "readers: 50")
	if _, err := external(t, script(t, null+` | sed -u 's/"read-write"/"other"/'`), "workload: read-write"); err == nil || !strings.Contains(err.Error(), "does not support the workload read-write") {
		t.Error(err)
	}
}

// The semaphores of a driver, of one with a permit too many, and of one that forgets to return permits.
func TestSemaphoresOfADriver(t *testing.T) {
	null := nullDriver(t)
	other(t, null, "semaphore", "permits", "holds", 0, "permits: 2")
	other(t, null, "semaphore", "capacity", "holds", 0, "permits: 2")
	other(t, script(t, `sed -u 's/"permits":2/"permits":3/' | `+null), "semaphore", "permits", "violated", 4, "permits: 2")
}

// The queues of a driver: one whose items are gone when they are taken, one whose items are claimed, and some that break their promises.
func TestQueuesOfADriver(t *testing.T) {
	t.Parallel()
	null := nullDriver(t)
	nth := func(op string, n int, edit string) string { // edits the nth line of an operation
		return fmt.Sprintf(`sed -u '/"%s":/{x;s/$/n/;/^n\{%d\}$/{x;%s;x};x}'`, op, n, edit)
	}
	// Every tenth delivered item is the third one, which was finished long before.
	again := `while IFS= read -r line; do
	case $line in *'"item":'*)
		n=$((n+1)) item=${line#*'"item":"'}
		item=${item%%'"'*}
		[ $n = 3 ] && third=$item
		[ $((n%10)) = 0 ] && line=$(printf %s "$line" | sed "s|$item|$third|") ;;
	esac
	printf '%s\n' "$line"
done`
	for _, c := range []struct{ name, program, check, verdict string }{
		{"without tokens gives an item again that was finished", null + ` -claims | sed -u 's/"token":[0-9]*,//; s/,"token":[0-9]*//' | ` + again, "claims", "violated"},
		{"null", null, "delivery-order", "holds"},
		{"null with claims", null + " -claims", "claims", "holds"},
		// The tenth item is put elsewhere, and the fortieth take returns it: at the time of that take, items that were put later had been taken.
		{"shows an item later than it acknowledges it", `sed -u '/"op":"put"/{x;s/$/n/;/^n\{10\}$/{x;s/queue-0"/beside"/;x};x}' | sed -u '/"op":"take"/{x;s/$/n/;/^n\{40\}$/{x;s/queue-0"/beside"/;x};x}' | ` + null,
			"delivery-order", "violated"},
		{"loses an item", nth(`op":"put","session`, 10, `s/"path":"[^"]*"/"path":"lost"/`) + " | " + null, "conservation", "violated"},
		{"answers with an item that nobody put", null + " | " + nth("item", 9, `s/"item":"..../"item":"AAAA/`), "conservation", "violated"},
		{"finishes nothing", `sed -u 's/"op":"finish"\(.*\)"path":"[^"]*"/"op":"put"\1"path":"undone"/' | ` + null + " -claims", "conservation", "violated"},
		// Every other put goes to another queue, and eight takes of sixteen do: more than ever overlap.
		{"keeps no order", `sed -u '/"op":"put"/{x;s/$/n/;s/^nn$//;/^$/{x;s/queue-0"/beside"/;x};x}' | sed -u '/"op":"take"/{x;s/$/n/;s/^n\{16\}$//;/^n\{9,15\}$\|^$/{x;s/queue-0"/beside"/;x};x}' | ` + null,
			"delivery-order", "violated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			other(t, script(t, c.program), "queue", c.check, c.verdict, map[string]int{"holds": 0, "violated": 4}[c.verdict], "rate: 100", "preload: 20", "duration: 3s", "drain: 200ms", "saturation: allowed")
		})
	}
	if _, err := catalogue.Parse("test.yaml", []byte("workload: queue\nvariants: [fifo, 'driver:null']\nsessions: 6\nbound: [0, 3]")); err == nil || !strings.Contains(err.Error(), "unbounded") {
		t.Error(err)
	}
}

func TestADriverThatBreaksTheProtocolEndsTheRun(t *testing.T) {
	doc, err := external(t, script(t, nullDriver(t)+` | sed -u 's/"id":30,/"id":31,/'`))
	if err == nil || doc.Exit.Code != 1 || !strings.Contains(doc.Exit.Reason, "breaks the protocol") {
		t.Errorf("exit %+v, %v", doc.Exit, err)
	}
}

// The clock of a driver is compared with zkbench's during the whole run: a clock with a slightly different rate is followed, and one that jumps is found.
func TestTheClockOfADriverIsMeasuredAgain(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t, "perl-base:perl")
	null := nullDriver(t)
	slow := script(t, null+` | perl -pe 'BEGIN { $| = 1 } s/"(now|start|end)":(\d+)/sprintf("\"%s\":%.0f", $1, $2 * 0.99955)/ge'`)
	if doc, err := external(t, slow, "duration: 5s"); err != nil || doc.Exit.Code != 0 { // 2 ms behind at the end
		t.Errorf("exit %+v, %v", doc.Exit, err)
	}
	jumps := script(t, null+` | sed -u '/"now":/{x;s/$/n/;/^n\{9,\}$/{x;s/"now":/&1000/;x};x}'`) // the first 8 are before the load
	if doc, err := external(t, jumps, "duration: 3s"); err == nil || doc.Exit.Code != 1 || !strings.Contains(doc.Exit.Reason, "its clock went on by") {
		t.Errorf("exit %+v, %v", doc.Exit, err)
	}
}

// A driver that ends counts as a crashed client: its sessions are replaced.
func TestADriverThatEndsIsStartedAgain(t *testing.T) {
	doc, err := external(t, script(t, "sed -u 30q | "+nullDriver(t))) // its input ends after hellos, opens and some grants
	if err != nil {
		t.Fatal(err)
	}
	c := doc.Cells[0]
	if c.Driver.Ended == 0 || c.Errors["session expired"] == 0 {
		t.Errorf("%d processes ended, errors %v", c.Driver.Ended, c.Errors)
	}
	if k := checkOf(t, c, "token-order"); k.Verdict != "violated" { // each process counts from 1
		t.Errorf("%+v", k)
	}
}

// A killed driver counts as a crashed client: the run continues with another process, and says that the driver was killed, not that it ended.
func TestADriverIsKilled(t *testing.T) {
	doc, err := external(t, nullDriver(t), "faults: [{at: 150ms, kind: kill-driver, session: 0}, {at: 400ms, kind: kill-driver}]", "processes: 1", "sessions: 3", "session_timeout: 4s")
	if err != nil {
		t.Fatal(err)
	}
	c := doc.Cells[0]
	if d := c.Driver; d.Killed != 2 || d.Ended != 0 || c.Errors["session expired"] != 6 || len(c.Faults) != 2 || c.Faults[0].Error+c.Faults[1].Error != "" || c.Faults[0].SessionsExpired != 3 {
		t.Errorf("driver %+v, errors %v, faults %+v", d, c.Errors, c.Faults)
	}
	if c.Faults[1].NextGrant == nil {
		t.Errorf("nothing was granted after the second: %+v", c.Faults[1])
	}
	if k := checkOf(t, c, "mutual-exclusion"); k.Verdict != "holds" {
		t.Errorf("%+v", k)
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "2 processes of the driver killed on purpose") {
		t.Errorf("notes: %s", notes)
	}
	r := newRig(t, zktest.Config{}, "variants: [predecessor]", "faults: [{at: 100ms, kind: kill-driver}]")
	if _, err := Run(context.Background(), r.config); err == nil || !strings.Contains(err.Error(), "test.yaml:") || !strings.Contains(err.Error(), "predecessor is one of zkbench's own recipes") {
		t.Error(err)
	}
}

// An interrupt while a driver starts is one of the run, which leaves a document like any other.
func TestAnInterruptWhileADriverStarts(t *testing.T) {
	t.Parallel()
	started := filepath.Join(t.TempDir(), "started")
	r := newRig(t, zktest.Config{}, "variants: ['driver:"+script(t, "touch "+started+"; exec sleep 60")+"']")
	stop := make(chan struct{})
	r.config.Stop = stop
	go func() {
		defer close(stop)
		for range 3000 {
			if _, err := os.Stat(started); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	doc, err := Run(context.Background(), r.config)
	if !Interrupted(err) || doc == nil || doc.Exit.Code != 130 || !doc.Partial || len(doc.Cells) != 0 {
		t.Fatalf("%+v, %v", doc, err)
	}
	consistent(t, r.config.Out.Path())
	r.clean()
}

func TestADriverThatDoesNotStartIsRefused(t *testing.T) {
	if doc, err := external(t, script(t, "echo no license >&2")); err == nil || doc != nil || !strings.Contains(err.Error(), "no license") || !strings.Contains(err.Error(), "driver check") {
		t.Errorf("%v, %v", doc, err)
	}
	if _, err := external(t, "./gone"); err == nil || !strings.Contains(err.Error(), "test.yaml:") || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
	if _, err := external(t, nullDriver(t), "faults: [{at: 100ms, kind: expire, session: 1}]"); err == nil || !strings.Contains(err.Error(), "zkbench's own") {
		t.Error(err)
	}
}

// The servers of a driver's store are started for the run, and the cell's server CPU time is theirs. Given servers are only used.
func TestADriverOfAnotherStore(t *testing.T) {
	ensembletest.Need(t, "redis-server:redis-server")
	program := script(t, nullDriver(t)+` | sed -u 's/"store":"memory"/"store":"redis","servers":2/'`)
	doc, err := external(t, program)
	if err != nil || doc.Exit.Code != 0 {
		t.Fatalf("exit %+v, %v", doc.Exit, err)
	}
	d := doc.Cells[0].Driver
	if !strings.HasPrefix(d.Servers, "its locks are in redis 7") || !strings.Contains(d.Servers, "2 servers started for the run") && runtime.GOOS == "linux" || d.ServerCPUPerOp == nil {
		t.Errorf("%+v", d)
	}
	if notes := strings.Join(doc.Cells[0].Notes, "\n"); !strings.Contains(notes, d.Servers) {
		t.Errorf("notes: %s", notes)
	}
	for _, c := range []struct{ given, says string }{{"a:1,b:2", ""}, {"a:1", "needs 2 servers of redis, but --redis names 1"}} {
		r := newRig(t, zktest.Config{}, "variants: ['driver:"+program+"']", "warmup: 100ms", "duration: 300ms")
		r.config.Stores = map[string][]string{"redis": strings.Split(c.given, ",")}
		doc, err := Run(context.Background(), r.config)
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("--redis %s: %v, want %s", c.given, err, c.says)
		}
		if c.says == "" && (err != nil || doc.Cells[0].Driver.Servers != "its locks are in 2 servers of redis that were given" || doc.Cells[0].Driver.ServerCPUPerOp != nil) {
			t.Errorf("--redis %s: %v, %+v", c.given, err, doc.Cells[0].Driver)
		}
	}
}
