package results

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

func TestDirKeepsARun(t *testing.T) {
	dir, err := Create(filepath.Join(t.TempDir(), "a", "b"), []byte("name: quickstart\n"))
	if err != nil {
		t.Fatal(err)
	}
	p99 := 12.5
	run := &Run{Schema: Schema, Profile: "quickstart", Seed: 7, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Partial: true,
		Cells: []Cell{{Workload: "lock", Variant: "naive", Loop: "closed", Latency: map[string]Latency{"acquire.response": {Count: 400, P99: &p99}}, Errors: map[string]int64{}}},
		Exit:  Exit{Code: 1, Reason: "the run did not finish"}}
	if err := dir.Write(run); err != nil { // a partial result, in the middle of the run
		t.Fatal(err)
	}
	if got, err := Read(dir.Path()); err != nil || !got.Partial {
		t.Fatalf("Read of the partial result = %+v, %v", got, err)
	}
	second := Second{Cell: "naive-10-r1", At: run.Started, Phase: "steady", Client: Figures{"per_s": nil}, Servers: map[string]Figures{"h:1": {}, "h:2": nil}}
	second.Servers["h:1"].Set("znodes", 9)
	for range 2 {
		if err := dir.Timeline(second); err != nil {
			t.Fatal(err)
		}
	}
	run.Partial, run.Exit = false, Exit{}
	if err := dir.Write(run); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir.Path(), filepath.Join(dir.Path(), RunFile)} {
		if got, err := Read(path); err != nil || !reflect.DeepEqual(got, run) {
			t.Errorf("Read(%s) = %+v, %v, want %+v", path, got, err, run)
		}
	}
	f, err := os.Open(filepath.Join(dir.Path(), TimelineFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := ReadTimeline(f); err != nil || !reflect.DeepEqual(got, []Second{second, second}) {
		t.Errorf("ReadTimeline = %+v, %v, want %+v twice", got, err, second)
	}
	profile, err := os.ReadFile(filepath.Join(dir.Path(), ProfileFile))
	if err != nil || string(profile) != "name: quickstart\n" {
		t.Errorf("%s = %q, %v", ProfileFile, profile, err)
	}
	entries, err := os.ReadDir(dir.Path())
	if err != nil || len(entries) != 4 {
		t.Errorf("the directory has %v, %v, want the four files and nothing temporary", entries, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	base := t.TempDir()
	first, err := Create(filepath.Join(base, "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(first.Path(), nil); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), first.Path()) {
		t.Errorf("Create where a run is: %v, want ErrExists with the path", err)
	}
	if _, err := Create(filepath.Join(file, "run"), nil); err == nil || !strings.Contains(err.Error(), "--out") || !strings.Contains(err.Error(), file) {
		t.Errorf("Create below a file: %v, want the path and the remedy", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file of another is %q, %v after Create", text, err)
	}
}

// The parent directories are removed too, unless somebody else has put anything into them.
func TestDiscardRemovesTheDirectoriesAbove(t *testing.T) {
	base := t.TempDir()
	first, err := Create(filepath.Join(base, "results", "a", "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Create(filepath.Join(base, "results", "b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Discard(); err != nil {
		t.Fatal(err)
	}
	for path, left := range map[string]bool{base: true, filepath.Dir(second.Path()): true, second.Path(): true, filepath.Dir(first.Path()): false} {
		if _, err := os.Stat(path); (err == nil) != left {
			t.Errorf("Stat(%s) = %v, want it there: %v", path, err, left)
		}
	}
	// The parent existed when the second was created, so it stays.
	if err := second.Discard(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(second.Path())); err != nil || len(entries) != 0 {
		t.Errorf("the directory that was there has %v, %v", entries, err)
	}
	t.Chdir(base)
	relative, err := Create(filepath.Join("new", "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := relative.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(new) = %v, want it gone", err)
	}
}

func TestDiscardLeavesWhatItDidNotMake(t *testing.T) {
	base := t.TempDir()
	made, err := Create(filepath.Join(base, "made"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(made.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", made.Path(), err)
	}
	if err := os.WriteFile(filepath.Join(base, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := Create(base, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Discard(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 1 || entries[0].Name() != "notes" {
		t.Errorf("after Discard the directory has %v, %v, want the notes alone", entries, err)
	}
}

func TestErrorsNameTheFileAndTheRemedy(t *testing.T) {
	d := &Dir{path: "results/run"}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "free some space"},
		{fs.ErrPermission, "choose another directory"},
		{syscall.EROFS, "choose another directory"},
		{syscall.EIO, "input/output error"},
	} {
		got := d.explain(&fs.PathError{Op: "write", Path: "results/run/run.json", Err: tc.err})
		if !errors.Is(got, tc.err) || !strings.Contains(got.Error(), tc.want) || !strings.Contains(got.Error(), "results/run/run.json") {
			t.Errorf("explain(%v) = %q, want the file and %q", tc.err, got, tc.want)
		}
	}
	if d.explain(nil) != nil {
		t.Error("explain(nil) is an error")
	}
}

// A file with a hole is not mistaken for a complete one: every later call returns the first error.
func TestAFailedAppendIsNotForgotten(t *testing.T) {
	dir, err := Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	notANumber := Figures{}
	notANumber.Set("p99_ms", math.NaN())
	if err := dir.Timeline(Second{Client: notANumber}); err == nil {
		t.Error("Timeline with a number that JSON does not have: no error")
	}
	if err := dir.Write(&Run{Schema: Schema}); err == nil {
		t.Error("Write after a lost line: no error")
	}
	if _, err := Read(dir.Path()); err != nil {
		t.Errorf("Read = %v: the document itself must be written all the same", err)
	}
	if err := dir.Close(); err == nil {
		t.Error("Close after a lost line: no error")
	}
	if err := dir.Interval("cell", time.Now(), time.Now(), &metrics.Set{}); err == nil {
		t.Error("Interval after Close: no error")
	}
}

func TestAppendAfterCloseIsAnError(t *testing.T) {
	dir, err := Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dir.Timeline(Second{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Timeline after Close = %v, want %v", err, fs.ErrClosed)
	}
}

func TestDirFromManyGoroutines(t *testing.T) {
	dir, err := Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	set := &metrics.Set{}
	set.Add(metrics.Sample{Op: metrics.Acquire, End: time.Millisecond})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				err := errors.Join(dir.Interval("cell", time.Now(), time.Now(), set), dir.Timeline(Second{Cell: "cell"}), dir.Write(&Run{Schema: Schema}))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if n := readLog(t, dir)[Tag("cell", acquireKey)].Count(); n != 80 {
		t.Errorf("the log counts %d, want 80", n)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no JSON", "hello", "not a result of zkbench"},
		{"JSON of somebody else", `{"name": "x", "cells": 3}`, "no schema"},
		{"a list", `[1]`, "not a result of zkbench"},
		{"a later version, whatever its fields are", `{"schema": "zkbench.run/2", "cells": {}}`, `this zkbench reads "zkbench.run/1"`},
		{"ours, with a field of another type", `{"schema": "zkbench.run/1", "cells": {}}`, "damaged"},
		{"ours, cut off", `{"schema": "zkbench.run/1", "cells": [`, "not a result of zkbench"},
	} {
		if _, err := parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: parse error %v, want one that says %q", tc.name, err, tc.want)
		}
	}
	if r, err := parse([]byte(`{"schema": "zkbench.run/1", "profile": "p", "added_later": 1}`)); err != nil || r.Profile != "p" {
		t.Errorf("a field that was added later: %+v, %v, want it skipped", r, err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read(missing) = %v, want fs.ErrNotExist", err)
	}
}

func TestSummarizeKnowsWhatItCannotKnow(t *testing.T) {
	for _, tc := range []struct {
		n         int
		p99, p999 bool
	}{{0, false, false}, {367, false, false}, {368, true, false}, {3687, true, false}, {3688, true, true}} {
		h := metrics.NewHistogram()
		for range tc.n {
			h.Record(8 * time.Millisecond)
		}
		h.Record(-1)
		h.Record(2 * time.Hour)
		l := Summarize(h, nil)
		if (l.P99 != nil) != tc.p99 || (l.P999 != nil) != tc.p999 || l.Count != int64(tc.n) || l.Overflow != 1 || l.Negative != 1 {
			t.Errorf("Summarize of %d samples = %+v, want p99 known: %v, p99.9 known: %v", tc.n, l, tc.p99, tc.p999)
		}
		if tc.n > 0 && (l.Min < 7.99 || l.Max > 8.01 || l.P50 < 7.99 || l.P90 > 8.01 || math.Abs(l.Mean-8) > 0.01) {
			t.Errorf("Summarize of %d samples of 8 ms = %+v", tc.n, l)
		}
		if tc.n == 0 && (l.Min != 0 || l.Max != 0 || l.Mean != 0) {
			t.Errorf("Summarize of nothing = %+v", l)
		}
	}
	// The numbers follow the rule: p^n is at most 2.5 %, and with one sample less it is not.
	for p, n := range map[float64]float64{0.99: EnoughForP99, 0.999: EnoughForP999} {
		if math.Pow(p, n) > 0.025 || math.Pow(p, n-1) <= 0.025 {
			t.Errorf("%v^%v = %v, %v^%v = %v, want 0.025 in between", p, n, math.Pow(p, n), p, n-1, math.Pow(p, n-1))
		}
	}
}

func TestFromVerdict(t *testing.T) {
	v := check.Verdict{Answer: check.Violated, Evidence: 9, Count: 2, Detail: "two held it", Witness: []metrics.Sample{
		{Op: metrics.Acquire, Outcome: metrics.OK, Session: 3, Object: 1, Token: 77, Due: time.Millisecond, Start: 2 * time.Millisecond, End: 2500 * time.Microsecond}}}
	want := Check{Name: "mutual-exclusion", Verdict: "violated", Evidence: 9, Count: 2, Detail: "two held it", Witness: []WitnessSample{
		{Op: "acquire", Outcome: "ok", Session: 3, Object: 1, Token: 77, Due: 1, Start: 2, End: 2.5}}}
	if got := FromVerdict("mutual-exclusion", v); !reflect.DeepEqual(got, want) {
		t.Errorf("FromVerdict = %+v, want %+v", got, want)
	}
	if got := FromVerdict("fifo", check.Verdict{}); got.Verdict != "unknown" {
		t.Errorf("the zero verdict becomes %q, want unknown", got.Verdict)
	}
}

func TestWorst(t *testing.T) {
	for _, tc := range []struct {
		name  string
		codes []int
		want  int
	}{
		{"nothing happened", nil, 0},
		{"all is fine", []int{0, 0}, 0},
		{"a violation is proved, whatever else", []int{1, 3, 4, 5, 130}, 4},
		{"could not run outweighs a missed gate", []int{3, 1, 5}, 1},
		{"a missed gate outweighs missing evidence", []int{5, 3, 0}, 3},
		{"too little evidence is not fine", []int{0, 5}, 5},
		{"an interrupt may be why a gate was missed or evidence is missing", []int{3, 130, 5}, 130},
		{"an interrupt does not hide that the run could not be carried out", []int{130, 1}, 1},
	} {
		if got := Worst(tc.codes...); got != tc.want {
			t.Errorf("%s: Worst(%v) = %d, want %d", tc.name, tc.codes, got, tc.want)
		}
	}
}

// Unserved operations would have taken longer than they had waited: a percentile that they can change is a lower bound, and says so. It never
// describes only the survivors.
func TestPercentilesOfWhatWasNotServed(t *testing.T) {
	histogram := func(n int, d time.Duration) *metrics.Histogram {
		h := metrics.NewHistogram()
		for range n {
			h.Record(d)
		}
		return h
	}
	for _, tc := range []struct {
		name      string
		unserved  *metrics.Histogram
		p50, p99  float64
		max, mean float64
		atLeast   string
	}{
		{"all served", nil, 10, 10, 10, 10, ""},
		{"17 % never finished, and had waited for longer than any", histogram(205, time.Second), 10, 1000, 1000, 178.7, "[mean p90 p99 max]"},
		{"a few, which cannot reach the p99", histogram(5, time.Second), 10, 10, 1000, 14.9, "[mean max]"},
		{"a few that had only begun could be anything", histogram(5, 0), 10, 10, 10, 9.95, "[min mean max]"},
		{"most", histogram(4000, 2*time.Second), 2000, 2000, 2000, 1601, "[mean p50 p90 p99 p999 max]"},
	} {
		l := Summarize(histogram(1000, 10*time.Millisecond), tc.unserved)
		near := func(got, want float64) bool { return math.Abs(got-want) <= 0.002*want+0.002 }
		if !near(l.P50, tc.p50) || !near(*l.P99, tc.p99) || !near(l.Max, tc.max) || !near(l.Mean, tc.mean) || l.Count != 1000 {
			t.Errorf("%s: %+v, want p50 %v, p99 %v, max %v, mean %v", tc.name, l, tc.p50, tc.p99, tc.max, tc.mean)
		}
		if got := strings.Trim(fmt.Sprint(l.AtLeast), "[]"); got != strings.Trim(tc.atLeast, "[]") {
			t.Errorf("%s: at least %v, want %s", tc.name, got, tc.atLeast)
		}
	}
}

func TestCreateEmpty(t *testing.T) {
	base := t.TempDir()
	made, given := filepath.Join(base, "results", "search"), filepath.Join(base, "given")
	if err := os.Mkdir(given, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{made, given} {
		discard, err := CreateEmpty(path)
		if err != nil {
			t.Fatal(err)
		}
		discard()
		if entries, err := os.ReadDir(base); err != nil || len(entries) != 1 || entries[0].Name() != "given" {
			t.Errorf("after %s was discarded: %v, %v, want the directory that was there alone", path, entries, err)
		}
	}
	if _, err := CreateEmpty(base); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("CreateEmpty of a directory with something in it: %v", err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateEmpty(filepath.Join(file, "below")); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("CreateEmpty below a file: %v", err)
	}
}
