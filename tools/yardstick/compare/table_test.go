package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.v); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.v, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		why           string
		f             figure
		floor, native []float64
		want          bool
	}{
		{"a ratio below the most", figure{limit: 1.4}, []float64{10}, []float64{13}, true},
		{"a ratio above the most", figure{limit: 1.4}, []float64{10}, []float64{15}, false},
		{"a ratio above the least", figure{limit: 0.9, least: true}, []float64{10}, []float64{9.5}, true},
		{"a ratio below the least", figure{limit: 0.9, least: true}, []float64{10}, []float64{8}, false},
		{"without a floor the limit is of the figure itself", figure{limit: 12}, nil, []float64{4}, true},
		{"and is missed by it", figure{limit: 12}, nil, []float64{13}, false},
	} {
		v := map[string][]float64{"floor": c.floor, "native": c.native}
		if got := c.f.kept(v); got != c.want {
			t.Errorf("%s: kept(%v) = %v, want %v", c.why, v, got, c.want)
		}
	}
}

// A second floor is shown beside the first, and decides nothing.
func TestTheFloorAgain(t *testing.T) {
	f := figure{unit: "us", limit: 1.15}
	v := map[string][]float64{"floor": {10, 12, 11}, again: {12.1, 12.1, 9}, "native": {12, 12, 12}}
	if got, want := f.cell(v, "floor"), "11.0 us (again: 1.10)"; got != want || !f.kept(v) {
		t.Errorf("cell = %q, kept %v; want %q, true", got, f.kept(v), want)
	}
	delete(v, again)
	if got, want := f.cell(v, "floor"), "11.0 us"; got != want {
		t.Errorf("without a second floor: %q, want %q", got, want)
	}
}

func TestInsert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + begin + "old\n" + end + "\nafter\n")
	if err := insert(path, "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + begin + "new\n" + end + "\nafter\n"; string(got) != want {
		t.Errorf("document is %q, want %q", got, want)
	}
	write("no marks\n")
	if err := insert(path, "new\n"); err == nil {
		t.Error("insert without marks succeeded")
	}
}
