package command

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
)

// Standard output has only the result, and standard error the progress; --quiet removes the progress.
func TestStreams(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	for _, quiet := range []bool{false, true} {
		t.Run(fmt.Sprintf("quiet %v", quiet), func(t *testing.T) {
			args := []string{"run", small(t, "variants: [naive, predecessor]", "duration: 1500ms"), "--servers", address}
			if quiet {
				args = append(args, "--quiet")
			}
			o, dir := evident(t, args...)
			o.want(exitOK, "predecessor", "naive", "Result: "+dir)
			for _, phase := range []string{", connect", ", judge", "cell 1 of 2", "cell 2 of 2", "grants/s, "} {
				if strings.Contains(o.stdout, phase) {
					t.Errorf("standard output has progress: %q\n%s", phase, o.stdout)
				}
				if strings.Contains(o.stderr, phase) == quiet {
					t.Errorf("standard error has %q: %v, with quiet %v:\n%s", phase, !quiet, quiet, o.stderr)
				}
			}
			if quiet && o.stderr != "" {
				t.Errorf("standard error has %q, want silence", o.stderr)
			}
			if strings.Contains(o.stderr, "Result:") {
				t.Error("the result is on standard error")
			}
			wantEmpty(t, address)
			wantFiles(t, dir)
		})
	}
}

func wantFiles(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{results.RunFile, results.IntervalsFile, results.TimelineFile, results.ProfileFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, want a file that is not empty", name, err)
		}
	}
	zkbench(t, "validate", filepath.Join(dir, results.ProfileFile)).want(exitOK, "valid")
}

// A broken lock on three real servers: exit code 4, and the two holders at once in the document and in the text.
func TestABrokenLockIsCaughtOnRealServers(t *testing.T) {
	t.Parallel()
	e, dir := servers.Get(t, 3), out(t)
	o := zkbench(t, "run", small(t, "variants: [broken-two-permits, predecessor]", "sessions: 8", "hold: 5ms"), "--servers", strings.Join(e.Addresses(), ","), "--out", dir)
	o.want(exitViolated, "VIOLATED mutual-exclusion in broken-two-permits", "zkbench: violated: mutual-exclusion of broken-two-permits with 8 sessions")
	r := result(t, dir)
	if r.Exit.Code != exitViolated || r.Partial {
		t.Errorf("exit %+v, partial %v", r.Exit, r.Partial)
	}
	for _, c := range r.Cells {
		for _, k := range c.Checks {
			bad := c.Variant == "broken-two-permits" && k.Name == "mutual-exclusion"
			if bad != (k.Verdict == "violated") {
				t.Errorf("%s of %s: %s (%s)", k.Name, c.Variant, k.Verdict, k.Detail)
			}
			if bad {
				wantOverlap(t, o, k)
			}
		}
	}
	wantEmpty(t, e.Addresses()[0])
}

// wantOverlap reads the two holds from the counterexample and asserts that the text reports them. They overlap by the clock, or, where the servers were slow to answer,
// by the transactions of the servers.
func wantOverlap(t *testing.T, o ending, k results.Check) {
	t.Helper()
	type span struct{ from, to float64 }
	times, zxids := map[uint32]span{}, map[uint32]span{}
	for _, s := range k.Witness {
		_, held := times[s.Session]
		switch {
		case s.Op == "acquire" && s.Outcome == "ok":
			times[s.Session] = span{s.End, math.Inf(1)}
			if s.Zxid > 0 {
				zxids[s.Session] = span{float64(s.Zxid), math.Inf(1)}
			}
		case s.Op == "release" && held:
			times[s.Session] = span{times[s.Session].from, s.Start}
			if z, known := zxids[s.Session]; known {
				zxids[s.Session] = span{z.from, float64(s.Zxid)}
			}
		}
		if !strings.Contains(o.stdout, "session "+strconv.Itoa(int(s.Session))) {
			t.Errorf("the text does not name session %d of the witness", s.Session)
		}
	}
	overlap := func(holds map[uint32]span) bool {
		two := slices.Collect(maps.Values(holds))
		return len(two) == 2 && max(two[0].from, two[1].from) < min(two[0].to, two[1].to)
	}
	if !overlap(times) && !overlap(zxids) {
		t.Errorf("the witness %+v does not show two holds that overlap", k.Witness)
	}
}

// A single grant is no evidence for an order.
func TestNotEnoughEvidence(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	zkbench(t, "run", small(t, "sessions: 2", "hold: 1s", "duration: 100ms", "warmup: 10ms", "drain: 10ms"), "--servers", address, "--out", dir).want(exitUnknown,
		"no evidence: token-order of predecessor with 2 sessions")
	if r := result(t, dir); r.Exit.Code != exitUnknown || r.Partial {
		t.Errorf("exit %+v, partial %v", r.Exit, r.Partial)
	}
}

