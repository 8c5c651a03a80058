package calibrate

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestConclude(t *testing.T) {
	us := func(v float64) *float64 { return &v }
	same := []float64{100, 100, 100}
	floor := func(name string, rates ...float64) results.Floor {
		return results.Floor{Name: name, Rates: rates, Median: same, P99: []float64{100, 150, 200}, CPU: same}
	}
	for _, test := range []struct {
		about  string
		doc    results.Calibration
		want   results.Trust
		says   []string
		silent string
	}{
		{"runs that are the same", results.Calibration{Cores: 2, Work: []results.Floor{floor("read", 1000, 1000, 1000), floor("write", 100, 100, 100)}, LoadedLag: results.Spent{P99: us(500)}, RoundTrip: results.Spent{Median: us(10)}},
			results.Trust{Reads: 500, Writes: 50, Shortest: 2000}, []string{"500 reads/s or 50 writes/s", "100 us of CPU per read, 0.1 of 2 cores", "p99 of identical runs differed by up to 100 %", "below 2 ms", "takes at least about 10 us"}, "share these cores"},
		{"the slowest run tells the load, the wider spread the difference", results.Calibration{Here: true, Work: []results.Floor{floor("read", 1000, 1100, 1050), floor("write", 100, 150, 125)}},
			results.Trust{Reads: 500, Writes: 50, Single: 0.5, Pairs: 1.41 * 0.2}, []string{"of 3 identical runs the fastest had 50 %", "of about 28 % and more", "Calibrate again", "share these cores"}, "Times:"},
		{"a directory in memory", results.Calibration{Dir: "/ram", Fsync: results.Spent{Median: us(3)}, Work: []results.Floor{floor("read", 2, 2), floor("write", 2, 2)}},
			results.Trust{Reads: 1, Writes: 1}, []string{"A sync in /ram takes 3 us"}, "Times:"},
	} {
		t.Run(test.about, func(t *testing.T) {
			Conclude(&test.doc)
			got, want := test.doc.Conclusions, test.want
			if math.Abs(got.Pairs-want.Pairs) > 1e-9 || math.Abs(got.Single-want.Single) > 1e-9 || got.Reads != want.Reads || got.Writes != want.Writes || got.Shortest != want.Shortest {
				t.Errorf("Conclude: %+v, want %+v", got, want)
			}
			said := strings.Join(test.doc.InPlainWords, "\n")
			for _, text := range test.says {
				if !strings.Contains(said, text) {
					t.Errorf("does not say %q:\n%s", text, said)
				}
			}
			if strings.Contains(said, test.silent) {
				t.Errorf("says %q:\n%s", test.silent, said)
			}
		})
	}
}

func TestStoredForThisStartOfThisHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := Read(); !errors.Is(err, ErrNone) {
		t.Fatalf("Read before Store: %v, want ErrNone", err)
	}
	host, boot := Here()
	for _, test := range []struct {
		about, host, boot, schema string
		holds                     bool
	}{
		{"this one", host, boot, results.CalibrationSchema, true},
		{"another host", host + "x", boot, results.CalibrationSchema, false},
		{"an earlier start", host, boot + "x", results.CalibrationSchema, false},
		{"another schema", host, boot, "zkbench.calibration/0", false},
	} {
		path, err := Store(results.Calibration{Schema: test.schema, Host: test.host, BootID: test.boot, Cores: 7})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Read()
		if test.holds && (err != nil || doc.Cores != 7) || !test.holds && !errors.Is(err, ErrNone) {
			t.Errorf("%s: Read() = %v, %v", test.about, doc, err)
		}
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "calibration.json") {
		t.Errorf("Read of half a document: %v, want its path", err)
	}
}

// Everything is measured, each run with its own sessions, which are closed at its end. A failed request ends the measurement.
func TestMeasure(t *testing.T) {
	e := zktest.New(zktest.Config{})
	dir := t.TempDir()
	p := Plan{Dir: dir, Path: "/cell", Sessions: 3, Runs: 2, For: 10 * time.Millisecond, Tell: func(string) {},
		Seam: func(context.Context, int, time.Duration) (*metrics.Histogram, error) {
			h := metrics.NewHistogram()
			h.Record(time.Millisecond)
			return h, nil
		},
		Open: func(ctx context.Context) (zk.Session, error) { return e.Dial(), nil }}
	if _, err := Measure(t.Context(), p); !errors.Is(err, zk.ErrNoNode) {
		t.Fatalf("Measure without its znode: %v, want ErrNoNode", err)
	}
	s, _ := p.Open(t.Context())
	if _, err := s.Create(t.Context(), p.Path, nil, zk.Persistent); err != nil {
		t.Fatal(err)
	}
	doc, err := Measure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, spent := range []results.Spent{doc.TimerLag, doc.RoundTrip, doc.Seam, doc.Fsync} {
		if spent.Count == 0 || spent.Max == nil {
			t.Errorf("not measured: %+v", doc)
		}
	}
	for i, name := range []string{"read", "write"} {
		if w := doc.Work[i]; w.Name != name || len(w.Rates) != p.Runs || len(w.CPU) != p.Runs || w.Rates[0] <= 0 {
			t.Errorf("%+v", w)
		}
	}
	if doc.Opened < openers || doc.Connections <= 0 || len(doc.InPlainWords) == 0 {
		t.Errorf("%+v", doc)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}
