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
	"github.com/zkbench/zkbench/recipes/lock"
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
		{"an own share", results.Calibration{Work: []results.Floor{floor("read", 2, 2), floor("write", 2, 2)}, Own: []results.Beside{
			{OwnShare: results.OwnShare{Load: "locks", Rate: -0.01, Low: -0.02, High: 0.03}, Run: make([]float64, 7)}, {OwnShare: results.OwnShare{Load: "reads", Rate: 0.3, Low: 0.2, High: 0.4}}}},
			results.Trust{Reads: 1, Writes: 1}, []string{"own share at full load: -1 % of the rate of locks (-2 % to 3 %), 30 % of the rate of reads (20 % to 40 %).", "medians of 7 pairs"}, "intervals is wider"},
		{"an own share that is not known well", results.Calibration{Work: []results.Floor{floor("read", 2, 2), floor("write", 2, 2)}, Own: []results.Beside{
			{OwnShare: results.OwnShare{Load: "locks", Rate: -0.01, Low: -0.2, High: 0.1}}}}, results.Trust{Reads: 1, Writes: 1}, []string{"intervals is wider than 25 %"}, "Times:"},
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
	if doc.Opened < openers || doc.Connections <= 0 {
		t.Errorf("%+v", doc)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}

// The sides of a pair take turns, and the share is the median of what the runs had less than the loops beside them, whatever else happens to both.
func TestOwn(t *testing.T) {
	t.Parallel()
	var order []string
	side := func(name string, rates ...float64) Side {
		return func(_ context.Context, warmup, length time.Duration) (float64, float64, error) {
			if warmup != 400*time.Millisecond || length != 2*time.Second {
				t.Errorf("%s: %v and %v, want 400ms and 2s", name, warmup, length)
			}
			order = append(order, name)
			rate := rates[0]
			rates = rates[1:]
			if rate < 0 {
				return 0, 0, zk.ErrNoNode
			}
			return rate, 1e6 / rate, nil
		}
	}
	var said []string
	all, err := Own(t.Context(), []Pair{{"locks", side("b", 100, 200, 100, 400, 100, 10, 100), side("r", 90, 180, 99, 320, 110, 9, 90)}}, 7, 2*time.Second,
		func(what string) { said = append(said, what) })
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "brrbbrrbbrrbbr" || len(said) != 14 || said[13] != "zkbench's own share, locks, pair 7 of 7: a run" {
		t.Errorf("order %s, reports %q", got, said)
	}
	got := all[0]
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if got.Load != "locks" || !near(got.Rate, 0.1) || !near(got.Low, -0.1) || !near(got.High, 0.2) || len(got.Bare) != 7 || len(got.BareCPU) != 7 || got.RunCPU[1] != 1e6/180 {
		t.Errorf("%+v", got)
	}
	for _, test := range []struct {
		bare float64
		want string
	}{{0, "a bare loop of reads: nothing was done in 2s"}, {-1, "a bare loop of reads: " + zk.ErrNoNode.Error()}} {
		if _, err := Own(t.Context(), []Pair{{"reads", side("b", test.bare), side("r")}}, 6, 2*time.Second, func(string) {}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Own: %v, want %q", err, test.want)
		}
	}
}

// Bare loops use sessions of their own, which they close, and report what their requests fail with.
func TestBareLoops(t *testing.T) {
	t.Parallel()
	e := zktest.New(zktest.Config{OpLatency: time.Millisecond})
	p := Plan{Path: "/cell-1", Sessions: 20, Open: func(context.Context) (zk.Session, error) { return e.Dial(), nil }}
	if _, _, err := p.BareReads()(t.Context(), 0, time.Hour); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("reads without their parent: %v, want ErrNoNode", err)
	}
	s, _ := p.Open(t.Context())
	if _, err := s.Create(t.Context(), p.Path, nil, zk.Persistent); err != nil {
		t.Fatal(err)
	}
	for about, side := range map[string]Side{"locks": p.BareLocks(lock.Variants()[0]), "reads": p.BareReads()} {
		if rate, _, err := side(t.Context(), 50*time.Millisecond, 300*time.Millisecond); err != nil || rate <= 0 {
			t.Errorf("%s: %v per second, %v", about, rate, err)
		}
	}
	if names, _, err := s.Children(t.Context(), p.Path); err != nil || len(names) != znodes+Objects(p.Sessions) {
		t.Errorf("%d znodes, %v; want %d and %d", len(names), err, znodes, Objects(p.Sessions))
	}
}
