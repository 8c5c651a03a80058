package profiles

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/golden"
)

func TestBrokenProfileReportsAllFaultsAtOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/broken.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = catalogue.Parse("broken.yaml", data)
	var faults Faults
	if !errors.As(err, &faults) || len(faults) < 12 {
		t.Fatalf("Parse(broken.yaml) = %v, want at least a dozen Faults", err)
	}
	var one Fault
	if !errors.As(err, &one) || one.Place.Line != 1 {
		t.Errorf("errors.As finds %v, want the fault in the first line", one)
	}
	golden.Compare(t, "broken.txt", err.Error()+"\n")
}

const least = "workload: lock\nvariants: naive\nsessions: 10\n"

const forQueues = "workload: queue\nvariants: fifo\nsessions: 10\n"

func TestFaults(t *testing.T) {
	for _, c := range []struct{ sentence, yaml, want string }{
		{"an empty file", "", "p.yaml:1:1: the profile is empty (expected at least workload, variants, sessions)"},
		{"comments only", "# nothing\n", "p.yaml:1:1: the profile is empty (expected at least workload, variants, sessions)"},
		{"a list", "- lock\n", "p.yaml:1:1: a list is not a profile (expected a map of fields to values)"},
		{"a word", "lock\n", `p.yaml:1:1: "lock" is not a profile (expected a map of fields to values)`},
		{"two documents", least + "---\n" + least, "p.yaml:4:1: a second document starts here (expected one profile per file)"},
		{"a tab", "workload: lock\nhold:\n\texponential: 5ms\n", "p.yaml:3:1: this line is indented with a tab (expected spaces)"},
		{"a brace left open", "hold: {exponential: 5ms\n", "p.yaml:1:1: invalid YAML: "},
		{"an anchor and its alias", least + "hold: &h 5ms\nthink: *h\n",
			"p.yaml:4:7: &h is an anchor (expected the value alone)\np.yaml:5:8: *h is an alias (expected the value itself)"},
		{"a tag", least + "locks: !!int '5'\n", "p.yaml:4:8: !!int is a tag (expected the value alone)"},
		{"nothing required", "seed: 7\n", "p.yaml:1:1: workload: required field is missing (for example workload: lock)\n"},
		{"an unknown workload", "workload: locks\nvariants: naive\nsessions: 10\nhold: 5ms\nqueues: 2\n",
			`p.yaml:1:11: workload: unknown workload "locks" (did you mean lock?)`},
		{"an unknown workload alone", "workload: xyzzy\nvariants: naive\n", `p.yaml:1:11: workload: unknown workload "xyzzy" (expected one of lock, read-write, `},
		{"an unknown key near a known one", least + "session: 5\n", `p.yaml:4:1: unknown field "session" (did you mean sessions?)`},
		{"an unknown key near none", least + "colour: red\n", `p.yaml:4:1: unknown field "colour" (expected one of name, description, workload`},
		{"a required key with a typo", "workload: lock\nvaraints: naive\nsessions: 10\n", `p.yaml:2:1: unknown field "varaints" (did you mean variants?)`},
		{"a key twice", least + "sessions: 5\n", "p.yaml:4:1: sessions: duplicate field, first given in line 3 as sessions"},
		{"a key and its alias", least + "locks: 5\nobjects: 5\n", "p.yaml:5:1: objects: duplicate field, first given in line 4 as locks"},
		{"no value", least + "hold:\n", "p.yaml:4:6: hold: no value (expected a duration from 0s to 24h"},
		{"no unit", least + "hold: 5\n", "p.yaml:4:7: hold: 5 has no unit, did you mean 5ms?"},
		{"a wrong unit", least + "hold: 5 days\n", `p.yaml:4:7: hold: "5 days" is not a duration (expected`},
		{"a list for a scalar", least + "deadline: [1s]\n", "p.yaml:4:11: deadline: a list is not a duration"},
		{"too short", least + "duration: 0s\n", "p.yaml:4:11: duration: 0s is too short (expected a duration with its unit from 1ms to 168h"},
		{"too long", least + "hold: {exponential: 25h}\n", "p.yaml:4:21: hold: 25h is too long"},
		{"a distribution nobody knows", least + "hold: {lognorm: 5ms}\n", `p.yaml:4:8: hold: unknown distribution "lognorm" (did you mean lognormal?)`},
		{"two distributions", least + "hold: {exponential: 5ms, constant: 5ms}\n", "p.yaml:4:7: hold: a map is not one distribution"},
		{"uniform the wrong way round", least + "hold: {uniform: [5ms, 1ms]}\n", "p.yaml:4:17: hold: uniform from 5ms down to 1ms is empty"},
		{"uniform of one", least + "hold: {uniform: 5ms}\n", "p.yaml:4:17: hold: uniform takes the shortest and the longest duration"},
		{"lognormal without sigma", least + "hold: {lognormal: {mean: 5ms}}\n", "p.yaml:4:19: hold: lognormal takes a mean and a sigma"},
		{"lognormal with a wrong sigma", least + "hold: {lognormal: {mean: 5ms, sigma: 0}}\n", "p.yaml:4:38: hold: sigma must be a number above 0 and at most 3, got 0"},
		{"lognormal with a typo", least + "hold: {lognormal: {maen: 5ms, sigma: 1}}\n", `p.yaml:4:20: hold: unknown field "maen" of lognormal (did you mean mean?)`},
		{"text for a count", least + "locks: many\n", `p.yaml:4:8: locks: "many" is not a whole number (expected a whole number from 1 to 1,000,000)`},
		{"a quoted count", least + "locks: '5'\n", `p.yaml:4:8: locks: "5" is not a whole number`},
		{"zero", least + "objects: 0\n", "p.yaml:4:10: objects: 0 is too small"},
		{"too many", least + "repetitions: 1001\n", "p.yaml:4:14: repetitions: 1001 is too large"},
		{"beyond 64 bits", least + "seed: 18446744073709551616\n", "p.yaml:4:7: seed: 18446744073709551616 is too large"},
		{"an empty list", "workload: lock\nvariants: []\nsessions: 10\n", "p.yaml:2:11: variants: the list is empty"},
		{"an item twice", "workload: lock\nvariants: naive\nsessions: [10, 20, 10]\n", "p.yaml:3:20: sessions: duplicate value 10"},
		{"a rate per week", least + "rate: 5/week\n", `p.yaml:4:7: rate: "week" is not a unit of time (expected a rate from`},
		{"no rate", least + "rate: fast\n", `p.yaml:4:7: rate: "fast" is not a rate`},
		{"a rate that is not a number", least + "rate: NaN\n", `p.yaml:4:7: rate: "NaN" is not a rate`},
		{"a rate of zero", least + "rate: 0\n", "p.yaml:4:7: rate: 0 is too small"},
		{"a rate too large", least + "rate: 20000000/s\n", "p.yaml:4:7: rate: 20000000/s is too large"},
		{"a word that is not one of them", least + "rate: 5\narrivals: poison\n",
			`p.yaml:5:11: arrivals: unknown value "poison", did you mean poisson? (expected poisson or uniform)`},
		{"yes for true", least + "fsync: yes\n", `p.yaml:4:8: fsync: "yes" is not a boolean (expected true or false)`},
		{"an ensemble elsewhere", least + "ensemble: remote:3\n", "p.yaml:4:11: ensemble: \"remote:3\" is not an ensemble that zkbench can start"},
		{"an ensemble of none", least + "ensemble: local:0\n", `p.yaml:4:11: ensemble: "0" is not a number of servers (expected local:N, or N alone, with N of 1, 3, 5 or 7 servers, compose:N with 1, 3, 5, or 3+1 for an observer, or given)`},
		{"an even number", least + "ensemble: [3, 4]\n", `p.yaml:4:15: ensemble: "4" is not a number of servers: an even number survives no more failures than one server less (expected`},
		{"the same twice", least + "ensemble: [3, local:3]\n", `p.yaml:4:15: ensemble: duplicate value local:3`},
		{"several in one word", least + "ensemble: local:3,local:5\n", `p.yaml:4:11: ensemble: "local:3,local:5" is one value, did you mean [local:3, local:5]?`},
		{"containers of seven", least + "ensemble: compose:7\n", `p.yaml:4:11: ensemble: "7" is not a number of servers (expected local:N`},
		{"a driver that is not known", least + "ensemble: swarm:3\n", `p.yaml:4:11: ensemble: "swarm:3" is not an ensemble that zkbench can start (expected local:N`},
		{"a name with a path in it", least + "name: ../up\n", `p.yaml:4:7: name: "../up" is not a name`},
		{"an option that is a list", least + "options: {watch: [a]}\n", "p.yaml:4:18: options.watch: a list is not text"},
		{"options that are a word", least + "options: watch\n", `p.yaml:4:10: options: "watch" is not a map`},
		{"an option twice", least + "options: {a: 1, a: 2}\n", "p.yaml:4:17: options: duplicate value a"},
		{"description that is a list", least + "description: []\n", "p.yaml:4:14: description: must be printable text of at most 1,000 characters"},
		{"arrivals without a rate", least + "arrivals: uniform\n", "p.yaml:4:1: arrivals: only valid with rate or rate_per_session (remove it, or add rate)"},
		{"think beside a rate", least + "rate: 5\nthink: 1s\n", "p.yaml:5:1: think: cannot be combined with rate (remove one of them)"},
		{"a key of another workload", forQueues + "locks: 5\n", "p.yaml:4:1: locks: not a field of workload queue (only of lock, read-write)"},
		{"a load for a workload that has none", "workload: published\nvariants: a\nsessions: 10\n",
			"p.yaml:3:1: sessions: not a field of workload published, which has no load"},
		{"repetitions of what is carried out once", "workload: published\nvariants: a\nrepetitions: 2\n",
			"p.yaml:3:1: repetitions: not a field of workload published"},
		{"what a workload says of its fields", forQueues + "producers: [50, 0]\n", "p.yaml:4:17: producers: nothing to take"},
		{"what a workload says of an alias", least + "locks: 11\n", "p.yaml:4:8: locks: 11 need as many sessions, got 10"},
	} {
		_, err := catalogue.Parse("p.yaml", []byte(c.yaml))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: Parse(%q) = %v, want %s", c.sentence, c.yaml, err, c.want)
			continue
		}
		if strings.Count(err.Error(), "\n") != strings.Count(c.want, "\n") && c.sentence != "nothing required" {
			t.Errorf("%s: Parse(%q) reports more than one fault: %v", c.sentence, c.yaml, err)
		}
	}
}

