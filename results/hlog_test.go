package results

import (
	"bufio"
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/metrics"
)

var acquireKey = metrics.Key{Op: metrics.Acquire, Clock: metrics.Response}

// Whatever the samples and however they are divided into intervals, the log adds up to the histograms of the whole run, including overflow
// and defects.
func TestLogIsLossless(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir, err := Create(filepath.Join(t.TempDir(), "run"), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]*metrics.Set{"naive-10-r1": {}, "naive-10-r2": {}}
		at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
		for range 1 + r.IntN(4) {
			for cell, whole := range want {
				interval := &metrics.Set{}
				for range r.IntN(300) {
					interval.Add(anySample(r))
				}
				whole.Merge(interval)
				if err := dir.Interval(cell, at, at.Add(time.Second), interval); err != nil {
					t.Fatal(err)
				}
			}
			at = at.Add(time.Second)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
		got := readLog(t, dir)
		for cell, whole := range want {
			for key, h := range whole.All() {
				tag := Tag(cell, key)
				if got[tag] == nil || !got[tag].Equal(h) {
					t.Fatalf("seed %d: the log adds up to another %s than the run", seed, tag)
				}
				delete(got, tag)
			}
		}
		if len(got) != 0 {
			t.Fatalf("seed %d: the log has tags that the run has not: %v", seed, got)
		}
	}
}

func anySample(r *rand.Rand) metrics.Sample {
	s := metrics.Sample{Op: []metrics.Op{metrics.Acquire, metrics.Release, metrics.Wait}[r.IntN(3)]}
	s.Start = time.Duration(r.Int64N(int64(time.Second)))
	s.End = s.Start + time.Duration(r.Int64N(int64(3*time.Hour))>>r.IntN(40))
	s.Due = s.Start - time.Duration(r.Int64N(int64(time.Second))>>r.IntN(20))
	if r.IntN(30) == 0 {
		s.Due = s.End + 1 // a defect
	}
	return s
}

func readLog(t *testing.T, dir *Dir) map[string]*metrics.Histogram {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir.Path(), IntervalsFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadLog(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReadLogRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"another file", "{}\n", "starts with"},
		{"another version", "#[Histogram log format version 2.0]\n", "starts with"},
		{"a payload that is none", logVersion + "Tag=a/b,1.000,1.000,1.000,HISTxx\n", "line 2"},
		{"a missing field", logVersion + "Tag=a/b,1.000,1.000\n", "line 2"},
		{"a damaged comment of ours", logVersion + "#[Outside: x]\n", "line 2"},
	} {
		if _, err := ReadLog(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: ReadLog error %v, want one that says %q", tc.name, err, tc.want)
		}
	}
	if got, err := ReadLog(strings.NewReader(logVersion + "Tag=a/b,1.000,1.0")); err != nil || len(got) != 0 {
		t.Errorf("a last line cut off with the run: ReadLog = %v, %v, want nothing and no error", got, err)
	}
}

func TestTagsWithCommasAreRefused(t *testing.T) {
	var b bytes.Buffer
	l := &logWriter{w: bufio.NewWriter(&b)}
	for _, tag := range []string{"a,b", "a b", "a\nb"} {
		if err := l.write(tag, time.Now(), time.Now(), metrics.NewHistogram()); err == nil {
			t.Errorf("write(%q): no error, though the log could not be read again", tag)
		}
	}
}

func FuzzReadLog(f *testing.F) {
	var b bytes.Buffer
	h := metrics.NewHistogram()
	h.Record(time.Millisecond)
	h.Record(2 * time.Hour)
	l := &logWriter{w: bufio.NewWriter(&b)}
	if err := l.write("cell/acquire.response", time.Unix(1, 0), time.Unix(2, 0), h); err != nil {
		f.Fatal(err)
	}
	l.w.Flush()
	f.Add(b.String())
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadLog(strings.NewReader(text))
		if (got == nil) != (err != nil) {
			t.Fatalf("ReadLog = %v, %v", got, err)
		}
	})
}

// jars is where Debian and its derivatives put the reference implementation.
const (
	jar       = "/usr/share/java/hdrhistogram.jar"
	jarRemedy = "apt-get install default-jre-headless libhdrhistogram-java"
	precision = 0.001 // three significant digits
)

// The reference implementation reads the log and prints the figures of run.json in milliseconds, without being given a ratio.
func TestJavaReadsTheLog(t *testing.T) {
	tier.Long(t, "starts Java; the same file is read by hdrhistogram-go in the other tests of the log")
	ensembletest.Need(t, "libhdrhistogram-java:"+jar, "default-jre-headless:java")
	r := rand.New(rand.NewPCG(1, 1))
	dir, err := Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	at, whole := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), &metrics.Set{}
	for second := range 5 {
		interval := &metrics.Set{}
		for range 2000 {
			due := time.Duration(second) * time.Second
			start := due + time.Duration(r.ExpFloat64()*float64(300*time.Microsecond))
			interval.Add(metrics.Sample{Op: metrics.Acquire, Due: due, Start: start, End: start + time.Duration(math.Exp(r.NormFloat64())*float64(20*time.Millisecond))})
		}
		interval.Add(metrics.Sample{Op: metrics.Acquire, End: 2 * time.Hour}) // out of range: in a comment, which Java skips
		whole.Merge(interval)
		if err := dir.Interval("predecessor-100-r1", at, at.Add(time.Second), interval); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	for key, h := range whole.All() {
		want := Summarize(h, nil)
		rows := java(t, filepath.Join(dir.Path(), IntervalsFile), Tag("predecessor-100-r1", key))
		if len(rows) != 5 || rows[0]["Timestamp"] != 1 || rows[4]["Timestamp"] != 5 {
			t.Fatalf("%v: Java sees the intervals %v, want five that end 1 to 5 s after the start", key, rows)
		}
		for column, want := range map[string]float64{"Total_Count": float64(want.Count), "Total_50%": want.P50, "Total_90%": want.P90,
			"Total_99%": *want.P99, "Total_99.9%": *want.P999, "Total_Max": want.Max} {
			if got, ok := rows[4][column]; !ok || math.Abs(got-want) > want*precision+0.0006 { // it prints microseconds
				t.Errorf("%v: Java says %s = %v ms, run.json %v", key, column, got, want)
			}
		}
	}
}

// java runs HistogramLogProcessor and returns its table of intervals, a map from column to value for each.
func java(t *testing.T, log, tag string) []map[string]float64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), "java", "-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-csv", "-i", log, "-o", out, "-tag", tag)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (%s)\n%s", cmd, err, jarRemedy, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	var rows []map[string]float64
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, `"Timestamp"`):
			columns = fields
		default:
			row := map[string]float64{}
			for i, f := range fields {
				v, err := strconv.ParseFloat(f, 64)
				if err != nil || i >= len(columns) {
					t.Fatalf("cannot read %q: %v", line, err)
				}
				row[strings.Trim(columns[i], `"`)] = v
			}
			rows = append(rows, row)
		}
	}
	return rows
}
