package profiles

import (
	"slices"
	"strings"
	"testing"
)

func TestGatesAreKeptAsTheyAreWritten(t *testing.T) {
	for _, c := range []struct {
		yaml string
		want []string
		at   string // of the last
	}{
		{"gates: violations == 0\n", []string{"violations == 0"}, "p.yaml:4:8"},
		{"gates: [violations == 0, errors < 1%]\n", []string{"violations == 0", "errors < 1%"}, "p.yaml:4:26"},
		{"gates:\n  - violations == 0\n  - \"p99(acquire, naive) < 5ms\"\n", []string{"violations == 0", "p99(acquire, naive) < 5ms"}, "p.yaml:6:5"},
	} {
		p, err := catalogue.Parse("p.yaml", []byte(least+c.yaml))
		if err != nil || !slices.Equal(p.Gates, c.want) || p.AtGate(len(c.want)-1).String() != c.at {
			t.Errorf("%q: gates %q at %v, %v; want %q, the last at %s", c.yaml, p.Gates, p.AtGate(len(c.want)-1), err, c.want, c.at)
			continue
		}
		text, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := catalogue.Parse("p.yaml", text); err != nil || !slices.Equal(again.Gates, c.want) {
			t.Errorf("written as\n%s\nread again %q, %v", text, again.Gates, err)
		}
		if other, err := Set(p, "sessions=20"); err != nil || other.AtGate(len(c.want)-1).String() != c.at {
			t.Errorf("after --set sessions=20 the last gate is at %v, %v; want %s", other.AtGate(len(c.want)-1), err, c.at)
		}
		if other, err := Set(p, `gates=["errors < 2%"]`); err != nil || other.AtGate(0).String() != "--set gates" {
			t.Errorf("after --set gates the gate is at %v, %v", other.AtGate(0), err)
		}
		more := p.WithGates("--gate", "errors == 0", c.want[0])
		if n := len(c.want); len(more.Gates) != n+1 || more.AtGate(n).String() != "--gate" || more.AtGate(n-1).String() != c.at || len(p.Gates) != n {
			t.Errorf("with one more: %q at %v", more.Gates, more.AtGate(n))
		}
	}
}

func TestGatesThatCannotBeRead(t *testing.T) {
	for _, c := range [][2]string{
		{"gates: [p99(acquire, naive) < 5ms]\n", "p.yaml:4:9: gates: \"p99(acquire\" has an open parenthesis (quote the gate"},
		{"gates: [errors < 1%, errors < 1%]\n", "p.yaml:4:22: gates: duplicate value errors < 1%"},
		{"gates: {errors: 1%}\n", "p.yaml:4:8: gates: a map is not a gate (expected a list of gates"},
		{"gates: [\"\"]\n", "is not a gate"}, {"gates:\n", "gates: no value"}, {"gates: []\n", "list is empty"},
		{"gates: [\"a\\tb < 1\"]\n", "printable text"},
		{"slo: p99 < 5ms\n", `p.yaml:4:1: unknown field "slo" (limits are gates: ["errors < 0.1%", "violations == 0"])`},
		{"goal: 5ms\n", `unknown field "goal" (limits are gates`}, {"thresholds: [5]\n", `unknown field "thresholds" (limits are gates`},
	} {
		if _, err := catalogue.Parse("p.yaml", []byte(least+c[0])); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, want %q", c[0], err, c[1])
		}
	}
}