func TestParseReadsEveryField(t *testing.T) {
	p, err := catalogue.Parse("dir/my profile.yaml", []byte(`
description: >
  Two lines,
  one paragraph.
workload: lock
variants: [naive, predecessor]
sessions: [10, 100]
locks: 5
rate: [200/s, 600/min, 7]
arrivals: uniform
hold: {lognormal: {mean: 5ms, sigma: 1.5}}
deadline: 1m30s
warmup: 1500ms
duration: 10s
drain: 0s
repetitions: 3
seed: 18446744073709551615
engine: go-zookeeper
ensemble: local:1
fsync: false
session_timeout: 30s
options: {watch: exists, fence: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.At("sessions", 1) + " " + p.At("options.fence", 0) + " " + p.At("think", 0); got !=
		"dir/my profile.yaml:7:16 dir/my profile.yaml:22:33 dir/my profile.yaml: think (by default)" {
		t.Errorf("At says %s", got)
	}
	want := Profile{Name: "my-profile", Description: "Two lines, one paragraph.", Workload: "lock",
		Variants: []string{"naive", "predecessor"}, Sessions: []int{10, 100}, Rate: []float64{200, 10, 7},
		Arrivals: "uniform", Saturation: "refused", Deadline: 90 * time.Second,
		Warmup: 1500 * time.Millisecond, Duration: 10 * time.Second, Repetitions: 3, Seed: 1<<64 - 1, Engine: "go-zookeeper",
		Ensemble: []string{"local:1"}, SessionTimeout: 30 * time.Second, Options: map[string]string{"watch": "exists", "fence": "true"},
		values:    map[string]any{"objects": 5, "hold": Distribution{Kind: Lognormal, Mean: 5 * time.Millisecond, Sigma: 1.5}},
		catalogue: catalogue, written: map[string]string{"objects": "locks"}}
	if !equal(p, want) {
		t.Errorf("Parse = %+v, want %+v", p, want)
	}
}

// equal compares what two profiles say, not where they say it.
func equal(a, b Profile) bool {
	a.source, b.source, a.places, b.places, a.written, b.written = "", "", nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

func FuzzParse(f *testing.F) {
	for _, name := range builtinNames() {
		source, err := Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(source)
	}
	broken, err := os.ReadFile("testdata/broken.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(broken)
	for _, row := range catalogue.rows() {
		f.Add([]byte(least + row.Key + ": " + row.Example + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := catalogue.Parse("fuzz.yaml", data)
		if err != nil {
			var faults Faults
			if !errors.As(err, &faults) || strings.Contains(err.Error(), "\n\n") {
				t.Fatalf("Parse(%q) = %v, want one line for each fault", data, err)
			}
			return
		}
		written, err := Marshal(p)
		if err != nil {
			t.Fatalf("Marshal(%+v): %v", p, err)
		}
		again, err := catalogue.Parse("again.yaml", written)
		if err != nil || !equal(p, again) {
			t.Fatalf("Parse(Marshal(p)) = %+v, %v\nwant %+v\nwritten:\n%s", again, err, p, written)
		}
		set, err := Set(p)
		if err != nil || !equal(p, set) {
			t.Fatalf("Set(p) = %+v, %v\nwant %+v", set, err, p)
		}
	})
}

// The reference and the schema describe every field of a profile, with workloads of each shape. The workloads describe their own fields.
func TestReferenceAndSchema(t *testing.T) {
	var reference strings.Builder
	if err := catalogue.WriteReference(&reference); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "reference.txt", reference.String())
	schema, err := catalogue.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "schema.json", string(schema)+"\n")
}