// A server of the run's own ensemble is killed with kill -9: the run ends early and names the server and its log, which is kept.
func TestAServerIsKilledDuringTheRun(t *testing.T) {
	ensembletest.NeedServers(t)
	dir, before := out(t), javas(t)
	m := newTerminal(t)
	m.when(", steady ", func() {
		for _, pid := range javas(t) {
			if !slices.Contains(before, pid) {
				syscall.Kill(pid, syscall.SIGKILL)
				return
			}
		}
	})
	o := m.run("run", small(t, "duration: 60s", "rate: 100/s", "ensemble: local:3"), "--out", dir)
	o.want(exitFailed, "server ended by itself: server ", "/server.log", "PARTIAL RESULT", "Result: "+dir)
	r := result(t, dir)
	if !r.Partial || r.Exit.Code != exitFailed || !strings.Contains(r.Exit.Reason, "server.log") || len(r.Cells) != 1 || !r.Cells[0].Partial {
		t.Errorf("partial %v, exit %+v, want a partial result that names the log", r.Partial, r.Exit)
	}
	if after := javas(t); len(after) != len(before) {
		t.Errorf("servers %v run, before %v", after, before)
	}
	_, path, _ := strings.Cut(r.Exit.Reason, "the log ")
	path = strings.TrimRight(strings.Fields(path)[0], ";:")
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the log that the message names: %v", err)
	}
	os.RemoveAll(filepath.Dir(filepath.Dir(path)))
}

// In an open loop only the seed determines the arrivals: two runs with the same seed offer the same arrivals, another seed offers others.
func TestTheSameSeedOffersTheSame(t *testing.T) {
	tier.Long(t, "several whole runs; bench compares loads of one seed in virtual time")
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	offered := func(seed string) int64 {
		dir := out(t)
		zkbench(t, "run", small(t, "rate: 300/s", "hold: 0s", "duration: 700ms", "saturation: allowed", "seed: "+seed), "--servers", address, "--out", dir).wantEnd()
		return result(t, dir).Cells[0].Due
	}
	first, again, other := offered("7"), offered("7"), offered("8")
	if first != again || first == 0 {
		t.Errorf("%d and %d acquisitions were offered with one seed, want the same", first, again)
	}
	if other == first {
		t.Errorf("another seed offers %d acquisitions too", other)
	}
}

// The reference implementation reads the log of a real run and finds the percentiles of run.json, for every tag.
func TestTheReferenceImplementationReadsTheLog(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t, hdrHistogram, "default-jre-headless:java")
	keys := []string{"acquire.response", "acquire.service", "hand-off.service", "release.service"}
	var dir string
	var c results.Cell
	lengths := []string{"2500ms", "20s", "120s"} // a slow machine needs the longer ones for a p99
	for _, length := range lengths {
		dir = out(t)
		o := zkbench(t, "run", small(t, "hold: 0s", "sessions: 64", "locks: 32", "duration: "+length), "--servers", servers.Get(t, 1).Addresses()[0], "--out", dir)
		if o.code == exitUnknown && length != lengths[len(lengths)-1] {
			continue
		}
		o.want(exitOK)
		c = result(t, dir).Cells[0]
		if !slices.ContainsFunc(keys, func(key string) bool { return c.Latency[key].P99 == nil }) {
			break
		}
	}
	for _, key := range keys {
		want := c.Latency[key]
		if want.P99 == nil {
			t.Fatalf("%s: %+v, want enough samples for a p99", key, want)
		}
		got := processed(t, filepath.Join(dir, results.IntervalsFile), "predecessor-64-r1/"+key)
		for column, w := range map[string]float64{"Total_Count": float64(want.Count), "Total_50%": want.P50, "Total_90%": want.P90,
			"Total_99%": *want.P99, "Total_Max": want.Max} {
			if g, ok := got[column]; !ok || math.Abs(g-w) > w*0.001+0.0006 { // three digits, printed with three decimals
				t.Errorf("%s: the reference implementation says %s = %v ms, run.json %v", key, column, g, w)
			}
		}
	}
}

const hdrHistogram = "libhdrhistogram-java:/usr/share/java/hdrhistogram.jar"

// processed returns the last line of the reference implementation's table for one tag: the columns Total_... cover the whole run.
func processed(t *testing.T, log, tag string) map[string]float64 {
	t.Helper()
	_, jar, _ := strings.Cut(hdrHistogram, ":")
	table := filepath.Join(t.TempDir(), "table")
	cmd := exec.CommandContext(t.Context(), "java", "-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-csv", "-i", log, "-o", table, "-tag", tag)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (install it: apt-get install libhdrhistogram-java)\n%s", cmd, err, text)
	}
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	var columns, last []string
	for line := range strings.Lines(string(text)) {
		switch fields := strings.Split(strings.TrimSpace(line), ","); {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, `"`):
			columns = fields
		default:
			last = fields
		}
	}
	row := map[string]float64{}
	for i := range min(len(columns), len(last)) {
		if v, err := strconv.ParseFloat(last[i], 64); err == nil {
			row[strings.Trim(columns[i], `"`)] = v
		}
	}
	return row
}

func TestRunsOfOneMillisecondHaveDifferentNames(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 39, 58, 279e6, time.UTC)
	names := map[string]bool{}
	for range 50 {
		name := runName("locks", at)
		if !regexp.MustCompile(`^locks-20261121T043958\.279-[a-z2-7]{6}$`).MatchString(name) {
			t.Fatalf("runName = %q", name)
		}
		names[name] = true
	}
	if len(names) != 50 {
		t.Errorf("50 runs have %d names", len(names))
	}
}
