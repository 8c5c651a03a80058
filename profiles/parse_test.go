package profiles

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s\n(go test -update writes it anew)", name, got, want)
	}
}

func TestBrokenProfileReportsAllFaultsAtOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/broken.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("broken.yaml", data)
	var faults Faults
	if !errors.As(err, &faults) || len(faults) < 12 {
		t.Fatalf("Parse(broken.yaml) = %v, want at least a dozen Faults", err)
	}
	var one Fault
	if !errors.As(err, &one) || one.Place.Line != 1 {
		t.Errorf("errors.As finds %v, want the fault in the first line", one)
	}
	golden(t, "broken.txt", err.Error()+"\n")
}

const least = "workload: lock\nvariants: naive\nsessions: 10\n"

const forQueues = "workload: queue\nvariants: fifo\nsessions: 10\n"

func TestFaults(t *testing.T) {
	for _, c := range []struct{ sentence, yaml, want string }{
		{"an empty file", "", "p.yaml:1:1: the profile is empty; it needs at least workload, variants, sessions"},
		{"comments only", "# nothing\n", "p.yaml:1:1: the profile is empty; it needs at least workload, variants, sessions"},
		{"a list", "- lock\n", "p.yaml:1:1: a list is not a profile; allowed is a map of keys to values"},
		{"a word", "lock\n", `p.yaml:1:1: "lock" is not a profile; allowed is a map of keys to values`},
		{"two documents", least + "---\n" + least, "p.yaml:4:1: a second document begins here; allowed is one profile in a file"},
		{"a tab", "workload: lock\nhold:\n\texponential: 5ms\n", "p.yaml:3:1: a tab indents this line; allowed are spaces only"},
		{"a brace left open", "hold: {exponential: 5ms\n", "p.yaml:1:1: this is not YAML: "},
		{"an anchor and its alias", least + "hold: &h 5ms\nthink: *h\n",
			"p.yaml:4:7: &h is an anchor; allowed is the value alone\np.yaml:5:8: *h is an alias; allowed is the value itself, written out"},
		{"a tag", least + "locks: !!int '5'\n", "p.yaml:4:8: !!int is a tag; allowed is the value alone"},
		{"nothing required", "seed: 7\n", "p.yaml:1:1: workload is missing; give one, such as workload: lock\n"},
		{"an unknown key near a known one", least + "session: 5\n", `p.yaml:4:1: "session" is no key of a profile; did you mean sessions?`},
		{"an unknown key near none", least + "colour: red\n", `p.yaml:4:1: "colour" is no key of a profile; there are name, description, workload`},
		{"a required key with a typo", "workload: lock\nvaraints: naive\nsessions: 10\n", `p.yaml:2:1: "varaints" is no key of a profile; did you mean variants?`},
		{"a key twice", least + "sessions: 5\n", "p.yaml:4:1: sessions stands twice, first in line 3; allowed is once"},
		{"no value", least + "hold:\n", "p.yaml:4:6: hold: it has no value; allowed is a duration from 0s to 24h"},
		{"no unit", least + "hold: 5\n", "p.yaml:4:7: hold: 5 has no unit: say '5ms'"},
		{"a wrong unit", least + "hold: 5 days\n", `p.yaml:4:7: hold: "5 days" is not a duration; allowed is`},
		{"a list for a scalar", least + "deadline: [1s]\n", "p.yaml:4:11: deadline: a list is not a duration"},
		{"too short", least + "duration: 0s\n", "p.yaml:4:11: duration: 0s is too short; allowed is a duration with its unit from 1ms to 168h"},
		{"too long", least + "hold: {exponential: 25h}\n", "p.yaml:4:21: hold: 25h is too long"},
		{"a distribution nobody knows", least + "hold: {lognorm: 5ms}\n", `p.yaml:4:8: hold: no distribution is called "lognorm"; did you mean lognormal?`},
		{"two distributions", least + "hold: {exponential: 5ms, constant: 5ms}\n", "p.yaml:4:7: hold: a map is not one distribution"},
		{"uniform the wrong way round", least + "hold: {uniform: [5ms, 1ms]}\n", "p.yaml:4:17: hold: uniform from 5ms down to 1ms is empty"},
		{"uniform of one", least + "hold: {uniform: 5ms}\n", "p.yaml:4:17: hold: uniform takes the shortest and the longest duration"},
		{"lognormal without sigma", least + "hold: {lognormal: {mean: 5ms}}\n", "p.yaml:4:19: hold: lognormal takes a mean and a sigma"},
		{"lognormal with a wrong sigma", least + "hold: {lognormal: {mean: 5ms, sigma: 0}}\n", "p.yaml:4:38: hold: sigma 0 is wrong; allowed is a number above 0 up to 3"},
		{"lognormal with a typo", least + "hold: {lognormal: {maen: 5ms, sigma: 1}}\n", "p.yaml:4:20: hold: lognormal has no maen; did you mean mean?"},
		{"text for a count", least + "locks: many\n", `p.yaml:4:8: locks: "many" is not a whole number; allowed is a whole number from 1 to 1,000,000`},
		{"a quoted count", least + "locks: '5'\n", `p.yaml:4:8: locks: "5" is not a whole number`},
		{"zero", least + "locks: 0\n", "p.yaml:4:8: locks: 0 is too small"},
		{"too many", least + "repetitions: 1001\n", "p.yaml:4:14: repetitions: 1001 is too large"},
		{"beyond 64 bits", least + "seed: 18446744073709551616\n", "p.yaml:4:7: seed: 18446744073709551616 is too large"},
		{"an empty list", "workload: lock\nvariants: []\nsessions: 10\n", "p.yaml:2:11: variants: the list is empty"},
		{"an item twice", "workload: lock\nvariants: naive\nsessions: [10, 20, 10]\n", "p.yaml:3:20: sessions: 10 stands twice; allowed is once"},
		{"a rate per week", least + "rate: 5/week\n", `p.yaml:4:7: rate: "week" is not a unit of time: say /s, /min or /h`},
		{"no rate", least + "rate: fast\n", `p.yaml:4:7: rate: "fast" is not a rate`},
		{"a rate that is not a number", least + "rate: NaN\n", `p.yaml:4:7: rate: "NaN" is not a rate`},
		{"a rate of zero", least + "rate: 0\n", "p.yaml:4:7: rate: 0 is too small"},
		{"a rate too large", least + "rate: 20000000/s\n", "p.yaml:4:7: rate: 20000000/s is too large"},
		{"a word that is not one of them", least + "rate: 5\narrivals: poison\n",
			`p.yaml:5:11: arrivals: "poison" is not known: did you mean poisson?; allowed is poisson or uniform`},
		{"yes for true", least + "fsync: yes\n", `p.yaml:4:8: fsync: "yes" is neither; allowed is true or false`},
		{"an ensemble elsewhere", least + "ensemble: remote:3\n", "p.yaml:4:11: ensemble: \"remote:3\" is not an ensemble that zkbench can start"},
		{"an ensemble of none", least + "ensemble: local:0\n", `p.yaml:4:11: ensemble: "0" is not a number of servers; allowed is local:N with N of 1, 3, 5 or 7 servers, or compose:N with 1, 3 or 5`},
		{"containers of seven", least + "ensemble: compose:7\n", `p.yaml:4:11: ensemble: "7" is not a number of servers; allowed is local:N with N of 1, 3, 5 or 7 servers, or compose:N with 1, 3 or 5`},
		{"a driver that is not known", least + "ensemble: swarm:3\n", `p.yaml:4:11: ensemble: "swarm:3" is not an ensemble that zkbench can start; allowed is local:N with N of 1, 3, 5 or 7 servers, or compose:N with 1, 3 or 5`},
		{"a name with a path in it", least + "name: ../up\n", `p.yaml:4:7: name: "../up" is not a name`},
		{"an option that is a list", least + "options: {watch: [a]}\n", "p.yaml:4:18: options.watch: a list is not text"},
		{"options that are a word", least + "options: watch\n", `p.yaml:4:10: options: "watch" is not a map`},
		{"an option twice", least + "options: {a: 1, a: 2}\n", "p.yaml:4:17: options: a stands twice"},
		{"description that is a list", least + "description: []\n", "p.yaml:4:14: description: a list is not that; allowed is text"},
		{"arrivals without a rate", least + "arrivals: uniform\n", "p.yaml:4:1: arrivals means something only beside rate; leave it out, or give rate"},
		{"think beside a rate", least + "rate: 5\nthink: 1s\n", "p.yaml:5:1: think and rate exclude each other; leave one of them out"},
		{"a key of another workload", "workload: queue\nvariants: fifo\nsessions: 10\nlocks: 5\n",
			"p.yaml:4:1: locks does not belong to the workload queue; it is a key of lock"},
		{"a load for a workload that has none", "workload: published\nvariants: a\nsessions: 10\n",
			"p.yaml:3:1: sessions does not belong to the workload published; it describes a load, and that one has none"},
		{"more queues than pairs of sessions", forQueues + "queues: 6\n", "p.yaml:4:9: queues: 6 queues for 10 sessions leave queues without a producer or a consumer"},
		{"nothing to take", forQueues + "producers: [50, 0]\n", "p.yaml:4:17: producers: where nobody puts there is nothing to take"},
		{"priorities of a queue that has none", forQueues + "priorities: 5\n", "p.yaml:4:1: priorities does not belong to the workload queue"},
		{"more locks together than there are", "workload: multi-lock\nvariants: multi\nsessions: 10\nlocks: 4\ntogether: [2, 5]\n",
			"p.yaml:5:15: together: 5 locks cannot be acquired together where there are 4; give locks, or allow fewer"},
		{"locks together of none", "workload: multi-lock\nvariants: multi\nsessions: 10\n",
			"p.yaml:1:1: together: 2 locks cannot be acquired together where there are 1; give locks, or allow fewer"},
		{"more locks than sessions", least + "locks: 11\n", "p.yaml:4:8: locks: 11 locks for 10 sessions leave locks that nobody asks for"},
	} {
		_, err := Parse("p.yaml", []byte(c.yaml))
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
	p, err := Parse("dir/my profile.yaml", []byte(`
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
		Variants: []string{"naive", "predecessor"}, Sessions: []int{10, 100}, Locks: 5, Rate: []float64{200, 10, 7},
		Arrivals: "uniform", Hold: Distribution{Kind: Lognormal, Mean: 5 * time.Millisecond, Sigma: 1.5}, Deadline: 90 * time.Second,
		Warmup: 1500 * time.Millisecond, Duration: 10 * time.Second, Repetitions: 3, Seed: 1<<64 - 1, Engine: "go-zookeeper",
		Ensemble: "local:1", SessionTimeout: 30 * time.Second, Options: map[string]string{"watch": "exists", "fence": "true"}}
	if !equal(p, want) {
		t.Errorf("Parse = %+v, want %+v", p, want)
	}
}

// equal compares what two profiles say, not where they say it.
func equal(a, b Profile) bool {
	a.source, b.source, a.places, b.places = "", "", nil, nil
	return reflect.DeepEqual(a, b)
}

func FuzzParse(f *testing.F) {
	all, err := Builtin()
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range all {
		source, err := Source(p.Name)
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
	for _, row := range fields() {
		f.Add([]byte(least + row.key + ": " + row.example + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("fuzz.yaml", data)
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
		again, err := Parse("again.yaml", written)
		if err != nil || !equal(p, again) {
			t.Fatalf("Parse(Marshal(p)) = %+v, %v\nwant %+v\nwritten:\n%s", again, err, p, written)
		}
		set, err := Set(p)
		if err != nil || !equal(p, set) {
			t.Fatalf("Set(p) = %+v, %v\nwant %+v", set, err, p)
		}
	})
}
